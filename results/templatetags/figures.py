"""Results as people read them."""

from collections.abc import Mapping
from typing import Any

from django import template

from results.scope.excluded import WORDS

register = template.Library()


@register.filter
def why_left_out(reason: str) -> str:
    """A stored reason in words."""
    return str(WORDS.get(reason, reason))


@register.filter
def alpha(value: float | None) -> str:
    """Four digits, as agreement is published; a real minus sign."""
    return "" if value is None else f"{value:.4f}".replace("-", "−")


@register.filter
def share(value: float) -> str:
    """A share as per cent with one digit."""
    return f"{value * 100:.1f} %"


@register.filter
def signed(value: float, digits: int = 2) -> str:
    """A difference, with its sign."""
    return f"{value:+.{digits}f}".replace("-", "−")


@register.filter
def score(value: float) -> str:
    """A score with two digits and a real minus sign."""
    return f"{value:.2f}".replace("-0.00", "0.00").replace("-", "−")


@register.filter
def precise(value: float) -> str:
    """Three digits, as scores of systems are published; a real minus sign."""
    return f"{value:.3f}".replace("-0.000", "0.000").replace("-", "−")


@register.filter
def item(found: Mapping[str, Any], name: str) -> Any:
    """What stands under a name that is not known before."""
    return found[name]


@register.filter
def p_value(p: float) -> str:
    return "< 0.0001" if p < 0.0001 else f"{p:.4f}"
