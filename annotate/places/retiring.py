"""Retiring: setting single judgments aside, and withdrawing candidates or passages from everything still to be rated.

As in `deciding`, the caller has locked the memberships it needs.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from django.db import connection

from annotate.models.conditions import can_be_taken, is_counted_elsewhere, is_in_use, is_marked_counted, is_submitted
from annotate.places.locking import lock_assignments, lock_hits


def set_aside(*, assignment_id: int, item_id: int, is_counted: bool) -> int:
    """Set one item's judgments of a counted assignment aside, or count them again; return how many changed.

    What is counted elsewhere, imported again meanwhile, stays as it is. No place opens: the assignment still holds its
    place, with the other judgments of the HIT.
    """
    with connection.cursor() as cursor:
        lock_assignments(cursor, [assignment_id])
        cursor.execute(
            f"""UPDATE annotate_judgment j SET is_counted = %(count)s AND {is_in_use("i")},
                      not_counted_reason = CASE WHEN NOT %(count)s THEN 'set aside'
                                                WHEN {is_in_use("i")} THEN '' ELSE 'withdrawn' END
               FROM annotate_assignment a, annotate_item i
               WHERE j.assignment_id = %(assignment)s AND j.item_id = %(item)s AND a.id = j.assignment_id
                 AND i.id = j.item_id AND {is_submitted("a")} AND {is_marked_counted("a")}
                 AND CASE WHEN %(count)s THEN j.not_counted_reason = 'set aside' AND NOT {is_counted_elsewhere("j")}
                          ELSE j.is_counted END""",
            # The last condition makes the act idempotent, and keeps judgments that do not count for another reason.
            {"count": is_counted, "assignment": assignment_id, "item": item_id},
        )
        return int(cursor.rowcount)


@dataclass(frozen=True)
class Withdrawn:
    """The effect of a withdrawal: items removed from HITs, HITs left empty, judgments no longer counted."""

    n_items: int
    n_hits_emptied: int
    n_judgments: int

    def __add__(self, other: "Withdrawn") -> "Withdrawn":
        return Withdrawn(
            self.n_items + other.n_items,
            self.n_hits_emptied + other.n_hits_emptied,
            self.n_judgments + other.n_judgments,
        )


_CONCERNED = """
SELECT i.id, i.hit_id, i.pool_of_id, q.passage_id FROM annotate_item i JOIN projects_question q ON q.id = i.question_id
WHERE i.candidate_id = ANY(%(candidates)s) OR q.passage_id = ANY(%(passages)s)
   OR i.made_from_id IN (SELECT id FROM annotate_item WHERE candidate_id = ANY(%(candidates)s))
"""
"""Items that show one of the candidates, a control made from one, or anything of the passages; pool controls too."""

_MAY_HAVE_SHOWN = """
SELECT a.id FROM annotate_assignment a WHERE a.hit_id = ANY(%(hits)s)
UNION
SELECT a.id FROM unnest(%(pools)s::bigint[], %(of)s::bigint[]) AS pool (batch_id, passage_id)
JOIN annotate_hit h ON h.batch_id = pool.batch_id AND h.passage_id = pool.passage_id
JOIN annotate_assignment a ON a.hit_id = h.id AND a.layout && %(items)s::bigint[]
"""
"""Assignments that may have shown such an item: those of its HIT, or those that a control of the pool was drawn into.

A control of a pool belongs to no HIT, so only the layouts tell who saw it. The join on batch and passage narrows the
search to HITs into which it can have been drawn; there is no index on layouts.
"""


def withdraw_candidates(candidate_ids: Sequence[int], *, passage_ids: Sequence[int] = ()) -> Withdrawn:
    """Remove candidates from every future layout; their judgments are kept and no longer counted.

    Controls made from them go too, and everything on the given passages. A HIT without items left loses its open
    places. Calling it again changes nothing, except for judgments whose submission was in progress the first time:
    callers therefore call it a second time, in a second transaction.
    """
    with connection.cursor() as cursor:
        cursor.execute(_CONCERNED, {"candidates": list(candidate_ids), "passages": list(passage_ids)})
        rows = cursor.fetchall()
        items = sorted(row[0] for row in rows)
        hits = sorted({row[1] for row in rows if row[1] is not None})
        pools = sorted({(row[2], row[3]) for row in rows if row[2] is not None})
        cursor.execute(
            _MAY_HAVE_SHOWN,
            {"hits": hits, "items": items, "pools": [batch for batch, _ in pools], "of": [p for _, p in pools]},
        )
        assignments = [row[0] for row in cursor.fetchall()]
        lock_assignments(cursor, assignments)
        lock_hits(cursor, hits)
        cursor.execute("UPDATE annotate_item SET retired_at = now() WHERE id = ANY(%s) AND retired_at IS NULL", [items])
        n_items = cursor.rowcount
        cursor.execute(
            f"""UPDATE annotate_hit h SET places_wanted = places_wanted - places_open, places_open = 0
                WHERE h.id = ANY(%s) AND places_open > 0 AND NOT {can_be_taken("h")}""",
            [hits],
        )
        n_emptied = cursor.rowcount
        cursor.execute(
            """UPDATE annotate_judgment SET is_counted = false, not_counted_reason = 'withdrawn'
               WHERE assignment_id = ANY(%s) AND item_id = ANY(%s) AND is_counted""",
            [assignments, items],
        )
        return Withdrawn(n_items=n_items, n_hits_emptied=n_emptied, n_judgments=cursor.rowcount)
