"""Reading an answer out of a draft by a key that only the loop knows."""

from collections.abc import Mapping
from typing import Any

from django import template

register = template.Library()


@register.filter
def of(answers: Mapping[Any, Any] | None, key: Any) -> Any:
    """The answer under this key as a number where it is one, else as it is; an empty text when there is none."""
    value = answers.get(key, "") if answers else ""
    if isinstance(value, bool) or value is None or value == "":
        return ""
    try:
        number = float(value)
    except (TypeError, ValueError):
        return value
    return int(number) if number.is_integer() else number
