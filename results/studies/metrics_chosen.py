"""The metrics of an evaluation: those that have scores, by name, and their labels beside each other."""

from collections import Counter
from collections.abc import Iterable, Sequence

from projects.errors import Refused
from projects.models import Project
from results.metrics.listing import name_setting
from results.models import MetricRun
from results.studies.settings import Settings

LEAST_OF_SUBJECT = 6
"""The least characters of a subject that identify a metric."""


def current_runs(project: Project) -> list[MetricRun]:
    """Return for each metric of a project the run whose scores count, by title."""
    runs = MetricRun.objects.filter(project=project).newest()
    return sorted(runs, key=lambda run: (run.title.casefold(), run.pk))


def choose_runs(runs: Sequence[MetricRun], names: Iterable[str]) -> list[MetricRun]:
    """Return the metrics of these names: of a metric, its title or its label. Raises Refused for an unknown one.

    A name that several configurations share means all of them; a label or the start of a subject means one alone.
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
            known = "; ".join(labels.values()) or "none"
            raise Refused(f"No metric “{name}” has scores in this project. Choose one of: {known}.")
        # Keyed by subject, so that two names of one metric choose it once.
        chosen |= {run.subject: run for run in found}
    return list(chosen.values())


def make_labels(runs: Sequence[MetricRun]) -> dict[str, str]:
    """Return a unique name for each metric: its title, with the settings in which metrics of one title differ."""
    titles = Counter(run.title for run in runs)
    labels = {}
    for run in runs:
        label = run.title
        if titles[run.title] > 1:
            namesakes = [each.settings for each in runs if each.title == run.title]
            differences = [
                name_setting(name, value)
                for name, value in sorted(run.settings.items())
                if any(other.get(name) != value for other in namesakes)
            ]
            label = f"{run.title} ({', '.join(differences) or run.get_origin_display()})"
        labels[run.subject] = label
    counts = Counter(labels.values())
    # Two uploads may share title and settings; the subject still tells them apart.
    return {subject: f"{label} [{subject[:6]}]" if counts[label] > 1 else label for subject, label in labels.items()}


def find_chosen_runs(
    project: Project, settings: Settings, current: Sequence[MetricRun] | None = None
) -> list[MetricRun]:
    """Return the runs of the chosen metrics, among the current ones if these are known already. Raises Refused."""
    if not settings.metrics:
        raise Refused("Choose at least one metric.")
    by_subject = {run.subject: run for run in (current_runs(project) if current is None else current)}
    gone = [subject for subject in settings.metrics if subject not in by_subject]
    if gone:
        raise Refused(f"{len(gone)} of the metrics no longer have scores. Compute them again or choose others.")
    return [by_subject[subject] for subject in dict.fromkeys(settings.metrics)]
