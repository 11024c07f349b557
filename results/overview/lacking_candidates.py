"""Candidates with fewer judgments than their batch asked for, although nothing more is coming, and why."""

from dataclasses import dataclass

from django.db import connection

from annotate.models.batch import find_batch_ids
from annotate.models.conditions import (
    is_counted,
    is_in_use,
    is_item,
    is_under_way,
    is_unused_trial,
    is_work,
    uses_trial,
)
from projects.models import Project


@dataclass(frozen=True)
class LackingCandidates:
    """How many candidates lack judgments; one may do so for several reasons.

    `n_closed` lack them because their batch was closed early, `n_excluded` because work was excluded and not redone,
    `n_set_aside` because single judgments were set aside. `batch_number` is the batch with the most of them.
    """

    n_candidates: int = 0
    least_wanted: int = 0
    most_wanted: int = 0
    n_closed: int = 0
    n_excluded: int = 0
    n_set_aside: int = 0
    batch_number: int | None = None


def find_lacking_candidates(project: Project) -> LackingCandidates:
    """Count the candidates of full collections that will not get all their judgments by themselves."""
    batches = find_batch_ids(project)
    with connection.cursor() as cursor:
        cursor.execute(_LACKING, {"project": project.pk, "batches": batches})
        return LackingCandidates(*cursor.fetchone())


# Only HITs that may lack something are looked at: those of closed batches with places left, those with excluded work
# that keeps its place, and those with a judgment set aside, which an index of what is not counted names. `source` has
# the full batches and, for each that counts the judgments of its trial, that trial too: of its HITs, the candidates
# that the full batch has, or of which the trial alone had enough. Of all these candidates, the judgments that they have
# in all batches and the places that are still open for them anywhere are counted then.
_LACKING = f"""
WITH batch AS MATERIALIZED (
    SELECT b.id, b.number, b.judgments, b.state FROM annotate_batch b
    WHERE b.project_id = %(project)s AND b.kind = 'full' AND b.state IN ('open', 'paused', 'closed')),
source AS MATERIALIZED (
    SELECT id, number, judgments, state, NULL::bigint AS asked_by, false AS has_all FROM batch
    UNION ALL
    SELECT t.id, b.number, b.judgments, t.state, b.id, t.judgments >= b.judgments
    FROM batch b JOIN annotate_batch f ON f.id = b.id AND {uses_trial("f")} JOIN annotate_batch t ON t.id = f.trial_id),
aside AS MATERIALIZED (
    SELECT j.candidate_id, j.assignment_id
    FROM projects_rubric r JOIN projects_criterion cr ON cr.rubric_id = r.id
    JOIN annotate_judgment j ON j.criterion_id = cr.id AND NOT j.is_counted AND j.not_counted_reason = 'set aside'
    WHERE r.project_id = %(project)s AND j.candidate_id IS NOT NULL),
short AS (
    SELECT h.id AS hit_id, b.number, b.judgments, b.asked_by, b.has_all, 'closed' AS reason
    FROM source b JOIN annotate_hit h ON h.batch_id = b.id
    WHERE b.state = 'closed' AND {is_work("h")} AND h.places_done < h.places_wanted
    UNION ALL
    SELECT h.id, b.number, b.judgments, b.asked_by, b.has_all, 'excluded'
    FROM source b JOIN annotate_hit h ON h.batch_id = b.id
    JOIN annotate_assignment a ON a.hit_id = h.id AND a.mark = 'excluded' AND a.holds_place
    WHERE {is_work("h")} AND h.batch_id = ANY(%(batches)s)),
found AS (
    SELECT i.candidate_id, short.number, short.judgments, short.asked_by, short.has_all, short.reason
    FROM short JOIN annotate_item i ON i.hit_id = short.hit_id AND {is_item("i")} AND {is_in_use("i")}
    UNION ALL
    SELECT j.candidate_id, b.number, b.judgments, b.asked_by, b.has_all, 'set aside'
    FROM aside j JOIN annotate_assignment a ON a.id = j.assignment_id AND a.holds_place AND a.mark <> 'excluded'
    JOIN annotate_hit h ON h.id = a.hit_id AND {is_work("h")} JOIN source b ON b.id = h.batch_id),
asked AS (
    SELECT candidate_id, number, judgments, reason FROM found
    WHERE asked_by IS NULL OR has_all OR EXISTS (
        SELECT 1 FROM annotate_item i JOIN annotate_hit h ON h.id = i.hit_id AND {is_work("h")}
        WHERE i.candidate_id = found.candidate_id AND h.batch_id = found.asked_by AND {is_item("i")})),
candidate AS (
    SELECT candidate_id, max(judgments) AS wanted, min(number) AS number, bool_or(reason = 'closed') AS is_closed,
           bool_or(reason = 'excluded') AS is_excluded, bool_or(reason = 'set aside') AS is_set_aside
    FROM asked GROUP BY candidate_id),
lacking AS (
    SELECT c.* FROM candidate c WHERE c.wanted > (
        SELECT count(DISTINCT j.annotator_id) FROM annotate_judgment j
        JOIN annotate_assignment a ON a.id = j.assignment_id
        JOIN annotate_hit h ON h.id = a.hit_id JOIN annotate_batch b ON b.id = h.batch_id
        WHERE j.candidate_id = c.candidate_id AND {is_counted("j")} AND NOT {is_unused_trial("b")}) + (
        SELECT coalesce(sum(h.places_wanted - h.places_done), 0) FROM annotate_item i
        JOIN annotate_hit h ON h.id = i.hit_id AND {is_work("h")}
        WHERE h.batch_id IN (SELECT s.id FROM source s WHERE {is_under_way("s")})
          AND i.candidate_id = c.candidate_id AND {is_item("i")} AND {is_in_use("i")}))
SELECT count(*), coalesce(min(wanted), 0), coalesce(max(wanted), 0), count(*) FILTER (WHERE is_closed),
       count(*) FILTER (WHERE is_excluded), count(*) FILTER (WHERE is_set_aside),
       mode() WITHIN GROUP (ORDER BY number)
FROM lacking
"""
