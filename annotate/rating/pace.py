"""Pace: how long a HIT usually takes, an annotator or all of a project, or an estimate from the length of its texts."""

import time
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from django.db import connection

from annotate.models.conditions import is_in_use, is_submitted, rates_here
from measures.outcome import Undefined
from measures.ratios import compute_ratio
from projects.database.prepared import prepared
from projects.models import Membership, Project

N_RECENT = 20
"""The latest measured HITs that make up a pace, so that it follows what an annotator does now."""
N_RECENT_OF_ALL = 200
MOST_OF_ONE = 50
"""The latest measured HITs that make up the pace of a project, and how many of one annotator are among them."""
LEAST_OF_ALL = 10
"""How many measured HITs of a project make its pace worth telling a newcomer."""
LEAST_FACTOR, MOST_SPREAD = 0.1, 10.0
"""A pace that is faster than anybody reads is not used, as of somebody who clicked through a trial to see it; and no
interval is told whose end is so many times its beginning."""
BYTES_PER_SECOND = 20
"""How fast texts are read: 200 English words of 6 bytes a minute, or 400 Chinese characters of 3 bytes.

Bytes rather than characters, because a script that needs more bytes for a character says more with it. The database
stores the number of bytes with each text, so that counting them costs nothing.
"""
SECONDS_PER_RATING = 8
"""For deciding on a rating: an estimate, which the measured pace of the project corrects (`Pace`)."""
PACE_IS_KEPT_SECONDS, MOST_PACES_KEPT = 60.0, 10_000
"""How long a process knows a pace, to which each HIT adds a twentieth, and of how many annotators."""
_paces: dict[int, tuple[float, float]] = {}
"""By annotator: when this process read the pace, by its own clock, and the pace."""


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

    @property
    def seconds_by_length(self) -> float:
        """The time estimated from the length of the texts alone."""
        return self.n_bytes / BYTES_PER_SECOND + SECONDS_PER_RATING * self.n_items * self.n_criteria

    def find_duration(self, seconds_an_item: float | None) -> Duration:
        if seconds_an_item is not None:
            return Duration(seconds_an_item * self.n_items)
        return Duration(self.seconds_by_length, is_estimate=True)

    def find_duration_for_others(self, pace: "Pace") -> Duration:
        """Return the duration at the pace of a project's annotators, if enough was measured to tell a newcomer."""
        if pace.n_hits < LEAST_OF_ALL or pace.is_implausible:
            return self.find_duration(None)
        return Duration(self.seconds_by_length * pace.factor)


@dataclass(frozen=True)
class Pace:
    """How a project's measured time compares with the estimate from the length of the texts.

    Attributes
    ----------
    factor : float
        Measured time over estimated time; 1 if nothing plausible was measured.
    low, high : float or None
        The 95 % interval of the factor; None where too little is known of the differences between annotators: with
        fewer than two or nearly so, or if it would be too wide to say anything.
    n_hits, n_annotators : int
        The HITs that were measured, and how many people worked on them.
    seconds_per_item : float or None
        The mean of these HITs.
    is_simulated : bool
        Whether simulated annotators were measured, because no person was.
    is_implausible : bool
        Whether what was measured is faster than anybody reads.
    """

    factor: float = 1.0
    low: float | None = None
    high: float | None = None
    n_hits: int = 0
    n_annotators: int = 0
    seconds_per_item: float | None = None
    is_simulated: bool = False
    is_implausible: bool = False


def find_duration(hit_id: int, annotator_id: int, n_items: int) -> Duration | None:
    """Return how long a HIT takes this annotator, at their own pace if it is known; None if nothing is left in it."""
    pace = _find_pace(annotator_id)
    return estimate_duration(hit_id) if pace is None else Duration(pace * n_items)


def _find_pace(annotator_id: int) -> float | None:
    """Return an annotator's pace as it was within the last minute: it changes little from one HIT to the next."""
    now, kept = time.monotonic(), _paces.get(annotator_id)
    if kept is not None and now - kept[0] < PACE_IS_KEPT_SECONDS:
        return kept[1]
    pace = find_paces([annotator_id]).get(annotator_id)
    if pace is not None:  # one that is not known yet may be with the next HIT
        if len(_paces) >= MOST_PACES_KEPT:
            _paces.clear()
        _paces[annotator_id] = now, pace
    return pace


def estimate_duration(hit_id: int) -> Duration | None:
    with connection.cursor() as cursor:
        prepared(_SIZE).execute(cursor, {"hit": hit_id})
        row = cursor.fetchone()
    return None if row is None else HitSize(*map(int, row[1:])).find_duration(None)


def find_paces(annotator_ids: Collection[int]) -> dict[int, float]:
    """Return the seconds an item of each annotator, without those of whom nothing was measured."""
    with connection.cursor() as cursor:
        prepared(_PACES).execute(cursor, {"annotators": list(annotator_ids)})
        return {pk: pace for pk, pace in cursor.fetchall() if pace is not None}


def measure_pace(project: Project) -> Pace:
    """Return the pace of a project's annotators together, however few HITs were measured.

    The texts of these HITs are compared with their time, so that the pace holds for HITs of other lengths. Simulated
    annotators are measured only where no person was.
    """
    with connection.cursor() as cursor:
        cursor.execute(MEASURED, {"project": project.pk})
        return read_pace(cursor.fetchall())


def read_pace(rows: Sequence[Sequence[Any]]) -> Pace:
    """Return the pace that rows of MEASURED tell, one for each annotator."""
    ratio = compute_ratio([row[3] for row in rows], [HitSize(*map(int, row[5:])).seconds_by_length for row in rows])
    if isinstance(ratio, Undefined):
        return Pace()
    is_implausible = ratio.value < LEAST_FACTOR
    is_wide = ratio.low is not None and ratio.high is not None and ratio.high > MOST_SPREAD * ratio.low
    is_told = not is_implausible and not is_wide
    return Pace(
        factor=1.0 if is_implausible else ratio.value,
        low=ratio.low if is_told else None,
        high=ratio.high if is_told else None,
        is_implausible=is_implausible,
        n_hits=sum(row[2] for row in rows),
        n_annotators=ratio.n,
        seconds_per_item=sum(row[3] for row in rows) / sum(int(row[4]) for row in rows),
        is_simulated=rows[0][1] == Membership.Kind.SIMULATED,
    )


def measure_texts(
    *, passages: Mapping[int, int], questions: Mapping[int, int], candidates: Mapping[int, int], rubric_id: int | None
) -> tuple[int, int, int]:
    """Return the bytes of passages, those of questions, references and candidates, and the criteria of the rubric.

    Each text counts as often as given by its id.
    """
    parameters = {
        f"{name}_{part}": list(values)
        for name, times in (("passage", passages), ("question", questions), ("candidate", candidates))
        for part, values in (("ids", times.keys()), ("times", times.values()))
    }
    with connection.cursor() as cursor:
        cursor.execute(_TEXTS, {**parameters, "rubric": rubric_id})
        n_criteria, of_passages, *of_items = cursor.fetchone()
    return int(of_passages), sum(map(int, of_items)), n_criteria


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

# One row for each annotator, with the sums of their measured HITs: items, ratings (as items rated on one criterion) and
# bytes. The items are those that were shown, controls included. Kinds sort people before simulated annotators.
MEASURED = f"""
WITH recent AS MATERIALIZED (
    SELECT m.id AS annotator_id, m.kind, mine.*
    FROM projects_membership m
    CROSS JOIN LATERAL (
        SELECT a.hit_id, a.active_seconds, a.layout, a.submitted_at FROM annotate_assignment a
        WHERE a.annotator_id = m.id AND {_is_measured("a")}
        ORDER BY a.submitted_at DESC LIMIT {MOST_OF_ONE}) mine
    WHERE m.project_id = %(project)s AND {rates_here("m")}
    ORDER BY m.kind, mine.submitted_at DESC LIMIT {N_RECENT_OF_ALL})
SELECT recent.annotator_id, recent.kind, count(*), sum(recent.active_seconds), sum(cardinality(recent.layout)),
       sum(cardinality(recent.layout) * rated.n_criteria), 1,
       sum(octet_length(p.text) + coalesce(octet_length(p.documents::text), 0) + shown.n_bytes)
FROM recent
JOIN annotate_hit h ON h.id = recent.hit_id
JOIN annotate_batch b ON b.id = h.batch_id
JOIN projects_passage p ON p.id = h.passage_id
CROSS JOIN LATERAL (SELECT count(*) AS n_criteria FROM projects_criterion k WHERE k.rubric_id = b.rubric_id) rated
CROSS JOIN LATERAL (
    SELECT coalesce(sum(octet_length(coalesce(i.shown_text, c.text, ''))), 0)
           + coalesce((SELECT sum(octet_length(q.text)) FROM projects_question q
                       WHERE q.id = ANY(array_agg(i.question_id))), 0)
           + coalesce((SELECT sum(octet_length(r.text)) FROM projects_reference r
                       WHERE r.question_id = ANY(array_agg(i.question_id))), 0) AS n_bytes
    FROM annotate_item i LEFT JOIN projects_candidate c ON c.id = i.candidate_id
    WHERE i.id = ANY(recent.layout)) shown
WHERE recent.kind = (SELECT min(kind) FROM recent)
GROUP BY recent.annotator_id, recent.kind
ORDER BY recent.annotator_id
"""

_TEXTS = """
SELECT (SELECT greatest(count(*), 1) FROM projects_criterion k WHERE k.rubric_id = %(rubric)s),
       (SELECT coalesce(sum(x.times * (octet_length(p.text) + coalesce(octet_length(p.documents::text), 0))), 0)
        FROM unnest(%(passage_ids)s::bigint[], %(passage_times)s::bigint[]) AS x (id, times)
        JOIN projects_passage p ON p.id = x.id),
       (SELECT coalesce(sum(x.times * octet_length(q.text)), 0)
        FROM unnest(%(question_ids)s::bigint[], %(question_times)s::bigint[]) AS x (id, times)
        JOIN projects_question q ON q.id = x.id),
       (SELECT coalesce(sum(x.times * octet_length(r.text)), 0)
        FROM unnest(%(question_ids)s::bigint[], %(question_times)s::bigint[]) AS x (id, times)
        JOIN projects_reference r ON r.question_id = x.id),
       (SELECT coalesce(sum(x.times * octet_length(c.text)), 0)
        FROM unnest(%(candidate_ids)s::bigint[], %(candidate_times)s::bigint[]) AS x (id, times)
        JOIN projects_candidate c ON c.id = x.id)
"""

_SELECT_SIZES = f"""
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
WHERE {{which}}
GROUP BY h.id, b.rubric_id, p.id, pr.id
"""
_SIZES = _SELECT_SIZES.format(which="h.id = ANY(%(hits)s::bigint[])")
# The rating page asks of one HIT. Prepared with a list, the statement would be planned for ten of them, or each time.
_SIZE = _SELECT_SIZES.format(which="h.id = %(hit)s::bigint")
