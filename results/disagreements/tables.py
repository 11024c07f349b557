"""Tables of disagreements: pairs of annotators, and the candidates and passages with the largest spread, for files."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from measures.annotator_pairs import QUADRATIC
from projects.language.amounts import plural
from projects.tables.stored_values import read_number
from projects.tables.tables import Column, Name, Table, Value
from results.disagreements.spread import Items, Passages

MOST_ROWS = 1_000
"""The most candidates or passages in a file; the page has them all, and the raw export every rating."""

PAIR_METHOD = "Cohen's kappa with quadratic weights, two-sided p of Pearson's r by Student's t"
PAIR_METHOD_OF_CATEGORIES = "Cohen's kappa without weights, as the points are categories without an order"
_COMMON_COLUMNS = (
    Column("first", "Annotator"),
    Column("second", "Other annotator"),
    Column("n", "Candidates", "count"),
    Column("same", "Exact agreement, in %", "number", 1, hint="exact-agreement"),
)
PAIR_COLUMNS = (
    *_COMMON_COLUMNS,
    Column("kappa", "Cohen's kappa (quadratic)", "number", 4, hint="kappa"),
    Column("pearson", "Pearson's r", "number", 4, hint="pearson"),
    Column("p", "p (Pearson)", "p", 4, hint="p-pearson"),
    Column("spearman", "Spearman's rho", "number", 4, hint="spearman"),
)
PAIR_COLUMNS_OF_CATEGORIES = (
    *_COMMON_COLUMNS,
    Column("kappa", "Cohen's kappa (unweighted)", "number", 4, hint="kappa-unweighted"),
)


_OF_NUMBERS = (
    Column("n", "Ratings", "count"),
    Column("mean", "Mean", "number", 2),
    Column("sd", "Std. dev.", "number", 2),
    Column("gap", "Maximum difference", "number", 2),
)
_OF_CATEGORIES = (
    Column("n", "Ratings", "count"),
    Column("n_categories", "Categories", "count"),
    Column("differing", "Differing pairs, in %", "number", 1),
)
_PASSAGES_OF_NUMBERS = (
    Column("mean_sd", "Mean std. dev.", "number", 2),
    Column("widest", "Maximum difference", "number", 2),
)
_PASSAGES_OF_CATEGORIES = (
    Column("mean_differing", "Mean differing pairs, in %", "number", 1),
    Column("most_categories", "Most categories", "count"),
)
_METHOD_OF_CATEGORIES = "differing pairs: the share of the pairs of ratings of a candidate that are of two categories"


def tabulate_pairs(
    pairs: Sequence[Mapping[str, Any]],
    *,
    criterion: str,
    has_order: bool = True,
    link: Callable[[str, str], str] = lambda _one, _other: "",
) -> Table:
    """Return the agreement of each pair; the first annotator links to what `link` returns for both."""
    rows: list[list[Value]] = [
        [Name(pair["first"], url=link(pair["first"], pair["second"])), *make_pair_cells(pair, has_order=has_order)[1:]]
        for pair in pairs
    ]
    columns, method = describe_pairs(has_order=has_order)
    n = plural(len(pairs), "1 pair", f"{len(pairs):,} pairs")
    caption = (
        "Agreement of each pair of annotators on the candidates that both rated "
        f"(criterion: {criterion.rstrip('. ')}; n = {n}; {method})."
    )
    return Table("pairs", "Annotator pairs", columns, rows, caption, n_keys=2)


def is_of_numbers(figures: Mapping[str, Any]) -> bool:
    """Return whether the figures of annotators take points as numbers; those of earlier versions always do."""
    return bool(figures.get("kappa", QUADRATIC) == QUADRATIC)


def describe_pairs(*, has_order: bool) -> tuple[tuple[Column, ...], str]:
    """Return the columns of a table of pairs and its method: of categories there are no correlations."""
    if has_order:
        return PAIR_COLUMNS, PAIR_METHOD
    return PAIR_COLUMNS_OF_CATEGORIES, PAIR_METHOD_OF_CATEGORIES


def make_pair_cells(pair: Mapping[str, Any], *, has_order: bool = True) -> list[Value]:
    """Return the cells of the columns that `describe_pairs` returns."""
    figures = ("kappa", "pearson", "p", "spearman") if has_order else ("kappa",)
    return [
        pair["first"],
        pair["second"],
        pair["n"],
        100 * pair["same_share"],
        *(read_number(pair[name]) for name in figures),
    ]


def tabulate_items(items: Items, *, criterion: str) -> Table:
    """Return the candidates whose ratings differ, in their order, for files; the page shows them in slices."""
    columns = [
        Column("candidate", "Candidate"),
        Column("dataset", "Dataset"),
        Column("question", "Question"),
        Column("text", "Text"),
        Column("source", "Source"),
        *(_OF_NUMBERS if items.has_order else _OF_CATEGORIES),
    ]
    found = items[:MOST_ROWS]
    rows: list[list[Value]] = []
    for item in found:
        candidate = item.candidate
        texts = [candidate.external_id, candidate.dataset.name, candidate.question.text, candidate.text]
        figures: list[Value] = (
            [item.n, item.mean, item.sd, item.gap]
            if items.has_order
            else [item.n, item.n_categories, _write_percent(item.differing)]
        )
        rows.append([*texts, candidate.source, *figures])
    method = "standard deviations with n − 1" if items.has_order else _METHOD_OF_CATEGORIES
    caption = (
        f"Candidates whose ratings differ (criterion: {criterion.rstrip('. ')}; "
        f"{_count(len(found), len(items), 'candidates')}; {method})."
    )
    return Table("items", "Candidates whose ratings differ", columns, rows, caption, label="disagreements")


def tabulate_passages(passages: Passages, *, criterion: str) -> Table:
    """Return the passages with a candidate that has two ratings, in their order, for files."""
    columns = [
        Column("passage", "Passage"),
        Column("dataset", "Dataset"),
        Column("n", "Candidates", "count"),
        *(_PASSAGES_OF_NUMBERS if passages.has_order else _PASSAGES_OF_CATEGORIES),
    ]
    found = passages[:MOST_ROWS]
    rows: list[list[Value]] = []
    for row in found:
        names = [row.passage.title or row.passage.external_id, row.passage.dataset.name]
        figures: list[Value] = (
            [row.mean_sd, row.widest]
            if passages.has_order
            else [_write_percent(row.mean_differing), row.most_categories]
        )
        rows.append([*names, row.n, *figures])
    what = "mean standard deviation" if passages.has_order else "mean share of differing pairs"
    caption = (
        f"Passages by the {what} of their candidates' ratings (criterion: {criterion.rstrip('. ')}; "
        f"{_count(len(found), len(passages), 'passages')})."
    )
    return Table("passages", "Passages by disagreement", columns, rows, caption, label="passages-by-disagreement")


def _write_percent(share: float | None) -> float | None:
    return None if share is None else 100 * share


def _count(n: int, n_all: int, noun: str) -> str:
    return f"n = {n:,} {noun}" if n == n_all else f"n = the first {n:,} of {n_all:,} {noun}"
