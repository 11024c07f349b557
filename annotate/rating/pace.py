"""Pace: how long a HIT usually takes an annotator, or an estimate from the length of its texts."""

from collections.abc import Collection
from dataclasses import dataclass

from django.db import connection

from annotate.models.conditions import is_in_use, is_submitted
from projects.database.prepared import prepared
from projects.models import Project

N_RECENT = 20
"""The latest measured HITs that make up a pace, so that it follows what an annotator does now."""
N_RECENT_OF_ALL = 200
LEAST_OF_ALL = 10
"""How many measured HITs of a project make its pace worth telling a newcomer."""
BYTES_PER_SECOND = 20
"""How fast texts are read: 200 English words of 6 bytes a minute, or 400 Chinese characters of 3 bytes.

Bytes rather than characters, because a script that needs more bytes for a character says more with it. The database
stores the number of bytes with each text, so that counting them costs nothing.
"""
SECONDS_PER_RATING = 8


@dataclass(frozen=True)
class Duration:
    """How long a HIT takes: at someone's usual pace, or estimated from the length of its texts."""

    seconds: float
    is_estimate: bool = False

    @property
    def hours(self) -> float:
        """The time for pages, in whole minutes."""
        return max(1, round(self.seconds / 60)) / 60


@dataclass(frozen=True)
class HitSize:
    """The items of a HIT, the criteria that each is rated on, and the bytes of all that there is to read."""

    n_items: int
    n_criteria: int
    n_bytes: int

    def find_duration(self, seconds_an_item: float | None) -> Duration:
        if seconds_an_item is not None:
            return Duration(seconds_an_item * self.n_items)
        reading = self.n_bytes / BYTES_PER_SECOND
        return Duration(reading + SECONDS_PER_RATING * self.n_items * self.n_criteria, is_estimate=True)


def find_duration(hit_id: int, annotator_id: int, n_items: int) -> Duration | None:
    """Return how long a HIT takes this annotator, at their own pace if it is known; None if nothing is left in it."""
    pace = find_paces([annotator_id]).get(annotator_id)
    return estimate_duration(hit_id) if pace is None else Duration(pace * n_items)


def estimate_duration(hit_id: int) -> Duration | None:
    size = measure_hits([hit_id]).get(hit_id)
    return None if size is None else size.find_duration(None)


def find_paces(annotator_ids: Collection[int]) -> dict[int, float]:
    """Return the seconds an item of each annotator, without those of whom nothing was measured."""
    with connection.cursor() as cursor:
        prepared(_PACES).execute(cursor, {"annotators": list(annotator_ids)})
        return {pk: pace for pk, pace in cursor.fetchall() if pace is not None}


def find_pace_of_all(project: Project) -> float | None:
    """Return the seconds an item of a project's annotators together, or None if too few HITs were measured."""
    with connection.cursor() as cursor:
        cursor.execute(_PACE_OF_ALL, {"project": project.pk})
        n_hits, pace = cursor.fetchone()
    return pace if n_hits >= LEAST_OF_ALL else None


def measure_hits(hit_ids: Collection[int]) -> dict[int, HitSize]:
    """Return the size of each HIT that has items in use."""
    with connection.cursor() as cursor:
        cursor.execute(_SIZES, {"hits": list(hit_ids)})
        return {pk: HitSize(*map(int, size)) for pk, *size in cursor.fetchall()}


def _is_measured(assignment: str) -> str:
    a = assignment
    return f"{is_submitted(a)} AND {a}.submitted_at IS NOT NULL AND {a}.active_seconds > 0 AND NOT {a}.has_odd_times"


# Total time by total items, so that a long HIT weighs more than a short one.
_PACES = f"""
SELECT m.id, sum(recent.active_seconds) / nullif(sum(cardinality(recent.layout)), 0)
FROM unnest(%(annotators)s::bigint[]) AS m (id)
CROSS JOIN LATERAL (
    SELECT a.active_seconds, a.layout FROM annotate_assignment a
    WHERE a.annotator_id = m.id AND {_is_measured("a")}
    ORDER BY a.submitted_at DESC LIMIT {N_RECENT}) recent
GROUP BY m.id
"""

_PACE_OF_ALL = f"""
SELECT count(*), sum(recent.active_seconds) / nullif(sum(cardinality(recent.layout)), 0)
FROM (
    SELECT a.active_seconds, a.layout
    FROM projects_membership m JOIN annotate_assignment a ON a.annotator_id = m.id
    WHERE m.project_id = %(project)s::bigint AND {_is_measured("a")}
    ORDER BY a.submitted_at DESC LIMIT {N_RECENT_OF_ALL}) recent
"""

_SIZES = f"""
SELECT h.id, count(*), (SELECT count(*) FROM projects_criterion k WHERE k.rubric_id = b.rubric_id),
       octet_length(p.text) + coalesce(octet_length(p.documents::text), 0)
       + sum(octet_length(coalesce(i.shown_text, c.text, '')))
       + coalesce((
           SELECT sum(octet_length(q.text)) FROM projects_question q
           WHERE q.id = ANY(array_agg(i.question_id))), 0)
       + CASE WHEN pr.hides_references THEN 0 ELSE coalesce((
           SELECT sum(octet_length(r.text)) FROM projects_reference r
           WHERE r.question_id = ANY(array_agg(i.question_id))), 0) END
FROM annotate_hit h
JOIN annotate_batch b ON b.id = h.batch_id
JOIN projects_project pr ON pr.id = b.project_id
JOIN projects_passage p ON p.id = h.passage_id
JOIN annotate_item i ON i.hit_id = h.id AND {is_in_use("i")}
LEFT JOIN projects_candidate c ON c.id = i.candidate_id
WHERE h.id = ANY(%(hits)s::bigint[])
GROUP BY h.id, b.rubric_id, p.id, pr.id
"""
