"""Minimal pairs: how often each metric scores the better of two candidates higher."""

from typing import Any

import numpy as np
from django import forms

from annotate.data.pairs import pair_position
from measures.outcome import Undefined
from measures.studies.minimal_pairs import (
    WILSON,
    MeanAccuracy,
    MinimalPairAccuracy,
    PairAccuracy,
    minimal_pair_accuracy,
)
from projects.jobs.running import OnProgress
from projects.models import Project
from results.models import Study
from results.studies.frame import DATASET, Frame
from results.studies.kinds.kind import Figures, Kind
from results.studies.kinds.minimal_pairs_tables import make_sections
from results.studies.pair_frame import GIVEN, GOLDS, PHENOMENON, PairFrame, read_pairs
from results.studies.settings import Settings
from results.studies.stored import Steps


def compute(frame: Frame, settings: Settings, seed: int, on_progress: OnProgress) -> dict[str, Any]:
    """Return the accuracy of metrics and of human scores: over all pairs, by dataset and by phenomenon."""
    assert isinstance(frame, PairFrame)
    steps = Steps(on_progress, len(frame.metrics) + len(frame.human))
    found = {}
    for metric in frame.metrics:
        one, other = frame.both(metric)
        found[metric.subject] = _measure_accuracy(one, other, frame.table)
        steps.take()
    human_scores = {}
    for name, scored in frame.human.items():
        one, other = (scored[f"{name}_{number}"].to_numpy(np.float64) for number in (1, 2))
        # Imported scores or gold scores may be missing altogether.
        if len(scored):
            human_scores[name] = _measure_accuracy(one, other, scored)
        steps.take()
    return {
        "intervals": {"method": WILSON},
        "metrics": found,
        "people": human_scores,
        "datasets": sorted(set(frame.table[DATASET])),
        "phenomena": sorted(set(frame.table[PHENOMENON]), key=pair_position),
        "human": settings.options.get("human", GIVEN),
        "reasons": frame.reasons,
        "listed": frame.listed,
    }


def _measure_accuracy(one: Any, other: Any, table: Any) -> dict[str, Any]:
    found = minimal_pair_accuracy(one, other, datasets=list(table[DATASET]), phenomena=list(table[PHENOMENON]))
    return _as_dict(found)


def _as_dict(found: MinimalPairAccuracy) -> dict[str, Any]:
    return {
        "overall": _store_accuracy(found.overall),
        "mean": _store_accuracy(found.mean),
        "by_dataset": {name: _store_accuracy(part) for name, part in found.by_dataset.items()},
        "by_phenomenon": {name: _store_accuracy(part) for name, part in found.by_phenomenon.items()},
    }


def _store_accuracy(found: PairAccuracy | MeanAccuracy | Undefined) -> dict[str, Any]:
    """Return an accuracy with its interval as a stored result holds it."""
    if isinstance(found, Undefined):
        return {"reason": found.reason}
    ends = {"low": found.interval.low, "high": found.interval.high}
    counts = {"n": found.n, "n_ties": found.n_ties} if isinstance(found, PairAccuracy) else {}
    return {"value": found.accuracy, **ends, **counts}


def make_fields(project: Project) -> dict[str, forms.Field]:
    choices = [
        (GIVEN, "imported scores, otherwise gold scores"),
        (GOLDS, "gold scores, otherwise imported scores"),
    ]
    return {"human": forms.ChoiceField(label="Better candidate decided by", choices=choices, initial=GIVEN)}


def list_limits(settings: Settings, figures: Figures) -> list[str]:
    return [
        "A pair counts only if its first candidate has the higher human score. The others are listed.",
        "A tie counts half, so a metric that gives every candidate the same score has 50 %. Scores are not rounded.",
        *_list_interval_limits(settings, figures),
    ]


def _list_interval_limits(settings: Settings, figures: Figures) -> list[str]:
    if "intervals" in figures:
        return ["Intervals treat pairs as independent of each other, although pairs may share a passage."]
    sentence = (
        "An earlier version of Concord computed this evaluation: its intervals are percentile bootstraps with "
        f"{settings.n_resamples:,} resamples, and there is none where a metric is right, or wrong, on every pair. Run "
        "it again for Wilson's intervals."
    )
    return [sentence]


KIND = Kind(
    name=Study.Kind.PAIRS,
    title="Minimal pairs",
    about="How often does each metric score the better candidate of a minimal pair higher?",
    compute=compute,
    sections=make_sections,
    limits=list_limits,
    fields=make_fields,
    read=read_pairs,
    is_of_pairs=True,
    has_ceiling=False,
    is_resampled=False,
    has_resamples=lambda figures: "intervals" not in figures,
    has_seed=False,
)
