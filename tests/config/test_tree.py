"""Templates and tests are in the folders of the packages that they belong to."""

import re
import tomllib
from pathlib import Path

from django.conf import settings

ROOT = Path(settings.BASE_DIR)
APPS = ("annotate", "demo", "measures", "projects", "results")
WITHOUT_FOLDER = {
    *("annotate/models", "projects/models", "results/models"),
    *("projects/processes", "demo/corpus", "demo/simulating"),
}
"""Models are tested with the acts that write them, child processes with the charts that they draw and the files that
they read; the parts of the demo have one file of tests each."""


def list_packages(app: str) -> set[str]:
    return {path.parent.name for path in (ROOT / app).glob("*/__init__.py")} - {
        "migrations",
        "management",
        "templatetags",
    }


def read_layers(app: str) -> list[set[str]]:
    """Return the layers of an app as `lint-imports` checks them, without the top one of entry points."""
    contracts = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["importlinter"]["contracts"]
    (layers,) = (each["layers"] for each in contracts if each.get("containers") == [app])
    return [set(layer.split(" | ")) for layer in layers[1:]]


def list_folders(path: Path) -> set[str]:
    return {each.name for each in path.iterdir() if each.is_dir() and not each.name.startswith("__")}


def test_every_folder_of_templates_is_a_package() -> None:
    for app in ("annotate", "projects", "results"):
        assert list_folders(ROOT / "templates" / app) - list_packages(app) == set(), app


def test_every_package_has_its_tests_in_the_same_place() -> None:
    for app in APPS:
        tested = list_folders(ROOT / "tests" / app)
        packages = list_packages(app)
        assert tested - packages - {"management", "templatetags"} == set(), app
        without = {f"{app}/{name}" for name in packages - tested}
        assert without - WITHOUT_FOLDER == set(), app


def test_the_architecture_lists_the_layers_of_each_app() -> None:
    text = (ROOT / "docs/architecture.md").read_text()
    for app in ("annotate", "projects", "results"):
        (row,) = re.findall(rf"^\| {app} \| (.+) \|$", text, flags=re.MULTILINE)
        assert [set(layer.split(", ")) for layer in row.split(" · ")] == read_layers(app), app
