"""Templates and tests are in the folders of the packages that they belong to."""

import ast
import re
import tomllib
from collections import Counter
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


def test_the_architecture_names_files_that_exist() -> None:
    text = (ROOT / "docs/architecture.md").read_text()
    paths = set(re.findall(r"`((?:annotate|client|config|demo|docs|measures|projects|results|static)/[\w./]*)`", text))
    assert len(paths) > 40
    assert [path for path in paths if not (ROOT / path).exists()] == []
    for path, names in re.findall(r"`([\w/]+\.py)` \(((?:`\w+`(?:, )?)+)\)", text):
        source = (ROOT / path).read_text()
        assert [name for name in re.findall(r"\w+", names) if not re.search(rf"\b{name}\b", source)] == [], path


SMALL = 40
"""Lines. A smaller module belongs into the one that uses it, unless several do, or it is a seam."""
STANDARD = {"__init__", "admin", "api", "api_urls", "apps", "asgi", "charts", "forms", "tasks", "urls", "views", "wsgi"}
SEAMS = {
    "annotate.batches.unfinished_work": "a tag that a template of a lower app asks",
    "annotate.desk.invited_terms": "a tag that a template of a lower app asks",
    "annotate.prolific.hook_view": "the one view that takes forms of other sites",
    "annotate.reviews.remarks": "the acts of a page",
    "config.schedule": "a table for whoever looks what runs when",
    "config.web.options": "a file of options that gunicorn reads",
    "measures.neural.metrics": "a list that registers metrics when it is imported",
    "projects.api.token_urls": "routes of pages, in another file than those of the API",
    "projects.processes.start": "a program",
    "projects.texts.starting_texts": "the reader of the files beside it",
}
"""Small modules that one module uses, or none, and why they stand alone; settings and tables name others."""


def test_a_small_module_is_used_in_several_places_or_is_a_seam() -> None:
    paths = [path for app in (*APPS, "config") for path in (ROOT / app).rglob("*.py")]
    small = {
        ".".join(path.relative_to(ROOT).with_suffix("").parts)
        for path in paths
        if path.read_text().count("\n") < SMALL and path.stem not in STANDARD
        if not {"migrations", "management", "templatetags", "models"} & set(path.parts)
    }
    imported: Counter[str] = Counter()
    named: set[str] = set()
    for path in paths:
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.ImportFrom) and node.module:
                imported.update({node.module, *(f"{node.module}.{each.name}" for each in node.names)})
            elif isinstance(node, ast.Import):
                imported.update(each.name for each in node.names)
            elif isinstance(node, ast.Constant) and isinstance(node.value, str):
                named |= {node.value, node.value.rpartition(".")[0]}
    assert {name for name in small - named if imported[name] < 2} == set(SEAMS)
