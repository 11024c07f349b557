"""Locks on annotators, assignments and HITs, in the one order in which they are taken."""

import uuid
from collections.abc import Iterable
from dataclasses import dataclass, replace
from datetime import datetime

from django.db import connection
from django.db.backends.utils import CursorWrapper

from annotate.models import Assignment
from projects.database.prepared import prepared
from projects.models import Membership

# The membership is the first lock of every act: two requests of the same annotator therefore run one after the other.
_ANNOTATOR = """
SELECT standing, is_annotator, role FROM projects_membership WHERE id = %(me)s::bigint FOR NO KEY UPDATE
"""
# Only the assignment is locked (OF a); the batch's columns are read without a lock, since a batch with an open
# assignment is not archived. An expired one doesn't keep it from being archived, so its batch is locked too.
_ASSIGNMENT = """
SELECT a.id, a.uuid, a.hit_id, a.annotator_id, a.state, a.mark, a.layout, a.answers_sha256, a.opened_at, a.extended_at,
       b.rubric_id, b.state, b.time_limit_minutes, b.presentation
FROM annotate_assignment a
JOIN annotate_hit h ON h.id = a.hit_id
JOIN annotate_batch b ON b.id = h.batch_id
WHERE a.uuid = %(uuid)s::uuid AND a.annotator_id = %(me)s::bigint FOR NO KEY UPDATE OF a
"""


_BATCH_STATE = """
SELECT b.state FROM annotate_hit h JOIN annotate_batch b ON b.id = h.batch_id WHERE h.id = %s FOR KEY SHARE OF b
"""


@dataclass(frozen=True)
class LockedAssignment:
    """An assignment that no one else can change until the transaction ends, with the settings of its batch."""

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
    """Lock the membership and refresh its standing and role in place. Raises DoesNotExist if it was deleted."""
    with connection.cursor() as cursor:
        prepared(_ANNOTATOR).execute(cursor, {"me": annotator.pk})
        row = cursor.fetchone()
    if row is None:
        raise Membership.DoesNotExist
    annotator.standing, annotator.is_annotator, annotator.role = row


def lock_assignment(annotator: Membership, assignment_uuid: uuid.UUID) -> LockedAssignment:
    """Lock and return the annotator's own assignment. Raises DoesNotExist for a missing one or someone else's."""
    with connection.cursor() as cursor:
        prepared(_ASSIGNMENT).execute(cursor, {"uuid": assignment_uuid, "me": annotator.pk})
        row = cursor.fetchone()
        if row is None:
            raise Assignment.DoesNotExist
        locked = LockedAssignment(*row)
        if locked.state == Assignment.State.EXPIRED:
            cursor.execute(_BATCH_STATE, [locked.hit_id])
            locked = replace(locked, batch_state=cursor.fetchone()[0])
    return locked


def lock_with_hits(assignment_ids: Iterable[int], *, reserved_for: int | None = None) -> None:
    """Lock assignments and one annotator's reservations, then their HITs and the HITs made for that annotator.

    Acts that combine several functions of this package call it first. Everything those functions lock later is then
    locked already, in the right order, so that no two acts can deadlock.
    """
    ids = sorted(assignment_ids)
    with connection.cursor() as cursor:
        lock_assignments(cursor, ids)
        cursor.execute(
            "SELECT hit_id FROM annotate_reservation WHERE annotator_id = %s ORDER BY id FOR UPDATE", [reserved_for]
        )
        kept = [row[0] for row in cursor.fetchall()]
        cursor.execute(
            """SELECT hit_id FROM annotate_assignment WHERE id = ANY(%s)
               UNION SELECT id FROM annotate_hit WHERE reserved_for_id = %s AND places_open > 0 OR id = ANY(%s)""",
            [ids, reserved_for, kept],
        )
        lock_hits(cursor, [row[0] for row in cursor.fetchall()])


def lock_assignments(cursor: CursorWrapper, assignment_ids: Iterable[int]) -> None:
    cursor.execute(
        "SELECT id FROM annotate_assignment WHERE id = ANY(%s) ORDER BY id FOR NO KEY UPDATE", [list(assignment_ids)]
    )


def lock_hits(cursor: CursorWrapper, hit_ids: Iterable[int]) -> dict[int, int]:
    """Lock HITs in ascending order and return the number of open places of each."""
    cursor.execute(
        "SELECT id, places_open FROM annotate_hit WHERE id = ANY(%s) ORDER BY id FOR NO KEY UPDATE",
        [sorted(set(hit_ids))],
    )
    return dict(cursor.fetchall())
