"""Locks of the hot path, always in this order: the membership by a statement of its own, then the assignment.

A joined lock could return a fresh assignment beside a stale standing, and a removed annotator would count.
The statements are written out and prepared: here the query compiler and the planner cost more than the database.
"""

import uuid
from dataclasses import dataclass
from datetime import datetime

from django.db import connection

from annotate.models import Assignment
from projects.database.prepared import prepared
from projects.models import Membership

_ANNOTATOR = """
SELECT standing, is_annotator, role FROM projects_membership WHERE id = %(me)s::bigint FOR NO KEY UPDATE
"""

_ASSIGNMENT = """
SELECT a.id, a.uuid, a.hit_id, a.annotator_id, a.state, a.mark, a.layout, a.answers_sha256, a.opened_at, a.extended_at,
       b.rubric_id, b.state, b.time_limit_minutes, b.presentation
FROM annotate_assignment a
JOIN annotate_hit h ON h.id = a.hit_id
JOIN annotate_batch b ON b.id = h.batch_id
WHERE a.uuid = %(uuid)s::uuid AND a.annotator_id = %(me)s::bigint FOR NO KEY UPDATE OF a
"""


@dataclass(frozen=True)
class LockedAssignment:
    """An assignment that nobody else can change until the transaction ends, and what its batch says of it."""

    id: int
    uuid: uuid.UUID
    hit_id: int
    annotator_id: int
    state: str
    mark: str
    layout: list[int]
    answers_sha256: str
    opened_at: datetime
    extended_at: datetime | None
    rubric_id: int
    batch_state: str
    time_limit_minutes: int
    presentation: str


def lock_annotator(annotator: Membership) -> None:
    """Lock the membership and bring its standing and role up to date in place."""
    with connection.cursor() as cursor:
        prepared(_ANNOTATOR).execute(cursor, {"me": annotator.pk})
        row = cursor.fetchone()
    if row is None:
        raise Membership.DoesNotExist
    annotator.standing, annotator.is_annotator, annotator.role = row


def lock_assignment(annotator: Membership, assignment_uuid: uuid.UUID) -> LockedAssignment:
    """The annotator's own assignment, locked; anybody else's does not exist."""
    with connection.cursor() as cursor:
        prepared(_ASSIGNMENT).execute(cursor, {"uuid": assignment_uuid, "me": annotator.pk})
        row = cursor.fetchone()
    if row is None:
        raise Assignment.DoesNotExist
    return LockedAssignment(*row)
