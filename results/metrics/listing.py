"""The metrics of a project as a list: the run of each whose scores count, and a newer one that has none."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, fields
from typing import Any

from django.db.models import QuerySet

from measures.metrics import METRICS
from measures.metrics.registry import Registered
from projects.models import Project
from results.metrics.forms import find_default
from results.models import MetricRun
from results.scope.self_references import warn_of_self_references
from results.scope.unspaced_texts import warn_of_unspaced


@dataclass(frozen=True)
class Listed:
    """A configured metric: the run whose scores count, if any, and a newer one without scores."""

    current: MetricRun | None
    newer: MetricRun | None

    @property
    def run(self) -> MetricRun:
        run = self.current or self.newer
        assert run is not None
        return run

    @property
    def summary(self) -> list[str]:
        return describe_run(self.run)


def list_metrics(project: Project) -> list[Listed]:
    """Return the project's metrics by title, those computed here first."""
    runs = project.metric_runs.select_related("requested_by__user", "project")
    current = {run.subject: run for run in runs.newest()}
    last = {run.subject: run for run in runs.order_by("subject", "-id").distinct("subject")}
    listed = [
        Listed(current.get(subject), None if run == current.get(subject) else run) for subject, run in last.items()
    ]
    # "computed" sorts before "uploaded".
    return sorted(listed, key=lambda each: (each.run.origin, each.run.title.casefold(), each.run.pk))


def unfinished_runs(project: Project) -> QuerySet[MetricRun]:
    return project.metric_runs.filter(state__in=MetricRun.LIVE).select_related("project").order_by("id")


def describe_run(run: MetricRun) -> list[str]:
    """Return the settings of a run in short: variant, tokenisation, and what differs from the defaults."""
    about: dict[str, Any] = run.report.get("about") or {}
    parts = [about.get("variant", ""), about.get("tokenisation") or run.settings.get("tokeniser", "")]
    return [part for part in [*parts, *_list_changed(run)] if part]


def list_warnings(run: MetricRun) -> list[str]:
    """Return why the scores of a run may mislead; runs of earlier versions have not counted all of it."""
    found = [
        warn_of_self_references(run.report.get("n_self_references", 0)),
        warn_of_unspaced(run.report.get("n_unspaced", 0), run.settings.get("tokeniser", "")),
    ]
    return [each for each in found if each]


def list_settings(run: MetricRun) -> list[tuple[str, str, str]]:
    """Return every setting of a run: name, value and meaning."""
    known = METRICS.get(run.metric) if run.origin == MetricRun.Origin.COMPUTED else None
    meanings = {each.name: str(each.metadata.get("meaning", "")) for each in fields(known.metric)} if known else {}
    return [
        (name.replace("_", " "), format_setting(value), meanings.get(name, "")) for name, value in run.settings.items()
    ]


def _list_changed(run: MetricRun) -> Iterator[str]:
    """Yield the settings that differ from their defaults, but for those that the variant tells already."""
    known = METRICS.get(run.metric)
    if known is None or run.origin != MetricRun.Origin.COMPUTED:
        return
    for setting in known.settings():
        value, default = run.settings.get(setting.name), find_default(setting)
        if setting.name == "tokeniser" or value is None or value == default:
            continue
        if not _is_in_variant(known, run.settings, {setting.name: default}):
            yield name_setting(setting.name, value)


def _is_in_variant(known: Registered, settings: Mapping[str, Any], default: Mapping[str, Any]) -> bool:
    """Return whether a metric of these settings has another variant with this default."""
    chosen = known.chosen(settings)
    try:
        return known.make(**chosen).variant != known.make(**{**chosen, **default}).variant
    except ValueError:  # a setting of an earlier version
        return False


def name_setting(name: str, value: Any) -> str:
    """Return a setting with its name, as labels of metrics have it: “policy pooled”."""
    return f"{name.replace('_', ' ')} {format_setting(value)}"


def format_setting(value: Any) -> str:
    """Return a setting of a metric or an evaluation as people read it: “yes”, “0.5”."""
    if isinstance(value, bool):
        return "yes" if value else "no"
    return f"{value:g}" if isinstance(value, float) else str(value)
