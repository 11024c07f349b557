"""Reserving: places kept for a panel's participant from arrival on, before consent, test and HIT.

A reservation takes a place as an assignment does, and holds it until the HIT is begun, or the session is over:

    places_wanted = places_open + assignments that hold a place + reservations

Whoever reserves or begins has locked the annotator's membership. No layout exists before the HIT is begun, so that
nothing of it can have been seen when a reservation lapses, and others may be served the HIT.
"""

import uuid
from datetime import datetime

from django.db import connection, transaction

from annotate.models import Reservation
from annotate.models.batch import ROUND
from annotate.models.conditions import is_in_use, is_new_to
from annotate.places.ending import free
from annotate.places.seeds import secret_seed
from annotate.places.taking import NEW_UUID, SHOWN_ORDER

# The next HIT as for a claim, and without a candidate that another reservation of theirs will show them.
_FREE_HIT = f"""
    SELECT h.id FROM annotate_hit h
    WHERE h.batch_id = %(batch)s AND h.reserved_for_id IS NULL AND h.places_open > 0
      {{only}}
      AND {is_new_to(hit="h", annotator="%(me)s")}
      AND NOT EXISTS (SELECT 1 FROM annotate_reservation r WHERE r.annotator_id = %(me)s AND r.hit_id = h.id)
      AND NOT EXISTS (
        SELECT 1 FROM annotate_reservation r JOIN annotate_item kept ON kept.hit_id = r.hit_id
        JOIN annotate_item i ON i.candidate_id = kept.candidate_id
        WHERE r.annotator_id = %(me)s AND i.hit_id = h.id)
    ORDER BY h.queue_key LIMIT 1 {{lock}}
"""
_RESERVE = """
WITH free AS ({free}),
taken AS (
    UPDATE annotate_hit h SET places_open = h.places_open - 1, queue_key = h.queue_key + %(round)s
    FROM free WHERE h.id = free.id RETURNING h.id)
INSERT INTO annotate_reservation (hit_id, annotator_id, until) SELECT taken.id, %(me)s, %(until)s FROM taken
RETURNING id
"""


def reserve(*, batch_id: int, annotator_id: int, until: datetime, wait: bool) -> bool:
    """Reserve a place on the batch's next HIT; return False if there is no HIT. `wait` as for `taking.take`."""
    parameters: dict[str, int | datetime] = {"batch": batch_id, "me": annotator_id, "round": ROUND, "until": until}
    with connection.cursor() as cursor:
        if not wait:
            lock = "FOR NO KEY UPDATE OF h SKIP LOCKED"
            cursor.execute(_RESERVE.format(free=_FREE_HIT.format(only="", lock=lock)), parameters)
            return cursor.fetchone() is not None
        one = _RESERVE.format(free=_FREE_HIT.format(only="AND h.id = %(hit)s", lock="FOR NO KEY UPDATE OF h"))
        while True:
            cursor.execute(_FREE_HIT.format(only="", lock=""), parameters)
            row = cursor.fetchone()
            if row is None:
                return False
            # One lock at a time, as in `taking.take`: the savepoint gives up the lock of a HIT that was full.
            with transaction.atomic():
                cursor.execute(one, {**parameters, "hit": row[0]})
                if cursor.fetchone() is not None:
                    return True
                transaction.set_rollback(True)


def begin_reserved(reservation: Reservation, *, minutes: int, not_blind: bool) -> uuid.UUID | None:
    """Turn a reservation into an open assignment and return its uuid; None if it has lapsed, or its HIT has no items.

    The place only changes hands, so that no counter of the HIT moves.
    """
    new = NEW_UUID.get()()
    order = SHOWN_ORDER.format(seed="%(seed)s::text")
    with connection.cursor() as cursor:
        cursor.execute("DELETE FROM annotate_reservation WHERE id = %s", [reservation.pk])
        if not cursor.rowcount:
            return None
        cursor.execute(
            f"""INSERT INTO annotate_assignment
                (uuid, hit_id, annotator_id, state, holds_place, layout, not_blind, opened_at, due_at)
            SELECT %(uuid)s, %(hit)s, %(me)s, 'open', true, shown.layout, %(not_blind)s, now(),
                   now() + %(limit)s * interval '1 minute'
            FROM (SELECT array_agg(i.id ORDER BY {order}) AS layout
                  FROM annotate_item i WHERE i.hit_id = %(hit)s AND {is_in_use("i")}) shown
            WHERE shown.layout IS NOT NULL""",
            {
                "hit": reservation.hit_id,
                "me": reservation.annotator_id,
                "uuid": new,
                "seed": secret_seed(new),
                "not_blind": not_blind,
                "limit": minutes,
            },
        )
        if cursor.rowcount:
            return new
        # Every candidate of the HIT was withdrawn meanwhile.
        free(cursor, [reservation.hit_id])
    return None


def release(annotator_id: int) -> int:
    """Open the places reserved for an annotator, whose membership is locked; return how many."""
    with connection.cursor() as cursor:
        cursor.execute("DELETE FROM annotate_reservation WHERE annotator_id = %s RETURNING hit_id", [annotator_id])
        hits = [row[0] for row in cursor.fetchall()]
        free(cursor, hits)
    return len(hits)


def release_batch(batch_id: int) -> None:
    """Open the places reserved in a batch, which the caller has locked against claims."""
    with connection.cursor() as cursor:
        cursor.execute(
            """DELETE FROM annotate_reservation WHERE id IN (
                   SELECT r.id FROM annotate_reservation r JOIN annotate_hit h ON h.id = r.hit_id
                   WHERE h.batch_id = %s ORDER BY r.id FOR UPDATE OF r)
               RETURNING hit_id""",
            [batch_id],
        )
        free(cursor, [row[0] for row in cursor.fetchall()])


def keep_until(annotator_id: int, until: datetime) -> None:
    """Keep what is reserved for an annotator, whose membership is locked, until this time if that is later."""
    with connection.cursor() as cursor:
        cursor.execute(
            "UPDATE annotate_reservation SET until = %(until)s WHERE annotator_id = %(me)s AND until < %(until)s",
            {"until": until, "me": annotator_id},
        )


def release_overdue(*, now: datetime | None = None, limit: int = 500) -> int:
    """Open the places of reservations whose time is over; return how many. Passes over those in use right now."""
    with connection.cursor() as cursor:
        cursor.execute(
            """DELETE FROM annotate_reservation WHERE id IN (
                   SELECT id FROM annotate_reservation WHERE until < coalesce(%s, now())
                   ORDER BY id LIMIT %s FOR UPDATE SKIP LOCKED)
               RETURNING hit_id""",
            [now, limit],
        )
        hits = [row[0] for row in cursor.fetchall()]
        free(cursor, hits)
    return len(hits)
