"""Work sessions: how long somebody has worked without a break, and how many HITs, in all of their projects."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

from django.db import connection
from django.utils.translation import gettext as _
from django.utils.translation import ngettext

from annotate.models.conditions import seconds_spent
from projects.database.prepared import prepared
from projects.models import User

BREAK = timedelta(minutes=10)
"""A pause this long between two HITs ends a session."""
HINT_SECONDS = 45 * 60
"""How much work without a break brings the hint to take one, and how much more brings it again."""


@dataclass(frozen=True)
class WorkSession:
    """The HITs of a session and the seconds of work in them, with those of the last HIT."""

    n_hits: int = 0
    seconds: float = 0
    last_seconds: float = 0

    @property
    def is_break_due(self) -> bool:
        """Whether the last HIT completed another 45 minutes of work."""
        return self.seconds // HINT_SECONDS > (self.seconds - self.last_seconds) // HINT_SECONDS


def wants_session(user: User) -> bool:
    return bool(user.suggests_breaks or user.session_goal)


def find_work_session(user: User) -> WorkSession:
    """Return the session that is under way: empty if the last HIT was submitted longer ago than a break lasts."""
    with connection.cursor() as cursor:
        prepared(_RECENT).execute(cursor, {"user": user.pk})
        rows: Sequence[tuple[datetime, float, datetime]] = cursor.fetchall()
    n_hits, total, last = 0, 0.0, 0.0
    begun_at: datetime | None = None
    for submitted_at, seconds, now in rows:
        if (begun_at or now) - submitted_at > BREAK:
            break
        n_hits, total, last = n_hits + 1, total + seconds, last if n_hits else seconds
        begun_at = submitted_at - timedelta(seconds=seconds)
    return WorkSession(n_hits, total, last)


def list_hints(user: User) -> list[str]:
    """Return what to tell somebody who has just submitted a HIT: that their goal is reached, or that a break is due."""
    if not wants_session(user):
        return []
    session = find_work_session(user)
    hints = []
    if user.session_goal and session.n_hits == user.session_goal:
        hints.append(
            ngettext(
                "You've reached your goal: {n} HIT in this session.",
                "You've reached your goal: {n} HITs in this session.",
                session.n_hits,
            ).format(n=session.n_hits)
        )
    if user.suggests_breaks and session.is_break_due:
        hints.append(
            _(
                "You've worked for about {n} minutes without a break. How about a short one? You can turn this hint "
                "off in your account."
            ).format(n=round(session.seconds / 60))
        )
    return hints


_RECENT = f"""
SELECT a.submitted_at, {seconds_spent("a")}, clock_timestamp()
FROM projects_membership m
JOIN annotate_assignment a ON a.annotator_id = m.id AND a.submitted_at > now() - interval '16 hours'
WHERE m.user_id = %(user)s::bigint
ORDER BY a.submitted_at DESC LIMIT 500
"""
