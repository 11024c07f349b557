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

IS_SHARED = "is_shared"
"""The column of the long frame that tells whether a row is a judgment of an identical answer."""
_FIRST, _DONOR = "first", "donor"


def fetch_shared_judgments(scope: Scope, *, only: Sequence[int] | None = None) -> pd.DataFrame:
    """Return the judgments of a scope as `fetch_judgments` does, with IS_SHARED, and once more for identical answers.

    A candidate without a judgment of its own in the scope has those of the first candidate with the same text that has
    any, where the project rates identical answers once. Figures of systems need these rows; agreement, quality and
    everything about single candidates count each judgment once. `only` restricts the candidates to these ids and those
    that are identical to one of them.
    """
    answers = _fetch_identical(scope.project)
    wanted = None if only is None else sorted({*only, *_list_same(answers, only)})
    frame = fetch_judgments(scope, only=wanted).assign(**{IS_SHARED: False})
    donors = _find_donors(answers, frame[UNIT])
    if not len(donors):
        return frame
    shared = donors.reset_index().merge(
        frame.drop(columns=SOURCE), left_on=_DONOR, right_on=UNIT, suffixes=("", "_own")
    )
    shared = shared.assign(**{IS_SHARED: True})[frame.columns]
    whole = pd.concat([frame.astype({SOURCE: object}), shared], ignore_index=True)
    whole[SOURCE] = whole[SOURCE].astype("category")
    return whole.sort_values(UNIT, kind="stable", ignore_index=True)


def share_scores(project: Project, scores: pd.Series, judgments: pd.DataFrame) -> pd.Series:
    """Return scores by candidate, such as adjudicated ones, with those that shared judgments bring with them."""
    rated = judgments.loc[~judgments[IS_SHARED], UNIT]
    donors = _find_donors(_fetch_identical(project), rated)[_DONOR]
    shared = scores.reindex(donors).set_axis(donors.index).dropna()
    return pd.concat([scores, shared]) if len(shared) else scores


def _fetch_identical(project: Project) -> pd.DataFrame:
    """Return the source and the group of each candidate that is identical to another, by id."""
    return copy_frame(_IDENTICAL, {"datasets": project.find_ids().datasets}, _TYPES).set_index(UNIT)


def _list_same(answers: pd.DataFrame, ids: Sequence[int]) -> list[int]:
    groups = answers.loc[answers.index.isin(ids), _FIRST]
    return answers.index[answers[_FIRST].isin(groups)].tolist()


def _find_donors(answers: pd.DataFrame, rated: pd.Series) -> pd.DataFrame:
    """Return the candidates that have the ratings of another, by id: its id (`donor`) and their own source.

    `rated` are the ids of the candidates that have ratings; each may occur more than once.
    """
    has_ratings = answers.index.isin(rated)
    donors = answers[has_ratings].reset_index().groupby(_FIRST)[UNIT].min()
    without = answers[~has_ratings]
    without = without.assign(**{_DONOR: without[_FIRST].map(donors)}).dropna(subset=_DONOR)
    return without[[_DONOR, SOURCE]].astype({_DONOR: np.int64})


# The candidates that are marked, and those that they are identical to. Few are marked, so these are found by an index.
_IDENTICAL = f"""
WITH marked AS MATERIALIZED (
    SELECT c.id, c.identical_to_id, c.source, c.question_id FROM projects_candidate c
    WHERE c.dataset_id = ANY(%(datasets)s) AND NOT {is_rated_itself("c")} AND c.withdrawn_at IS NULL)
SELECT id AS unit, identical_to_id AS first, source FROM marked
UNION ALL
SELECT c.id, c.id, c.source
FROM projects_candidate c JOIN projects_question q ON q.id = c.question_id
JOIN projects_passage p ON p.id = q.passage_id
WHERE c.id IN (SELECT identical_to_id FROM marked) AND {is_judgeable("c", "p")}
ORDER BY unit"""
_TYPES = {UNIT: pa.int64(), _FIRST: pa.int64(), SOURCE: pa.string()}
