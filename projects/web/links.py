"""Addresses: absolute links that people share, and the path that `next` names."""

import ipaddress
from collections.abc import Callable
from functools import wraps
from http import HTTPStatus
from typing import Any
from urllib.parse import unquote, urlsplit

from django.conf import settings
from django.http import HttpRequest, HttpResponseBase, HttpResponseRedirect
from django.utils.http import url_has_allowed_host_and_scheme


def absolute_url(path: str, request: HttpRequest | None = None) -> str:
    """Return the full address of a path, from SITE_URL if it is set: a forged Host header then cannot change it."""
    if settings.SITE_URL:
        # The path of the site is in both.
        return f"{settings.SITE_URL.removesuffix(settings.SITE_PATH)}{path}"
    return request.build_absolute_uri(path) if request is not None else path


def is_loopback(host: str) -> bool:
    """Return whether a host is the computer itself, by its name or an address."""
    if host == "localhost":
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


def opens_here_only(address: str) -> bool:
    """Return whether a full address works on this computer alone, as that of a site without a public one."""
    return is_loopback(urlsplit(address).hostname or "")


def hides_address(view: Callable[..., HttpResponseBase]) -> Callable[..., HttpResponseBase]:
    """Send no path to the files that the page loads: its address is a secret, which their line in a log would have."""

    @wraps(view)
    def answer(request: HttpRequest, *args: Any, **kwargs: Any) -> HttpResponseBase:
        response = view(request, *args, **kwargs)
        # The origin is still sent, because the CSRF check compares it.
        response.headers["Referrer-Policy"] = "strict-origin"
        return response

    return answer


def safe_next(request: HttpRequest, default: str) -> str:
    """Return the path to continue with after signing in: `next` if it is a path of this site, otherwise the default."""
    target = request.POST.get("next") or request.GET.get("next") or ""
    return target if is_own_path(target) else default


def is_own_path(target: str) -> bool:
    """Return whether a path leads to this site, also after a browser or a proxy has decoded it once more."""
    if not target.startswith("/"):
        return False
    return all(
        url_has_allowed_host_and_scheme(form, allowed_hosts=None) and form.isprintable()
        for form in (target, unquote(target))  # “/%2F/other.site” becomes “///other.site”
    )


def redirect_with_get(url: str) -> HttpResponseRedirect:
    """Redirect with 303 instead of 302, after which every browser asks for the next page with GET."""
    response = HttpResponseRedirect(url)
    response.status_code = HTTPStatus.SEE_OTHER
    return response
