"""Headers of every answer that is not a static file.

It runs only this site's scripts, nobody else keeps it, and it uses none of a device's sensors.
"""

from collections.abc import Callable
from http import HTTPStatus

from csp.utils import build_policy
from django.conf import settings
from django.http import HttpRequest, HttpResponse

UNUSED = (
    "accelerometer",
    "browsing-topics",
    "camera",
    "display-capture",
    "geolocation",
    "gyroscope",
    "magnetometer",
    "microphone",
    "midi",
    "payment",
    "serial",
    "usb",
)
DEBUG_PAGES = (HTTPStatus.NOT_FOUND, HTTPStatus.INTERNAL_SERVER_ERROR)
"""Django's own, while DEBUG is on: they have styles and scripts in them."""
PERMISSIONS_POLICY = ", ".join(f"{feature}=()" for feature in UNUSED)


class HeadersMiddleware:
    def __init__(self, get_response: Callable[[HttpRequest], HttpResponse]) -> None:
        self.get_response = get_response
        # No answer has a policy with parts of its own, so this one is put together once.
        self.policy = build_policy()

    def __call__(self, request: HttpRequest) -> HttpResponse:
        response = self.get_response(request)
        if not (settings.DEBUG and response.status_code in DEBUG_PAGES):
            response.headers.setdefault("Content-Security-Policy", self.policy)
        response.headers.setdefault("Permissions-Policy", PERMISSIONS_POLICY)
        # Whatever says nothing else is personal: on a shared computer “back” would show it after the sign-out.
        response.headers.setdefault("Cache-Control", "private, no-store")
        return response
