"""Pairwise accuracy: how often a metric orders two answers to a question as people do, ties included."""

from statistics import median
from typing import Any

import numpy as np
from django import forms

from measures.outcome import Undefined
from measures.studies.pairwise import AnswerPairs, PairwiseAccuracy, Threshold
from projects.errors import Refused
from projects.jobs.running import OnProgress
from projects.models import Project
from results.models import Study
from results.studies.charts import draw_estimates
from results.studies.frame import PASSAGE, QUESTION, Frame
from results.studies.intervals import Intervals, name_wilson
from results.studies.kinds.kind import About, Figures, Kind, Section, format_least
from results.studies.kinds.within_groups import sort_by
from results.studies.settings import Settings
from results.studies.stored import Steps, store, store_number
from results.studies.tables import Column, Missing, Table, Value, read_value

EPSILON = "epsilon"
GIVEN, CALIBRATED, CROSS_FIT = (each.value for each in (Threshold.NUMBER, Threshold.CALIBRATED, Threshold.CROSS_FIT))


def make_fields(project: Project) -> dict[str, forms.Field]:
    return {
        EPSILON: forms.FloatField(
            label="Epsilon",
            initial=0,
            min_value=0,
            required=False,
            help_text="Differences of a metric up to this number are ties. Calibrated ones are shown beside it.",
        )
    }


def check_pairs(frame: Frame, settings: Settings) -> None:
    """Refuse candidates without two answers to one question."""
    if frame.table[QUESTION].nunique() == len(frame.table):
        raise Refused(
            "Pairs of answers to the same question are compared, and no question has two answers with scores. Import "
            "answers of more systems, or filter less."
        )


def compute(frame: Frame, settings: Settings, seed: int, on_progress: OnProgress) -> dict[str, Any]:
    """Return each metric's accuracy at the given threshold, at the best one, and with folds."""
    steps = Steps(on_progress, 1 + len(frame.metrics))
    pairs = AnswerPairs(frame.gold, frame.codes(QUESTION), units=frame.codes(PASSAGE))
    floors = pairs.floors
    steps.take()
    epsilon = float(settings.options.get(EPSILON) or 0.0)
    found = {}
    for metric in frame.metrics:
        found[metric.subject] = {
            threshold: _as_dict(
                pairs.measure(
                    frame.scores(metric),
                    threshold=threshold,
                    epsilon=epsilon,
                    # Every metric has the same folds.
                    rng=np.random.default_rng(seed),
                )
            )
            for threshold in (GIVEN, CALIBRATED, CROSS_FIT)
        }
        steps.take()
    return {
        # Passages without a question with two answers are in no pair, and so in no interval.
        "intervals": Intervals.choose(frame, settings).store_passages(pairs.n_units, pairs.n_effective),
        "metrics": found,
        "floors": store_number(floors) if isinstance(floors, Undefined) else list(floors),
        EPSILON: epsilon,
        "n_pairs": pairs.n,
        "n_questions": pairs.n_questions,
    }


def _as_dict(found: PairwiseAccuracy | Undefined) -> dict[str, Any]:
    if isinstance(found, Undefined):
        return store(found)
    stored = store(found)
    return {
        "value": stored.pop("accuracy"),
        "undefined_interval": stored.pop("why_no_interval"),
        **stored,
        "epsilons": list(found.epsilons),
    }


def make_sections(about: About) -> list[Section]:
    figures = about.figures
    order = sort_by(about, lambda subject: figures["metrics"][subject][CROSS_FIT])
    columns = [
        Column("metric", "Metric"),
        Column("cross_fit", "Accuracy, cross-fit", "estimate"),
        Column("cross_fit_epsilon", "Epsilon, median", "number"),
        Column("calibrated", "Accuracy, calibrated", "estimate"),
        Column("epsilon", "Epsilon", "number"),
        Column("tie_share", "Tied", "number"),
        Column("given", f"Accuracy at epsilon {figures[EPSILON]:g}", "estimate"),
    ]
    rows: list[list[Value]] = []
    for subject in order:
        each = figures["metrics"][subject]
        rows.append(
            [
                about.labels[subject],
                read_value(each[CROSS_FIT]),
                _read(each[CROSS_FIT], lambda found: median(found["epsilons"])),
                read_value(each[CALIBRATED]),
                _read(each[CALIBRATED], lambda found: found["epsilons"][0]),
                _read(each[CALIBRATED], lambda found: found["tie_share"]),
                read_value(each[GIVEN]),
            ]
        )
    title = "Share of pairs of answers ordered as by human scores, 0 to 1"
    drawn = [(about.labels[subject], read_value(figures["metrics"][subject][CROSS_FIT])) for subject in order]
    counted = f"{figures['n_pairs']:,} pairs of answers to {figures['n_questions']:,} questions"
    n = f"n = {counted}, {format_least(about.least_judgments, wording=about.wording, unit='answer')}"
    # Evaluations of earlier wordings have symmetric intervals.
    method = name_wilson(about.resampling) if about.wording > 4 else about.resampling
    caption = about.captioned(title, method, counted=n)
    table = Table("pairwise", title, columns, rows, caption, foot=_make_floors(figures))
    return [
        Section(
            "pairwise",
            "Pairwise accuracy",
            table,
            charts=[draw_estimates("pairwise", title, drawn, axis="accuracy, cross-fit")],
            note=(
                f"{counted}, each question with the same weight. A tie of the metric counts if the human scores tie "
                "too. 95 % CI in brackets."
            ),
        )
    ]


def _read(found: Figures, read: Any) -> Value:
    value: Value = Missing(found["reason"]) if "reason" in found else read(found)
    return value


def _make_floors(figures: Figures) -> list[list[Value]]:
    """Return what a metric reaches that knows nothing."""
    floors = figures["floors"]
    if not isinstance(floors, list):
        return []
    constant, coin = floors
    return [
        [label, floor, None, floor, None, None, floor]
        for label, floor in (("Floor: everything tied", constant), ("Floor: a coin, no ties", coin))
    ]


def list_limits(settings: Settings, figures: Figures) -> list[str]:
    return [
        "A calibrated accuracy is optimistic: its epsilon was chosen on the same pairs.",
        "Compare metrics by the cross-fit one: five folds of passages take the epsilon that is best on the others.",
        "Each metric has its own epsilon. Scores that differ by rounding errors alone are tied.",
        "Intervals keep the epsilons as they are.",
    ]


KIND = Kind(
    name=Study.Kind.PAIRWISE,
    title="Pairwise accuracy",
    about="How often does each metric put two answers to the same question in the order of human judgments?",
    compute=compute,
    sections=make_sections,
    limits=list_limits,
    fields=make_fields,
    check=check_pairs,
    has_ceiling=False,
    is_resampled=False,
    has_intervals=True,
)
