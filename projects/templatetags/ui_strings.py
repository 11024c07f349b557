"""The sentences of scripts, and the languages on offer."""

from functools import lru_cache

from django import template
from django.conf import settings
from django.utils.html import json_script
from django.utils.safestring import SafeString

from projects.language import ui_strings
from projects.language.languages import current_language

register = template.Library()


@register.simple_tag
def site_strings() -> SafeString:
    """Return the sentences of the scripts of every page as JSON, in the language of the page."""
    return _site_strings(current_language())


# The sentences change with the language only, and every page has them.
@lru_cache(maxsize=16)
def _site_strings(language: str) -> SafeString:
    return json_script(ui_strings.site_strings(), "site-words")


@register.simple_tag
def languages() -> list[tuple[str, str]]:
    """Return each language as its code and its own name for itself."""
    return list(settings.LANGUAGES)
