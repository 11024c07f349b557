"""Correlation per system: metrics and people score each system on drawn questions, and over all of its answers."""

from typing import Any

import numpy as np
from django import forms

from measures.columns import UNIT, VALUE
from measures.metrics import MeanMetric
from measures.outcome import Undefined
from measures.patterns import Floats
from measures.studies.system_draws import (
    Additive,
    DrawnCorrelation,
    SystemCorrelation,
    correlate_systems,
    draw_systems,
    find_lacking,
    take_mean,
)
from projects.jobs.running import OnProgress
from projects.models import Project
from results.metrics.registry import find_metric
from results.models import Study
from results.studies.frame import QUESTION, SOURCE, Frame, read_frame
from results.studies.joining import MetricColumn
from results.studies.kinds.kind import Figures, Kind
from results.studies.kinds.systems_tables import sections
from results.studies.settings import Settings
from results.studies.stored import Steps, stored, stored_number

N_QUESTIONS, N_DRAWS = 30, 100
MOST_POINTS = 1_000
"""So many points of draws are kept to be drawn."""
CEILING_DRAWS = 100


def fields(project: Project) -> dict[str, forms.Field]:
    return {
        "n_questions": forms.IntegerField(
            label="Questions in a draw", initial=N_QUESTIONS, min_value=1, max_value=10_000
        ),
        "n_draws": forms.IntegerField(label="Draws", initial=N_DRAWS, min_value=1, max_value=2_000),
    }


def read(project: Project, settings: Settings) -> Frame:
    return read_frame(project, settings, with_counts=True)


def compute(frame: Frame, settings: Settings, seed: int, on_progress: OnProgress) -> dict[str, Any]:
    """Each metric on drawn questions and over all answers, and one person's scores in the place of a metric."""
    steps = Steps(on_progress, 2 + CEILING_DRAWS)
    questions, systems = frame.codes(QUESTION), frame.table[SOURCE].to_numpy(str)
    metrics = {metric.subject: _additive(frame, metric) for metric in frame.metrics}
    draws: dict[str, Any] = {
        "n_questions": settings.options["n_questions"],
        "n_draws": settings.options["n_draws"],
    }
    drawn = draw_systems(questions, systems, frame.gold, metrics, rng=np.random.default_rng(seed), **draws)
    steps.take()
    whole = correlate_systems(systems, frame.gold, metrics)
    steps.take()
    return {
        "lacking": stored(find_lacking(questions, systems)),
        "draws": stored(drawn)
        if isinstance(drawn, Undefined)
        else {subject: _draws(found, seed) for subject, found in drawn.items()},
        "whole": {subject: _whole(found) for subject, found in whole.items()},
        "is_corpus": {subject: metric.combine is not take_mean for subject, metric in metrics.items()},
        "ceiling": _ceiling(frame, questions, systems, seed, draws, steps),
    }


def _additive(frame: Frame, metric: MetricColumn) -> Additive:
    """A metric over many answers: by its own statistics where its score of them is no mean, else as a mean."""
    counts = frame.counts.get(metric.subject)
    if counts is None:
        return Additive.mean_of(frame.scores(metric))
    registered = find_metric(metric.name)
    made = registered.make(**registered.chosen(metric.settings))
    if isinstance(made, MeanMetric):  # its statistics are for its notes
        return Additive.mean_of(frame.scores(metric))
    return Additive(counts=counts, combine=made.combine)


def _draws(found: DrawnCorrelation, seed: int) -> dict[str, Any]:
    """The correlation over all points, and as many points as are worth drawing."""
    systems = np.tile(np.array(found.systems, dtype=object), len(found.human))
    rows = np.arange(len(systems))
    if len(rows) > MOST_POINTS:
        rows = np.sort(np.random.default_rng(seed).choice(len(rows), MOST_POINTS, replace=False))
    return {
        "pearson": stored_number(found.pearson),
        "n": len(systems),
        "systems": list(found.systems),
        "human_mean": found.human.mean(axis=0).tolist(),
        "human_sd": _sd(found.human),
        "metric_mean": found.metric.mean(axis=0).tolist(),
        "metric_sd": _sd(found.metric),
        "points": {
            "system": systems[rows].tolist(),
            "human": found.human.ravel()[rows].tolist(),
            "metric": found.metric.ravel()[rows].tolist(),
        },
    }


def _sd(points: Floats) -> list[float | None]:
    """The deviation of each system over the draws; none of one draw."""
    return points.std(axis=0, ddof=1).tolist() if len(points) > 1 else [None] * points.shape[1]


def _whole(found: SystemCorrelation) -> dict[str, Any]:
    return {
        "systems": list(found.systems),
        "n_items": found.n_items.tolist(),
        "human": found.human.tolist(),
        "metric": found.metric.tolist(),
        **{name: stored_number(getattr(found, name)) for name in ("pearson", "spearman", "kendall")},
    }


def _ceiling(
    frame: Frame, questions: Any, systems: Any, seed: int, draws: dict[str, int], steps: Steps
) -> dict[str, Any]:
    """One judgment of each answer, drawn at random, takes the place of a metric against the mean of the others.

    Only answers with two judgments or more are in it.
    """
    people = _OneAgainstOthers(frame)
    kept = people.rows
    found: list[float] = []
    every: list[float] = []
    for draw in range(CEILING_DRAWS):
        rng = np.random.default_rng([seed, draw])
        one, others = people.draw(rng)
        metric = {"one": Additive.mean_of(one)}
        drawn = draw_systems(questions[kept], systems[kept], others, metric, rng=rng, **draws)
        if not isinstance(drawn, Undefined) and not isinstance(drawn["one"].pearson, Undefined):
            found.append(drawn["one"].pearson)
        r = correlate_systems(systems[kept], others, metric)["one"].pearson
        if not isinstance(r, Undefined):
            every.append(r)
        steps.take()
    return {"draws": _spread(found), "whole": _spread(every), "n_units": int(kept.sum())}


class _OneAgainstOthers:
    """The answers with two judgments or more, and one judgment of each against the mean of the others."""

    def __init__(self, frame: Frame) -> None:
        judgments = frame.judgments.sort_values(UNIT, kind="stable")
        units, values = judgments[UNIT].to_numpy(np.int64), judgments[VALUE].to_numpy(np.float64)
        counts = np.bincount(units, minlength=len(frame.table))
        self.rows = counts >= 2
        self._values, self._counts = values, counts[self.rows]
        self._starts = (np.cumsum(counts) - counts)[self.rows]
        self._totals = np.bincount(units, values, minlength=len(frame.table))[self.rows]

    def draw(self, rng: np.random.Generator) -> tuple[Floats, Floats]:
        if not len(self._counts):
            return np.zeros(0), np.zeros(0)
        one = self._values[self._starts + rng.integers(self._counts)]
        return one, (self._totals - one) / (self._counts - 1)


def _spread(found: list[float]) -> dict[str, Any]:
    if not found:
        return {"reason": "too few systems or questions with two judgments of each answer"}
    low, high = np.quantile(found, [0.025, 0.975])
    return {"r": float(np.mean(found)), "low": float(low), "high": float(high)}


def limits(settings: Settings, figures: Figures) -> list[str]:
    said: list[str] = [
        "Draws share questions, so their points are not independent: there is no p-value, and no interval.",
        "With few systems a correlation over systems hangs on each of them.",
        "A metric that keeps statistics, such as BLEU, is scored over the draw as a corpus; others are means.",
        "The ceiling: one judgment of each answer, drawn at random, against the mean of the others.",
    ]
    if settings.as_zero:
        said.append("A metric scored as a corpus leaves missing answers out: a zero has no statistics.")
    if settings.criterion and (lacks := figures["lacking"]["lacks"]):
        nobody = "none named"
        names = ", ".join(f"{name or nobody}: {n}" for name, n in lacks.items())
        said.append(f"Questions that a system has no answer to are in no draw: {names}.")
    return said


KIND = Kind(
    name=Study.Kind.SYSTEMS,
    title="System-level correlation",
    about="Does a metric rank systems as human judgments do?",
    compute=compute,
    sections=sections,
    limits=limits,
    fields=fields,
    read=read,
    is_resampled=False,
)
