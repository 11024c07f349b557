"""Filters that write figures of results as people read them."""

from collections.abc import Mapping
from typing import Any

from django import template
from django.utils.html import format_html
from django.utils.safestring import SafeString, mark_safe

from projects.language.amounts import format_score
from results.scope.excluded import REASON_NAMES, REASON_NOTES
from results.scope.human_sources import SAYS_SO

register = template.Library()


@register.filter
def name_reason(reason: str) -> str:
    """Return the name of a stored reason for exclusion."""
    return REASON_NAMES.get(reason, reason)


@register.filter
def explain_reason(reason: str) -> str:
    """Return what a stored reason for exclusion means; one from an import is its own explanation."""
    return REASON_NOTES.get(reason, reason)


@register.filter
def is_about_human_sources(warning: str) -> bool:
    """Return whether a stored warning is about human sources among systems: pages link to the choice beside it."""
    return warning.startswith(SAYS_SO)


@register.filter
def name_part(name: str) -> SafeString:
    """Return the name of a part of the data, such as a source; rows of a file may leave it empty."""
    return format_html("<bdi>{}</bdi>", name) if name else mark_safe('<span class="faint">unspecified</span>')


@register.filter
def name_criterion(key: str, names: Mapping[str, str]) -> str:
    """Return the name of a criterion, or its key where no batch asks it any more."""
    return names.get(key, key)


@register.filter
def decode_letters(signature: str) -> str:
    """Return a signature with the letters of all scripts as they are."""
    # Loading every metric takes a while, which other pages need not wait for.
    from measures import metrics

    return metrics.decode_letters(signature)


@register.filter
def alpha(value: float | None) -> str:
    """Return alpha with four digits, as it is published, and a real minus sign."""
    return "" if value is None else format_score(value, 4)


@register.filter
def share(value: float) -> str:
    """Return a share as per cent with one digit."""
    return f"{value * 100:.1f} %"


@register.filter
def signed(value: float, digits: int = 2) -> str:
    """Return a difference with its sign."""
    return f"{value:+.{digits}f}".replace("-", "−")


@register.filter
def precise(value: float) -> str:
    """Return a score of a system with three digits, as it is published, and a real minus sign."""
    return format_score(value, 3)


@register.filter
def item(found: Mapping[str, Any], name: str) -> Any:
    """Return the value under a key that only the template's loop knows."""
    return found[name]
