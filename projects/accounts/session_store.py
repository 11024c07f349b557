"""Sessions in the database, each read together with its account and the membership in the request's project."""

import re
from functools import lru_cache
from typing import Any

import orjson
from django.conf import settings
from django.contrib.auth import BACKEND_SESSION_KEY, SESSION_KEY
from django.contrib.sessions import middleware
from django.contrib.sessions.backends import db
from django.contrib.sessions.base_session import AbstractBaseSession
from django.contrib.sessions.models import Session
from django.http import HttpRequest
from django.utils import timezone

from projects.database.sign_ins import fetch_session, find_latest_end, remember_account

BACKEND = "projects.accounts.backends.AccountBackend"
EARLIER_BACKEND = "django.contrib.auth.backends.ModelBackend"
"""The one in sessions that began in version 0.1."""
SIGNED_IN = "signed_in_at"
IN_PROJECT = re.compile(r"/p/([\w-]+)/")


class SessionMiddleware(middleware.SessionMiddleware):
    """Django's sessions; each knows the project that the request's address names."""

    def process_request(self, request: HttpRequest) -> None:
        super().process_request(request)
        found = IN_PROJECT.match(request.path_info)
        request.session.slug = found[1] if found else ""  # type: ignore[attr-defined]


class SessionStore(db.SessionStore):
    """Django's sessions, and its table."""

    slug = ""

    def _get_session_from_db(self) -> Session | None:
        found = fetch_session(self.session_key or "", self.slug)
        if found is None:
            self._session_key = None
        return found

    def load(self) -> dict[str, Any]:
        content: dict[str, Any] = super().load()
        if self.session_key and str(content.get(SESSION_KEY, "")).isdecimal():
            remember_account(self.session_key, int(content[SESSION_KEY]))
        return content

    def create_model_instance(self, data: dict[str, Any]) -> AbstractBaseSession:
        if SESSION_KEY in data:
            # `signing_in.finish` stores it; sessions of earlier versions have none.
            data.setdefault(SIGNED_IN, timezone.now().timestamp())
        return super().create_model_instance(data)

    def get_session_cookie_age(self) -> int:
        """Return the seconds left since the sign-in: whoever has a session can have it saved, but not for longer."""
        now = timezone.now().timestamp()
        age = max(0.0, now - self.get(SIGNED_IN, now))
        return max(0, int(settings.SESSION_COOKIE_AGE - age))

    @classmethod
    def clear_expired(cls) -> None:
        """Delete sessions that have expired, with those that began while the clock was ahead."""
        super().clear_expired()
        cls.get_model_class().objects.filter(expire_date__gt=find_latest_end()).delete()

    def decode(self, session_data: bytes | str) -> dict[str, Any]:
        content: dict[str, Any] = orjson.loads(_verify(session_data))
        if content.get(BACKEND_SESSION_KEY) == EARLIER_BACKEND:
            content[BACKEND_SESSION_KEY] = BACKEND
        return content


@lru_cache(maxsize=2_000)
def _verify(session_data: bytes | str) -> bytes:
    """Return what a session contains as JSON: nothing unless its signature is this site's.

    Each process computes a signature once, because it stays the same from request to request.
    """
    return orjson.dumps(db.SessionStore().decode(session_data))
