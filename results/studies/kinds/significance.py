"""Metric comparison: whether one metric correlates better with human scores than another, by three tests."""

from collections.abc import Iterator, Mapping
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
from results.scope.gold_settings import MOST_RESAMPLES, RESAMPLES
from results.studies.charts import draw_metrics
from results.studies.frame import PASSAGE, Frame
from results.studies.intervals import Intervals, make_field
from results.studies.kinds.ceiling_notes import explain_ceiling
from results.studies.kinds.kind import About, Figures, Kind, Section, check_candidates
from results.studies.kinds.permutations import (
    PERMUTATION,
    explain_permutations,
    list_permutation_limits,
    list_permutation_warnings,
    make_boot_section,
    make_permutation_fields,
    permute_metrics,
    read_permuted,
)
from results.studies.settings import Settings
from results.studies.stored import Steps, store, store_correlation
from results.studies.tables import (
    CEILING,
    SHARE,
    Column,
    Estimate,
    Missing,
    Table,
    Value,
    Wording,
    divide_by_ceiling,
    name_falling,
    read_ceiling,
    read_one_person,
    read_value,
)

P_RULE = "p_rule"
P_RULES = [
    (PRule.PLUS_ONE.value, "(k + 1) / (B + 1)"),
    (PRule.YANG2018.value, "k / B, as in Yang et al. (2018)"),
]
ALPHA = 0.05
MATRICES = {
    "permutation-holm": "Permutation, Holm",
    "permutation": "Permutation",
    "bootstrap-holm": "Paired bootstrap, Holm",
    "bootstrap": "Paired bootstrap",
    "williams-holm": "Williams, Holm",
    "williams": "Williams",
}


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
    return min(MOST_RESAMPLES, max(RESAMPLES, least_resamples(n_metrics * (n_metrics - 1), alpha=ALPHA)))


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


def make_sections(about: About) -> list[Section]:
    return [_make_metrics(about), *_make_matrices(about), _make_pairs(about), *make_boot_section(about)]


def _make_metrics(about: About) -> Section:
    columns = [Column("metric", "Metric"), Column("pearson", "Pearson", "estimate")]
    order = _sort_metrics(about)
    found: list[tuple[str, Value]] = [
        (about.labels[subject], read_value(about.figures["metrics"][subject])) for subject in order
    ]
    rows: list[list[Value]] = [[label, value] for label, value in found]
    foot: list[list[Value]] = [[about.one_person, read_one_person(about.one_against_others)]]
    if about.reliability is not None:
        ceiling = read_ceiling(about.reliability)
        columns.append(SHARE)
        rows = [[*row, divide_by_ceiling(row[1], ceiling)] for row in rows]
        foot = [[*foot[0], None], [CEILING, ceiling, None]]
    title, caption = (
        "Pearson's r of each metric with human scores",
        "Pearson's correlation of each metric with human scores",
    )
    return Section(
        "metrics",
        "The metrics",
        Table("metrics", title, columns, rows, about.captioned(caption, about.resampling, *about.drawn), foot=foot),
        charts=[draw_metrics("metrics", title, found, about.one_against_others, about.reliability, axis="Pearson's r")],
        note=" ".join(
            [
                *name_falling((about.labels[subject], about.figures["metrics"][subject]) for subject in order),
                *explain_ceiling(about),
            ]
        ),
    )


def _make_matrices(about: About) -> Iterator[Section]:
    order = _sort_metrics(about)
    # Every ordered pair was tested, so each cell off the diagonal has its own p.
    by_pair = {(pair["first"], pair["second"]): pair for pair in about.figures["pairs"]}
    for name, words in MATRICES.items():
        test, _dash, is_corrected = name.partition("-")
        # Evaluations of earlier versions, and those without the test, have no permutations.
        if test == PERMUTATION and PERMUTATION not in about.figures:
            continue
        # Of 1,000 resamples a p has three digits: more would say what was not measured.
        digits = 4 if test == "williams" else len(str(about.figures["n_resamples"])) - 1
        columns = [
            Column("better", "Better ↓ than →"),
            *(Column(subject, about.labels[subject], "p", digits) for subject in order),
        ]
        rows: list[list[Value]] = [
            [
                about.labels[first],
                *(
                    read_permuted(about.figures, first, second, is_corrected=bool(is_corrected))
                    if test == PERMUTATION
                    else _read_p(by_pair.get((first, second)), test, bool(is_corrected))
                    for second in order
                ),
            ]
            for first in order
        ]
        tested = "p of one-sided tests that the metric of the row correlates better with human scores than the column's"
        yield Section(
            name,
            "Pairwise significance",
            Table(
                name,
                words,
                columns,
                rows,
                about.captioned(f"{tested}, {words}", *([] if test == PERMUTATION else [about.bootstrap])),
                notes=_note_correction(about.figures),
            ),
            note=" ".join(
                [
                    _explain_p(about, is_corrected=bool(is_corrected)),
                    *(explain_permutations(about.figures) if test == PERMUTATION else []),
                ]
            ),
            choice=words,
        )


def _read_p(pair: Figures | None, test: str, is_corrected: bool) -> Value:
    if pair is None:
        return None
    if "reason" in pair[test]:
        return Missing(pair[test]["reason"])
    value: float = pair[f"{test}_holm"] if is_corrected else pair[test]["p"]
    return value


def _make_pairs(about: About) -> Section:
    """Return each pair once, the metric with the higher correlation first."""
    digits = len(str(about.figures["n_resamples"])) - 1
    columns = [
        Column("first", "Metric"),
        Column("second", Wording("against", page="vs.")),
        Column("difference", Wording("Difference of Pearson", page="Difference of Pearson's r"), "estimate"),
        Column("bootstrap", Wording("p, bootstrap", page="p (bootstrap)"), "p", digits),
        Column("bootstrap_holm", Wording("with Holm", page="p (Holm)"), "p", digits),
        Column("t", "Williams' t", "number", 2),
        Column("williams", Wording("p, Williams", page="p (Williams)"), "p", 4),
        Column("williams_holm", Wording("with Holm", page="p (Holm)"), "p", 4),
        Column("between", "Pearson of the two", "number"),
    ]
    is_permuted = PERMUTATION in about.figures
    if is_permuted:
        columns += [
            Column("permutation", "p (permutation)", "p", digits),
            Column("permutation_holm", "p (permutation, Holm)", "p", digits),
        ]
    ranks = {subject: rank for rank, subject in enumerate(_sort_metrics(about))}
    better = [pair for pair in about.figures["pairs"] if ranks[pair["first"]] < ranks[pair["second"]]]
    better.sort(key=lambda pair: (ranks[pair["first"]], ranks[pair["second"]]))
    rows = [
        [
            about.labels[pair["first"]],
            about.labels[pair["second"]],
            _read_difference(pair["bootstrap"]),
            _read_p(pair, "bootstrap", False),
            _read_p(pair, "bootstrap", True),
            Missing(pair["williams"]["reason"]) if "reason" in pair["williams"] else pair["williams"]["t"],
            _read_p(pair, "williams", False),
            _read_p(pair, "williams", True),
            Missing(pair["between"]["reason"]) if isinstance(pair["between"], Mapping) else pair["between"],
            *(
                read_permuted(about.figures, pair["first"], pair["second"], is_corrected=is_corrected)
                for is_corrected in ((False, True) if is_permuted else ())
            ),
        ]
        for pair in better
    ]
    title = "Each pair of metrics, the higher correlation first"
    words = about.captioned(title, about.bootstrap)
    return Section(
        "pairs",
        "Each pair",
        Table("pairs", title, columns, rows, words, n_keys=2, notes=_note_correction(about.figures)),
        note=" ".join(
            [*_warn_of_few_resamples(about.figures), f"p is one-sided. {_explain_correction(about.figures)}"]
        ),
    )


def _explain_p(about: About, *, is_corrected: bool) -> str:
    better = "the metric in the row correlates better with human scores than the one in the column."
    # Evaluations from before pairs were counted once have one-sided corrected p-values.
    if is_corrected and "n_pairs" in about.figures:
        return f"Row: {better} {_explain_correction(about.figures)}"
    return f"One-sided p: {better}"


def _note_correction(figures: Figures) -> list[str]:
    """Return what files say of Holm's correction; those of an earlier evaluation say nothing of it, as before."""
    return [_explain_correction(figures)] if "n_pairs" in figures else []


def _explain_correction(figures: Figures) -> str:
    if "n_pairs" not in figures:
        return "Holm's correction counts every ordered pair."
    n = figures["n_pairs"]["bootstrap"]
    return (
        f"p (Holm) is two-sided and corrected over {n:,} unordered pair{'' if n == 1 else 's'}; it stands in the "
        "favoured direction, and the other has 1."
    )


def _read_difference(bootstrap: Figures) -> Value:
    if "reason" in bootstrap:
        return Missing(bootstrap["reason"])
    return Estimate(bootstrap["difference"], bootstrap["low"], bootstrap["high"])


def _sort_metrics(about: About) -> list[str]:
    """Return the metrics by their correlation, the highest first; undefined ones last."""

    def height(subject: str) -> float:
        value = read_value(about.figures["metrics"][subject])
        return value.value if isinstance(value, Estimate) else -2.0

    return sorted(about.labels, key=lambda subject: -height(subject))


def list_limits(settings: Settings, figures: Figures) -> list[str]:
    return [
        *_warn_of_few_resamples(figures),
        "Tests are one-sided. In the bootstrap, a resample in which both are equal counts for neither.",
        (
            f"{_explain_correction(figures)} No metric was expected beforehand to be better, so a pair is one test: "
            "twice the smaller of its one-sided p-values."
            if "n_pairs" in figures
            else "Holm's correction counts every ordered pair, as no metric was expected beforehand to be better."
        ),
        _explain_p_rule(figures),
        "Williams' test assumes independent candidates. Candidates of one passage are not.",
        *list_permutation_limits(figures),
    ]


def _warn_of_few_resamples(figures: Figures) -> list[str]:
    """Return a warning where no difference of metrics can be significant with so few resamples."""
    if figures.get(P_RULE) != PRule.PLUS_ONE:
        return []
    n_tests = 2 * figures["n_pairs"]["bootstrap"]
    defined = [
        round(figures["n_resamples"] * (1 - pair["bootstrap"]["undefined_share"]))
        for pair in figures["pairs"]
        if "reason" not in pair["bootstrap"]
    ]
    n = max(defined, default=0)
    if not n_tests or n_tests / (n + 1) < ALPHA:
        return []
    return [
        (
            f"Too few resamples: with {n:,}, the smallest p that Holm's correction gives is {n_tests / (n + 1):.4f}, "
            f"so no difference can be significant at {ALPHA:.2f} by the bootstrap. Use at least "
            f"{least_resamples(n_tests, alpha=ALPHA):,} resamples."
        )
    ]


def _explain_p_rule(figures: Figures) -> str:
    if figures.get(P_RULE) == PRule.PLUS_ONE:
        return (
            "The bootstrap's p is (k + 1) / (B + 1), where the first metric is not better in k of B defined resamples, "
            "so it is never 0."
        )
    return (
        f"The bootstrap's p is k / B. A p of 0 means that none of {figures['n_resamples']:,} resamples contradicts the "
        "difference; it is not exact."
    )


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
