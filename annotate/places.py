"""Places: the one writer of assignment states, holds, counted flags and HIT counters.

A HIT has as many places as judgments are wanted of its candidates. What must hold at every moment:

    places_wanted = places_open + count(assignments that hold a place)
    places_done   = count(assignments that hold a place and are submitted or approved)

Locks are taken in the order membership, assignment, hit, judgment, ascending by id within each, with
FOR NO KEY UPDATE: rows that merely refer to a HIT must not hide it from SKIP LOCKED. Every function here
expects to run inside the caller's transaction.
"""

import io
import uuid
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

import psycopg2.extras
from django.db import connection, transaction

from annotate.locking import LockedAssignment
from annotate.models import Assignment, Batch
from annotate.models.batch import ROUND
from annotate.prepared import prepared

psycopg2.extras.register_uuid()  # type: ignore[no-untyped-call]

GRACE = timedelta(seconds=30)
"""How long after its time limit an assignment keeps its place, for an answer that is on its way."""


@dataclass(frozen=True)
class Answer:
    """One value for one item on one criterion; None only for an item that cannot be judged."""

    item_id: int
    criterion_id: int
    value: float | None


_FREE_HIT = """
    SELECT h.id FROM annotate_hit h
    WHERE h.batch_id = %(batch)s::bigint AND h.reserved_for_id IS NULL AND h.places_open > 0
      {only}
      AND NOT EXISTS (
        SELECT 1 FROM annotate_assignment a WHERE a.hit_id = h.id AND a.annotator_id = %(me)s::bigint OFFSET 0)
      AND NOT EXISTS (
        SELECT 1 FROM annotate_item i
        CROSS JOIN LATERAL (
          SELECT i2.hit_id FROM annotate_item i2 WHERE i2.candidate_id = i.candidate_id OFFSET 0) same
        CROSS JOIN LATERAL (
          SELECT 1 FROM annotate_assignment a
          WHERE a.hit_id = same.hit_id AND a.annotator_id = %(me)s::bigint OFFSET 0) mine
        WHERE i.hit_id = h.id OFFSET 0)
    ORDER BY h.queue_key LIMIT 1 {lock}
"""

_TAKE = """
WITH free AS ({free}),
taken AS (
    UPDATE annotate_hit h SET places_open = h.places_open - 1, queue_key = h.queue_key + %(round)s::bigint
    FROM free WHERE h.id = free.id RETURNING h.id)
INSERT INTO annotate_assignment
    (uuid, hit_id, annotator_id, state, holds_place, layout, not_blind, opened_at, due_at)
SELECT %(uuid)s::uuid, taken.id, %(me)s::bigint, 'open', true, shown.layout, %(not_blind)s::boolean, now(),
       now() + %(limit)s::int * interval '1 minute'
FROM taken, LATERAL (
    SELECT array_agg(
        i.id ORDER BY md5(%(seed)s::text || 'q' || i.question_id), md5(%(seed)s::text || 'i' || i.id)) AS layout
    FROM annotate_item i WHERE i.hit_id = taken.id) shown
RETURNING uuid
"""


def take(
    *, batch_id: int, annotator_id: int, minutes: int, not_blind: bool, passage_id: int | None = None, wait: bool
) -> uuid.UUID | None:
    """Take a place on the batch's next HIT for an annotator whose membership the caller has locked.

    The shown order is a permutation seeded by the assignment's uuid that keeps a question's items together.
    With `wait` False, HITs that somebody is taking at this moment are passed over. With `wait` True each is
    waited for in turn, one lock at a time: a query that waited its way along the queue would keep the lock of
    every HIT it found full, and so deadlock with whoever locks HITs in the order of their ids.
    """
    new = uuid.uuid4()
    parameters = {
        "batch": batch_id,
        "me": annotator_id,
        "passage": passage_id,
        "round": ROUND,
        "uuid": new,
        "seed": str(new),
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
            with transaction.atomic():
                if taken := _take_from(cursor, one, {**parameters, "hit": row[0]}):
                    return taken
                transaction.set_rollback(True)


def _take_from(cursor: Any, free: str, parameters: dict[str, Any]) -> uuid.UUID | None:
    prepared(_TAKE.format(free=free)).execute(cursor, parameters)
    return parameters["uuid"] if cursor.fetchone() else None


_FINISH = """
WITH place AS (
    UPDATE annotate_hit SET places_done = places_done + 1, places_open = places_open - %(late)s::int,
           queue_key = queue_key + %(late)s::int * %(round)s::bigint
    WHERE id = %(hit)s AND (%(late)s = 0 OR places_open > 0 AND NOT %(settled)s::boolean) RETURNING id),
verdict AS (SELECT count(*) > 0 AS counts FROM place),
gone AS (DELETE FROM annotate_draft WHERE assignment_id = %(id)s),
written AS (
    INSERT INTO annotate_judgment
        (assignment_id, item_id, annotator_id, candidate_id, criterion_id, value, is_counted, not_counted_reason)
    SELECT %(id)s::bigint, i.id, %(me)s::bigint, CASE WHEN i.control = 'none' THEN i.candidate_id END,
           v.criterion_id, v.value, verdict.counts, CASE WHEN verdict.counts THEN '' ELSE 'surplus' END
    FROM unnest(%(items)s::bigint[], %(criteria)s::bigint[], %(values)s::float8[]) AS v (item_id, criterion_id, value)
    JOIN annotate_item i ON i.id = v.item_id CROSS JOIN verdict
    RETURNING 1)
UPDATE annotate_assignment SET state = 'submitted', holds_place = verdict.counts,
       mark = CASE WHEN NOT verdict.counts THEN 'surplus' WHEN %(late)s = 1 THEN 'late' ELSE 'counted' END,
       submitted_at = clock_timestamp(), ended_at = clock_timestamp(), answers_sha256 = %(sha256)s::text,
       wall_seconds = extract(epoch FROM clock_timestamp() - opened_at), active_seconds = %(active)s::float8,
       item_seconds = %(seconds)s::float8[], has_odd_times = %(odd)s::boolean,
       not_blind = not_blind OR %(not_blind)s::boolean
FROM verdict WHERE id = %(id)s
RETURNING mark, (SELECT count(*) FROM written)
"""


def finish(
    assignment: LockedAssignment,
    *,
    answers: Sequence[Answer],
    sha256: str,
    item_seconds: list[float] | None,
    has_odd_times: bool,
    not_blind: bool,
) -> Assignment.Mark:
    """Write a submitted assignment with its judgments, in one statement; membership and assignment are locked.

    An open assignment holds its place and counts. One that has expired counts if a place is still free and the
    batch is not archived (late); else it is surplus: kept, but its judgments are not counted.
    """
    with connection.cursor() as cursor:
        prepared(_FINISH).execute(
            cursor,
            {
                "id": assignment.id,
                "hit": assignment.hit_id,
                "me": assignment.annotator_id,
                "late": 0 if assignment.state == Assignment.State.OPEN else 1,
                "round": ROUND,
                "items": [answer.item_id for answer in answers],
                "criteria": [answer.criterion_id for answer in answers],
                "values": [answer.value for answer in answers],
                "sha256": sha256,
                "active": sum(item_seconds) if item_seconds else None,
                "seconds": item_seconds,
                "odd": has_odd_times,
                "not_blind": not_blind,
                "settled": assignment.batch_state == Batch.State.ARCHIVED,
            },
        )
        mark, n_written = cursor.fetchone()
    if n_written != len(answers):
        raise AssertionError(f"{n_written} judgments written of {len(answers)}")
    return Assignment.Mark(mark)


def give_back(assignment: LockedAssignment, *, reason: str) -> None:
    """End an open assignment as returned and free its place; membership and assignment are locked."""
    _end(assignment, Assignment.State.RETURNED)
    Assignment.objects.filter(pk=assignment.id).update(return_reason=reason)


def withdraw(assignment: LockedAssignment) -> None:
    """End an open assignment from our side and free its place."""
    _end(assignment, Assignment.State.WITHDRAWN)


def _end(assignment: LockedAssignment, state: Assignment.State) -> None:
    with connection.cursor() as cursor:
        cursor.execute(
            "UPDATE annotate_assignment SET state = %s, holds_place = false, ended_at = now() WHERE id = %s",
            [state.value, assignment.id],
        )
        _free(cursor, [assignment.hit_id])


_SWEPT = """
SELECT a.id, a.hit_id, m.standing = 'removed' OR NOT m.is_annotator
FROM annotate_assignment a JOIN projects_membership m ON m.id = a.annotator_id
WHERE a.state = 'open' AND (a.due_at < %(before)s OR m.standing = 'removed' OR NOT m.is_annotator)
  AND (%(project)s IS NULL OR m.project_id = %(project)s)
ORDER BY a.id LIMIT %(limit)s FOR NO KEY UPDATE OF a SKIP LOCKED
"""


def sweep(*, now: datetime, project_id: int | None = None, limit: int = 500) -> int:
    """End open assignments past their time limit and the grace (expired), or of people who have left (withdrawn).

    One being submitted now is passed over. Returns how many places came free. The answers stay in the draft.
    """
    with connection.cursor() as cursor:
        cursor.execute(_SWEPT, {"before": now - GRACE, "project": project_id, "limit": limit})
        rows = cursor.fetchall()
        if not rows:
            return 0
        for state, has_left in ((Assignment.State.EXPIRED, False), (Assignment.State.WITHDRAWN, True)):
            cursor.execute(
                "UPDATE annotate_assignment SET state = %s, holds_place = false, ended_at = now() WHERE id = ANY(%s)",
                [state.value, [row[0] for row in rows if row[2] is has_left]],
            )
        _free(cursor, [row[1] for row in rows])
    return len(rows)


def _free(cursor: Any, hit_ids: Iterable[int]) -> None:
    """One place back for each mention of a HIT; rows are locked in ascending order first."""
    ids = sorted(hit_ids)
    cursor.execute("SELECT id FROM annotate_hit WHERE id = ANY(%s) ORDER BY id FOR NO KEY UPDATE", [sorted(set(ids))])
    cursor.execute(
        """UPDATE annotate_hit h SET places_open = h.places_open + freed.n, queue_key = h.queue_key - freed.n * %s
           FROM (SELECT id, count(*) AS n FROM unnest(%s::bigint[]) AS id GROUP BY id) freed WHERE freed.id = h.id""",
        [ROUND, ids],
    )


def reopen(assignment: LockedAssignment, *, minutes: int, not_blind: bool) -> bool:
    """Give an expired assignment a place again, if its HIT still has one; the caller has locked both."""
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
    """Give an open assignment its time limit once more."""
    with connection.cursor() as cursor:
        cursor.execute(
            """UPDATE annotate_assignment SET extended_at = now(), due_at = now() + %s * interval '1 minute'
               WHERE id = %s AND state = 'open'""",
            [minutes, assignment.id],
        )


def set_wanted(batch: Batch, *, judgments: int, hit_ids: Sequence[int] | None = None) -> tuple[int, int]:
    """Want so many judgments of the batch's HITs (or of some of them); returns places added and taken away.

    Lowering never takes a place that somebody holds: such a HIT keeps as many places as are held.
    """
    where = "batch_id = %(batch)s AND purpose = 'work'" + (" AND id = ANY(%(hits)s)" if hit_ids is not None else "")
    with connection.cursor() as cursor:
        parameters: dict[str, Any] = {"batch": batch.pk, "new": judgments, "hits": list(hit_ids or [])}
        cursor.execute(f"SELECT id FROM annotate_hit WHERE {where} ORDER BY id FOR NO KEY UPDATE", parameters)
        cursor.execute(
            f"""WITH old AS (SELECT id, places_wanted, places_open FROM annotate_hit WHERE {where}),
                changed AS (
                    UPDATE annotate_hit h
                    SET places_wanted = GREATEST(%(new)s, old.places_wanted - old.places_open),
                        places_open = GREATEST(%(new)s, old.places_wanted - old.places_open)
                                      - (old.places_wanted - old.places_open)
                    FROM old WHERE old.id = h.id
                    RETURNING h.places_wanted - old.places_wanted AS by)
                SELECT coalesce(sum(by) FILTER (WHERE by > 0), 0), coalesce(-sum(by) FILTER (WHERE by < 0), 0)
                FROM changed""",
            parameters,
        )
        added, removed = cursor.fetchone()
    return int(added), int(removed)


@dataclass(frozen=True)
class NewHit:
    """A HIT to be written, with its items in their canonical order: (candidate, question)."""

    number: int
    passage_id: int
    queue_key: int
    items: Sequence[tuple[int, int]]


def create_hits(batch: Batch, hits: Sequence[NewHit]) -> list[int]:
    """Write a new batch's HITs, each with as many free places as judgments are wanted, and their items; their ids."""
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT nextval(pg_get_serial_sequence('annotate_hit', 'id')) FROM generate_series(1, %s)", [len(hits)]
        )
        ids = [row[0] for row in cursor.fetchall()]
        wanted = batch.judgments
        rows = (
            f"{hit_id}\t{batch.pk}\t{hit.passage_id}\t{hit.number}\twork\t{hit.queue_key}\t{wanted}\t{wanted}\t0\n"
            for hit_id, hit in zip(ids, hits, strict=True)
        )
        counters = "places_wanted, places_open, places_done"
        _copy(cursor, f"annotate_hit (id, batch_id, passage_id, number, purpose, queue_key, {counters})", rows)
        items = (
            f"{hit_id}\t{question}\t{candidate}\t{position}\n"
            for hit_id, hit in zip(ids, hits, strict=True)
            for position, (candidate, question) in enumerate(hit.items)
        )
        _copy(cursor, "annotate_item (hit_id, question_id, candidate_id, position)", items)
    return ids


def delete_hits(batch: Batch) -> None:
    """Take back the HITs of a batch that nobody was ever served; an assignment's key refuses any other."""
    with connection.cursor() as cursor:
        cursor.execute(
            "DELETE FROM annotate_item i USING annotate_hit h WHERE h.id = i.hit_id AND h.batch_id = %s", [batch.pk]
        )
        cursor.execute("DELETE FROM annotate_hit WHERE batch_id = %s", [batch.pk])


def _copy(cursor: Any, columns: str, rows: Iterable[str]) -> None:
    cursor.copy_expert(f"COPY {columns} FROM STDIN", io.StringIO("".join(rows)))
