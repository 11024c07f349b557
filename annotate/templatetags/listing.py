"""Column headings that sort a list by its address."""

from typing import Any

from django import template
from django.utils.html import format_html
from django.utils.safestring import SafeString

from projects.templatetags.parts import hint as draw_hint

register = template.Library()


@register.simple_tag(takes_context=True)
def column(context: dict[str, Any], key: str, label: str, kind: str = "", hint: str = "", says: str = "") -> SafeString:
    """Return a column heading whose link sorts by this column, or reverses the order if the list is sorted by it.

    A “?” beside it explains the column by an entry of the glossary or by the given sentence.
    """
    query = context["request"].GET.copy()
    query.pop("page", None)
    current = context["sort"]
    query["sort"] = f"-{key}" if current == key else key
    direction = {key: "ascending", f"-{key}": "descending"}.get(current)
    return format_html(
        '<th scope="col"{}{}><a href="?{}">{}</a>{}</th>',
        format_html(' class="{}"', kind) if kind else "",
        format_html(' aria-sort="{}"', direction) if direction else "",
        query.urlencode(),
        label,
        draw_hint(context, hint or label, says) if hint or says else "",
    )
