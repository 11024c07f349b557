"""The frame of an evaluation: gold scores joined to metric scores, a row for each candidate with all of them."""

from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.csv

from annotate.frames.annotator_baselines import fetch_baselines
from annotate.frames.criteria_in_use import Scope
from annotate.frames.shared_ratings import RATED, fetch_shared_judgments, share_scores
from measures import columns
from measures.ceiling import Ceiling, compute_ceiling
from measures.gold_rules import GoldRule
from measures.gold_scores import N, apply_adjudications, gold_by, gold_scores
from measures.one_against_others import OneAgainstOthers, one_against_others
from measures.outcome import Undefined
from measures.patterns import Floats
from measures.rounding import ON_SCALE, merge_ties
from measures.standardising import standardise
from projects.database.frames import copy_frame
from projects.errors import Refused
from projects.models import Project
from results.models import MetricRun
from results.scope.human_sources import APART, LEAVE_OUT
from results.scope.scopes import choose_scope, explain_several_scales, has_simulated, read_scopes
from results.scores.gold import fetch_adjudicated
from results.studies.joining import CANDIDATE, EXTERNAL_ID, MetricColumn, fetch_counts, with_scores
from results.studies.metrics_chosen import find_chosen_runs
from results.studies.settings import Settings

QUESTION, PASSAGE, GOLD = "question", "passage", "gold"
DATASET, SPLIT, SOURCE, QUESTION_TYPE = columns.DATASET, columns.SPLIT, columns.SOURCE, columns.QUESTION_TYPE
Rows = np.ndarray[Any, np.dtype[np.bool_]]
FACETS = {"datasets": DATASET, "splits": SPLIT, "sources": SOURCE, "question_types": QUESTION_TYPE}


@dataclass(frozen=True, kw_only=True)
class LeftOut:
    """Judged candidates that are excluded, by reason; each is counted once, for the first reason that applies."""

    minimal_pairs: int = 0
    other_places: int = 0
    human_sources: int = 0
    no_gold: int = 0
    few_judgments: int = 0
    no_score: int = 0


@dataclass(frozen=True)
class Frame:
    """The candidates of an evaluation, in order of dataset and id, byte by byte.

    `table` holds a row for each candidate: candidate, external_id, question, passage, dataset, split, source,
    question_type, gold, n, and a column of scores for each metric under its subject. `judgments` are those behind
    the gold scores, with `group` and `annotator`: `unit` is the row of the table; where identical answers share
    ratings, `rated` is the candidate that was rated. `counts` are the statistics of metrics whose corpus score is not a
    mean, by subject, in the order of the rows; those of a candidate without a score are zero.
    """

    project: Project
    scope: Scope
    table: pd.DataFrame
    metrics: tuple[MetricColumn, ...]
    judgments: pd.DataFrame
    left_out: LeftOut
    has_simulated: bool
    counts: dict[str, Floats] = field(default_factory=dict)
    apart: "Frame | None" = None
    """The candidates of human sources, where they are shown apart and there are any."""
    z_scores: pd.Series | None = None
    """The z score of each judgment, under the rule z."""

    @property
    def gold(self) -> Floats:
        return self.table[GOLD].to_numpy(np.float64)

    @property
    def n_judgments(self) -> int:
        """The judgments behind the gold scores, each once, whichever candidates have it."""
        first = self.judgments.groupby(RATED)[columns.UNIT].transform("first")
        return int((self.judgments[columns.UNIT] == first).sum())

    @property
    def n_shared(self) -> int:
        """The candidates that have the ratings of an identical one."""
        units = self.judgments[columns.UNIT].to_numpy()
        is_of_another = self.judgments[RATED].to_numpy() != self.table[CANDIDATE].to_numpy()[units]
        return len(np.unique(units[is_of_another]))

    def scores(self, metric: MetricColumn) -> Floats:
        return self.table[metric.subject].to_numpy(np.float64)

    def codes(self, name: str) -> np.ndarray[Any, np.dtype[np.int64]]:
        """Return a column as whole numbers from 0, in order of first appearance."""
        return np.asarray(pd.factorize(self.table[name])[0], dtype=np.int64)

    def parts(self, *names: str) -> Iterator[tuple[tuple[str, ...], Rows]]:
        """Yield each part that these columns cut the candidates into: its names, and a mask of its rows."""
        keys = list(zip(*(self.table[name] for name in names), strict=True))
        codes, found = pd.factorize(pd.Series(keys, dtype=object))
        for code in sorted(range(len(found)), key=lambda each: tuple(map(str, found[each]))):
            yield found[code], codes == code

    def one_against_others(self, *, seed: int, rows: Rows | None = None) -> OneAgainstOthers | Undefined:
        """Return how well one judgment agrees with the others of the same candidate, over these rows."""
        return one_against_others(_select(self.values, rows), rng=np.random.default_rng(seed))

    @cached_property
    def values(self) -> pd.DataFrame:
        """The judgments as the gold rule aggregates them: under the rule z as z scores, without those that have none.

        A metric is compared with these gold scores, and so is one person.
        """
        if self.z_scores is None:
            return self.judgments
        return self.judgments.assign(**{columns.VALUE: self.z_scores}).dropna(subset=[columns.VALUE])

    def ceiling(self, settings: Settings, *, rows: Rows | None = None) -> Ceiling | Undefined:
        """Return the reliability of the gold scores, and the highest correlation that they allow, over these rows."""
        if settings.gold != GoldRule.MEAN:
            return Undefined(reason="given only where the gold score is the mean of the judgments")
        judgments = _select(self.judgments, rows)
        units = judgments[columns.UNIT].to_numpy()
        counts = np.bincount(units, minlength=len(self.table))
        totals = np.bincount(units, judgments[columns.VALUE].to_numpy(), minlength=len(self.table))
        is_judged = counts > 0
        means = totals[is_judged] / counts[is_judged]
        if not np.allclose(means, self.gold[is_judged], rtol=0, atol=1e-9):
            return Undefined(reason="given only where no adjudicated score replaces a mean")
        return compute_ceiling(judgments, design=settings.design)


def read_frame(
    project: Project,
    settings: Settings,
    *,
    with_counts: bool = False,
    keeps_unscored: bool = False,
    current: Sequence[MetricRun] | None = None,
) -> Frame:
    """Read and join gold scores and metric scores. Raises Refused where no candidate is left, with the reason.

    With `keeps_unscored`, candidates that lack scores stay, with NaN and without the reasons. `current` are the current
    runs, where they are known already. Candidates that have the ratings of an identical one are in it too.
    """
    scopes = read_scopes(project, list_scope_settings(settings))
    scope = choose_scope(scopes, settings.criterion)
    if not scope.criterion.has_one_scale:
        raise Refused(explain_several_scales(scope.criterion))
    runs = find_chosen_runs(project, settings, current)
    judgments = fetch_shared_judgments(scope)
    criteria = [each.criterion for each in scopes]
    if judgments.empty:
        raise Refused(
            "The selected scope has no judgments yet. Annotate a batch or import judgments, or choose another batch or "
            "stage."
        )
    norms = fetch_baselines(scope, criteria, with_controls=settings.controls_in_z)
    table, left_out = _filter_rows(make_gold_table(project, settings, scope, norms, judgments), settings)
    if table.empty:
        raise Refused(_explain_empty(left_out))
    table, metrics = with_scores(table, runs, with_reasons=not keeps_unscored)
    # Metrics are compared on the same candidates: one that any metric lacks is dropped for all, unless missing scores
    # shall count as zero.
    keeps_all = settings.as_zero or keeps_unscored
    kept = table if keeps_all else table.dropna(subset=[metric.subject for metric in metrics])
    left_out = LeftOut(**{**left_out.__dict__, "no_score": len(table) - len(kept)})
    if kept.empty:
        raise Refused(_explain_missing(metrics, len(table)))
    kept = kept.reset_index(drop=True)
    counts = fetch_counts(runs, kept[CANDIDATE]) if with_counts else {}
    behind = _select_judgments(kept, judgments)
    return Frame(
        project=project,
        scope=scope,
        table=kept.fillna({metric.subject: 0.0 for metric in metrics}) if settings.as_zero else kept,
        metrics=metrics,
        judgments=behind,
        left_out=left_out,
        has_simulated=has_simulated(project, judgments),
        counts=counts,
        z_scores=standardise(behind, norms) if settings.gold == GoldRule.Z else None,
    )


def read_with_humans_apart(project: Project, settings: Settings) -> Frame:
    """Return the frame, with that of the human sources beside it where they are to be shown apart."""
    frame = read_frame(project, settings)
    chosen = settings.sources or settings.human_sources
    alone = tuple(source for source in settings.human_sources if source in chosen)
    if settings.humans != APART or not alone:
        return frame
    # Without a candidate there is nothing to show apart, which is no reason to refuse the rest.
    with suppress(Refused):
        return replace(frame, apart=read_frame(project, replace(settings, humans="", sources=alone)))
    return frame


def list_scope_settings(settings: Settings) -> dict[str, Any]:
    return {
        "criterion": settings.criterion,
        "stage": settings.stage,
        "batch": settings.batch,
        "blind": settings.is_blind_only,
    }


def make_gold_table(
    project: Project, settings: Settings, scope: Scope, norms: pd.DataFrame, judgments: pd.DataFrame
) -> pd.DataFrame:
    """Return a row for each judged candidate, by id: its facets, its gold score by the rule, and its number of
    judgments. `norms` are the annotators' means and deviations, for the rule z.

    Raises Refused where the rule gives no gold scores at all.
    """
    golds = gold_by(settings.gold, judgments, norms=norms)
    if isinstance(golds, Undefined):
        raise Refused(f"This rule gives no gold scores: {golds.reason}.")
    if settings.does_adjudication_win:
        golds = apply_adjudications(golds, share_scores(fetch_adjudicated(scope), judgments), rule=settings.gold)
    # Ratings summed in another order differ in the last digits, which would break ties.
    golds = pd.Series(merge_ties(golds.to_numpy(np.float64), within=ON_SCALE), golds.index)
    candidates = judgments.drop_duplicates(columns.UNIT).set_index(columns.UNIT)
    table = pd.DataFrame({PASSAGE: candidates[columns.GROUP], N: gold_scores(judgments)[N]})
    for name in (DATASET, SPLIT, SOURCE, QUESTION_TYPE):
        table[name] = candidates[name].astype("object").fillna("")
    table[GOLD] = golds.reindex(table.index)
    return table.join(_fetch_candidates(project, table.index))


def _filter_rows(table: pd.DataFrame, settings: Settings) -> tuple[pd.DataFrame, LeftOut]:
    """Return the rows that the settings ask for, in order, and how many are excluded for each first reason."""
    # Asked in this order; what one condition drops is counted for it and not seen by the next.
    keeps: dict[str, Callable[[pd.DataFrame], pd.Series]] = {
        "minimal_pairs": lambda rows: rows["is_of_pair"] == 0,
        "other_places": lambda rows: in_facets(rows, settings),
        "human_sources": lambda rows: _is_system(rows, settings),
        "no_gold": lambda rows: rows[GOLD].notna(),
        "few_judgments": lambda rows: rows[N] >= settings.least_judgments,
    }
    out = {}
    for reason, keep in keeps.items():
        kept = table[keep(table)]
        out[reason] = len(table) - len(kept)
        table = kept
    table = table.drop(columns="is_of_pair").rename_axis(CANDIDATE).reset_index()
    # A resample draws rows by position, so the same seed needs the same order (docs/decisions/0012).
    return table.sort_values([DATASET, EXTERNAL_ID, CANDIDATE], ignore_index=True), LeftOut(**out)


def _is_system(rows: pd.DataFrame, settings: Settings) -> pd.Series:
    is_left_out = settings.humans in (LEAVE_OUT, APART)
    return ~rows[SOURCE].isin(settings.human_sources if is_left_out else ())


def in_facets(rows: pd.DataFrame, settings: Settings) -> pd.Series:
    wanted = pd.Series(True, index=rows.index)
    for name, column in FACETS.items():
        if chosen := getattr(settings, name):
            wanted &= rows[column].isin(chosen)
    return wanted


def _fetch_candidates(project: Project, ids: pd.Index) -> pd.DataFrame:
    """Return what judgments do not tell about their candidates, by id."""
    rows = copy_frame(_CANDIDATES, {"ids": [int(each) for each in ids]}, _CANDIDATE_TYPES)
    return rows.set_index(CANDIDATE)


def _select_judgments(table: pd.DataFrame, judgments: pd.DataFrame) -> pd.DataFrame:
    """Return the judgments behind these gold scores, each with the row of its candidate."""
    rows = pd.Series(range(len(table)), index=table[CANDIDATE]).reindex(judgments[columns.UNIT]).to_numpy(np.float64)
    is_behind = ~np.isnan(rows)
    behind = judgments.loc[is_behind, [columns.GROUP, columns.ANNOTATOR, columns.VALUE, RATED]].reset_index(drop=True)
    return behind.assign(**{columns.UNIT: rows[is_behind].astype(np.int64)})


def _select(judgments: pd.DataFrame, rows: Rows | None) -> pd.DataFrame:
    return judgments if rows is None else judgments[rows[judgments[columns.UNIT].to_numpy()]]


def _explain_empty(left_out: LeftOut) -> str:
    """Return the refusal where no candidate is left."""
    reasons = [
        (left_out.minimal_pairs, "%(n)s belong to minimal pairs"),
        (left_out.other_places, "%(n)s are filtered out by dataset, split, source or question type"),
        (left_out.human_sources, "%(n)s are of human sources, which are left out"),
        (left_out.no_gold, "%(n)s have no gold score by this rule"),
        (left_out.few_judgments, "%(n)s have too few judgments"),
    ]
    counted = "; ".join(words % {"n": n} for n, words in reasons if n)
    return (
        f"No candidates are left to evaluate. Of the judged candidates, {counted}. Filter less, lower the minimum of "
        "judgments, or collect more."
    )


def _explain_missing(metrics: Sequence[MetricColumn], n: int) -> str:
    counted = "; ".join(f"{metric.label}: {n - metric.n_missing}" for metric in metrics)
    return (
        f"No candidate has a score from every metric. Scored of {n} candidates with a gold score: {counted}. Compute "
        "the metrics again under Automatic metrics, or leave out those without scores."
    )


# The candidates of minimal pairs are written to differ in one phenomenon; they are evaluated as pairs and would
# distort a correlation over systems' answers.
_CANDIDATES = """
SELECT c.id AS candidate, c.question_id AS question, c.external_id,
       (EXISTS (SELECT 1 FROM projects_minimalpair p WHERE p.candidate_1_id = c.id)
        OR EXISTS (SELECT 1 FROM projects_minimalpair p WHERE p.candidate_2_id = c.id))::int AS is_of_pair
FROM projects_candidate c WHERE c.id = ANY(%(ids)s)"""
_CANDIDATE_TYPES = {
    CANDIDATE: pa.int64(),
    QUESTION: pa.int64(),
    EXTERNAL_ID: pa.string(),
    "is_of_pair": pa.int8(),
}
