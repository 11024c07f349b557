"""Metric comparison: whether one metric correlates better with human scores than another, by three tests."""

from dataclasses import asdict
from typing import Any

import numpy as np
from django import forms

from measures.corrections import least_resamples
from measures.outcome import Undefined
from measures.studies.correlating import correlate_linearly
from measures.studies.significance import MetricComparison, PRule, compare_all
from projects.jobs.running import OnProgress
from projects.models import Project
from results.models import Study
from results.scope.gold_settings import MOST_RESAMPLES, RESAMPLES, SIGNIFICANCE_LEVEL
from results.studies.frame import PASSAGE, Frame
from results.studies.intervals import Intervals, make_field
from results.studies.kinds.kind import Figures, Kind, check_candidates
from results.studies.kinds.permutations import (
    PERMUTATION,
    list_permutation_limits,
    list_permutation_warnings,
    make_permutation_fields,
    permute_metrics,
)
from results.studies.kinds.significance_notes import (
    P_RULE,
    explain_correction,
    explain_p_rule,
    warn_of_few_resamples,
)
from results.studies.kinds.significance_tables import make_sections
from results.studies.settings import Settings
from results.studies.stored import Steps, store, store_correlation

P_RULES = [
    (PRule.PLUS_ONE.value, "(k + 1) / (B + 1)"),
    (PRule.YANG2018.value, "k / B, as in Yang et al. (2018)"),
]


def make_fields(project: Project) -> dict[str, forms.Field]:
    return {
        **make_field(),
        P_RULE: forms.ChoiceField(
            label="Bootstrap p",
            required=False,
            choices=P_RULES,
            initial=PRule.PLUS_ONE.value,
            help_text="From B resamples, in k of which the first metric is not better.",
        ),
        **make_permutation_fields(),
    }


def choose_resamples(n_metrics: int) -> int:
    """Return the default number of resamples: enough for Holm's correction to reach .05, and at least 1,000."""
    # Each of the pairs is tested in both directions.
    return min(MOST_RESAMPLES, max(RESAMPLES, least_resamples(n_metrics * (n_metrics - 1), alpha=SIGNIFICANCE_LEVEL)))


def compute(frame: Frame, settings: Settings, seed: int, on_progress: OnProgress) -> dict[str, Any]:
    """Return each metric with its interval, and every metric against every other under the same resamples."""
    steps, intervals = Steps(on_progress, 3), Intervals.choose(frame, settings)
    chosen: dict[str, Any] = {"groups": frame.codes(PASSAGE), "by_group": intervals.by_group}
    scores = {metric.subject: frame.scores(metric) for metric in frame.metrics}
    found = correlate_linearly(frame.gold, scores, **chosen)
    steps.take()
    # One call for all pairs: a resample is drawn once and every metric correlated in it.
    p_rule = PRule(settings.options.get(P_RULE) or PRule.PLUS_ONE)
    chosen |= {"n_resamples": settings.n_resamples, "p_rule": p_rule}
    pairs = compare_all(frame.gold, scores, rng=np.random.default_rng(seed), **chosen)
    steps.take()
    permuted = permute_metrics(frame, settings, seed)
    steps.take()
    return {
        "intervals": intervals.store(),
        "metrics": {subject: store_correlation(each) for subject, each in found.items()},
        "pairs": [_as_dict(pair) for pair in pairs],
        "n_resamples": settings.n_resamples,
        **({PERMUTATION: permuted} if permuted else {}),
        P_RULE: p_rule.value,
        # Defined tests of unordered pairs, over which Holm's correction is.
        "n_pairs": {
            test: sum(getattr(pair, f"{test}_holm") is not None for pair in pairs) // 2
            for test in ("bootstrap", "williams")
        },
    }


def _as_dict(pair: MetricComparison) -> dict[str, Any]:
    between = pair.r_between
    return {
        "first": pair.first,
        "second": pair.second,
        "between": asdict(between) if isinstance(between, Undefined) else between,
        "bootstrap": store(pair.bootstrap),
        "bootstrap_holm": pair.bootstrap_holm,
        "williams": store(pair.williams),
        "williams_holm": pair.williams_holm,
    }


def list_limits(settings: Settings, figures: Figures) -> list[str]:
    return [
        *warn_of_few_resamples(figures),
        "Tests are one-sided. In the bootstrap, a resample in which both are equal counts for neither.",
        (
            f"{explain_correction(figures)} No metric was expected beforehand to be better, so a pair is one test: "
            "twice the smaller of its one-sided p-values."
            if "n_pairs" in figures
            else "Holm's correction counts every ordered pair, as no metric was expected beforehand to be better."
        ),
        explain_p_rule(figures),
        "Williams' test assumes independent candidates. Candidates of one passage are not.",
        *list_permutation_limits(figures),
    ]


KIND = Kind(
    name=Study.Kind.SIGNIFICANCE,
    title="Metric comparison (significance)",
    about=(
        "Does one metric correlate better with human judgments than another, or could the difference be due to chance?"
    ),
    compute=compute,
    compares_one_person=True,
    sections=make_sections,
    limits=list_limits,
    warnings=list_permutation_warnings,
    fields=make_fields,
    check=check_candidates,
    has_intervals=True,
    resampled_for=(
        f"For the tests and the differences. Default: {RESAMPLES:,}, or more where Holm's correction needs more."
    ),
    choose_resamples=choose_resamples,
    least_metrics=2,
)
