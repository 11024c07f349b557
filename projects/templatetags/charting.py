"""Charts in pages."""

from django import template
from django.utils.safestring import SafeString

from projects.charts.drawing import Chart, draw

register = template.Library()


@register.filter
def chart_svg(chart: Chart) -> SafeString:
    """Return the chart as SVG in the colours of the page."""
    return draw(chart)
