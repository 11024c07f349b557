"""The metrics that this site knows: those of `measures`, and those of the modules that METRIC_MODULES names."""

import logging
import subprocess
import tomllib
from functools import cache, lru_cache
from importlib import import_module
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

from django.conf import settings as site

from measures.metrics import METRICS, Metric
from measures.metrics.registry import Registered
from projects.errors import Refused

logger = logging.getLogger(__name__)


def known() -> dict[str, Registered]:
    """Every metric by its name. Modules from outside are imported when somebody first asks."""
    not_imported()
    return METRICS


def find(name: str) -> Registered:
    """A metric by its name. Raises Refused for one that is not known."""
    metrics = known()
    if name not in metrics:
        said = {"name": name, "names": ", ".join(sorted(metrics))}
        raise Refused(
            "There is no metric “{name}” here. There are: {names}.".format(**said), details=list(not_imported())
        )
    return metrics[name]


def not_imported() -> tuple[str, ...]:
    """A sentence on each module of METRIC_MODULES that could not be imported."""
    return import_modules(tuple(site.METRIC_MODULES))


@cache
def import_modules(modules: tuple[str, ...]) -> tuple[str, ...]:
    """Import modules once, so that they register their metrics; a sentence on each that cannot be."""
    return tuple(said for module in modules if (said := _import(module)))


def _import(module: str) -> str:
    try:
        import_module(module)
    except Exception as error:
        logger.warning("METRIC_MODULES: %s cannot be imported.", module, exc_info=True)
        said = {"module": module, "error": f"{type(error).__name__}: {error}"}
        return "METRIC_MODULES names “{module}”, which cannot be imported: {error}".format(**said)
    return ""


def list_versions(metric: Metric) -> dict[str, str]:
    """The versions that the scores of a metric depend on: of this application, and of the packages that it names."""
    found = {package: _version(package) for package in metric.packages}
    return {"Concord": code_version().removeprefix("concord "), **{name: each for name, each in found.items() if each}}


@cache
def _version(package: str) -> str:
    try:
        return version(package)
    except PackageNotFoundError:
        return ""


@lru_cache(maxsize=1)
def code_version() -> str:
    """The version of the program, and the commit where it runs out of a repository."""
    project = tomllib.loads((site.BASE_DIR / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    version = f"{project['name']} {project['version']}"
    commit = _commit(site.BASE_DIR)
    return f"{version} ({commit})" if commit else version


def _commit(folder: Path) -> str:
    if not (folder / ".git").exists():
        return ""
    said = subprocess.run(
        ["git", "-C", folder, "rev-parse", "--short=12", "HEAD"], check=False, capture_output=True, text=True
    )
    return said.stdout.strip()
