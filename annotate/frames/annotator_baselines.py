"""Baselines: each annotator's mean and standard deviation over everything they scored on one scale."""

from collections.abc import Iterable

import numpy as np
import pandas as pd

from annotate.frames.criteria_in_use import CriterionInUse, Scope
from annotate.frames.rating_patterns import execute_analytic, select_counted
from annotate.models.conditions import is_identified, is_judgeable, is_turned
from measures.columns import ANNOTATOR, VALUE
from measures.standardising import annotator_norms


def fetch_baselines(scope: Scope, criteria: Iterable[CriterionInUse], *, with_controls: bool) -> pd.DataFrame:
    """Return the norms of `measures.standardising` for the criterion of a scope, indexed by pseudonym.

    All versions of the given criteria with the same scale as the scope's own enter together, within its batch or stage,
    whatever dataset, split or source the candidates have. Controls enter if requested; scores without an annotator do
    not, and neither do the categories of other criteria, which only look like scores on this scale.
    """
    scales = scope.criterion.scales
    criteria = [each for each in criteria if each.has_order or each.key == scope.criterion.key]
    # Another criterion may have been asked on this scale under one version of the rubric, and on another since.
    on_scale = [narrowed for each in criteria if (narrowed := each.on_scales(scales)).ids]
    judgments, parameters = select_counted(scope, criteria=on_scale)
    controls = _CONTROLS.format(blind="AND NOT a.not_blind" if scope.is_blind_only else "") if with_controls else ""
    with execute_analytic(_SCORED.format(judgments=judgments, controls=controls), parameters) as cursor:
        rows = cursor.fetchall()
    names, values, counts = (list(column) for column in zip(*rows, strict=True)) if rows else ([], [], [])
    annotators = pd.Categorical(names).repeat(counts)
    return annotator_norms(pd.DataFrame({ANNOTATOR: annotators, VALUE: np.repeat(np.array(values, float), counts)}))


# Counts of each annotator's scores rather than the scores: at most a few dozen rows per annotator, whatever the size of
# the project, and a mean and deviation need no more.
_SCORED = f"""
WITH judgments AS ({{judgments}})
SELECT m.pseudonym, j.value, count(*)
FROM judgments j
JOIN projects_candidate c ON c.id = j.candidate_id
JOIN projects_question q ON q.id = c.question_id
JOIN projects_passage p ON p.id = q.passage_id AND {is_judgeable("c", "p")}
JOIN projects_membership m ON m.id = j.annotator_id AND {is_identified("m")}
GROUP BY m.pseudonym, j.value
{{controls}}"""
# Judgments of controls have no candidate, so the statement above cannot meet them; they are added from the same
# batches.
_CONTROLS = f"""UNION ALL
SELECT m.pseudonym, CASE WHEN {is_turned("cr")} THEN cr.low + cr.high - j.value ELSE j.value END, count(*)
FROM annotate_judgment j JOIN projects_criterion cr ON cr.id = j.criterion_id
JOIN annotate_assignment a ON a.id = j.assignment_id JOIN annotate_hit h ON h.id = a.hit_id
JOIN projects_membership m ON m.id = j.annotator_id AND {is_identified("m")}
WHERE j.criterion_id = ANY(%(criteria)s) AND j.candidate_id IS NULL AND j.is_counted AND j.value IS NOT NULL
  AND (%(batch)s::bigint IS NULL OR h.batch_id = %(batch)s) AND h.batch_id <> ALL(%(without)s::bigint[]) {{blind}}
GROUP BY 1, 2
"""
