"""Money is kept in cents; people read it in words they know."""

from django import template

register = template.Library()


@register.filter
def money(cents: int | None) -> str:
    """40 as “40 cents”, 1240 as “$12.40”, nothing as nothing."""
    if cents is None:
        return ""
    if 0 <= cents < 100:
        return "1 cent" if cents == 1 else f"{cents} cents"
    sign = "−" if cents < 0 else ""
    return f"{sign}${abs(cents) // 100:,}.{abs(cents) % 100:02d}"
