"""Filters that format numbers, money, durations and times in the language of the page; None becomes a dash."""

from collections.abc import Callable
from datetime import date, datetime
from typing import Any

from django import template

from projects.language import amounts

register = template.Library()


@register.filter
def number(value: float | None) -> str:
    return _format(amounts.format_number, value)


@register.filter
def rating(value: float | None) -> str:
    """Return a value on the scale with two decimals at most, rounded as in tables: 5, 59.4 or 77.12."""
    if value is None:
        return "–"
    text = amounts.format_score(value, 2)
    return text.rstrip("0").rstrip(".") if "." in text and "e" not in text else text


@register.filter
def score(value: float | None) -> str:
    """Return a score with two decimals, rounded as in tables, and a real minus sign."""
    return "–" if value is None else amounts.format_score(value, 2)


@register.filter
def times(n: int, factor: int) -> int:
    """Return a product, such as that of judgments with the number of criteria."""
    return n * factor


@register.filter
def money(cents: int | None) -> str:
    return _format(amounts.format_money, cents)


@register.filter
def units(cents: int | None, currency: str) -> str:
    """Return an amount in the currency of a platform’s account, such as 12.50 GBP."""
    return "–" if cents is None else amounts.format_units(cents, currency)


@register.filter
def hours(value: float | None) -> str:
    return _format(amounts.format_hours, value)


@register.filter
def percent(share: float | None) -> str:
    return _format(amounts.format_percent, share)


@register.filter
def set_percent(share: float | None) -> str:
    """Return a share that somebody set with its decimals, such as 12.5 %; `percent` rounds what was counted."""
    return "–" if share is None else f"{amounts.write_percent(share)} %"


@register.filter(expects_localtime=True)
def day(at: date | None) -> str:
    return _format(amounts.format_day, at)


@register.filter(expects_localtime=True)
def moment(at: datetime | None) -> str:
    return _format(amounts.format_moment, at)


@register.filter(expects_localtime=True)
def near_moment(at: datetime | None) -> str:
    return _format(amounts.format_near_moment, at)


def _format(formatter: Callable[[Any], str], value: Any) -> str:
    return "–" if value is None else formatter(value)
