"""Tables of the page of gold scores: how methods of aggregation agree, and how scores are distributed."""

from collections.abc import Mapping
from typing import Any

from django.utils.text import capfirst

from measures.gold_rules import GoldRule
from projects.tables.stored_values import read_number
from projects.tables.tables import Column, Missing, Table, Value
from results.scores.charts import choose_rule

Figures = Mapping[str, Any]
RULES = {
    GoldRule.MEAN: "mean of the judgments",
    GoldRule.MEDIAN: "median of the judgments",
    GoldRule.Z: "mean of z scores",
}


def tabulate_golds(figures: Figures, *, criterion: str, rule: GoldRule, by: str) -> list[Table]:
    """Return the rank correlations of the methods, and the distribution of the scores by one of them."""
    basis = f"criterion: {criterion.rstrip('. ')}; n = {figures['n_candidates']:,} candidates"
    tables = [_tabulate_methods(figures, basis)]
    if categories := figures.get("categories"):
        tables.append(_tabulate_categories(categories, criterion, by=by))
    shown = choose_rule(figures, rule)
    if not shown["undefined"]:
        tables.append(_tabulate_distribution(shown, basis, rule=rule, by=by))
    return tables


def _tabulate_methods(figures: Figures, basis: str) -> Table:
    columns = [
        Column("methods", "Methods"),
        Column("n", "Candidates", "count"),
        Column("spearman", "Spearman's rho", "number", 4, hint="spearman"),
        Column("kendall", "Kendall's tau-b", "number", 4, hint="kendall"),
    ]
    rows: list[list[Value]] = [
        [f"{pair['first']} · {pair['second']}", pair["n"], read_number(pair["spearman"]), read_number(pair["kendall"])]
        for pair in figures["correlations"]
    ]
    caption = f"Rank correlation of methods to aggregate the judgments of a candidate ({basis}; no intervals)."
    return Table("methods", "Rank correlation of aggregation methods", columns, rows, caption)


def _tabulate_categories(categories: Figures, criterion: str, *, by: str) -> Table:
    columns = [
        Column("part", capfirst(by)),
        Column("n", "Ratings", "count"),
        *(Column(f"category-{place}", name, "count") for place, name in enumerate(categories["names"])),
    ]
    rows: list[list[Value]] = [
        [name or "unspecified", sum(counts), *counts] for name, counts in categories["parts"][by]
    ]
    whole = categories["whole"]
    caption = f"Ratings by category and {by} (criterion: {criterion.rstrip('. ')}; n = {sum(whole):,} ratings)."
    foot: list[list[Value]] = [["All", sum(whole), *whole]]
    return Table("categories", "Ratings by category", columns, rows, caption, foot=foot, label="ratings-by-category")


def _tabulate_distribution(shown: Figures, basis: str, *, rule: GoldRule, by: str) -> Table:
    columns = [
        Column("part", capfirst(by)),
        Column("n", "Candidates", "count"),
        Column("mean", "Mean", "number", 2),
        Column("sd", "Std. dev.", "number", 2, hint="sd-scores"),
        *(Column(f"bin-{place}", name, "count") for place, name in enumerate(shown["bins"])),
    ]
    caption = (
        f"Candidates by human score and {by} ({basis}; gold score: {RULES[rule]}; standard deviations with n − 1)."
    )
    return Table(
        "distribution",
        "Candidates by human score",
        columns,
        [_make_row(part, part["name"] or "unspecified") for part in shown["parts"][by]],
        caption,
        foot=[_make_row(shown["whole"], "All")],
        label="score-distribution",
    )


def _make_row(part: Figures, name: str) -> list[Value]:
    sd = Missing("one candidate") if part["sd"] is None else part["sd"]
    return [name, part["n"], part["mean"], sd, *part["counts"]]
