"""Numbers and money as people read them."""

from django import template

register = template.Library()


@register.filter
def number(value: float | None) -> str:
    """12480 as 12,480; a fraction keeps one decimal."""
    if value is None:
        return "–"
    return f"{value:,.0f}" if value == int(value) else f"{value:,.1f}"


@register.filter
def money(cents: int | None) -> str:
    """US cents as dollars: 655 as $6.55."""
    if cents is None:
        return "–"
    return f"{'-' if cents < 0 else ''}${abs(cents) / 100:,.2f}"


@register.filter
def hours(value: float | None) -> str:
    """Hours as people say them: minutes, hours or days."""
    if value is None:
        return "–"
    if value < 1:
        minutes = max(1 if value > 0 else 0, round(value * 60))
        return f"{minutes} minute{'' if minutes == 1 else 's'}"
    if value < 48:
        return f"{value:,.1f} hours"
    return f"{value / 24:,.1f} days"


@register.filter
def percent(share: float | None) -> str:
    """A share as per cent, never rounded up to 100 nor down to 0."""
    if share is None:
        return "–"
    rounded = round(share * 100)
    if rounded == 100 and share < 1:
        rounded = 99
    return "<1 %" if rounded == 0 and share > 0 else f"{rounded} %"
