"""Coverage: how often each candidate was judged or will be, and the HITs that can get more judgments."""

from django.db import connection

from annotate.batches.selection import Row
from annotate.models import Batch
from annotate.models.conditions import (
    is_counted,
    is_in_use,
    is_item,
    is_judgeable,
    is_rated_itself,
    is_unused_trial,
    is_work,
)
from annotate.planning.overlap import Coverage, OpenHit
from projects.models import Project, Rubric

_FITTING = """fitting AS (
    SELECT cr.id, cr.rubric_id FROM projects_criterion cr JOIN projects_rubric r ON r.id = cr.rubric_id
    WHERE r.project_id = %(project)s AND (cr.key, cr.kind, cr.low, cr.high) IN (
        SELECT now.key, now.kind, now.low, now.high FROM projects_criterion now WHERE now.rubric_id = %(rubric)s))"""
"""SQL: the criteria with the same key and scale as one of the current rubric's."""

# Each judgeable candidate that is rated itself, with the judgments it has (`had`) and those under way (`coming`):
# places that are held, and open ones as well if their batch still serves. In a closed batch, open places bring
# nothing, so what they would have brought counts as missing. Minimal pairs are not part of a plan: they are judged
# only if a batch asks for them.
_COVERAGE = f"""
WITH {_FITTING},
had AS (
    SELECT j.candidate_id, count(DISTINCT j.annotator_id) AS n
    FROM annotate_batch b JOIN annotate_hit h ON h.batch_id = b.id
    JOIN annotate_assignment a ON a.hit_id = h.id JOIN annotate_judgment j ON j.assignment_id = a.id
    WHERE b.project_id = %(project)s AND {is_counted("j")}
      AND j.criterion_id IN (SELECT id FROM fitting)
      AND (NOT {is_unused_trial("b")} OR b.id = %(counted_trial)s) GROUP BY 1),
coming AS (
    SELECT i.candidate_id, sum(h.places_wanted - h.places_done
        - CASE WHEN b.state IN ('draft', 'open', 'paused') THEN 0 ELSE h.places_open END) AS n
    FROM annotate_batch b JOIN annotate_hit h ON h.batch_id = b.id JOIN annotate_item i ON i.hit_id = h.id
    WHERE b.project_id = %(project)s AND b.kind = 'full' AND {is_work("h")} AND {is_item("i")}
      AND {is_in_use("i")} AND b.rubric_id IN (SELECT rubric_id FROM fitting) GROUP BY 1)
SELECT c.id, c.question_id, q.passage_id, d.name, p.text <> '' OR p.documents IS NOT NULL, d.kind, p.split, q.type,
       coalesce(had.n, 0), coalesce(coming.n, 0),
       EXISTS (SELECT 1 FROM annotate_item i JOIN annotate_hit h ON h.id = i.hit_id
               WHERE i.candidate_id = c.id AND h.batch_id = %(left_out_trial)s)
FROM projects_candidate c
JOIN projects_question q ON q.id = c.question_id
JOIN projects_passage p ON p.id = q.passage_id
JOIN projects_dataset d ON d.id = c.dataset_id
LEFT JOIN had ON had.candidate_id = c.id
LEFT JOIN coming ON coming.candidate_id = c.id
WHERE d.project_id = %(project)s AND {is_judgeable("c", "p")} AND {is_rated_itself("c")}
  AND NOT EXISTS (SELECT 1 FROM projects_minimalpair mp WHERE c.id IN (mp.candidate_1_id, mp.candidate_2_id)
                  AND mp.question_id = c.question_id)
ORDER BY q.passage_id, c.question_id, c.id
"""

# HITs that can get more places, of the latest batch first. Batches with chosen annotators are left out: each of these
# rates everything once.
_OPEN_HITS = f"""
SELECT h.id, b.id, h.places_wanted, array_agg(i.candidate_id)
FROM annotate_batch b JOIN annotate_hit h ON h.batch_id = b.id JOIN annotate_item i ON i.hit_id = h.id
WHERE b.project_id = %s AND b.kind = 'full' AND b.state IN ('draft', 'open', 'paused') AND NOT b.has_named_annotators
  AND b.rubric_id = %s AND {is_work("h")} AND {is_item("i")} AND {is_in_use("i")}
GROUP BY h.id, b.id ORDER BY b.number DESC, h.number
"""


def fetch_coverage(
    project: Project, rubric: Rubric, *, counted_trial: Batch | None, left_out_trial: Batch | None
) -> list[Coverage]:
    """Return every candidate to rate with its judgments and those under way, from one statement."""
    parameters = {
        "project": project.pk,
        "rubric": rubric.pk,
        "counted_trial": counted_trial.pk if counted_trial else None,
        "left_out_trial": left_out_trial.pk if left_out_trial else None,
    }
    with connection.cursor() as cursor:
        cursor.execute(_COVERAGE, parameters)
        return [
            Coverage(
                Row(*row[:5]),
                kind=row[5],
                split=row[6],
                type=row[7],
                n_had=row[8],
                n_coming=int(row[9]),
                is_left_out=row[10],
            )
            for row in cursor.fetchall()
        ]


def fetch_open_hits(project: Project, rubric: Rubric) -> list[OpenHit]:
    """Return the HITs that can get more places, with their candidates, those of the latest batch first."""
    with connection.cursor() as cursor:
        cursor.execute(_OPEN_HITS, [project.pk, rubric.pk])
        return [OpenHit(hit, batch, wanted, tuple(found)) for hit, batch, wanted, found in cursor.fetchall()]
