"""The frame of an evaluation of ranked answers: every answer with its place, and the scores that it has."""

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np
import pandas as pd
import pyarrow as pa

from annotate.frames.annotator_baselines import fetch_baselines
from annotate.frames.shared_ratings import RATED, fetch_shared_judgments
from measures import columns
from measures.gold_scores import N
from measures.patterns import Floats
from projects.database.frames import copy_frame
from projects.errors import Refused
from projects.models import Project
from results.scope.human_sources import APART, LEAVE_OUT
from results.scope.scopes import choose_scope, explain_several_scales, has_simulated, read_scopes
from results.studies.frame import (
    DATASET,
    GOLD,
    PASSAGE,
    QUESTION,
    QUESTION_TYPE,
    SOURCE,
    SPLIT,
    Frame,
    LeftOut,
    in_facets,
    list_scope_settings,
    make_gold_table,
)
from results.studies.joining import CANDIDATE, EXTERNAL_ID, with_scores
from results.studies.metrics_chosen import find_chosen_runs
from results.studies.settings import Settings

KEY, LIST = "key", "list"


@dataclass(frozen=True)
class RankedFrame(Frame):
    """The ranked answers of an evaluation, in the order of their import.

    A list is the answers of a system to a question. Beside the columns of a frame, a row of `table` has its list and
    `key`, by which the list is in order; a gold score or a metric may be missing.
    """

    unranked: Mapping[str, int] = field(default_factory=dict)
    """The number of lists in which no answer has a rank or a confidence, by system."""

    def lists(self) -> np.ndarray:
        return self.table[LIST].to_numpy()

    def people(self) -> Floats:
        return self.table[GOLD].to_numpy(np.float64)


def read_ranked(project: Project, settings: Settings) -> RankedFrame:
    """Read ranked answers with their scores. Raises Refused where no answer has a rank or a confidence."""
    scopes = read_scopes(project, list_scope_settings(settings))
    scope = choose_scope(scopes, settings.criterion)
    if not scope.criterion.has_one_scale:
        raise Refused(explain_several_scales(scope.criterion))
    runs = find_chosen_runs(project, settings)
    table = copy_frame(_ANSWERS, {"project": project.pk}, _TYPES)
    for name in (SPLIT, SOURCE, QUESTION_TYPE):
        table[name] = table[name].astype("object").fillna("")
    is_human = table[SOURCE].isin(settings.human_sources if settings.humans in (LEAVE_OUT, APART) else ())
    n_filtered = len(table)
    chosen = table[in_facets(table, settings)]
    n_other_places, n_before = n_filtered - len(chosen), len(chosen)
    table = chosen[~is_human[chosen.index]].reset_index(drop=True)
    table[LIST] = pd.factorize(pd.Series(list(zip(table[QUESTION], table[SOURCE], strict=True)), dtype=object))[0]
    # Ranks come first: within a list that has any, a confidence alone puts no answer in its place.
    has_rank = table["rank"].notna().groupby(table[LIST]).transform("any")
    table[KEY] = table["rank"].where(has_rank, -table["confidence"])
    is_ranked = table[KEY].notna().groupby(table[LIST]).transform("any")
    unranked = Counter(table[~is_ranked].drop_duplicates(LIST)[SOURCE])
    kept = table[is_ranked].reset_index(drop=True)
    if kept.empty:
        raise Refused(
            "No answer has a rank or a confidence. Import candidates with a column for either, so that the answers of "
            "a system to a question have an order."
        )
    judgments = fetch_shared_judgments(scope, only=kept[CANDIDATE].tolist())
    kept[GOLD] = np.nan
    if not judgments.empty:
        criteria = [each.criterion for each in scopes]
        norms = fetch_baselines(scope, criteria, with_controls=settings.controls_in_z)
        golds = make_gold_table(project, settings, scope, norms, judgments)
        golds = golds[golds[N] >= settings.least_judgments]
        kept[GOLD] = golds[GOLD].reindex(kept[CANDIDATE]).to_numpy(np.float64)
        judgments = judgments[judgments[columns.UNIT].isin(kept[CANDIDATE])]
    scored, metrics = with_scores(kept, runs)
    if settings.as_zero:
        scored = scored.fillna({metric.subject: 0.0 for metric in metrics})
    rows = pd.Series(range(len(scored)), index=scored[CANDIDATE]).reindex(judgments[columns.UNIT]).to_numpy(np.int64)
    return RankedFrame(
        project=project,
        scope=scope,
        table=scored,
        metrics=metrics,
        judgments=judgments[[columns.GROUP, columns.ANNOTATOR, columns.VALUE, RATED]].assign(**{columns.UNIT: rows}),
        left_out=LeftOut(other_places=n_other_places, human_sources=n_before - len(table)),
        has_simulated=not judgments.empty and has_simulated(project, judgments),
        unranked=dict(unranked),
    )


# The candidates of minimal pairs were written to differ, and no system ranked them. The order of ids is that of the
# imported file, by which equal confidences are ordered.
_ANSWERS = """
SELECT c.id AS candidate, c.external_id, c.question_id AS question, q.passage_id AS passage, d.name AS dataset,
       p.split, c.source, q.type AS question_type, c.rank, c.confidence
FROM projects_candidate c
JOIN projects_question q ON q.id = c.question_id
JOIN projects_passage p ON p.id = q.passage_id
JOIN projects_dataset d ON d.id = c.dataset_id
WHERE d.project_id = %(project)s AND c.withdrawn_at IS NULL AND p.withdrawn_at IS NULL
  AND NOT EXISTS (SELECT 1 FROM projects_minimalpair m WHERE m.candidate_1_id = c.id OR m.candidate_2_id = c.id)
ORDER BY c.id"""
_TYPES = {
    CANDIDATE: pa.int64(),
    QUESTION: pa.int64(),
    PASSAGE: pa.int64(),
    **dict.fromkeys((EXTERNAL_ID, DATASET, SPLIT, SOURCE, QUESTION_TYPE), pa.string()),
    "rank": pa.float64(),
    "confidence": pa.float64(),
}
