"""Shortfalls: judgments that a batch will not collect by itself, because their places stay taken."""

from dataclasses import dataclass

from django.db import connection

from annotate.models import Batch
from annotate.models.conditions import is_in_use, is_item, is_work

N_SHOWN = 50
"""Cases listed on the batch page; the counts include all."""


@dataclass(frozen=True)
class UncountedWork:
    """Work on one HIT that does not count although its place is taken: all of it, or single judgments set aside."""

    uuid: str
    hit_number: int
    pseudonym: str
    n_judgments: int
    reason: str
    is_whole: bool


@dataclass(frozen=True)
class Shortfall:
    """What a batch lacks: excluded assignments that keep their place, and single judgments set aside."""

    n_assignments: int
    n_set_aside: int
    n_withdrawn: int
    missing: tuple[UncountedWork, ...]

    def __bool__(self) -> bool:
        return bool(self.n_assignments or self.n_set_aside or self.n_withdrawn)


def find_shortfall(batch: Batch) -> Shortfall:
    """Count what the batch lacks and list the first cases; withdrawn candidates are counted separately."""
    with connection.cursor() as cursor:
        cursor.execute(_MISSING, {"batch": batch.pk, "n": N_SHOWN})
        rows = cursor.fetchall()
        cursor.execute(
            f"""SELECT count(*) FROM annotate_item i JOIN annotate_hit h ON h.id = i.hit_id
               WHERE h.batch_id = %s AND {is_item("i")} AND NOT {is_in_use("i")}""",
            [batch.pk],
        )
        n_withdrawn = cursor.fetchone()[0]
    missing = tuple(UncountedWork(str(row[0]), *row[1:6]) for row in rows)
    n_assignments, n_set_aside = rows[0][6:] if rows else (0, 0)
    return Shortfall(int(n_assignments), int(n_set_aside), n_withdrawn, missing)


# Two kinds of missing judgments: whole assignments that were excluded and keep their place, and single judgments set
# aside. The latter never open a place, because all candidates of a HIT need the same number. The window functions count
# all rows, while LIMIT returns only those that the page lists.
_MISSING = f"""
WITH missing AS (
    SELECT a.uuid, h.number, m.pseudonym, cardinality(a.layout) AS n, a.mark_reason AS reason, true AS is_whole, a.id
    FROM annotate_hit h JOIN annotate_assignment a ON a.hit_id = h.id AND a.mark = 'excluded' AND a.holds_place
    JOIN projects_membership m ON m.id = a.annotator_id
    WHERE h.batch_id = %(batch)s AND {is_work("h")}
    UNION ALL
    SELECT a.uuid, h.number, m.pseudonym, count(DISTINCT j.item_id), '', false, a.id
    FROM annotate_hit h JOIN annotate_assignment a ON a.hit_id = h.id
    JOIN annotate_judgment j ON j.assignment_id = a.id AND j.not_counted_reason = 'set aside'
    JOIN projects_membership m ON m.id = a.annotator_id
    WHERE h.batch_id = %(batch)s AND {is_work("h")} AND a.holds_place AND a.mark <> 'excluded'
    GROUP BY a.id, h.number, m.pseudonym)
SELECT uuid, number, pseudonym, n, reason, is_whole,
       count(*) FILTER (WHERE is_whole) OVER (), coalesce(sum(n) FILTER (WHERE NOT is_whole) OVER (), 0)
FROM missing ORDER BY number, id LIMIT %(n)s
"""
