"""Tables and charts of a comparison of metrics."""

from collections.abc import Iterator, Mapping

from results.studies.charts import draw_metrics
from results.studies.kinds.ceiling_notes import explain_ceiling
from results.studies.kinds.kind import About, Figures, Section
from results.studies.kinds.permutations import PERMUTATION, explain_permutations, make_boot_section, read_permuted
from results.studies.kinds.significance_notes import explain_correction, note_correction, warn_of_few_resamples
from results.studies.tables import (
    Column,
    Estimate,
    Missing,
    Table,
    Value,
    Wording,
    add_ceiling,
    name_falling,
    read_one_person,
    read_value,
)

MATRICES = {
    "permutation-holm": "Permutation, Holm",
    "permutation": "Permutation",
    "bootstrap-holm": "Paired bootstrap, Holm",
    "bootstrap": "Paired bootstrap",
    "williams-holm": "Williams, Holm",
    "williams": "Williams",
}

NAMES_OF_P = ("p (bootstrap)", "p (bootstrap, Holm)", "p (Williams)", "p (Williams, Holm)")
EARLIER_NAMES_OF_P = ("p, bootstrap", "with Holm", "p, Williams", "with Holm")
"""The headings in files of evaluations that an earlier version computed, where two columns had one name."""


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
    title = "Pearson's r of each metric with human scores"
    caption = about.captioned("Pearson's correlation of each metric with human scores", about.resampling, *about.drawn)
    return Section(
        "metrics",
        "The metrics",
        add_ceiling(Table("metrics", title, columns, rows, caption, foot=foot), about.reliability),
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
                notes=note_correction(about.figures),
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
    figures, is_permuted = about.figures, PERMUTATION in about.figures
    ranks = {subject: rank for rank, subject in enumerate(_sort_metrics(about))}
    better = [pair for pair in figures["pairs"] if ranks[pair["first"]] < ranks[pair["second"]]]
    better.sort(key=lambda pair: (ranks[pair["first"]], ranks[pair["second"]]))
    rows = [
        [
            *_read_pair(about, pair),
            *(
                read_permuted(figures, pair["first"], pair["second"], is_corrected=is_corrected)
                for is_corrected in ((False, True) if is_permuted else ())
            ),
        ]
        for pair in better
    ]
    title = "Each pair of metrics, the higher correlation first"
    columns, words = _list_pair_columns(about, is_permuted=is_permuted), about.captioned(title, about.bootstrap)
    return Section(
        "pairs",
        "Each pair",
        Table("pairs", title, columns, rows, words, n_keys=2, notes=note_correction(figures)),
        note=" ".join([*warn_of_few_resamples(figures), f"p is one-sided. {explain_correction(figures)}"]),
    )


def _list_pair_columns(about: About, *, is_permuted: bool) -> list[Column]:
    digits = len(str(about.figures["n_resamples"])) - 1
    bootstrap, bootstrap_holm, williams, williams_holm = NAMES_OF_P if about.wording > 5 else EARLIER_NAMES_OF_P
    columns = [
        Column("first", "Metric"),
        Column("second", Wording("against", page="vs.")),
        Column("difference", Wording("Difference of Pearson", page="Difference of Pearson's r"), "estimate"),
        Column("bootstrap", Wording(bootstrap, page="p (bootstrap)"), "p", digits),
        Column("bootstrap_holm", Wording(bootstrap_holm, page="p (Holm)"), "p", digits),
        Column("t", "Williams' t", "number", 2),
        Column("williams", Wording(williams, page="p (Williams)"), "p", 4),
        Column("williams_holm", Wording(williams_holm, page="p (Holm)"), "p", 4),
        Column("between", "Pearson of the two", "number"),
    ]
    if is_permuted:
        columns += [
            Column("permutation", "p (permutation)", "p", digits),
            Column("permutation_holm", "p (permutation, Holm)", "p", digits),
        ]
    return columns


def _read_pair(about: About, pair: Figures) -> list[Value]:
    return [
        about.labels[pair["first"]],
        about.labels[pair["second"]],
        _read_difference(pair["bootstrap"]),
        _read_p(pair, "bootstrap", False),
        _read_p(pair, "bootstrap", True),
        Missing(pair["williams"]["reason"]) if "reason" in pair["williams"] else pair["williams"]["t"],
        _read_p(pair, "williams", False),
        _read_p(pair, "williams", True),
        Missing(pair["between"]["reason"]) if isinstance(pair["between"], Mapping) else pair["between"],
    ]


def _explain_p(about: About, *, is_corrected: bool) -> str:
    better = "the metric in the row correlates better with human scores than the one in the column."
    # Evaluations from before pairs were counted once have one-sided corrected p-values.
    if is_corrected and "n_pairs" in about.figures:
        return f"Row: {better} {explain_correction(about.figures)}"
    return f"One-sided p: {better}"


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
