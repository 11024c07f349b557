"""The data of an annotator's page: scores over time compared with others', and counts of their assignments."""

from dataclasses import dataclass
from datetime import datetime
from typing import Any

from django.db import connection

from annotate.models import Assignment
from annotate.models.conditions import is_counted, was_submitted
from annotate.quality.evidence import QualityScale
from projects.language.amounts import format_day
from projects.models import Membership

LAST_HITS = 60
"""Submitted HITs in the chart over time, in which their points are then about 10 units apart."""


@dataclass(frozen=True)
class SubmittedHit:
    """One submitted HIT: the mean score, and others' mean on the same items if there is one."""

    number: int
    batch_number: int
    hit_number: int
    submitted_at: datetime
    n_items: int
    mean: float
    others: float | None
    seconds: float | None


_SHARE = "(CASE WHEN cr.is_reversed THEN cr.high - {0}.value ELSE {0}.value - cr.low END)::float8 / (cr.high - cr.low)"

# The annotator's latest HITs, each with their mean and the mean of what others gave the same candidates. The LIMIT
# is in `mine`, before the judgments are joined, so that an annotator with thousands of HITs costs no more than a
# new one. Others' judgments come by LATERAL, which asks the index once for each of these few hundred rows.
_HISTORY = f"""
WITH mine AS (
    SELECT a.id, a.hit_id, a.submitted_at, a.active_seconds FROM annotate_assignment a
    WHERE a.annotator_id = %(me)s AND {was_submitted("a")}
    ORDER BY a.submitted_at DESC, a.id DESC LIMIT %(limit)s)
SELECT b.number, h.number, mine.submitted_at, count(DISTINCT j.item_id), avg({_SHARE.format("j")}), avg(theirs.share),
       mine.active_seconds
FROM mine
JOIN annotate_hit h ON h.id = mine.hit_id
JOIN annotate_batch b ON b.id = h.batch_id
JOIN annotate_judgment j ON j.assignment_id = mine.id AND j.candidate_id IS NOT NULL AND j.value IS NOT NULL
JOIN projects_criterion cr ON cr.id = j.criterion_id AND cr.id = ANY(%(criteria)s)
LEFT JOIN LATERAL (
    SELECT avg({_SHARE.format("o")}) AS share FROM annotate_judgment o
    WHERE o.criterion_id = j.criterion_id AND o.candidate_id = j.candidate_id AND o.is_counted
      AND o.value IS NOT NULL AND o.annotator_id <> %(me)s) theirs ON true
GROUP BY b.number, h.number, mine.id, mine.submitted_at, mine.active_seconds
ORDER BY mine.submitted_at, mine.id
"""


def fetch_history(annotator: Membership, scale: QualityScale) -> list[SubmittedHit]:
    """Return the last HITs with a score, in the order of submission."""
    with connection.cursor() as cursor:
        cursor.execute(_HISTORY, {"me": annotator.pk, "criteria": list(scale.ids), "limit": LAST_HITS})
        rows = cursor.fetchall()
    return [
        SubmittedHit(
            number,
            batch,
            hit,
            at,
            n,
            _convert_to_points(own, scale),
            None if o is None else _convert_to_points(o, scale),
            seconds,
        )
        for number, (batch, hit, at, n, own, o, seconds) in enumerate(rows, start=1)
    ]


# The rule of the stored figure (`evidence.fetch_scores`), for one annotator.
_RATED = f"""
SELECT count(DISTINCT j.candidate_id) FROM annotate_judgment j
JOIN projects_candidate c ON c.id = j.candidate_id AND c.withdrawn_at IS NULL
WHERE j.annotator_id = %(me)s AND j.criterion_id = ANY(%(criteria)s) AND {is_counted("j")} AND j.value IS NOT NULL
"""


def count_rated(annotator: Membership, scale: QualityScale) -> int:
    """Return the number of candidates with a counted score, as it is now: a removal may have excluded some since."""
    with connection.cursor() as cursor:
        cursor.execute(_RATED, {"me": annotator.pk, "criteria": list(scale.ids)})
        return int(cursor.fetchone()[0])


def count_work(annotator: Membership) -> dict[str, Any]:
    """Return the numbers of assignments by state and submitted in the last week, and the last submission."""
    with connection.cursor() as cursor:
        cursor.execute(
            """SELECT state, count(*), max(submitted_at),
                      count(*) FILTER (WHERE submitted_at > now() - interval '7 days')
               FROM annotate_assignment WHERE annotator_id = %s GROUP BY state""",
            [annotator.pk],
        )
        rows = cursor.fetchall()
    labels = dict(Assignment.State.choices)
    last_at = max((row[2] for row in rows if row[2]), default=None)
    return {
        "states": [(labels[state], n) for state, n, _, _ in sorted(rows)],
        "n_week": sum(row[3] for row in rows),
        "last_at": last_at,
        "last_day": format_day(last_at) if last_at else "",
    }


def _convert_to_points(share: float, scale: QualityScale) -> float:
    return scale.low + scale.span * share
