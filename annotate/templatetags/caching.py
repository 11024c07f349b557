"""Parts of the rating page that are the same on every page, rendered once for each language."""

from functools import lru_cache

from django import template
from django.template.loader import render_to_string
from django.utils.safestring import SafeString
from django.utils.translation import get_language

register = template.Library()


@register.simple_tag
def include_cached(name: str) -> SafeString:
    """Return a template that needs no context, rendered once for each language and kept."""
    return _render(name, get_language())


@lru_cache(maxsize=64)
def _render(name: str, language: str | None) -> SafeString:
    return render_to_string(name)
