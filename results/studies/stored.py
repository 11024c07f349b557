"""Figures as a stored result holds them."""

from dataclasses import asdict
from typing import Any

from measures.outcome import Undefined


def stored(found: Any) -> dict[str, Any]:
    """A dataclass of the measures by its fields; what is undefined is its reason alone."""
    return {"reason": found.reason} if isinstance(found, Undefined) else asdict(found)
