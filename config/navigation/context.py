"""The template context with which every page of a project draws its navigation."""

from typing import Any

from django.http import HttpRequest
from django.utils.functional import SimpleLazyObject

from config.navigation.entries import Navigation


def navigation(request: HttpRequest) -> dict[str, Any]:
    """Return the project and the membership of the request, and their navigation; nothing outside a project."""
    project = getattr(request, "project", None)
    membership = getattr(request, "membership", None)
    if project is None or membership is None:
        return {}
    match = request.resolver_match
    name = match.view_name if match is not None else ""
    # Lazy, because many answers (fragments, files, JSON) draw no navigation and need no counts.
    return {
        "project": project,
        "membership": membership,
        "navigation": SimpleLazyObject(lambda: Navigation(project, membership, name)),
    }
