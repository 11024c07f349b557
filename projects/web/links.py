"""Addresses: links that leave the site with a person, and those that come back as `next`."""

from urllib.parse import unquote

from django.conf import settings
from django.http import HttpRequest
from django.utils.http import url_has_allowed_host_and_scheme


def absolute_url(path: str, request: HttpRequest | None = None) -> str:
    """The full address of a path, from SITE_URL where that is set: then no forged Host header can bend it."""
    if settings.SITE_URL:
        return f"{settings.SITE_URL}{path}"
    return request.build_absolute_uri(path) if request is not None else path


def safe_next(request: HttpRequest, default: str) -> str:
    """Where to go on after signing in: a path of this site, or the default."""
    target = request.POST.get("next") or request.GET.get("next") or ""
    return target if is_own_path(target) else default


def is_own_path(target: str) -> bool:
    if not target.startswith("/"):
        return False
    return all(
        url_has_allowed_host_and_scheme(form, allowed_hosts=None) and form.isprintable()
        for form in (target, unquote(target))
    )
