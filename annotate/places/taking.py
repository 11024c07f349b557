"""Taking a place: on the next HIT of a batch, on one reserved for the annotator, or again after it had expired."""

import uuid
from collections.abc import Callable, Mapping, Sequence
from contextvars import ContextVar

from django.db import connection, transaction
from django.db.backends.utils import CursorWrapper

from annotate.models.batch import ROUND
from annotate.models.conditions import is_in_use, is_new_to
from annotate.places.locking import LockedAssignment
from annotate.places.seeds import secret_seed
from projects.database.prepared import prepared

NEW_UUID: ContextVar[Callable[[], uuid.UUID]] = ContextVar("NEW_UUID", default=uuid.uuid4)
"""The source of assignments' uuids, from which layouts and controls are drawn; a simulation's has a seed."""
SHOWN_ORDER = "md5({seed} || 'q' || i.question_id), md5({seed} || 'i' || i.id)"
"""The shown order: a permutation with `secret_seed` of the assignment's uuid that keeps a question's items together.

Sorting by a hash shuffles within the database and gives the same order whenever it is computed again. Controls get
their position in the same way as any item, so that the position reveals nothing.
"""

# The next HIT with an open place that this annotator has not had, with no candidate that they were served in another
# HIT, of whatever batch. This is the hottest query of the site. A partial index on (batch, queue_key) of HITs
# with open places gives them in the order of serving, and the search stops at the first that passes both tests.
_FREE_HIT = f"""
    SELECT h.id FROM annotate_hit h
    WHERE h.batch_id = %(batch)s::bigint AND h.reserved_for_id IS NULL AND h.places_open > 0
      {{only}}
      AND {is_new_to(hit="h", annotator="%(me)s::bigint")}
    ORDER BY h.queue_key LIMIT 1 {{lock}}
"""

# Takes the place and lays the items out in one statement; returns no row if there was no free HIT. queue_key grows by a
# round with each place taken, which puts a HIT of a breadth-first batch behind all that were served less often.
_TAKE = f"""
WITH free AS ({{free}}),
taken AS (
    UPDATE annotate_hit h SET places_open = h.places_open - 1, queue_key = h.queue_key + %(round)s::bigint
    FROM free WHERE h.id = free.id RETURNING h.id)
INSERT INTO annotate_assignment
    (uuid, hit_id, annotator_id, state, holds_place, layout, not_blind, opened_at, due_at)
SELECT %(uuid)s::uuid, taken.id, %(me)s::bigint, 'open', true, shown.layout, %(not_blind)s::boolean, now(),
       now() + %(limit)s::int * interval '1 minute'
FROM taken, LATERAL (
    SELECT array_agg(i.id ORDER BY {{order}}) AS layout
    FROM annotate_item i WHERE i.hit_id = taken.id AND {is_in_use("i")}) shown
RETURNING uuid
"""


def take(
    *, batch_id: int, annotator_id: int, minutes: int, not_blind: bool, passage_id: int | None = None, wait: bool
) -> uuid.UUID | None:
    """Take a place on the batch's next HIT and return the new assignment's uuid, or None if there is no HIT.

    The caller has locked the annotator's membership. With `wait` False, HITs that someone else is taking at this moment
    are passed over. With `wait` True each is waited for in turn, one lock at a time: a single query that waited its way
    along the queue would keep the lock of every HIT it found full, and could deadlock with acts that lock HITs in
    order of id.
    """
    new = NEW_UUID.get()()
    parameters = {
        "batch": batch_id,
        "me": annotator_id,
        "passage": passage_id,
        "round": ROUND,
        "uuid": new,
        "seed": secret_seed(new),
        "limit": minutes,
        "not_blind": not_blind,
    }
    only = "AND h.passage_id = %(passage)s" if passage_id is not None else ""
    with connection.cursor() as cursor:
        if not wait:
            return _take_from(
                cursor, _FREE_HIT.format(only=only, lock="FOR NO KEY UPDATE OF h SKIP LOCKED"), parameters
            )
        one = _FREE_HIT.format(only="AND h.id = %(hit)s", lock="FOR NO KEY UPDATE OF h")
        while True:
            cursor.execute(_FREE_HIT.format(only=only, lock=""), parameters)
            row = cursor.fetchone()
            if row is None:
                return None
            # A savepoint for each HIT, rolled back if the HIT was full by the time its lock was ours: that releases the
            # lock before the next HIT is tried.
            with transaction.atomic():
                if taken := _take_from(cursor, one, {**parameters, "hit": row[0]}):
                    return taken
                transaction.set_rollback(True)


def _take_from(cursor: CursorWrapper, free: str, parameters: Mapping[str, object]) -> uuid.UUID | None:
    order = SHOWN_ORDER.format(seed="%(seed)s::text")
    prepared(_TAKE.format(free=free, order=order)).execute(cursor, parameters)
    row: tuple[uuid.UUID] | None = cursor.fetchone()
    return row[0] if row is not None else None


def take_reserved(*, hit_id: int, annotator_id: int, minutes: int, not_blind: bool) -> uuid.UUID | None:
    """Take the one place of a HIT reserved for this annotator; return the assignment's uuid, or None if it is taken.

    The caller has locked the annotator's membership.
    """
    new = NEW_UUID.get()()
    free = """SELECT h.id FROM annotate_hit h
        WHERE h.id = %(hit)s::bigint AND h.reserved_for_id = %(me)s::bigint AND h.places_open > 0
        FOR NO KEY UPDATE OF h"""
    parameters = {"hit": hit_id, "me": annotator_id, "round": ROUND, "uuid": new, "seed": secret_seed(new)}
    with connection.cursor() as cursor:
        return _take_from(cursor, free, {**parameters, "limit": minutes, "not_blind": not_blind})


def add_controls(assignment_uuid: uuid.UUID, control_ids: Sequence[int]) -> None:
    """Lay an open assignment out again, with controls among its HIT's items; the caller has just taken it."""
    order = SHOWN_ORDER.format(seed="%(seed)s::text")
    with connection.cursor() as cursor:
        cursor.execute(
            f"""UPDATE annotate_assignment a SET layout = (
                    SELECT array_agg(i.id ORDER BY {order}) FROM annotate_item i
                    WHERE i.hit_id = a.hit_id AND {is_in_use("i")} OR i.id = ANY(%(controls)s))
                WHERE a.uuid = %(uuid)s AND a.state = 'open'""",
            {"seed": secret_seed(assignment_uuid), "controls": list(control_ids), "uuid": assignment_uuid},
        )


def write_layout(assignment_uuid: uuid.UUID, item_ids: Sequence[int]) -> None:
    """Show an open assignment's items in this order; the caller has just taken it."""
    with connection.cursor() as cursor:
        cursor.execute(
            "UPDATE annotate_assignment SET layout = %s WHERE uuid = %s AND state = 'open'",
            [list(item_ids), assignment_uuid],
        )


def reopen(assignment: LockedAssignment, *, minutes: int, not_blind: bool) -> bool:
    """Give an expired assignment a place again; return False if its HIT has none. The caller has locked both."""
    with connection.cursor() as cursor:
        cursor.execute(
            """UPDATE annotate_hit SET places_open = places_open - 1, queue_key = queue_key + %s
               WHERE id = %s AND places_open > 0""",
            [ROUND, assignment.hit_id],
        )
        if not cursor.rowcount:
            return False
        cursor.execute(
            """UPDATE annotate_assignment SET state = 'open', holds_place = true, ended_at = NULL,
                      not_blind = not_blind OR %s, due_at = now() + %s * interval '1 minute' WHERE id = %s""",
            [not_blind, minutes, assignment.id],
        )
    return True


def extend(assignment: LockedAssignment, *, minutes: int) -> None:
    """Restart the time limit of an open assignment; the caller has locked it."""
    with connection.cursor() as cursor:
        cursor.execute(
            """UPDATE annotate_assignment SET extended_at = now(), due_at = now() + %s * interval '1 minute'
               WHERE id = %s AND state = 'open'""",
            [minutes, assignment.id],
        )
