"""Warnings about the data of an evaluation, in sentences that are stored with its result."""

from collections.abc import Mapping
from typing import Any

from measures.metrics import METRICS
from measures.studies.system_draws import Names, find_lacking
from results.models import MetricRun
from results.scope.human_sources import warn_of_human_sources
from results.scope.scopes import warn_of_no_order
from results.scope.self_references import ALL_REFERENCES, HOW_TO_AVOID, find_self_references
from results.scope.unspaced_texts import find_unspaced, misses_words, warn_of_unspaced
from results.studies.frame import SOURCE, Frame
from results.studies.joining import CANDIDATE, MetricColumn
from results.studies.settings import Settings
from results.studies.stored import store

MOST_NAMED = 5
"""Systems that the warning about unequal shares names; the others are counted."""


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


def count_lacking(questions: Names, systems: Names) -> dict[str, Any]:
    """Return what an evaluation stores of the questions that each system has not answered."""
    stored: dict[str, Any] = store(find_lacking(questions, systems))
    return stored


def warn_of_unequal_shares(lacking: Mapping[str, Any] | None) -> str:
    """Return the warning about means over all answers of each system; nothing where all answered the same questions.

    Evaluations of earlier versions may not have counted the questions.
    """
    lacks: Mapping[str, int] = (lacking or {}).get("lacks", {})
    if not lacking or not lacks:
        return ""
    # The largest gaps first; names of equal ones in their order.
    ordered = sorted(lacks.items(), key=lambda each: (-each[1], each[0]))
    named = [f"{name or 'unspecified'} lacks {n:,}" for name, n in ordered[:MOST_NAMED]]
    if rest := len(ordered) - len(named):
        named.append(f"{rest:,} other{'s lack' if rest > 1 else ' lacks'} some")
    return (
        f"Systems have answered different questions: of {lacking['n_all']:,}, {'; '.join(named)}. Their means over all "
        "answers rest on different questions, so that they may differ because the questions do."
    )
