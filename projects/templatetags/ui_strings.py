"""The sentences of scripts, the top of every page, and the languages on offer."""

from functools import lru_cache
from typing import Any
from urllib.parse import quote

from django import template
from django.conf import settings
from django.template.loader import render_to_string
from django.urls import reverse
from django.utils.html import json_script
from django.utils.safestring import SafeString

from projects.language import ui_strings
from projects.language.languages import current_language
from projects.models import Membership, Project
from projects.web.cached_templates import include_cached

register = template.Library()


@register.simple_tag
def site_strings() -> SafeString:
    """Return the sentences of the scripts of every page as JSON, in the language of the page."""
    return _site_strings(current_language())


# The sentences change with the language only, and every page has them.
@lru_cache(maxsize=16)
def _site_strings(language: str) -> SafeString:
    return json_script(ui_strings.site_strings(), "site-words")


@register.simple_tag(takes_context=True)
def site_header(context: dict[str, Any]) -> SafeString:
    """Return the top of a page: the names of the site, of its project and of who is signed in, with their menus."""
    request, user, project = context.get("request"), context.get("user"), context.get("project")
    username = user.get_username() if user else ""
    offers_languages = getattr(request, "offers_languages", False)
    return include_cached(
        "_header.html",
        project_name=project.name if project else "",
        project_url=_find_home(project, context.get("membership")) if project else "",
        help_url=context["help_url"]() if "help_url" in context else "",
        username=username,
        is_staff=bool(user and user.is_staff),
        offers_languages=offers_languages,
        return_to=_find_way_back(context) if offers_languages else "",
        # Asked for only where there is a form: whoever asks for a token gets a cookie.
        csrf_token=str(context.get("csrf_token", "")) if username or offers_languages else "",
    )


def _find_home(project: Project, membership: Membership | None) -> str:
    """Return the address of the project's first page for this member; somebody removed has their history alone."""
    if membership is not None and membership.standing == Membership.Standing.REMOVED:
        return reverse("annotate:history", args=[project.slug])
    if membership is not None and membership.can_read:
        return project.get_absolute_url()
    return reverse("annotate:project-desk", args=[project.slug])


def _find_way_back(context: dict[str, Any]) -> str:
    """Return the address of a page for coming back to it in another language; nothing where a form was sent."""
    request, after = context["request"], context.get("next")
    if request.method != "GET":
        return ""
    return f"{request.path}?next={quote(after)}" if after else str(request.path)


@register.simple_tag
def language_buttons() -> SafeString:
    """Return a button for each language on offer, by its own name; the current one is marked."""
    return _language_buttons(current_language())


@lru_cache(maxsize=16)
def _language_buttons(language: str) -> SafeString:
    return render_to_string("_language_buttons.html", {"languages": settings.LANGUAGES, "current": language})
