"""The sentences of scripts, and the languages on offer."""

from functools import lru_cache

from django import template
from django.conf import settings
from django.template.loader import render_to_string
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
def language_buttons() -> SafeString:
    """Return a button for each language on offer, by its own name; the current one is marked."""
    return _language_buttons(current_language())


@lru_cache(maxsize=16)
def _language_buttons(language: str) -> SafeString:
    return render_to_string("_language_buttons.html", {"languages": settings.LANGUAGES, "current": language})
