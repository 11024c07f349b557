"""The known metrics: those of `measures`, and those of the modules that METRIC_MODULES names."""

import hashlib
import logging
from collections.abc import Mapping
from functools import cache
from importlib import import_module
from importlib.metadata import PackageNotFoundError, version
from math import isfinite
from typing import Any

import orjson
from django.conf import settings as site

import measures.neural.metrics  # noqa: F401 - registers learned metrics
from measures.metrics import METRICS, Metric
from measures.metrics.registry import Registered
from measures.neural.lerc.metric import PREFIX, make_registered
from projects.errors import Refused
from projects.models import Project
from results.metrics.code_version import code_version
from results.models import Training

logger = logging.getLogger(__name__)


def load_metrics(project: Project | None = None) -> dict[str, Registered]:
    """Return every metric by its name, with those that were trained in a project where one is given.

    Modules from outside are imported on the first call.
    """
    explain_not_imported()
    if project is None:
        return METRICS
    trained = Training.objects.usable().filter(project=project).order_by("number")
    return {**METRICS, **{each.metric: make_registered(each.metric, digest=each.sha256) for each in trained}}


def find_metric(name: str, project: Project | None = None) -> Registered:
    """Return the metric of this name. Raises Refused for an unknown one.

    A metric that was trained in a project is found in this one alone; without a project, as one of a run that is stored
    with the digest of its model.
    """
    if name.startswith(PREFIX) and project is None:
        return make_registered(name)
    metrics = load_metrics(project)
    if name not in metrics:
        names = ", ".join(sorted(metrics))
        raise Refused(f"There is no metric “{name}”. Choose one of: {names}.", details=list(explain_not_imported()))
    return metrics[name]


def make_metric(name: str, settings: Mapping[str, Any], project: Project | None = None) -> Metric:
    """Return the configured metric, one that was trained in the project too.

    Raises Refused for an unknown name or setting, a value that is not allowed, or what this machine lacks.
    """
    try:
        metric = find_metric(name, project).make(**settings)
    except (ValueError, TypeError) as error:
        raise Refused(str(error)) from error
    if missing := metric.lacks():
        raise Refused(f"{name} cannot be computed here: {missing}.")
    return metric


def make_metric_key(origin: str, name: str, settings: Mapping[str, Any]) -> str:
    """Return the hash of a configured metric: runs that share it are of the same metric."""
    # Keys are sorted, so that the order in which settings were sent does not make another metric.
    named = orjson.dumps([str(origin), name, dict(settings)], option=orjson.OPT_SORT_KEYS)
    return hashlib.sha256(named).hexdigest()


def explain_not_imported() -> tuple[str, ...]:
    """Return a sentence for each module of METRIC_MODULES that could not be imported."""
    return import_modules(tuple(site.METRIC_MODULES))


@cache
def import_modules(modules: tuple[str, ...]) -> tuple[str, ...]:
    """Import modules once, so that they register their metrics; return a sentence for each that failed."""
    return tuple(failure for module in modules if (failure := _import(module)))


def _import(module: str) -> str:
    try:
        import_module(module)
    # A module from outside may raise anything; the other metrics must stay usable.
    except Exception as error:
        logger.warning("METRIC_MODULES: %s cannot be imported.", module, exc_info=True)
        return f"METRIC_MODULES names “{module}”, which cannot be imported: {type(error).__name__}: {error}"
    return ""


def describe_metric(metric: Metric) -> dict[str, Any]:
    """Return what the scores depend on beside the settings: variant, tokenisation, signature, range and versions."""
    return {
        "variant": metric.variant,
        "tokenisation": metric.tokenisation,
        "signature": metric.signature,
        **({"held_out": metric.held_out} if metric.held_out else {}),
        "low": _drop_infinite(metric.low),
        "high": _drop_infinite(metric.high),
        "versions": list_versions(metric),
    }


def list_versions(metric: Metric) -> dict[str, str]:
    """Return the versions that a metric's scores depend on: of this application, and of the packages that it names."""
    found = {package: _find_version(package) for package in metric.list_packages()}
    return {"Concord": code_version().removeprefix("concord "), **{name: each for name, each in found.items() if each}}


@cache
def _find_version(package: str) -> str:
    try:
        return version(package)
    except PackageNotFoundError:
        return ""


def _drop_infinite(bound: float) -> float | None:
    return bound if isfinite(bound) else None
