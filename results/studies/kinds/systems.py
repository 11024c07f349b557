"""System-level correlation: metrics and people score each system on drawn questions, and over all of its candidates."""

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
    take_mean,
)
from projects.errors import Refused
from projects.jobs.running import OnProgress
from projects.models import Project
from results.metrics.registry import find_metric
from results.models import Study
from results.studies.frame import QUESTION, SOURCE, Frame, read_frame
from results.studies.joining import MetricColumn
from results.studies.kinds.kind import Figures, Kind
from results.studies.kinds.systems_tables import make_sections
from results.studies.settings import Settings
from results.studies.stored import Steps, store, store_number
from results.studies.warnings import count_lacking, warn_of_unequal_shares

# As in Yang et al. (2018).
N_QUESTIONS, N_DRAWS = 30, 100
MOST_POINTS = 1_000
"""Points of draws that are stored for the scatter plot."""
# As many as are drawn over single candidates.
ONE_PERSON_DRAWS = 100


def make_fields(project: Project) -> dict[str, forms.Field]:
    return {
        "n_questions": forms.IntegerField(
            label="Questions in a draw", initial=N_QUESTIONS, min_value=1, max_value=10_000
        ),
        "n_draws": forms.IntegerField(label="Draws", initial=N_DRAWS, min_value=1, max_value=2_000),
    }


def read(project: Project, settings: Settings) -> Frame:
    return read_frame(project, settings, with_counts=True)


def check_systems(frame: Frame, settings: Settings) -> None:
    """Refuse candidates of a single system."""
    systems = sorted(set(frame.table[SOURCE]))
    if len(systems) < 2:
        raise Refused(
            f"This evaluation compares systems, and all candidates with scores are of one: “{systems[0]}”. Import "
            "candidates of other systems with their source, filter less, or choose segment-level correlation."
        )


def compute(frame: Frame, settings: Settings, seed: int, on_progress: OnProgress) -> dict[str, Any]:
    """Return each metric's correlation over drawn questions and over all candidates, and one person's."""
    steps = Steps(on_progress, 2 + ONE_PERSON_DRAWS)
    questions, systems = frame.codes(QUESTION), frame.table[SOURCE].to_numpy(str)
    metrics = {metric.subject: _make_additive(frame, metric) for metric in frame.metrics}
    draws: dict[str, Any] = {
        "n_questions": settings.options["n_questions"],
        "n_draws": settings.options["n_draws"],
    }
    drawn = draw_systems(questions, systems, frame.gold, metrics, rng=np.random.default_rng(seed), **draws)
    steps.take()
    whole = correlate_systems(systems, frame.gold, metrics)
    steps.take()
    return {
        "lacking": count_lacking(questions, systems),
        "draws": store(drawn)
        if isinstance(drawn, Undefined)
        else {subject: _store_draws(found, seed) for subject, found in drawn.items()},
        "whole": {subject: _store_whole(found) for subject, found in whole.items()},
        "is_corpus": {subject: metric.combine is not take_mean for subject, metric in metrics.items()},
        "ceiling": _draw_one_person(frame, questions, systems, seed, draws, steps),
        "drawing": {**draws, "seed": seed},
    }


def _make_additive(frame: Frame, metric: MetricColumn) -> Additive:
    """Return a metric over many candidates: by its statistics where its corpus score is not a mean, else as a mean."""
    counts = frame.counts.get(metric.subject)
    if counts is None:
        return Additive.from_scores(frame.scores(metric))
    registered = find_metric(metric.name)
    configured = registered.make(**registered.chosen(metric.settings))
    # The statistics of a mean metric are there for its notes only.
    if isinstance(configured, MeanMetric):
        return Additive.from_scores(frame.scores(metric))
    return Additive(counts=counts, combine=configured.combine)


def _store_draws(found: DrawnCorrelation, seed: int) -> dict[str, Any]:
    """Return the correlation over all points, and a sample of the points to draw."""
    systems = np.tile(np.array(found.systems, dtype=object), len(found.human))
    rows = np.arange(len(systems))
    if len(rows) > MOST_POINTS:
        rows = np.sort(np.random.default_rng(seed).choice(len(rows), MOST_POINTS, replace=False))
    return {
        "pearson": store_number(found.pearson),
        "n": len(systems),
        "systems": list(found.systems),
        "human_mean": found.human.mean(axis=0).tolist(),
        "human_sd": _compute_sd(found.human),
        "metric_mean": found.metric.mean(axis=0).tolist(),
        "metric_sd": _compute_sd(found.metric),
        "points": {
            "system": systems[rows].tolist(),
            "human": found.human.ravel()[rows].tolist(),
            "metric": found.metric.ravel()[rows].tolist(),
        },
    }


def _compute_sd(points: Floats) -> list[float | None]:
    """Return the deviation of each system over the draws; None with a single draw."""
    return points.std(axis=0, ddof=1).tolist() if len(points) > 1 else [None] * points.shape[1]


def _store_whole(found: SystemCorrelation) -> dict[str, Any]:
    return {
        "systems": list(found.systems),
        "n_items": found.n_items.tolist(),
        "human": found.human.tolist(),
        "metric": found.metric.tolist(),
        **{name: store_number(getattr(found, name)) for name in ("pearson", "spearman", "kendall")},
    }


def _draw_one_person(
    frame: Frame, questions: Any, systems: Any, seed: int, draws: dict[str, int], steps: Steps
) -> dict[str, Any]:
    """Return one person against the others: one judgment of each candidate, drawn at random, stands for a metric.

    It is compared with the mean of the others, over candidates with two judgments or more.
    """
    judges = _OneAgainstOthers(frame)
    kept = judges.rows
    found: list[float] = []
    every: list[float] = []
    for draw in range(ONE_PERSON_DRAWS):
        # Each draw has a generator of its own, so that it depends on nothing that was drawn before.
        rng = np.random.default_rng([seed, draw])
        one, others = judges.draw(rng)
        metric = {"one": Additive.from_scores(one)}
        drawn = draw_systems(questions[kept], systems[kept], others, metric, rng=rng, **draws)
        if not isinstance(drawn, Undefined) and not isinstance(drawn["one"].pearson, Undefined):
            found.append(drawn["one"].pearson)
        r = correlate_systems(systems[kept], others, metric)["one"].pearson
        if not isinstance(r, Undefined):
            every.append(r)
        steps.take()
    return {"draws": _summarise_draws(found), "whole": _summarise_draws(every), "n_units": int(kept.sum())}


class _OneAgainstOthers:
    """Draws one judgment of each candidate that has two or more, against the mean of its others."""

    def __init__(self, frame: Frame) -> None:
        judgments = frame.values.sort_values(UNIT, kind="stable")
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


def _summarise_draws(found: list[float]) -> dict[str, Any]:
    if not found:
        return {"reason": "too few systems or questions with two judgments of each answer, or all scores are equal"}
    low, high = np.quantile(found, [0.025, 0.975])
    return {"r": float(np.mean(found)), "low": float(low), "high": float(high)}


def list_limits(settings: Settings, figures: Figures) -> list[str]:
    caveats: list[str] = [
        "Draws share questions, so their points are not independent. There is no p-value and no interval.",
        "With few systems, each of them strongly affects the correlation.",
        "Metrics with a corpus score, such as BLEU, are scored over each draw as a corpus; others are means.",
        "Single annotator vs. rest: one judgment of each candidate, drawn at random, and the mean of the rest.",
        "That is no upper bound for a metric. No ceiling is given: means of systems are more reliable than golds.",
    ]
    if settings.as_zero:
        caveats.append("Corpus scores exclude candidates without a score, as a zero has no statistics.")
    if settings.criterion and (lacks := figures["lacking"]["lacks"]):
        names = ", ".join(f"{name or 'unspecified'}: {n}" for name, n in lacks.items())
        caveats.append(f"Questions that a system has not answered are in no draw: {names}.")
    return caveats


def list_warnings(figures: Figures) -> list[str]:
    warning = warn_of_unequal_shares(figures.get("lacking"))
    return [warning] if warning else []


KIND = Kind(
    name=Study.Kind.SYSTEMS,
    title="System-level correlation",
    about="Does a metric rank systems as human judgments do?",
    compute=compute,
    compares_one_person=True,
    sections=make_sections,
    limits=list_limits,
    warnings=list_warnings,
    fields=make_fields,
    read=read,
    check=check_systems,
    has_ceiling=False,
    is_resampled=False,
)
