"""Sessions in the database, read by a prepared statement: every request of somebody signed in reads one."""

from typing import Any

from django.contrib.auth import BACKEND_SESSION_KEY
from django.contrib.sessions.backends import db
from django.contrib.sessions.models import Session
from django.utils import timezone

from projects.database.prepared import Columns, fetch_one

BACKEND = "projects.accounts.backends.AccountBackend"
EARLIER_BACKEND = "django.contrib.auth.backends.ModelBackend"
"""The one in sessions that began in version 0.1."""

_SESSION = Columns(Session, "s")
_FETCH = f"""
SELECT {_SESSION.sql} FROM django_session s WHERE s.session_key = %(key)s::text AND s.expire_date > %(now)s::timestamptz
"""


class SessionStore(db.SessionStore):
    """Django's sessions, and its table."""

    def _get_session_from_db(self) -> Session | None:
        key = self.session_key or ""
        # A cookie can hold any character, and PostgreSQL takes no NUL.
        is_key = key.isascii() and key.isalnum()
        values = fetch_one(_FETCH, {"key": key, "now": timezone.now()}) if is_key else None
        if values is None:
            self._session_key = None
            return None
        return _SESSION.take(values)

    def decode(self, session_data: bytes | str) -> dict[str, Any]:
        content: dict[str, Any] = super().decode(session_data)
        if content.get(BACKEND_SESSION_KEY) == EARLIER_BACKEND:
            content[BACKEND_SESSION_KEY] = BACKEND
        return content
