"""Soft pairwise accuracy: whether a metric is as sure as people are of which of two systems is better."""

from collections.abc import Mapping
from typing import Any

import numpy as np
import pandas as pd
from django import forms

from measures.outcome import Undefined
from measures.patterns import Floats
from measures.studies.grids import Grid
from measures.studies.soft_pairwise import LEAST_QUESTIONS, LEAST_SYSTEMS, compare_system_pairs
from projects.errors import Refused
from projects.jobs.running import OnProgress
from projects.models import Project
from results.models import Study
from results.studies.charts import draw_estimates
from results.studies.frame import PASSAGE, QUESTION, SOURCE, Frame
from results.studies.intervals import Intervals, name_wilson
from results.studies.kinds.kind import About, Figures, Kind, Section, format_least
from results.studies.kinds.within_groups import sort_by
from results.studies.settings import Settings
from results.studies.stored import Steps, store
from results.studies.tables import Column, Missing, Table, Value, read_value

SIGNS = "signs"
BY_QUESTION, BY_PASSAGE = "question", "passage"
MOST_CELLS = 20_000_000
"""A grid of so many cells takes 160 MB for each metric."""


def make_grid(frame: Frame, *, merges: bool = True) -> Grid:
    """Return the scores as systems by questions; without merging, each answer has a cell of its own.

    Raises Refused where these are too many.
    """
    metrics = {metric.subject: frame.scores(metric) for metric in frame.metrics}
    return arrange(frame.table, frame.gold, metrics, merges=merges)


def arrange(table: pd.DataFrame, gold: Floats, metrics: Mapping[str, Floats], *, merges: bool = True) -> Grid:
    """Return the scores of the candidates of a table as a grid. Raises Refused where it would be too large."""
    _check_size(table, merges=merges)
    return Grid.of(
        gold,
        metrics,
        systems=table[SOURCE].to_numpy(str),
        questions=table[QUESTION].to_numpy(),
        units=table[PASSAGE].to_numpy(),
        merges=merges,
    )


def _check_size(table: pd.DataFrame, *, merges: bool) -> None:
    """Refuse a grid that would not fit into memory, as where each candidate has a source of its own."""
    n_systems, n_questions = table[SOURCE].nunique(), table[QUESTION].nunique()
    n_columns = n_questions
    if not merges:
        n_columns = int(table.groupby([QUESTION, SOURCE]).size().groupby(level=0).max().sum())
    if n_systems * n_columns > MOST_CELLS:
        raise Refused(
            f"Systems are compared question by question, and {n_systems:,} systems on {n_questions:,} questions are "
            "too many. Filter the sources; a metric comparison also works without its permutation test (off)."
        )


def make_fields(project: Project) -> dict[str, forms.Field]:
    choices = [(BY_QUESTION, "questions, as published"), (BY_PASSAGE, "passages, where questions share them")]
    return {SIGNS: forms.ChoiceField(label="Signs flipped by", choices=choices, initial=BY_QUESTION)}


def check_systems(frame: Frame, settings: Settings) -> None:
    """Refuse too few systems, or too few questions that all of them have."""
    grid = make_grid(frame)
    n_systems, n_questions = len(grid.systems), int(grid.complete.sum())
    if n_systems < LEAST_SYSTEMS:
        raise Refused(
            f"Pairs of systems are compared, which needs {LEAST_SYSTEMS} systems. The candidates with scores are of "
            f"{n_systems}. Import candidates of other systems with their source, or filter less."
        )
    if n_questions < LEAST_QUESTIONS:
        raise Refused(
            f"Systems are compared on questions that all of them have answered, and these are {n_questions}. Filter "
            f"sources so that at least {LEAST_QUESTIONS} questions are left."
        )


def compute(frame: Frame, settings: Settings, seed: int, on_progress: OnProgress) -> dict[str, Any]:
    """Return the soft and the plain pairwise accuracy of each metric."""
    steps = Steps(on_progress, 1)
    found = compare_system_pairs(
        make_grid(frame),
        rng=np.random.default_rng(seed),
        by_unit=settings.options.get(SIGNS) == BY_PASSAGE,
        n_patterns=settings.n_resamples,
    )
    steps.take()
    intervals = Intervals.choose(frame, settings)
    if isinstance(found, Undefined):
        nothing = {metric.subject: store(found) for metric in frame.metrics}
        return {"intervals": intervals.store(), **store(found), "metrics": nothing}
    return {
        **store(found),
        "intervals": intervals.store_passages(found.n_units, found.n_effective),
        "metrics": {subject: store(each) for subject, each in found.metrics.items()},
    }


def make_sections(about: About) -> list[Section]:
    figures = about.figures
    order = sort_by(about, lambda subject: _read_soft(figures["metrics"][subject]))
    columns = [
        Column("metric", "Metric"),
        Column("soft", "Soft pairwise accuracy", "estimate"),
        Column("plain", "Plain pairwise accuracy", "number"),
    ]
    rows: list[list[Value]] = []
    for subject in order:
        each = figures["metrics"][subject]
        plain: Value = Missing(each["reason"]) if "reason" in each else each["plain"]
        rows.append([about.labels[subject], read_value(_read_soft(each)), plain])
    title = "Agreement with human scores on pairs of systems, 0 to 1"
    # Evaluations of earlier wordings have symmetric intervals.
    method = name_wilson(about.resampling) if about.wording > 6 else about.resampling
    drawn = [(about.labels[subject], read_value(_read_soft(figures["metrics"][subject]))) for subject in order]
    return [
        Section(
            "soft",
            "Pairs of systems",
            Table("soft", title, columns, rows, about.captioned(title, method, counted=_count_pairs(about))),
            charts=[draw_estimates("soft", title, drawn, axis="soft pairwise accuracy")],
            note=_explain(figures),
        )
    ]


def _read_soft(each: Figures) -> Any:
    if "reason" in each:
        return each
    return {
        "value": each["soft"],
        "low": each["low"],
        "high": each["high"],
        "undefined_interval": each["why_no_interval"],
    }


def _count_pairs(about: About) -> str:
    if "reason" in about.figures:
        return ""
    least = format_least(about.least_judgments, wording=about.wording, unit="answer")
    return f"n = {_name_pairs(about.figures)}, {least}"


def _name_pairs(figures: Figures) -> str:
    return f"{figures['n_pairs']:,} pairs of {figures['n_systems']:,} systems on {figures['n_questions']:,} questions"


def _explain(figures: Figures) -> str:
    if "reason" in figures:
        return ""
    patterns = f"all {figures['n_patterns']:,}" if figures["is_exact"] else f"{figures['n_patterns']:,} random"
    return (
        f"{_name_pairs(figures)} that all of them have; {patterns} patterns of signs. 95 % CI in brackets, for these "
        "systems."
    )


def list_limits(settings: Settings, figures: Figures) -> list[str]:
    limits = [
        "Each pair of systems has a one-sided p from human scores and one from the metric (paired sign-flip test).",
        "The soft accuracy is 1 minus their mean difference, so pairs on which human scores are unsure matter little.",
        "In the plain accuracy a pair counts if both sides put it in the same order; a tie of one side alone is wrong.",
        "The p-values are shares of patterns, as published: they are compared, not used as tests.",
    ]
    if settings.options.get(SIGNS) != BY_PASSAGE:
        limits.append("Questions of one passage are not independent: flip the signs by passage where they share them.")
    return limits


KIND = Kind(
    name=Study.Kind.SOFT,
    title="Soft pairwise accuracy",
    about="Is each metric as sure as human judgments are of which of two systems is better?",
    compute=compute,
    sections=make_sections,
    limits=list_limits,
    fields=make_fields,
    check=check_systems,
    has_ceiling=False,
    has_intervals=True,
    resampled_for="For the patterns of signs, where there are more than 12 questions.",
    has_resamples=lambda figures: not figures.get("is_exact"),
)
