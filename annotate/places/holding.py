"""Holding rows until the transaction ends: assignments, then HITs, each in the order of their ids."""

from collections.abc import Iterable
from typing import Any

from django.db import connection


def hold(assignment_ids: Iterable[int], *, reserved_for: int | None = None) -> None:
    """Lock assignments, then their HITs and those with a free place for one annotator.

    An act that takes several of the steps here calls this first: what they lock afterwards is locked already, so
    that no two acts wait for each other.
    """
    ids = sorted(assignment_ids)
    with connection.cursor() as cursor:
        lock_assignments(cursor, ids)
        cursor.execute(
            """SELECT hit_id FROM annotate_assignment WHERE id = ANY(%s)
               UNION SELECT id FROM annotate_hit WHERE reserved_for_id = %s AND places_open > 0""",
            [ids, reserved_for],
        )
        lock_hits(cursor, [row[0] for row in cursor.fetchall()])


def lock_assignments(cursor: Any, assignment_ids: Iterable[int]) -> None:
    cursor.execute(
        "SELECT id FROM annotate_assignment WHERE id = ANY(%s) ORDER BY id FOR NO KEY UPDATE", [list(assignment_ids)]
    )


def lock_hits(cursor: Any, hit_ids: Iterable[int]) -> dict[int, int]:
    """Lock HITs in order; their free places."""
    cursor.execute(
        "SELECT id, places_open FROM annotate_hit WHERE id = ANY(%s) ORDER BY id FOR NO KEY UPDATE",
        [sorted(set(hit_ids))],
    )
    return dict(cursor.fetchall())
