"""Who sends a request: the session, its account and the membership in its project, read by one prepared statement.

The number of the account is inside the signed content of the session. A process remembers it from an earlier request of
the same session, and reads the account's rows together with the session. They are used only if the content, once it is
read, names the same account; otherwise, and for the first request, each is read by a statement of its own.
"""

from contextvars import ContextVar
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from django.conf import settings
from django.contrib.sessions.models import Session
from django.core.signals import request_started
from django.utils import timezone

from projects.database.prepared import Columns, fetch_one
from projects.models import Membership, Project, User

MOST_REMEMBERED = 20_000
"""Sessions whose account is remembered; they take two megabytes."""

_SESSION, _USER = Columns(Session, "s"), Columns(User, "u")
_MEMBER, _PROJECT = Columns(Membership, "m"), Columns(Project, "p")
CLOCK_TOLERANCE = timedelta(days=1)
"""By how much a session may seem to end too late: the clock may have been set back by hours since it began."""

_WHOLE = f"""
SELECT {_SESSION.sql}, {_USER.sql}, {_MEMBER.sql}, {_PROJECT.sql}
FROM django_session s
LEFT JOIN {User._meta.db_table} u ON u.id = %(user)s::bigint
LEFT JOIN projects_project p ON p.slug = %(slug)s::text AND p.deleted_at IS NULL
LEFT JOIN projects_membership m ON m.user_id = u.id AND m.project_id = p.id
WHERE s.session_key = %(key)s::text
  AND s.expire_date > %(now)s::timestamptz AND s.expire_date <= %(latest)s::timestamptz
"""
_BY_USER = f"SELECT {_USER.sql} FROM {User._meta.db_table} u WHERE u.id = %(user)s::bigint"
_BY_MEMBER = f"""
SELECT {_MEMBER.sql}, {_PROJECT.sql} FROM projects_membership m JOIN projects_project p ON p.id = m.project_id
WHERE m.user_id = %(user)s::bigint AND p.slug = %(slug)s::text AND p.deleted_at IS NULL
"""


@dataclass
class SessionRows:
    """What was read with a session. Each row is used once: a second question in the same request reads it again."""

    slug: str
    user: User | None
    membership: Membership | None


_found: ContextVar[SessionRows | None] = ContextVar("sign_in", default=None)
_accounts: dict[str, int] = {}


def fetch_session(key: str, slug: str = "") -> Session | None:
    """Return a session that has not expired, and read with it what a request in the project of this slug needs.

    One that began while the clock was ahead has expired, too: it would outlive all others by as much.
    """
    _found.set(None)
    # A cookie can hold any character, and PostgreSQL takes no NUL.
    if not (key.isascii() and key.isalnum()):
        return None
    account = _accounts.get(key)
    named = {"key": key, "user": account, "slug": slug if account is not None else ""}
    values = fetch_one(_WHOLE, {**named, "now": timezone.now(), "latest": find_latest_end()})
    if values is None:
        _accounts.pop(key, None)
        return None
    session = _SESSION.take(values)
    if account is not None:
        user, membership, project = _take(_USER, values), _take(_MEMBER, values), _take(_PROJECT, values)
        if membership is not None:
            membership.project = project
        _found.set(SessionRows(slug, user, membership))
    return session


def find_latest_end() -> datetime:
    """Return when the youngest session ends, whatever the clock was when it began."""
    return timezone.now() + timedelta(seconds=settings.SESSION_COOKIE_AGE) + CLOCK_TOLERANCE


def remember_account(key: str, user_id: int) -> None:
    """Remember whose session this is, for the next request."""
    if len(_accounts) >= MOST_REMEMBERED:
        _accounts.clear()
    _accounts[key] = user_id


def fetch_user(user_id: int) -> User | None:
    """Return an account, or None if it was deleted."""
    found = _found.get()
    if found is not None and found.user is not None and found.user.pk == user_id:
        user, found.user = found.user, None
        return user
    values = fetch_one(_BY_USER, {"user": user_id})
    return None if values is None else _USER.take(values)


def fetch_member(user: User, slug: str) -> Membership | None:
    """Return the user's membership with its project, which is not deleted; None for a stranger."""
    found = _found.get()
    membership = None
    if found is not None and found.membership is not None and found.slug == slug:
        membership, found.membership = found.membership, None
        membership = membership if membership.user_id == user.pk else None
    if membership is None:
        values = fetch_one(_BY_MEMBER, {"user": user.pk, "slug": slug})
        if values is None:
            return None
        membership = _MEMBER.take(values)
        membership.project = _PROJECT.take(values)
    membership.user = user
    return membership


def _take(columns: Columns[Any], values: list[Any]) -> Any:
    """Return the instance, or None if the join found no row."""
    has_row = values[columns.names.index(columns.model._meta.pk.attname)] is not None
    if has_row:
        return columns.take(values)
    del values[: len(columns.names)]
    return None


def _forget(**_: object) -> None:
    _found.set(None)


request_started.connect(_forget, dispatch_uid="sign_ins")
