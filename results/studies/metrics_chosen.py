"""The metrics of a study: those that have scores, by name, and what each is called beside the others."""

from collections import Counter
from collections.abc import Iterable, Sequence
from typing import Any

from projects.errors import Refused
from projects.models import Project
from results.models import MetricRun
from results.studies.settings import Settings

LEAST_OF_SUBJECT = 6
"""So many characters of a subject name a metric."""


def current_runs(project: Project) -> list[MetricRun]:
    """The metrics of a project, by title: of each the run whose scores stand."""
    runs = MetricRun.objects.filter(project=project).newest()
    return sorted(runs, key=lambda run: (run.title.casefold(), run.pk))


def choose_runs(runs: Sequence[MetricRun], names: Iterable[str]) -> list[MetricRun]:
    """The metrics that go by these names: that of a metric, its title or its label. Raises Refused for an unknown one.

    A name that several share, each set up in its own way, means them all; a label or the start of a subject one alone.
    """
    labels = make_labels(runs)
    chosen: dict[str, MetricRun] = {}
    for name in names:
        found = [
            run
            for run in runs
            if name.casefold() in (run.metric.casefold(), run.title.casefold(), labels[run.subject].casefold())
            or (len(name) >= LEAST_OF_SUBJECT and run.subject.startswith(name))
        ]
        if not found:
            there_are = "; ".join(labels.values()) or "none"
            raise Refused(f"No metric “{name}” has scores in this project; there is: {there_are}.")
        chosen |= {run.subject: run for run in found}
    return list(chosen.values())


def make_labels(runs: Sequence[MetricRun]) -> dict[str, str]:
    """A name for each metric that no other of these has: its title, and the settings in which namesakes differ."""
    titles = Counter(run.title for run in runs)
    labels = {}
    for run in runs:
        label = run.title
        if titles[run.title] > 1:
            namesakes = [each.settings for each in runs if each.title == run.title]
            words = [
                f"{name.replace('_', ' ')} {_said(value)}"
                for name, value in sorted(run.settings.items())
                if any(other.get(name) != value for other in namesakes)
            ]
            label = f"{run.title} ({', '.join(words) or run.get_origin_display()})"
        labels[run.subject] = label
    twice = Counter(labels.values())
    return {subject: f"{label} [{subject[:6]}]" if twice[label] > 1 else label for subject, label in labels.items()}


def chosen_runs(project: Project, settings: Settings) -> list[MetricRun]:
    if not settings.metrics:
        raise Refused("Choose at least one metric.")
    by_subject = {run.subject: run for run in current_runs(project)}
    gone = [subject for subject in settings.metrics if subject not in by_subject]
    if gone:
        raise Refused(f"{len(gone)} of the metrics have no scores any more. Compute them again, or choose others.")
    return [by_subject[subject] for subject in dict.fromkeys(settings.metrics)]


def _said(value: Any) -> str:
    if isinstance(value, bool):
        return "yes" if value else "no"
    return f"{value:g}" if isinstance(value, float) else str(value)
