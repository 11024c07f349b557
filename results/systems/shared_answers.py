"""Systems of which only answers that another source gave too are rated."""

from collections.abc import Mapping

import pandas as pd
from django.db import connection

from annotate.models.conditions import is_judgeable, is_rated_itself
from projects.models import Project


def list_only_shared(project: Project, sums: Mapping[str, pd.DataFrame]) -> list[str]:
    """Return the systems that gave answers of their own to rated questions, of which none is rated, by name.

    Their means are over answers that others gave as well: where a batch selects some sources, they may be of others.
    """
    rated = sorted(set().union(*(each.index for each in sums.values())))
    with connection.cursor() as cursor:
        cursor.execute(_ONLY_SHARED, {"rated": [int(each) for each in rated], "datasets": project.find_ids().datasets})
        return [row[0] for row in cursor.fetchall()]


_ONLY_SHARED = f"""
WITH rated AS MATERIALIZED (SELECT unnest(%(rated)s::bigint[]) AS id),
asked AS MATERIALIZED (SELECT DISTINCT c.question_id AS id FROM rated JOIN projects_candidate c ON c.id = rated.id),
repeated AS MATERIALIZED (
    SELECT DISTINCT c.identical_to_id AS id FROM projects_candidate c
    WHERE c.dataset_id = ANY(%(datasets)s) AND NOT {is_rated_itself("c")}),
answer AS (
    SELECT c.source, rated.id IS NOT NULL AS is_rated, {is_rated_itself("c")} AND repeated.id IS NULL AS is_its_own
    FROM asked JOIN projects_candidate c ON c.question_id = asked.id
    JOIN projects_question q ON q.id = c.question_id JOIN projects_passage p ON p.id = q.passage_id
    LEFT JOIN rated ON rated.id = c.id LEFT JOIN repeated ON repeated.id = c.id
    WHERE {is_judgeable("c", "p")} AND NOT EXISTS (
        SELECT FROM projects_minimalpair m WHERE c.id IN (m.candidate_1_id, m.candidate_2_id)
          AND m.question_id = c.question_id))
SELECT source FROM answer GROUP BY source
HAVING bool_or(is_rated) AND bool_or(is_its_own) AND NOT bool_or(is_rated AND is_its_own)
ORDER BY source COLLATE "C"
"""
