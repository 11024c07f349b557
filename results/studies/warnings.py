"""Warnings about the data of an evaluation, in sentences that are stored with its result."""

from measures.metrics import METRICS
from results.models import MetricRun
from results.scope.human_sources import warn_of_human_sources
from results.scope.scopes import warn_of_no_order
from results.scope.self_references import ALL_REFERENCES, HOW_TO_AVOID, find_self_references
from results.scope.unspaced_texts import find_unspaced, misses_words, warn_of_unspaced
from results.studies.frame import SOURCE, Frame
from results.studies.joining import CANDIDATE, MetricColumn
from results.studies.settings import Settings


def list_warnings(frame: Frame, settings: Settings) -> list[str]:
    """Return why the figures of these candidates and metrics may mislead."""
    compared = {metric.label: metric.settings["against"] for metric in frame.metrics if _compares(metric)}
    found = [warn_of_no_order(frame.scope.criterion)]
    found += [_warn_of_differences(compared), _warn_of_self_references(frame, compared), _warn_of_unspaced(frame)]
    if SOURCE in frame.table:
        found.append(warn_of_human_sources(settings.humans, settings.human_sources, frame.table[SOURCE]))
    return [warning for warning in found if warning]


def _compares(metric: MetricColumn) -> bool:
    """Return whether the metric was computed here, by comparing answers with references."""
    known = METRICS.get(metric.name) if metric.origin == MetricRun.Origin.COMPUTED else None
    return known is not None and "references" in known.metric.needs and "against" in metric.settings


def _warn_of_differences(compared: dict[str, str]) -> str:
    if len(set(compared.values())) < 2:
        return ""
    listed = "; ".join(
        f"{against}: {', '.join(label for label, its in compared.items() if its == against)}"
        for against in sorted(set(compared.values()))
    )
    return (
        f"The metrics are compared with different references (against), so they are not comparable. {listed}. Compute "
        "all with the same references."
    )


def _warn_of_unspaced(frame: Frame) -> str:
    computed = (metric for metric in frame.metrics if metric.origin == MetricRun.Origin.COMPUTED)
    names = dict.fromkeys(str(metric.settings.get("tokeniser", "")) for metric in computed)
    tokenisers = [name for name in names if misses_words(name)]
    if not tokenisers or CANDIDATE not in frame.table:
        return ""
    unspaced = set(find_unspaced(frame.project).values_list("pk", flat=True))
    return warn_of_unspaced(int(frame.table[CANDIDATE].isin(unspaced).sum()), *tokenisers)


def _warn_of_self_references(frame: Frame, compared: dict[str, str]) -> str:
    labels = [label for label, against in compared.items() if against == ALL_REFERENCES]
    if not labels or CANDIDATE not in frame.table:
        return ""
    itself = set(find_self_references(frame.project).values_list("pk", flat=True))
    n = int(frame.table[CANDIDATE].isin(itself).sum())
    if not n:
        return ""
    some, whom = (
        (
            "1 answer that people may have written is also a reference of its question",
            "this answer is compared with itself",
        )
        if n == 1
        else (
            f"{n:,} answers that people may have written are also references of their questions",
            "these answers are compared with themselves",
        )
    )
    use = "uses" if len(labels) == 1 else "use"
    return f"{some}, and {', '.join(labels)} {use} all references, so {whom}. {HOW_TO_AVOID}"
