"""Figures as a stored result holds them."""

from dataclasses import asdict
from typing import Any

from measures.outcome import Undefined
from measures.studies.correlating import Correlation


def stored(found: Any) -> dict[str, Any]:
    """A dataclass of the measures by its fields; what is undefined is its reason alone."""
    return {"reason": found.reason} if isinstance(found, Undefined) else asdict(found)


def stored_number(value: float | Undefined) -> Any:
    return {"reason": value.reason} if isinstance(value, Undefined) else value


def stored_correlation(found: Correlation) -> dict[str, Any]:
    """A correlation with its interval, or why there is none."""
    return {
        "value": stored_number(found.value),
        "low": found.low,
        "high": found.high,
        "undefined_share": found.undefined_share,
    }
