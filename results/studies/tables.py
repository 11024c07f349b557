"""Figures of stored results as cells of tables."""

from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import Any

from projects.tables.stored_values import read_number, read_value
from projects.tables.tables import (
    Column,
    ColumnKind,
    Estimate,
    Missing,
    Table,
    Value,
    Wording,
    word_for_page,
)

__all__ = [
    "CEILING",
    "ONE_PERSON",
    "SHARE",
    "Column",
    "ColumnKind",
    "Estimate",
    "Missing",
    "Table",
    "Value",
    "Wording",
    "add_ceiling",
    "divide_by_ceiling",
    "name_falling",
    "read_ceiling",
    "read_number",
    "read_one_person",
    "read_value",
    "word_for_page",
]


ONE_PERSON = "Single annotator vs. rest"
CEILING = "Ceiling (for Pearson only)"
SHARE = Column("share", "Pearson / ceiling", "number")


def read_one_person(stored: Mapping[str, Any]) -> Value:
    """Return the stored correlation of one judgment with the others as a cell."""
    if "reason" in stored:
        return read_value(stored)
    return Estimate(stored["r"], stored["low"], stored["high"])


def read_ceiling(stored: Mapping[str, Any]) -> Value:
    """Return the stored ceiling of gold scores as a cell."""
    if "reason" in stored:
        return read_value(stored)
    ends = stored["interval"]
    return read_value({"value": stored["ceiling"], "low": ends.get("low"), "high": ends.get("high")})


def divide_by_ceiling(value: Value, ceiling: Value) -> Value:
    """Return a correlation as a share of the ceiling, or why there is none.

    It is not cut at 1: by chance, a good metric may lie above the ceiling.
    """
    if isinstance(value, Estimate) and isinstance(ceiling, Estimate):
        return value.value / ceiling.value
    return value if isinstance(value, Missing) else Missing("no ceiling")


def add_ceiling(table: Table, reliability: Mapping[str, Any] | None) -> Table:
    """Return a table of metrics with the ceiling in its foot and each metric's share of it in a last column.

    Its second column has the correlations. A result that was stored without the ceiling leaves the table as it is.
    """
    if reliability is None:
        return table
    ceiling, blank = read_ceiling(reliability), [None] * (len(table.columns) - 2)
    return replace(
        table,
        columns=[*table.columns, SHARE],
        rows=[[*row, divide_by_ceiling(row[1], ceiling)] for row in table.rows],
        # One person is compared with fewer judgments than the ceiling is about.
        foot=[*([*row, None] for row in table.foot), [CEILING, ceiling, *blank, None]],
    )


def name_falling(correlations: Iterable[tuple[str, Any]]) -> list[str]:
    """Return the sentence about the metrics whose correlation with people is significantly negative, if there are any.

    `correlations` gives each metric's label and its stored correlation; the interval of such a one lies below 0.
    """
    read = ((label, read_value(stored)) for label, stored in correlations)
    found = [
        label for label, value in read if isinstance(value, Estimate) and value.high is not None and value.high < 0
    ]
    if not found:
        return []
    advice = (
        "If lower is better for this metric, negate its scores."
        if len(found) == 1
        else "Negate the scores of each for which lower is better."
    )
    return [f"{', '.join(found)}: scores fall as human scores rise. {advice}"]
