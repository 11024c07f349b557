"""Waiting: what of somebody's pay is not approved yet, and why; what they earned today; how long a HIT takes them."""

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime, timedelta

from django.db import connection
from django.utils import timezone

from annotate.models import Assignment
from projects.models import Membership, Project

State = Assignment.State


@dataclass(frozen=True)
class Stand:
    """Why the pay of a submitted HIT waits: until when it is approved by itself at the latest, or for a manager."""

    waits: bool = False
    until: datetime | None = None


@dataclass(frozen=True)
class Today:
    """One annotator's pay now: earned since midnight UTC, waiting, and when the next of it is approved by itself.

    `n_by_hand` entries wait for a manager, whatever the day.
    """

    cents: int = 0
    waiting_cents: int = 0
    next_at: datetime | None = None
    n_by_hand: int = 0


def waits_until(submitted_at: datetime, project: Project) -> datetime | None:
    """When a HIT is approved by itself: after the project's days, and never while its annotator may change it."""
    if project.approve_after_days is None:
        return None
    waits = max(timedelta(days=project.approve_after_days), timedelta(minutes=project.revision_minutes))
    return max(submitted_at + waits, timezone.now())


def stand_of(assignment: Assignment) -> Stand:
    """Why an assignment waits; its annotator's project is fetched."""
    if assignment.state != State.SUBMITTED or assignment.submitted_at is None:
        return Stand()
    return Stand(True, waits_until(assignment.submitted_at, assignment.annotator.project))


_TODAY = """
SELECT e.annotator_id,
       coalesce(sum(e.cents) FILTER (
           WHERE e.made_at >= date_trunc('day', now() AT TIME ZONE 'UTC') AT TIME ZONE 'UTC'), 0),
       coalesce(sum(e.cents) FILTER (WHERE e.approved_at IS NULL), 0),
       min(a.submitted_at) FILTER (WHERE e.approved_at IS NULL AND a.state = 'submitted'),
       count(*) FILTER (WHERE e.approved_at IS NULL AND a.id IS NULL)
FROM annotate_ledgerentry e LEFT JOIN annotate_assignment a ON a.id = e.assignment_id
WHERE e.annotator_id = ANY(%s) GROUP BY e.annotator_id
"""


def today_of(annotators: Iterable[Membership]) -> dict[int, Today]:
    """What each annotator's pay stands at, by the id of the membership: one query. Their projects are fetched."""
    projects = {annotator.pk: annotator.project for annotator in annotators}
    with connection.cursor() as cursor:
        cursor.execute(_TODAY, [list(projects)])
        found = {
            pk: Today(int(cents), int(waiting), first and waits_until(first, projects[pk]), n_by_hand)
            for pk, cents, waiting, first, n_by_hand in cursor.fetchall()
        }
    return {pk: found.get(pk, Today()) for pk in projects}
