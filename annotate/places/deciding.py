"""Decisions on submitted work: approve, reject, accept after all, exclude, restore.

Each function locks what it changes in the order assignment, HIT, judgment, in ascending order of id; the caller has
locked the memberships before.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace

from django.db import connection
from django.db.backends.utils import CursorWrapper

from annotate.models.assignment import ALREADY_COUNTED, TAKEN_OUT
from annotate.models.batch import ROUND
from annotate.models.conditions import (
    can_be_taken,
    is_counted_elsewhere,
    is_in_use,
    is_marked_counted,
    is_submitted,
    is_work,
    was_submitted,
)
from annotate.places.locking import lock_assignments, lock_hits


@dataclass(frozen=True)
class RestoredWork:
    """Numbers of assignments that count again, and that are surplus because others have taken their places.

    `n_already_counted` judgments stay uncounted, because the same ones were imported again meanwhile and count.
    """

    n_counted: int
    n_surplus: int
    n_already_counted: int = 0


def approve(assignment_ids: Sequence[int], *, by: int | None) -> list[int]:
    """Approve the submitted ones among these assignments and return their ids."""
    with connection.cursor() as cursor:
        lock_assignments(cursor, assignment_ids)
        cursor.execute(
            """UPDATE annotate_assignment SET state = 'approved', decided_at = now(), decided_by_id = %s
               WHERE id = ANY(%s) AND state = 'submitted' RETURNING id""",
            [by, list(assignment_ids)],
        )
        return sorted(row[0] for row in cursor.fetchall())


def reject(assignment_ids: Sequence[int], *, by: int | None, reason: str, is_unpaid: bool) -> list[int]:
    """Reject the submitted or approved ones among these assignments and return their ids; their places open again.

    The place of a HIT reserved for one annotator is removed instead, because no one else may take it.
    """
    with connection.cursor() as cursor:
        lock_assignments(cursor, assignment_ids)
        # `before` is needed because RETURNING gives the new row: a surplus assignment held no place to give back.
        cursor.execute(
            f"""UPDATE annotate_assignment a SET state = 'rejected', holds_place = false, decided_at = now(),
                      decided_by_id = %s, decision_reason = %s, is_unpaid = %s
               FROM (SELECT id, holds_place FROM annotate_assignment WHERE id = ANY(%s)) before
               WHERE a.id = before.id AND {is_submitted("a")}
               RETURNING a.id, a.hit_id, before.holds_place""",
            [by, reason, is_unpaid, list(assignment_ids)],
        )
        rows = cursor.fetchall()
        _reopen_places(cursor, [hit for _, hit, held in rows if held])
        ids = sorted(row[0] for row in rows)
        _discount(cursor, ids, "rejected")
    return ids


def exclude(assignment_ids: Sequence[int], *, reason: str, reopens: bool) -> list[int]:
    """Exclude submitted assignments from all results; return the ids of those that counted until now.

    With `reopens`, their places open for others. Without, they keep their places, and the batch page lists them as a
    shortfall.
    """
    with connection.cursor() as cursor:
        lock_assignments(cursor, assignment_ids)
        # Counted work always holds its place, so that nothing has to be compared with the old row here.
        cursor.execute(
            f"""UPDATE annotate_assignment a SET mark = 'excluded', mark_reason = %s, holds_place = NOT %s
               WHERE a.id = ANY(%s) AND {is_submitted("a")} AND {is_marked_counted("a")}
               RETURNING id, hit_id""",
            [reason, reopens, list(assignment_ids)],
        )
        rows = cursor.fetchall()
        if reopens:
            _reopen_places(cursor, [hit for _, hit in rows])
        ids = sorted(row[0] for row in rows)
        _discount(cursor, ids, "removed")
    return ids


def exclude_for_good(assignment_ids: Sequence[int], *, reopens: bool) -> list[int]:
    """Exclude submitted work for good, whatever was decided on it, because its annotator removes it.

    Return the ids of the excluded assignments. With `reopens`, the places that they held open again. The reason
    overwrites any other, so that nothing (restoring, accepting) ever counts these judgments again.
    """
    with connection.cursor() as cursor:
        lock_assignments(cursor, assignment_ids)
        # Rejected, surplus and excluded work is included, which may hold no place, hence `before`.
        cursor.execute(
            f"""UPDATE annotate_assignment a SET mark = 'excluded', mark_reason = %s,
                      holds_place = a.holds_place AND NOT %s
               FROM (SELECT id, holds_place FROM annotate_assignment WHERE id = ANY(%s)) before
               WHERE a.id = before.id AND {was_submitted("a")}
               RETURNING a.id, a.hit_id, before.holds_place""",
            [TAKEN_OUT, reopens, list(assignment_ids)],
        )
        rows = cursor.fetchall()
        if reopens:
            _reopen_places(cursor, [hit for _, hit, held in rows if held])
        ids = sorted(row[0] for row in rows)
        cursor.execute(
            "UPDATE annotate_judgment SET is_counted = false, not_counted_reason = %s WHERE assignment_id = ANY(%s)",
            [TAKEN_OUT, ids],
        )
    return ids


_THEIRS = f"a.holds_place OR NOT {is_work('h')}"
"""Whether a place is still the annotator's: they hold it, or the HIT is reserved for them."""

# Excluded work that may count again: never any that its annotator removed by withdrawing consent.
_RESTORABLE = f"""
SELECT a.id, a.hit_id, {_THEIRS} AS is_theirs, a.holds_place
FROM annotate_assignment a JOIN annotate_hit h ON h.id = a.hit_id
WHERE a.id = ANY(%s) AND {is_submitted("a")} AND a.mark = 'excluded' AND NOT EXISTS (
    SELECT 1 FROM annotate_judgment j WHERE j.assignment_id = a.id AND j.not_counted_reason = '{TAKEN_OUT}')
"""

# Rejected work that counted before. What was surplus or excluded stays so when it is accepted after all.
_ACCEPTABLE = f"""
SELECT a.id, a.hit_id, {_THEIRS} AS is_theirs, a.holds_place
FROM annotate_assignment a JOIN annotate_hit h ON h.id = a.hit_id
WHERE a.id = ANY(%s) AND a.state = 'rejected' AND {is_marked_counted("a")}
"""


def count_restorable(assignment_ids: Sequence[int]) -> RestoredWork:
    """Return what restoring would change if it were done now, without locking or changing anything."""
    found = _count(_RESTORABLE, assignment_ids)
    with connection.cursor() as cursor:
        cursor.execute(
            f"SELECT count(*) FROM ({_WAITING}) waiting WHERE is_known",
            {"ids": list(assignment_ids), "reason": "removed"},
        )
        return replace(found, n_already_counted=cursor.fetchone()[0])


def count_acceptable(assignment_ids: Sequence[int]) -> RestoredWork:
    """Return what accepting rejected work would change if it were done now, without locking or changing anything."""
    return _count(_ACCEPTABLE, assignment_ids)


def restore(assignment_ids: Sequence[int]) -> RestoredWork:
    """Count excluded assignments again if their place is still theirs or still open; mark the others as surplus."""
    with connection.cursor() as cursor:
        lock_assignments(cursor, assignment_ids)
        counted, surplus = _retake(cursor, _RESTORABLE, assignment_ids)
        for ids, mark, holds in ((counted, "counted", True), (surplus, "surplus", False)):
            cursor.execute(
                "UPDATE annotate_assignment SET mark = %s, mark_reason = '', holds_place = %s WHERE id = ANY(%s)",
                [mark, holds, ids],
            )
        n_known = _count_again(cursor, counted, "removed")
        _change_reason(cursor, surplus, "removed", "surplus")
    return RestoredWork(n_counted=len(counted), n_surplus=len(surplus), n_already_counted=n_known)


def accept(assignment_ids: Sequence[int], *, by: int | None) -> list[int]:
    """Approve rejected assignments after all and return the ids of those that were rejected.

    They count if their place is still open and are surplus otherwise. Surplus or excluded work stays so.
    """
    with connection.cursor() as cursor:
        lock_assignments(cursor, assignment_ids)
        counted, surplus = _retake(cursor, _ACCEPTABLE, assignment_ids)
        cursor.execute(
            """UPDATE annotate_assignment SET state = 'approved', holds_place = id = ANY(%(counted)s),
                      mark = CASE WHEN id = ANY(%(surplus)s) THEN 'surplus' ELSE mark END,
                      decided_at = now(), decided_by_id = %(by)s, is_unpaid = false
               WHERE id = ANY(%(ids)s) AND state = 'rejected' RETURNING id""",
            {"counted": counted, "surplus": surplus, "by": by, "ids": list(assignment_ids)},
        )
        accepted = sorted(row[0] for row in cursor.fetchall())
        _count_again(cursor, counted, "rejected")
        _change_reason(cursor, surplus, "rejected", "surplus")
    return accepted


def _count(query: str, assignment_ids: Sequence[int]) -> RestoredWork:
    """Return what `_retake` would do: of several assignments on one HIT, as many count as it has open places."""
    with connection.cursor() as cursor:
        cursor.execute(
            f"""SELECT coalesce(sum(n_theirs), 0), coalesce(sum(least(n_lost, h.places_open)), 0),
                       coalesce(sum(n_lost), 0)
                FROM (SELECT hit_id, count(*) FILTER (WHERE is_theirs) AS n_theirs,
                             count(*) FILTER (WHERE NOT is_theirs) AS n_lost
                      FROM ({query}) found GROUP BY hit_id) per
                JOIN annotate_hit h ON h.id = per.hit_id""",
            [list(assignment_ids)],
        )
        n_theirs, n_free, n_lost = map(int, cursor.fetchone())
    return RestoredWork(n_counted=n_theirs + n_free, n_surplus=n_lost - n_free)


def _retake(cursor: CursorWrapper, query: str, assignment_ids: Sequence[int]) -> tuple[list[int], list[int]]:
    """Give locked assignments their places again, the oldest first; return the ids that got one, and the others."""
    cursor.execute(query + " ORDER BY a.id", [list(assignment_ids)])
    rows = cursor.fetchall()
    # Only now, with the HITs locked, are their numbers of open places final.
    free = lock_hits(cursor, [hit for _, hit, _, held in rows if not held])
    counted, retaken, surplus = [], [], []
    for assignment_id, hit_id, is_theirs, held in rows:
        if not is_theirs and free[hit_id] <= 0:
            surplus.append(assignment_id)
            continue
        counted.append(assignment_id)
        if not held:
            free[hit_id] -= 1
            retaken.append(hit_id)
    _take_again(cursor, retaken)
    return counted, surplus


def _reopen_places(cursor: CursorWrapper, hit_ids: Sequence[int]) -> None:
    """Turn one done place into an open one for each mention of a HIT, or remove it if no one else may take it."""
    # queue_key goes back by a round for each place, so that the HIT is served before those that have more judgments.
    lock_hits(cursor, hit_ids)
    cursor.execute(
        f"""UPDATE annotate_hit h SET places_done = h.places_done - opened.n,
                   places_open = h.places_open + CASE WHEN opened.opens THEN opened.n ELSE 0 END,
                   places_wanted = h.places_wanted - CASE WHEN opened.opens THEN 0 ELSE opened.n END,
                   queue_key = h.queue_key - opened.n * %s
            FROM (SELECT h.id, count(*) AS n, {is_work("h")} AND {can_be_taken("h")} AS opens
                  FROM unnest(%s::bigint[]) AS mention (id) JOIN annotate_hit h ON h.id = mention.id
                  GROUP BY h.id) opened
            WHERE opened.id = h.id""",
        [ROUND, list(hit_ids)],
    )


def _take_again(cursor: CursorWrapper, hit_ids: Sequence[int]) -> None:
    """Turn one open place into a done one for each mention of a HIT.

    A HIT reserved for one annotator lost its place when it was given back, so it gets a new one.
    """
    cursor.execute(
        f"""UPDATE annotate_hit h SET places_done = h.places_done + taken.n,
                  places_open = h.places_open - CASE WHEN {is_work("h")} THEN taken.n ELSE 0 END,
                  places_wanted = h.places_wanted + CASE WHEN {is_work("h")} THEN 0 ELSE taken.n END,
                  queue_key = h.queue_key + taken.n * %s
           FROM (SELECT id, count(*) AS n FROM unnest(%s::bigint[]) AS id GROUP BY id) taken WHERE taken.id = h.id""",
        [ROUND, list(hit_ids)],
    )


def _discount(cursor: CursorWrapper, assignment_ids: Sequence[int], reason: str) -> None:
    """Stop counting the judgments that count; others keep the reason why they don't."""
    cursor.execute(
        """UPDATE annotate_judgment SET is_counted = false, not_counted_reason = %s
           WHERE assignment_id = ANY(%s) AND is_counted""",
        [reason, list(assignment_ids)],
    )


def _change_reason(cursor: CursorWrapper, assignment_ids: Sequence[int], before: str, after: str) -> None:
    """Change why judgments do not count, from one reason to another."""
    cursor.execute(
        """UPDATE annotate_judgment SET not_counted_reason = %s
           WHERE assignment_id = ANY(%s) AND not_counted_reason = %s""",
        [after, list(assignment_ids), before],
    )


# Judgments that were excluded for a reason. Those that are counted elsewhere can't count too, and of several for the
# same candidate only the first can: files were once imported again while their judgments were excluded.
_WAITING = f"""
SELECT j.id, {is_in_use("i")} AS is_in_use,
       {is_in_use("i")} AND j.candidate_id IS NOT NULL AND ({is_counted_elsewhere("j")} OR row_number() OVER (
           PARTITION BY j.annotator_id, j.candidate_id, c.key ORDER BY j.id) > 1) AS is_known
FROM annotate_judgment j JOIN annotate_item i ON i.id = j.item_id JOIN projects_criterion c ON c.id = j.criterion_id
WHERE j.assignment_id = ANY(%(ids)s) AND j.not_counted_reason = %(reason)s
"""


def _count_again(cursor: CursorWrapper, assignment_ids: Sequence[int], reason: str) -> int:
    """Count the judgments again that were excluded for this reason; return how many are counted elsewhere already.

    Those of candidates withdrawn since stay uncounted too.
    """
    cursor.execute(
        f"""UPDATE annotate_judgment j SET is_counted = is_in_use AND NOT is_known,
                  not_counted_reason = CASE WHEN NOT is_in_use THEN 'withdrawn'
                                            WHEN is_known THEN %(known)s ELSE '' END
           FROM ({_WAITING}) waiting WHERE waiting.id = j.id RETURNING is_known""",
        {"ids": list(assignment_ids), "reason": reason, "known": ALREADY_COUNTED},
    )
    return sum(is_known for (is_known,) in cursor.fetchall())
