"""Parts of lists that read their state from the address: sortable column headings, filters."""

from collections.abc import Iterable, Mapping
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
    # A new order starts on its first page.
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
        format_html(" {}", draw_hint(context, hint or label, says)) if hint or says else "",
    )


@register.inclusion_tag("_filter_search.html")
def filter_search(label: str, name: str, value: str) -> dict[str, str]:
    """Draw the search field of a list."""
    return {"label": label, "name": name, "value": value}


@register.inclusion_tag("_filter_select.html")
def filter_select(
    label: str, name: str, choices: Mapping[str, str] | Iterable[Any], chosen: object, empty: str = ""
) -> dict[str, Any]:
    """Draw one choice among the filters of a list; `empty` is the label of no choice, if there is one.

    Choices are pairs of a value and its label, or texts that are both.
    """
    pairs = choices.items() if isinstance(choices, Mapping) else choices
    options = [each if isinstance(each, tuple) else (each, each) for each in pairs]
    return {
        "label": label,
        "name": name,
        "empty": empty,
        "options": [(value, text, str(value) == str(chosen)) for value, text in options],
    }
