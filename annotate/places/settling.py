"""Settling submitted work: approved, rejected, excluded, restored; single judgments and whole candidates left out.

Each function locks what it changes in the order assignment, hit, judgment, ascending by id; the caller has locked
the memberships before.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from django.db import connection

from annotate.models.batch import ROUND


@dataclass(frozen=True)
class Restored:
    """How many assignments count again, and how many are surplus because others have taken their places."""

    n_counted: int
    n_surplus: int


def approve(assignment_ids: Sequence[int], *, by: int | None) -> list[int]:
    """Approve those that are submitted; the ids of the ones that were."""
    with connection.cursor() as cursor:
        _lock(cursor, assignment_ids)
        cursor.execute(
            """UPDATE annotate_assignment SET state = 'approved', decided_at = now(), decided_by_id = %s
               WHERE id = ANY(%s) AND state = 'submitted' RETURNING id""",
            [by, list(assignment_ids)],
        )
        return sorted(row[0] for row in cursor.fetchall())


def reject(assignment_ids: Sequence[int], *, by: int | None, reason: str, is_unpaid: bool) -> list[int]:
    """Reject submitted or approved assignments; their places are open again. The ids of those rejected.

    The place of a HIT made for one annotator is withdrawn instead: nobody else may take it.
    """
    with connection.cursor() as cursor:
        _lock(cursor, assignment_ids)
        cursor.execute(
            """UPDATE annotate_assignment a SET state = 'rejected', holds_place = false, decided_at = now(),
                      decided_by_id = %s, decision_reason = %s, is_unpaid = %s
               FROM (SELECT id, holds_place FROM annotate_assignment WHERE id = ANY(%s)) before
               WHERE a.id = before.id AND a.state IN ('submitted', 'approved')
               RETURNING a.id, a.hit_id, before.holds_place""",
            [by, reason, is_unpaid, list(assignment_ids)],
        )
        rows = cursor.fetchall()
        _give_up(cursor, [hit for _, hit, held in rows if held])
        ids = sorted(row[0] for row in rows)
        _discount(cursor, ids, "rejected")
    return ids


def exclude(assignment_ids: Sequence[int], *, reason: str, reopens: bool) -> list[int]:
    """Leave submitted assignments out of every result; the ids of those that counted until now.

    With `reopens` their places are open again, to be collected anew; without, they keep them and are a shortfall.
    """
    with connection.cursor() as cursor:
        _lock(cursor, assignment_ids)
        cursor.execute(
            """UPDATE annotate_assignment SET mark = 'excluded', mark_reason = %s, holds_place = NOT %s
               WHERE id = ANY(%s) AND state IN ('submitted', 'approved') AND mark IN ('counted', 'late')
               RETURNING id, hit_id""",
            [reason, reopens, list(assignment_ids)],
        )
        rows = cursor.fetchall()
        if reopens:
            _give_up(cursor, [hit for _, hit in rows])
        ids = sorted(row[0] for row in rows)
        _discount(cursor, ids, "removed")
    return ids


_RESTORABLE = """
SELECT a.id, a.hit_id, a.holds_place FROM annotate_assignment a
WHERE a.id = ANY(%s) AND a.state IN ('submitted', 'approved') AND a.mark = 'excluded'
"""


def count_restorable(assignment_ids: Sequence[int]) -> Restored:
    """What restoring would come to if it were done now."""
    with connection.cursor() as cursor:
        cursor.execute(
            f"""SELECT coalesce(sum(n_held), 0), coalesce(sum(least(n_lost, h.places_open)), 0),
                       coalesce(sum(n_lost), 0)
                FROM (SELECT hit_id, count(*) FILTER (WHERE holds_place) AS n_held,
                             count(*) FILTER (WHERE NOT holds_place) AS n_lost
                      FROM ({_RESTORABLE}) found GROUP BY hit_id) per
                JOIN annotate_hit h ON h.id = per.hit_id""",
            [list(assignment_ids)],
        )
        n_held, n_free, n_lost = map(int, cursor.fetchone())
    return Restored(n_counted=n_held + n_free, n_surplus=n_lost - n_free)


def restore(assignment_ids: Sequence[int]) -> Restored:
    """Count excluded assignments again where their place is still theirs or still free; the others are surplus."""
    with connection.cursor() as cursor:
        _lock(cursor, assignment_ids)
        cursor.execute(_RESTORABLE + " ORDER BY a.id", [list(assignment_ids)])
        rows = cursor.fetchall()
        free = _lock_hits(cursor, [hit for _, hit, held in rows if not held])
        counted, retaken, surplus = [], [], []
        for assignment_id, hit_id, held in rows:
            if held:
                counted.append(assignment_id)
            elif free[hit_id] > 0:
                free[hit_id] -= 1
                counted.append(assignment_id)
                retaken.append(hit_id)
            else:
                surplus.append(assignment_id)
        _take_again(cursor, retaken)
        for ids, mark, holds in ((counted, "counted", True), (surplus, "surplus", False)):
            cursor.execute(
                "UPDATE annotate_assignment SET mark = %s, mark_reason = '', holds_place = %s WHERE id = ANY(%s)",
                [mark, holds, ids],
            )
        _count_again(cursor, counted)
        cursor.execute(
            """UPDATE annotate_judgment SET not_counted_reason = 'surplus'
               WHERE assignment_id = ANY(%s) AND not_counted_reason = 'removed'""",
            [surplus],
        )
    return Restored(n_counted=len(counted), n_surplus=len(surplus))


def set_aside(*, assignment_id: int, item_id: int, is_counted: bool) -> int:
    """Leave one item's judgments of a counted assignment out, or count them again. No place is opened by it."""
    with connection.cursor() as cursor:
        _lock(cursor, [assignment_id])
        cursor.execute(
            """UPDATE annotate_judgment j SET is_counted = %(count)s,
                      not_counted_reason = CASE WHEN %(count)s THEN '' ELSE 'set aside' END
               FROM annotate_assignment a, annotate_item i
               WHERE j.assignment_id = %(assignment)s AND j.item_id = %(item)s AND a.id = j.assignment_id
                 AND i.id = j.item_id AND a.state IN ('submitted', 'approved') AND a.mark IN ('counted', 'late')
                 AND CASE WHEN %(count)s THEN j.not_counted_reason = 'set aside' ELSE j.is_counted END""",
            {"count": is_counted, "assignment": assignment_id, "item": item_id},
        )
        return int(cursor.rowcount)


@dataclass(frozen=True)
class Withdrawn:
    """What withdrawing candidates came to: items gone from HITs, HITs left empty, judgments no longer counted."""

    n_items: int
    n_hits_emptied: int
    n_judgments: int


def withdraw_candidates(candidate_ids: Sequence[int]) -> Withdrawn:
    """Take candidates out of every layout made from now on; what was judged of them is kept and not counted.

    A HIT without items left gives up its free places. Controls made from the candidates go too.
    """
    with connection.cursor() as cursor:
        cursor.execute(
            """SELECT id, hit_id FROM annotate_item WHERE retired_at IS NULL
               AND (candidate_id = ANY(%(ids)s) OR made_from_id IN (
                    SELECT id FROM annotate_item WHERE candidate_id = ANY(%(ids)s)))""",
            {"ids": list(candidate_ids)},
        )
        rows = cursor.fetchall()
        items, hits = [row[0] for row in rows], sorted({row[1] for row in rows if row[1] is not None})
        cursor.execute(
            "SELECT id FROM annotate_assignment WHERE hit_id = ANY(%s) ORDER BY id FOR NO KEY UPDATE", [hits]
        )
        _lock_hits(cursor, hits)
        cursor.execute("UPDATE annotate_item SET retired_at = now() WHERE id = ANY(%s)", [items])
        cursor.execute(
            """UPDATE annotate_hit h SET places_wanted = places_wanted - places_open, places_open = 0
               WHERE h.id = ANY(%s) AND places_open > 0 AND NOT EXISTS (
                   SELECT 1 FROM annotate_item i WHERE i.hit_id = h.id AND i.retired_at IS NULL)""",
            [hits],
        )
        n_emptied = cursor.rowcount
        cursor.execute(
            "SELECT id FROM annotate_judgment WHERE item_id = ANY(%s) AND is_counted ORDER BY id FOR NO KEY UPDATE",
            [items],
        )
        judgments = [row[0] for row in cursor.fetchall()]
        cursor.execute(
            "UPDATE annotate_judgment SET is_counted = false, not_counted_reason = 'withdrawn' WHERE id = ANY(%s)",
            [judgments],
        )
    return Withdrawn(n_items=len(items), n_hits_emptied=n_emptied, n_judgments=len(judgments))


def _lock(cursor: Any, assignment_ids: Iterable[int]) -> None:
    cursor.execute(
        "SELECT id FROM annotate_assignment WHERE id = ANY(%s) ORDER BY id FOR NO KEY UPDATE", [list(assignment_ids)]
    )


def _lock_hits(cursor: Any, hit_ids: Iterable[int]) -> dict[int, int]:
    """Lock HITs in order; their free places."""
    cursor.execute(
        "SELECT id, places_open FROM annotate_hit WHERE id = ANY(%s) ORDER BY id FOR NO KEY UPDATE",
        [sorted(set(hit_ids))],
    )
    return dict(cursor.fetchall())


def _give_up(cursor: Any, hit_ids: Sequence[int]) -> None:
    """One done place less for each mention of a HIT: open again, or withdrawn where it was made for one annotator."""
    _lock_hits(cursor, hit_ids)
    cursor.execute(
        """UPDATE annotate_hit h SET places_done = h.places_done - given.n,
                  places_open = h.places_open + CASE WHEN h.purpose = 'work' THEN given.n ELSE 0 END,
                  places_wanted = h.places_wanted - CASE WHEN h.purpose = 'work' THEN 0 ELSE given.n END,
                  queue_key = h.queue_key - given.n * %s
           FROM (SELECT id, count(*) AS n FROM unnest(%s::bigint[]) AS id GROUP BY id) given WHERE given.id = h.id""",
        [ROUND, list(hit_ids)],
    )


def _take_again(cursor: Any, hit_ids: Sequence[int]) -> None:
    cursor.execute(
        """UPDATE annotate_hit h SET places_done = h.places_done + taken.n, places_open = h.places_open - taken.n,
                  queue_key = h.queue_key + taken.n * %s
           FROM (SELECT id, count(*) AS n FROM unnest(%s::bigint[]) AS id GROUP BY id) taken WHERE taken.id = h.id""",
        [ROUND, list(hit_ids)],
    )


def _discount(cursor: Any, assignment_ids: Sequence[int], reason: str) -> None:
    cursor.execute(
        """UPDATE annotate_judgment SET is_counted = false, not_counted_reason = %s
           WHERE assignment_id = ANY(%s) AND is_counted""",
        [reason, list(assignment_ids)],
    )


def _count_again(cursor: Any, assignment_ids: Sequence[int]) -> None:
    """Those that the removal left out; a candidate withdrawn since stays out."""
    cursor.execute(
        """UPDATE annotate_judgment j SET is_counted = i.retired_at IS NULL,
                  not_counted_reason = CASE WHEN i.retired_at IS NULL THEN '' ELSE 'withdrawn' END
           FROM annotate_item i
           WHERE i.id = j.item_id AND j.assignment_id = ANY(%s) AND j.not_counted_reason = 'removed'""",
        [list(assignment_ids)],
    )
