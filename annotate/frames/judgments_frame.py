"""The long frame: one row per counted judgment, for computations that need its annotator, batch or day."""

from collections.abc import Sequence

import numpy as np
import pandas as pd
import pyarrow as pa
from django.db import transaction

from annotate.frames.criteria_in_use import Scope
from annotate.frames.rating_patterns import FAST, facet_condition, select_counted
from annotate.models.conditions import is_collected, is_identified, is_judgeable
from measures import columns
from projects.database.frames import copy_frame

_TEXTS = (
    *(columns.ANNOTATOR, columns.DATASET, columns.SPLIT, columns.SOURCE),
    *(columns.QUESTION_TYPE, columns.STAGE, columns.DAY),
)
_TYPES = {
    columns.UNIT: pa.int64(),
    columns.GROUP: pa.int64(),
    columns.BATCH: pa.int32(),
    columns.VALUE: pa.float64(),
    **dict.fromkeys(_TEXTS, pa.dictionary(pa.int32(), pa.string())),
}


def fetch_judgments(scope: Scope, *, only: Sequence[int] | None = None) -> pd.DataFrame:
    """Return the judgments of a scope as a frame with `measures.columns`, in the order of candidates.

    `only` restricts the candidates to these ids. `unit` and `group` are the ids of candidate and passage; `annotator`
    is a pseudonym, missing for scores without an annotator; `day` is the day of judging in UTC, missing for imported
    judgments. Items that couldn't be judged have no row.
    """
    judgments, parameters = select_counted(scope, more=_MORE, only=only)
    select = _SELECT.format(judgments=judgments, places=facet_condition(scope))
    with transaction.atomic(savepoint=False):
        frame = copy_frame(select, parameters, _TYPES, first=FAST)
    frame[columns.VALUE] = frame[columns.VALUE].astype(np.float64)
    return frame


# Only judgments collected here have a day: the time of imported ones is whatever their file gives, or none.
_MORE = f"""j.id AS judgment_id, b.number AS batch, b.kind AS stage,
           CASE WHEN {is_collected("b")} THEN coalesce(j.judged_at, a.submitted_at) END AS judged_at"""

# One row per judgment, sorted by id so that equal data give equal frames. Scores without an annotator have a
# placeholder membership, whose pseudonym must not be read as a person's.
_SELECT = f"""
WITH judgments AS ({{judgments}})
SELECT j.candidate_id AS unit, q.passage_id AS "group",
       CASE WHEN {is_identified("m")} THEN m.pseudonym END AS annotator, j.value,
       d.name AS dataset, p.split, c.source, q.type AS question_type, j.batch, j.stage,
       to_char(j.judged_at AT TIME ZONE 'UTC', 'YYYY-MM-DD') AS day
FROM judgments j
JOIN projects_membership m ON m.id = j.annotator_id
JOIN projects_candidate c ON c.id = j.candidate_id
JOIN projects_question q ON q.id = c.question_id
JOIN projects_passage p ON p.id = q.passage_id
JOIN projects_dataset d ON d.id = c.dataset_id
WHERE {is_judgeable("c", "p")} {{places}}
ORDER BY j.candidate_id, j.judgment_id"""
