"""Figures of stored results as cells: what is undefined is an object with its reason."""

from collections.abc import Mapping
from typing import Any

from projects.tables.tables import Estimate, Missing, Value


def read_number(stored: Any) -> Value:
    """Return a stored number without an interval, or the reason why it is undefined."""
    if isinstance(stored, Mapping):
        return Missing(stored["reason"])
    value: float | None = stored
    return value


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
