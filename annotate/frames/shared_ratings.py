"""Ratings that identical answers share: the long frame with a row for each candidate that a rating counts for."""

from collections.abc import Sequence

import numpy as np
import pandas as pd
import pyarrow as pa

from annotate.frames.criteria_in_use import Scope
from annotate.frames.judgments_frame import fetch_judgments
from annotate.models.conditions import is_judgeable, is_rated_itself
from measures.columns import SOURCE, UNIT
from projects.database.frames import copy_frame
from projects.models import Project

RATED = "rated"
"""The column of the long frame with the candidate that was rated: another than `unit` where that has its ratings."""
_FIRST = "first"


def fetch_shared_judgments(scope: Scope, *, only: Sequence[int] | None = None) -> pd.DataFrame:
    """Return the judgments of a scope as `fetch_judgments` does, with RATED, and once more for identical answers.

    A candidate without a judgment of its own in the scope has those of the first candidate with the same text that has
    any, where the project rates identical answers once. Scores of systems and metric evaluations need these rows;
    agreement, quality and human scores count each judgment once. `only` restricts the candidates to these ids and
    those that are identical to one of them.
    """
    answers = _fetch_identical(scope.project)
    wanted = None if only is None else sorted({*only, *_list_same(answers, only)})
    frame = fetch_judgments(scope, only=wanted)
    frame = frame.assign(**{RATED: frame[UNIT]})
    sources = _find_shared(answers, frame[UNIT])
    if not len(sources):
        return frame
    shared = sources.reset_index().merge(frame.drop(columns=[UNIT, SOURCE]), on=RATED)[frame.columns]
    whole = pd.concat([frame.astype({SOURCE: object}), shared], ignore_index=True)
    whole[SOURCE] = whole[SOURCE].astype("category")
    return whole.sort_values(UNIT, kind="stable", ignore_index=True)


def share_scores(scores: pd.Series, judgments: pd.DataFrame) -> pd.Series:
    """Return scores by candidate, such as adjudicated ones, with those that shared judgments bring with them."""
    rated = judgments[is_shared(judgments)].drop_duplicates(UNIT).set_index(UNIT)[RATED]
    shared = scores.reindex(rated).set_axis(rated.index).dropna()
    return pd.concat([scores, shared]) if len(shared) else scores


def is_shared(judgments: pd.DataFrame) -> pd.Series:
    """Return which rows are judgments of another candidate than that of the row."""
    return judgments[RATED] != judgments[UNIT]


def _fetch_identical(project: Project) -> pd.DataFrame:
    """Return the source and the group of each candidate that is identical to another, by id."""
    return copy_frame(_IDENTICAL, {"datasets": project.find_ids().datasets}, _TYPES).set_index(UNIT)


def _list_same(answers: pd.DataFrame, ids: Sequence[int]) -> list[int]:
    groups = answers.loc[answers.index.isin(ids), _FIRST]
    return answers.index[answers[_FIRST].isin(groups)].tolist()


def _find_shared(answers: pd.DataFrame, rated: pd.Series) -> pd.DataFrame:
    """Return the candidates that have the ratings of another, by id: which (`rated`), and their own source.

    `rated` are the ids of the candidates that have ratings; each may occur more than once.
    """
    has_ratings = answers.index.isin(rated)
    first_rated = answers[has_ratings].reset_index().groupby(_FIRST)[UNIT].min()
    without = answers[~has_ratings]
    without = without.assign(**{RATED: without[_FIRST].map(first_rated)}).dropna(subset=RATED)
    return without[[RATED, SOURCE]].astype({RATED: np.int64})


# The candidates that are marked, and those that they are identical to. Few are marked, so these are found by an index.
_IDENTICAL = f"""
WITH marked AS MATERIALIZED (
    SELECT c.id, c.identical_to_id, c.source FROM projects_candidate c
    WHERE c.dataset_id = ANY(%(datasets)s) AND NOT {is_rated_itself("c")} AND c.withdrawn_at IS NULL)
SELECT id AS unit, identical_to_id AS first, source FROM marked
UNION ALL
SELECT c.id, c.id, c.source
FROM projects_candidate c JOIN projects_question q ON q.id = c.question_id
JOIN projects_passage p ON p.id = q.passage_id
WHERE c.id IN (SELECT identical_to_id FROM marked) AND {is_judgeable("c", "p")}
ORDER BY unit"""
_TYPES = {UNIT: pa.int64(), _FIRST: pa.int64(), SOURCE: pa.string()}
