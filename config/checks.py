"""Checks of insecure settings; each of them stops the site from starting."""

from typing import Any

from django.conf import settings
from django.core.checks import CheckMessage, Error, Tags, register

LOCAL_HOSTS = {"localhost", "127.0.0.1", "[::1]", "testserver"}
LEAST_KEY_LENGTH = 40  # Django generates 50 characters, and warns of shorter ones


@register(Tags.security)
def check_settings(**_: Any) -> list[CheckMessage]:
    """Return an error for each insecure setting."""
    errors: list[CheckMessage] = []
    hosts = set(settings.ALLOWED_HOSTS)
    if any("*" in host for host in hosts):
        errors.append(Error("ALLOWED_HOSTS allows every host. Name the hosts of the site.", id="concord.E001"))
    if settings.DEBUG and hosts - LOCAL_HOSTS:
        errors.append(Error("DEBUG is on for a host that others can reach. Turn it off.", id="concord.E002"))
    if len(settings.SECRET_KEY) < LEAST_KEY_LENGTH or len(set(settings.SECRET_KEY)) < 8:
        errors.append(Error("SECRET_KEY is too short. Use 50 random characters.", id="concord.E003"))
    return errors
