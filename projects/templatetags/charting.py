"""Charts in pages."""

from django import template
from django.utils.safestring import SafeString

from projects.charts.drawing import Chart, draw, draw_for_phone, list_texts
from projects.charts.fonts import find_undrawable

register = template.Library()


@register.filter
def chart_svg(chart: Chart) -> SafeString:
    """Return the chart as SVG in the colours of the page."""
    return draw(chart)


@register.filter
def phone_chart_svg(chart: Chart) -> SafeString:
    """Return the same for phones; nothing where the chart has one width."""
    return draw_for_phone(chart)


@register.filter
def undrawable_scripts(chart: Chart) -> list[str]:
    """Return the scripts in the chart that files of it show as boxes."""
    return find_undrawable(list_texts(chart))
