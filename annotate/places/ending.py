"""Ending an assignment: submitted with its judgments, returned, withdrawn, or expired when its time is over."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

from django.db import connection
from django.db.backends.utils import CursorWrapper

from annotate.models import Assignment, Batch
from annotate.models.batch import ROUND
from annotate.models.conditions import can_be_taken, is_in_use, is_item
from annotate.models.pay import hit_pay
from annotate.places.locking import LockedAssignment
from projects.database.prepared import prepared
from projects.models import Event
from projects.webhooks.recording import insert_messages

GRACE = timedelta(seconds=30)
"""How long an assignment keeps its place after its time limit.

Half a minute covers a slow network and a clock that is a little off, and is too short to be worth waiting for.
"""
BEYOND_ANY_LIMIT = timedelta(days=15)
"""More than any time limit, which is two weeks at most."""


@dataclass(frozen=True)
class Answer:
    """One value for one item on one criterion; the value is None only if the item cannot be judged."""

    item_id: int
    criterion_id: int
    value: float | None


_MESSAGES = insert_messages(
    Event.HIT_SUBMITTED,
    project="b.project_id",
    key="'hit:' || %(uuid)s::text",
    data="""jsonb_build_object('batch', b.number, 'hit', nullif(h.number, 0), 'assignment', %(uuid)s::text,
        'annotator', me.pseudonym, 'n_items', %(n_items)s::int,
        'mark', CASE WHEN NOT verdict.counts THEN 'surplus' WHEN %(late)s = 1 THEN 'late' ELSE 'counted' END)""",
    tables="""annotate_hit h JOIN annotate_batch b ON b.id = h.batch_id AND h.id = %(hit)s
        JOIN projects_membership me ON me.id = %(me)s::bigint CROSS JOIN verdict""",
)

# Submitting is one statement: it costs one round trip, and nothing of it can be seen half done.
#
# `place` moves the HIT's counters. An open assignment holds a place, which becomes a done one. A late one has expired
# and given its place back, so it must take an open one, and only while the batch is not archived; `place` may then
# return no row, and `verdict` says so to everything below. queue_key grows for late ones alone, because taking
# counted the others.
#
# `written` stores controls without a candidate, so that no query over a candidate's judgments can meet one. `earned`
# writes the pay of surplus work too: the annotator did it. Its key is unique, so that nothing is ever paid twice. Whom
# a panel's platform pays, the project owes nothing.
#
# `told` writes a message to each webhook that wants to know of submissions; without one it is a look into an index.
#
# The time is clock_timestamp(), not now(): the transaction may have waited for a lock before the work was submitted.
_FINISH = f"""
WITH place AS (
    UPDATE annotate_hit SET places_done = places_done + 1, places_open = places_open - %(late)s::int,
           queue_key = queue_key + %(late)s::int * %(round)s::bigint
    WHERE id = %(hit)s AND (%(late)s = 0 OR places_open > 0 AND NOT %(archived)s::boolean) RETURNING id),
verdict AS (SELECT count(*) > 0 AS counts FROM place),
gone AS (DELETE FROM annotate_draft WHERE assignment_id = %(id)s),
written AS (
    INSERT INTO annotate_judgment
        (assignment_id, item_id, annotator_id, candidate_id, criterion_id, value, is_counted, not_counted_reason)
    SELECT %(id)s::bigint, i.id, %(me)s::bigint, CASE WHEN {is_item("i")} THEN i.candidate_id END,
           v.criterion_id, v.value, verdict.counts AND {is_in_use("i")},
           CASE WHEN NOT verdict.counts THEN 'surplus' WHEN NOT {is_in_use("i")} THEN 'withdrawn' ELSE '' END
    FROM unnest(%(items)s::bigint[], %(criteria)s::bigint[], %(values)s::float8[]) AS v (item_id, criterion_id, value)
    JOIN annotate_item i ON i.id = v.item_id CROSS JOIN verdict
    RETURNING 1),
earned AS (
    INSERT INTO annotate_ledgerentry (project_id, annotator_id, kind, cents, key, assignment_id, batch_id, note)
    SELECT b.project_id, %(me)s::bigint, 'hit', {hit_pay("b", "%(n_items)s::int")},
           'hit:' || %(uuid)s::text, %(id)s::bigint, b.id, ''
    FROM annotate_hit h JOIN annotate_batch b ON b.id = h.batch_id
    WHERE h.id = %(hit)s AND b.cents_per_hit + b.cents_per_item > 0
      AND NOT (SELECT m.is_paid_elsewhere FROM projects_membership m WHERE m.id = %(me)s::bigint)),
told AS ({_MESSAGES})
UPDATE annotate_assignment SET state = 'submitted', holds_place = verdict.counts,
       mark = CASE WHEN NOT verdict.counts THEN 'surplus' WHEN %(late)s = 1 THEN 'late' ELSE 'counted' END,
       submitted_at = clock_timestamp(), ended_at = clock_timestamp(), answers_sha256 = %(sha256)s::text,
       wall_seconds = CASE WHEN clock_timestamp() >= opened_at
                           THEN extract(epoch FROM clock_timestamp() - opened_at) END,
       active_seconds = %(active)s::float8, item_seconds = %(seconds)s::float8[], has_odd_times = %(odd)s::boolean,
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
    """Store a submitted assignment with its judgments and return its mark; membership and assignment are locked.

    An open assignment holds its place and counts. An expired one counts as late if a place is still open and the batch
    is not archived; otherwise it is surplus: kept, but not counted. Judgments of withdrawn items never count. The
    batch's pay is owed from now on.
    """
    with connection.cursor() as cursor:
        prepared(_FINISH).execute(
            cursor,
            {
                "id": assignment.id,
                "uuid": str(assignment.uuid),
                "n_items": len(assignment.layout),
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
                "archived": assignment.batch_state == Batch.State.ARCHIVED,
            },
        )
        mark, n_written = cursor.fetchone()
    # The join with annotate_item drops answers whose item does not exist. The caller has checked them, so that a
    # difference is a bug; the exception rolls everything back.
    if n_written != len(answers):
        raise AssertionError(f"{n_written} judgments written of {len(answers)}")
    return Assignment.Mark(mark)


def return_assignment(assignment: LockedAssignment, *, reason: str) -> None:
    """End an open assignment as returned and open its place; membership and assignment are locked."""
    _end(assignment, Assignment.State.RETURNED)
    Assignment.objects.filter(pk=assignment.id).update(return_reason=reason)


def withdraw(assignment: LockedAssignment) -> None:
    """End an open assignment on the project's behalf and open its place; membership and assignment are locked."""
    _end(assignment, Assignment.State.WITHDRAWN)


def expire(assignment: LockedAssignment) -> None:
    """End an open assignment as if its time were over, so that it can still be submitted late; both are locked."""
    _end(assignment, Assignment.State.EXPIRED)


def withdraw_expired(assignment_ids: Iterable[int]) -> None:
    """End expired assignments for good, so that they cannot be submitted late; they hold no place."""
    with connection.cursor() as cursor:
        cursor.execute(
            "UPDATE annotate_assignment SET state = 'withdrawn' WHERE id = ANY(%s) AND state = 'expired'",
            [list(assignment_ids)],
        )


def _end(assignment: LockedAssignment, state: Assignment.State) -> None:
    with connection.cursor() as cursor:
        cursor.execute(
            "UPDATE annotate_assignment SET state = %s, holds_place = false, ended_at = now() WHERE id = %s",
            [state.value, assignment.id],
        )
        free(cursor, [assignment.hit_id])


# Assignments to be ended, with whether their annotator has left. SKIP LOCKED passes over one that is being submitted at
# this moment: it may be in time. `now` is a parameter for tests and simulations only.
_SWEPT = """
SELECT a.id, a.hit_id, m.standing = 'removed' OR NOT m.is_annotator
FROM annotate_assignment a JOIN projects_membership m ON m.id = a.annotator_id
WHERE a.state = 'open'
  AND (a.due_at NOT BETWEEN coalesce(%(now)s, now()) - %(grace)s * interval '1 second'
                        AND coalesce(%(now)s, now()) + %(beyond)s * interval '1 second'
       OR m.standing = 'removed' OR NOT m.is_annotator)
  AND (%(project)s IS NULL OR m.project_id = %(project)s)
ORDER BY a.id LIMIT %(limit)s FOR NO KEY UPDATE OF a SKIP LOCKED
"""


def sweep(*, now: datetime | None = None, project_id: int | None = None, limit: int = 500) -> int:
    """End open assignments past time limit and grace (expired) or of people who have left (withdrawn).

    One that began while the clock was weeks ahead is past it, too: it would keep its place for as long.
    Return how many were ended. Answers given so far stay in the draft. At most `limit` at once, so that no sweep holds
    many locks for long; the worker sweeps again soon.
    """
    with connection.cursor() as cursor:
        spans = {"grace": GRACE.total_seconds(), "beyond": BEYOND_ANY_LIMIT.total_seconds()}
        cursor.execute(_SWEPT, {**spans, "now": now, "project": project_id, "limit": limit})
        rows = cursor.fetchall()
        if not rows:
            return 0
        for state, has_left in ((Assignment.State.EXPIRED, False), (Assignment.State.WITHDRAWN, True)):
            cursor.execute(
                "UPDATE annotate_assignment SET state = %s, holds_place = false, ended_at = now() WHERE id = ANY(%s)",
                [state.value, [row[0] for row in rows if row[2] is has_left]],
            )
        free(cursor, [row[1] for row in rows])
    return len(rows)


def free(cursor: CursorWrapper, hit_ids: Iterable[int]) -> None:
    """Open one place for each mention of a HIT; rows are locked in ascending order of id.

    If no one can take the HIT any more, the place is removed instead.
    """
    ids = sorted(hit_ids)
    # Locked in order first: two sweeps, or a sweep and a return, would otherwise update the same HITs in any order.
    cursor.execute("SELECT id FROM annotate_hit WHERE id = ANY(%s) ORDER BY id FOR NO KEY UPDATE", [sorted(set(ids))])
    cursor.execute(
        f"""UPDATE annotate_hit h SET
                   places_open = h.places_open + CASE WHEN {can_be_taken("h")} THEN freed.n ELSE 0 END,
                   places_wanted = h.places_wanted - CASE WHEN {can_be_taken("h")} THEN 0 ELSE freed.n END,
                   queue_key = h.queue_key - freed.n * %s
            FROM (SELECT id, count(*) AS n FROM unnest(%s::bigint[]) AS id GROUP BY id) freed
            WHERE freed.id = h.id""",
        [ROUND, ids],
    )
