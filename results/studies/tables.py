"""Figures of stored results as cells of tables."""

from collections.abc import Mapping
from typing import Any

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
    "divide_by_ceiling",
    "read_ceiling",
    "read_number",
    "read_one_person",
    "read_value",
    "word_for_page",
]


def read_value(stored: Any) -> Value:
    """Return a figure of a stored result: an object with a reason is undefined, one with a value an estimate."""
    if isinstance(stored, Mapping):
        # A stored interval may lie around an undefined value, hence both tests.
        if "reason" in stored:
            return Missing(stored["reason"])
        if isinstance(stored["value"], Mapping):
            return Missing(stored["value"]["reason"])
        reason = stored.get("undefined_interval", "")
        note = f"no interval: {reason}" if reason else ""
        return Estimate(stored["value"], stored.get("low"), stored.get("high"), note)
    value: Value = stored
    return value


def read_number(stored: Any) -> Value:
    """Return a stored number without an interval, or the reason why it is undefined."""
    if isinstance(stored, Mapping):
        return Missing(stored["reason"])
    value: float | None = stored
    return value


ONE_PERSON = "One person against the others"
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


def divide_by_ceiling(value: Value, ceiling: Value) -> float | None:
    """Return a correlation as a share of the ceiling; None where either is undefined.

    It is not cut at 1: by chance, a good metric may lie above the ceiling.
    """
    if isinstance(value, Estimate) and isinstance(ceiling, Estimate):
        return value.value / ceiling.value
    return None
