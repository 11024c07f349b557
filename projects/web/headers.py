"""Headers of every answer that is not a static file: nobody else keeps it, and it uses none of a device's sensors."""

from collections.abc import Callable

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
PERMISSIONS_POLICY = ", ".join(f"{feature}=()" for feature in UNUSED)


class HeadersMiddleware:
    def __init__(self, get_response: Callable[[HttpRequest], HttpResponse]) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponse:
        response = self.get_response(request)
        response.headers.setdefault("Permissions-Policy", PERMISSIONS_POLICY)
        # Whatever says nothing else is personal: on a shared computer “back” would show it after the sign-out.
        response.headers.setdefault("Cache-Control", "private, no-store")
        return response
