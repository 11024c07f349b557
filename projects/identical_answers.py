"""Marking identical answers: of a question's candidates with the same text the first is rated, for all of them."""

from collections.abc import Sequence
from typing import Any

from django.db import connection

from projects.database.locks import AdvisoryLock, lock_in_project
from projects.models import Project


def mark_identical(project: Project, questions: Sequence[int] | None = None) -> None:
    """Mark the candidates that have the ratings of an identical one; none where the project rates each.

    `questions` restricts it to these ids, where nothing else has changed. Texts are compared character by character.
    Withdrawn candidates and those of minimal pairs are never marked, and none is marked as identical to them.

    Call it inside the transaction of what adds or withdraws candidates. It takes the lock of withdrawals, so that none
    is marked as identical to one that is being withdrawn.
    """
    lock_in_project(AdvisoryLock.WITHDRAWALS, project.pk)
    parameters: dict[str, Any] = {
        "datasets": project.find_ids().datasets,
        "is_all": questions is None,
        "questions": list(questions or ()),
    }
    # The setting is read under the lock.
    is_wanted = Project.objects.filter(pk=project.pk, rates_identical_once=True).exists()
    with connection.cursor() as cursor:
        cursor.execute(_MARK if is_wanted else _UNMARK, parameters)


# Grouped by two hashes of 64 bits, which two different texts of one question don't share by chance: sorting the texts
# themselves would take a large project minutes. Rows that stay as they are are not written.
_MARK = """
UPDATE projects_candidate c SET identical_to_id = found.first_id
FROM (
    SELECT id, CASE WHEN can_share THEN nullif(min(id) FILTER (WHERE can_share) OVER same, id) END AS first_id
    FROM (
        SELECT id, question_id, text, withdrawn_at IS NULL
               AND NOT EXISTS (SELECT FROM projects_minimalpair p WHERE p.candidate_1_id = each.id)
               AND NOT EXISTS (SELECT FROM projects_minimalpair p WHERE p.candidate_2_id = each.id) AS can_share
        FROM projects_candidate each
        WHERE dataset_id = ANY(%(datasets)s) AND (%(is_all)s OR question_id = ANY(%(questions)s))
    ) candidate
    WINDOW same AS (PARTITION BY question_id, hashtextextended(text, 0), hashtextextended(text, 1))
) found
WHERE c.id = found.id AND c.identical_to_id IS DISTINCT FROM found.first_id
"""
_UNMARK = """
UPDATE projects_candidate SET identical_to_id = NULL
WHERE dataset_id = ANY(%(datasets)s) AND identical_to_id IS NOT NULL
"""
