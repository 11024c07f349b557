"""Segment-level correlation: each candidate is a point, a metric's score against the gold score."""

from collections.abc import Mapping
from typing import Any

import numpy as np
from django import forms

from measures.patterns import Floats
from measures.studies.by_part import correlate_by_part
from measures.studies.correlating import Correlations, Method, correlate_all
from projects.jobs.running import OnProgress
from projects.models import Project
from results.models import Study
from results.studies.frame import (
    DATASET,
    PASSAGE,
    QUESTION_TYPE,
    SOURCE,
    SPLIT,
    Frame,
    Rows,
    read_with_humans_apart,
)
from results.studies.intervals import Intervals, make_field
from results.studies.joining import EXTERNAL_ID
from results.studies.kinds.correlation_tables import COEFFICIENTS, make_sections
from results.studies.kinds.kind import Figures, Kind, check_candidates
from results.studies.settings import Settings
from results.studies.stored import Steps, store, store_correlation

BREAKDOWNS: dict[str, tuple[str, ...]] = {
    "dataset": (DATASET,),
    "split": (SPLIT,),
    "dataset_source": (DATASET, SOURCE),
    "question_type": (QUESTION_TYPE,),
}
# More points hide each other, and would make the page and its SVG large.
MOST_POINTS = 1_000
"""Candidates that a scatter plot draws; of more, a random sample."""
N_BANDS = 5
_NOWHERE = {"reason": "defined in no part"}


def compute(frame: Frame, settings: Settings, seed: int, on_progress: OnProgress) -> dict[str, Any]:
    """Correlate over all candidates, over each part and as the mean of the datasets; sample points to draw."""
    parts = {name: list(frame.parts(*columns)) for name, columns in BREAKDOWNS.items()}
    # A single part would repeat the figures of the whole.
    parts = {name: found for name, found in parts.items() if len(found) > 1}
    # The whole once, and again over passages where the intervals are narrowed to candidates; the mean of datasets once;
    # each breakdown once. Time grows with candidates and metrics.
    intervals = Intervals.choose(frame, settings)
    n_times = 1 + intervals.is_narrowed + ("dataset" in parts) + len(parts)
    steps = Steps(on_progress, n_times * len(frame.table) * len(frame.metrics))
    every = np.ones(len(frame.table), dtype=bool)
    whole = _correlate(frame, every, settings, seed, steps)
    by_passage = _correlate(frame, every, settings, seed, steps, by_group=True) if intervals.is_narrowed else whole
    return {
        "intervals": intervals.store(),
        "whole": whole,
        "whole_by_passage": by_passage,
        "parts": {
            name: [_correlate_part(frame, names, rows, settings, seed, steps) for names, rows in found]
            for name, found in parts.items()
        }
        | _correlate_humans(frame, settings, seed),
        "mean": _average_datasets(frame, whole, settings, seed, steps) if "dataset" in parts else None,
        "points": _sample_points(frame, seed),
        "bands": {metric.subject: _cut_into_bands(frame.gold, frame.scores(metric)) for metric in frame.metrics},
    }


def _correlate(
    frame: Frame, rows: Rows, settings: Settings, seed: int, steps: Steps, *, by_group: bool = False
) -> dict[str, Any]:
    """Correlate each metric with the gold scores."""
    intervals = Intervals.choose(frame, settings, rows)
    found = correlate_all(
        frame.gold[rows],
        {metric.subject: frame.scores(metric)[rows] for metric in frame.metrics},
        groups=frame.codes(PASSAGE)[rows],
        rng=np.random.default_rng(seed),
        by_group=by_group or intervals.by_group,
        method=Method.JACKKNIFE if by_group else intervals.method,
    )
    steps.take(int(rows.sum()) * len(frame.metrics))
    return {subject: _as_dict(each) for subject, each in found.items()}


def _correlate_part(
    frame: Frame, names: tuple[str, ...], rows: Rows, settings: Settings, seed: int, steps: Steps
) -> dict[str, Any]:
    return {
        "names": list(names),
        "n": int(rows.sum()),
        "intervals": Intervals.choose(frame, settings, rows).store(),
        "ceiling": store(frame.one_against_others(seed=seed, rows=rows)),
        "reliability": store(frame.ceiling(settings, rows=rows)),
        "metrics": _correlate(frame, rows, settings, seed, steps),
    }


def _correlate_humans(frame: Frame, settings: Settings, seed: int) -> dict[str, Any]:
    """Return the correlations over the candidates of human sources as one more breakdown, where these are apart."""
    if frame.apart is None:
        return {}
    steps = Steps(lambda _done, _total: None, 0)
    parts = [
        _correlate_part(frame.apart, names, rows, settings, seed, steps) for names, rows in frame.apart.parts(SOURCE)
    ]
    return {"human_sources": parts}


def _average_datasets(
    frame: Frame, whole: Mapping[str, Any], settings: Settings, seed: int, steps: Steps
) -> dict[str, Any]:
    """Return the unweighted mean over the datasets in which every metric is defined, so that all means are over the
    same ones.

    A metric that is undefined over all candidates has no mean, and excludes no dataset for the others.
    """
    names = frame.table[DATASET].to_numpy(str)
    defined = [metric for metric in frame.metrics if not isinstance(whole[metric.subject]["pearson"]["value"], dict)]
    columns = {metric.label: frame.scores(metric) for metric in defined}
    intervals = Intervals.choose(frame, settings)
    # Only which datasets are averaged matters here, so one resample is enough.
    found = correlate_by_part(frame.gold, columns, names, rng=np.random.default_rng(seed), n_resamples=1)
    rows = np.isin(names, found.averaged)
    means: dict[str, Any] = {}
    for metric in frame.metrics:
        if metric not in defined or not rows.any():
            reason = _NOWHERE if metric in defined else whole[metric.subject]["pearson"]["value"]
            means[metric.subject] = {name: {"value": reason} for name in COEFFICIENTS}
        else:
            one = correlate_by_part(
                frame.gold[rows],
                {metric.subject: frame.scores(metric)[rows]},
                names[rows],
                n_resamples=settings.n_resamples,
                rng=np.random.default_rng(seed),
                groups=frame.codes(PASSAGE)[rows],
                by_group=intervals.by_group,
            )
            means[metric.subject] = _as_dict(one.means[metric.subject])
        steps.take(len(frame.table))
    return {"metrics": means, "averaged": list(found.averaged), "left_out": found.left_out}


def _as_dict(found: Correlations) -> dict[str, Any]:
    return {name: store_correlation(getattr(found, name)) for name in COEFFICIENTS}


def _sample_points(frame: Frame, seed: int) -> dict[str, Any]:
    """Return the candidates that a scatter plot draws: all, or a sample by the seed."""
    n = len(frame.table)
    rows = np.arange(n)
    if n > MOST_POINTS:
        # Sorted, as the points are in the file of the chart in the order of the table.
        rows = np.sort(np.random.default_rng(seed).choice(n, MOST_POINTS, replace=False))
    return {
        "n": n,
        "candidates": frame.table[EXTERNAL_ID].iloc[rows].tolist(),
        "gold": frame.gold[rows].tolist(),
        "scores": {metric.subject: frame.scores(metric)[rows].tolist() for metric in frame.metrics},
    }


def _cut_into_bands(gold: Floats, scores: Floats) -> list[dict[str, Any]]:
    """Return bands of about as many candidates each by metric score, with the mean gold score of each."""
    # Equal scores stay in one band, so there may be fewer bands where many are equal.
    edges = np.unique(np.quantile(scores, np.linspace(0, 1, N_BANDS + 1)[1:-1]))
    places = np.searchsorted(edges, scores, side="right")
    return [
        {
            "low": float(scores[places == place].min()),
            "high": float(scores[places == place].max()),
            "n": int((places == place).sum()),
            "mean": float(gold[places == place].mean()),
        }
        for place in np.unique(places)
    ]


def list_limits(settings: Settings, figures: Figures) -> list[str]:
    return [
        (
            "A correlation shows how a metric ranks and spaces candidates, not whether its scores have the "
            "same meaning as human scores."
        ),
    ]


def make_fields(project: Project) -> dict[str, forms.Field]:
    return make_field(with_fisher_z=True)


KIND = Kind(
    name=Study.Kind.CORRELATION,
    title="Segment-level correlation",
    about="How well does each metric correlate with human judgments of single candidates, overall and in each part?",
    compute=compute,
    compares_one_person=True,
    sections=make_sections,
    limits=list_limits,
    fields=make_fields,
    read=read_with_humans_apart,
    check=check_candidates,
    shows_splits=True,
    has_intervals=True,
    resampled_for="For the mean of the datasets.",
    has_resamples=lambda figures: "intervals" not in figures or figures["mean"] is not None,
)
