"""Prospects: what the next HIT pays somebody and how long one takes them, by their own figures and nobody else's."""

from collections.abc import Iterable
from dataclasses import dataclass

from django.db import connection

from annotate.qualifying.admissions import gate
from projects.models import Membership


@dataclass(frozen=True)
class Prospect:
    """Pay of a whole HIT in the batches that are open to somebody, and their own mean active time for one.

    The pay goes by the number of answers where `is_by_answer`: a HIT may have fewer than `n_items`. `seconds` is None
    where no HIT of theirs was measured.
    """

    low_cents: int = 0
    high_cents: int = 0
    is_by_answer: bool = False
    n_items: int = 0
    seconds: float | None = None

    @property
    def hours(self) -> float | None:
        return None if self.seconds is None else self.seconds / 3600


_PROSPECTS = f"""
SELECT m.id, min(b.cents_per_hit + b.cents_per_item * b.hit_size), max(b.cents_per_hit + b.cents_per_item * b.hit_size),
       bool_or(b.cents_per_item > 0), max(b.hit_size), max(pace.seconds / pace.n_items)
FROM projects_membership m
JOIN annotate_batch b ON b.project_id = m.project_id AND b.state = 'open' AND b.kind <> 'imported'
LEFT JOIN LATERAL (
    SELECT sum(a.active_seconds) AS seconds, sum(cardinality(a.layout)) AS n_items FROM annotate_assignment a
    WHERE a.annotator_id = m.id AND a.state IN ('submitted', 'approved', 'rejected')
      AND a.active_seconds > 0 AND NOT a.has_odd_times) pace ON true
WHERE m.id = ANY(%s) AND {gate(batch="b", annotator="m.id")}
  AND (NOT b.has_named_annotators OR EXISTS (
      SELECT 1 FROM annotate_batchannotator n WHERE n.batch_id = b.id AND n.annotator_id = m.id))
GROUP BY m.id
"""


def prospects_of(annotators: Iterable[Membership]) -> dict[int, Prospect]:
    """The prospects of those who have a batch open to them, by the id of the membership: one query."""
    with connection.cursor() as cursor:
        cursor.execute(_PROSPECTS, [[annotator.pk for annotator in annotators]])
        return {
            pk: Prospect(low, high, is_by_answer, n_items, None if pace is None else float(pace) * n_items)
            for pk, low, high, is_by_answer, n_items, pace in cursor.fetchall()
        }
