"""Minimal pairs: how often each metric scores the better of two candidates higher."""

from typing import Any

import numpy as np
from django import forms

from annotate.data.pairs import pair_position
from measures.outcome import Undefined
from measures.studies.minimal_pairs import MeanAccuracy, MinimalPairAccuracy, PairAccuracy, minimal_pair_accuracy
from projects.jobs.running import OnProgress
from projects.models import Project
from results.models import Study
from results.studies.frame import DATASET, Frame
from results.studies.kinds.kind import Figures, Kind
from results.studies.kinds.pairs_tables import make_sections
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
        found[metric.subject] = _measure_accuracy(one, other, frame.table, settings, seed)
        steps.take()
    human_scores = {}
    for name, scored in frame.human.items():
        one, other = (scored[f"{name}_{number}"].to_numpy(np.float64) for number in (1, 2))
        # Imported scores or gold scores may be missing altogether.
        if len(scored):
            human_scores[name] = _measure_accuracy(one, other, scored, settings, seed)
        steps.take()
    return {
        "metrics": found,
        "people": human_scores,
        "datasets": sorted(set(frame.table[DATASET])),
        "phenomena": sorted(set(frame.table[PHENOMENON]), key=pair_position),
        "human": settings.options.get("human", GIVEN),
        "reasons": frame.reasons,
        "listed": frame.listed,
    }


def _measure_accuracy(one: Any, other: Any, table: Any, settings: Settings, seed: int) -> dict[str, Any]:
    found = minimal_pair_accuracy(
        one,
        other,
        datasets=list(table[DATASET]),
        phenomena=list(table[PHENOMENON]),
        rng=np.random.default_rng(seed),
        n_resamples=settings.n_resamples,
    )
    return _as_dict(found)


def _as_dict(found: MinimalPairAccuracy) -> dict[str, Any]:
    return {
        "overall": _store_accuracy(found.overall),
        "mean": _store_accuracy(found.mean),
        "by_dataset": {name: _store_accuracy(part) for name, part in found.by_dataset.items()},
        "by_phenomenon": {name: _store_accuracy(part) for name, part in found.by_phenomenon.items()},
    }


def _store_accuracy(found: PairAccuracy | MeanAccuracy | Undefined) -> dict[str, Any]:
    """Return an accuracy as a stored result holds it: an estimate without ends where it has no interval."""
    if isinstance(found, Undefined):
        return {"reason": found.reason}
    interval = found.interval
    # Where every pair comes out alike, resampling gives one value and no interval.
    ends: dict[str, float | None] = {"low": None, "high": None}
    if not isinstance(interval, Undefined):
        ends = {"low": interval.low, "high": interval.high}
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
        "There is no interval where a metric is right, or wrong, on every pair: resampling them shows no variation.",
    ]


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
)
