"""The frame of a study of minimal pairs: what people and metrics say of both candidates of each pair."""

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pandas as pd

from annotate.frames.criteria_in_use import Scope
from annotate.frames.judgments_frame import fetch_judgments
from measures import columns
from measures.gold_scores import N
from measures.patterns import Floats
from projects.errors import Refused
from projects.models import MinimalPair, Project
from results.scope.scopes import (
    choose_criterion_to_measure,
    choose_scope,
    explain_several_scales,
    has_simulated,
    read_scopes,
)
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
    gold_table,
    in_facets,
    requested_scope,
)
from results.studies.joining import CANDIDATE, EXTERNAL_ID, MetricColumn, with_scores
from results.studies.metrics_chosen import chosen_runs
from results.studies.settings import Settings

PAIR, PHENOMENON, REASON = "pair", "phenomenon", "reason"
GIVEN, GOLDS = "given scores first", "gold scores first"
"""Whose word a pair with both kinds of scores goes by."""
WITHDRAWN, SAME_TEXT, UNSCORED, NOT_HIGHER, NO_METRIC = "withdrawn", "same_text", "unscored", "not_higher", "no_score"
"""Why a pair is left out, in the order in which it is asked."""
NUMBERS = (1, 2)
MOST_LISTED = 500
"""So many pairs that are left out are named; all are counted."""

_FIELDS = {
    PAIR: "pk",
    DATASET: "question__dataset__name",
    PHENOMENON: "phenomenon",
    QUESTION: "question_id",
    PASSAGE: "question__passage_id",
    SPLIT: "question__passage__split",
    QUESTION_TYPE: "question__type",
    "passage_gone": "question__passage__withdrawn_at",
    **{
        f"{name}_{number}": f"{path}_{number}{end}"
        for number in NUMBERS
        for name, path, end in (
            (CANDIDATE, "candidate", "_id"),
            (EXTERNAL_ID, "candidate", "__external_id"),
            (SOURCE, "candidate", "__source"),
            ("text", "candidate", "__text"),
            ("gone", "candidate", "__withdrawn_at"),
            ("given", "score", ""),
        )
    },
}


@dataclass(frozen=True)
class PairFrame(Frame):
    """The pairs that a study rests on: a row for each in `table`, in order of dataset and id.

    Beside what a frame says of an answer, a row has the scores of both candidates by each metric, under `column_of`.
    """

    human: Mapping[str, pd.DataFrame] = field(default_factory=dict)
    """What people say, by where it comes from: dataset, phenomenon and both scores of each pair that has any."""
    reasons: Mapping[str, int] = field(default_factory=dict)
    """How many pairs are left out, by the first reason."""
    listed: tuple[Mapping[str, Any], ...] = ()
    """Pairs that are left out: the first, with their reason."""

    def both(self, metric: MetricColumn) -> tuple[Floats, Floats]:
        """A metric's scores of the better candidates, and of the others."""
        one, other = (self.table[make_column(metric.subject, number)].to_numpy(np.float64) for number in NUMBERS)
        return one, other


def make_column(name: str, number: int) -> str:
    return f"{name}_{number}"


def read_pairs(project: Project, settings: Settings) -> PairFrame:
    """Read and join pairs, people's scores and metrics. Raises Refused where no pair is left, with the reasons."""
    scope, golds, judgments = _read_golds(project, settings)
    runs = chosen_runs(project, settings)
    pairs = _read_table(project)
    if pairs.empty:
        raise Refused("The project has no minimal pairs. Write some on a question, or import them.")
    pairs = pairs[_is_asked(pairs, settings)].reset_index(drop=True)
    pairs = _with_human(pairs, golds, settings)
    pairs, metrics = _with_metrics(pairs, runs)
    reason = _reasons(pairs, metrics, settings)
    is_in = (reason == "").to_numpy()
    if not is_in.any():
        raise Refused(_say_nothing(reason))
    kept = pairs[is_in].reset_index(drop=True)
    scores = [make_column(metric.subject, number) for metric in metrics for number in NUMBERS]
    out = pairs[~is_in].assign(**{REASON: reason[~is_in]})
    ids = set(kept[f"{CANDIDATE}_1"]) | set(kept[f"{CANDIDATE}_2"])
    behind = judgments[judgments[columns.UNIT].isin(ids)]
    return PairFrame(
        project=project,
        scope=scope,
        table=kept.fillna(dict.fromkeys(scores, 0.0)) if settings.as_zero else kept,
        metrics=metrics,
        judgments=behind[[columns.UNIT, columns.VALUE]],
        left_out=LeftOut(),
        has_simulated=not behind.empty and has_simulated(project, behind),
        human={name: _scored(pairs, reason, name) for name in ("given", GOLD)},
        reasons=dict(Counter(out[REASON])),
        listed=tuple(_listed(out.head(MOST_LISTED))),
    )


def _read_golds(project: Project, settings: Settings) -> tuple[Scope, pd.DataFrame, pd.DataFrame]:
    """The scope, gold scores by candidate, and the judgments behind them: none of these where nothing is judged yet."""
    scopes = read_scopes(project, requested_scope(settings))
    if not scopes:
        criterion = choose_criterion_to_measure(project, key=settings.criterion)
        empty = pd.DataFrame(
            {columns.UNIT: np.array([], dtype=np.int64), columns.VALUE: np.array([], dtype=np.float64)}
        )
        return Scope(project=project, criterion=criterion, stage=settings.stage), pd.DataFrame(), empty
    scope = choose_scope(scopes, settings.criterion)
    rows = MinimalPair.objects.filter(question__dataset__project=project)
    ids = [pk for both in rows.values_list("candidate_1_id", "candidate_2_id") for pk in both]
    judgments = fetch_judgments(scope, only=ids)
    if judgments.empty:
        return scope, pd.DataFrame(), judgments
    if not scope.criterion.has_one_scale:
        raise Refused(explain_several_scales(scope.criterion))
    golds = gold_table(project, settings, scope, [each.criterion for each in scopes], judgments)
    return scope, golds[golds[N] >= settings.least_judgments], judgments


def _read_table(project: Project) -> pd.DataFrame:
    rows = MinimalPair.objects.filter(question__dataset__project=project).values_list(*_FIELDS.values())
    table = pd.DataFrame.from_records(list(rows), columns=list(_FIELDS))
    return table.sort_values([DATASET, f"{EXTERNAL_ID}_1", PAIR], ignore_index=True)


def _is_asked(pairs: pd.DataFrame, settings: Settings) -> pd.Series:
    return in_facets(pairs.assign(**{SOURCE: pairs[f"{SOURCE}_1"]}), settings)


def _with_human(pairs: pd.DataFrame, golds: pd.DataFrame, settings: Settings) -> pd.DataFrame:
    """The pairs with their gold scores, and with those that count: all of one kind in a pair."""
    made = pairs.copy()
    for number in NUMBERS:
        made[f"given_{number}"] = made[f"given_{number}"].astype("float64")
        found = golds[GOLD].reindex(made[f"{CANDIDATE}_{number}"]).to_numpy(np.float64) if len(golds) else np.nan
        made[f"{GOLD}_{number}"] = found
    first, second = (GOLD, "given") if settings.options.get("human") == GOLDS else ("given", GOLD)
    has_first = made[f"{first}_1"].notna() & made[f"{first}_2"].notna()
    for number in NUMBERS:
        made[f"human_{number}"] = made[f"{first}_{number}"].where(has_first, made[f"{second}_{number}"])
    return made


def _with_metrics(pairs: pd.DataFrame, runs: Any) -> tuple[pd.DataFrame, tuple[MetricColumn, ...]]:
    """The pairs with both scores by each metric; what a metric lacks is counted over candidates that are not gone."""
    present = pairs[~_is_gone(pairs)]
    both = [
        present[[f"{CANDIDATE}_{n}", f"{EXTERNAL_ID}_{n}"]].set_axis([CANDIDATE, EXTERNAL_ID], axis=1) for n in NUMBERS
    ]
    scored, metrics = with_scores(pd.concat(both, ignore_index=True), runs)
    scores = scored.set_index(CANDIDATE)
    found = {
        make_column(metric.subject, number): scores[metric.subject].reindex(pairs[f"{CANDIDATE}_{number}"]).to_numpy()
        for metric in metrics
        for number in NUMBERS
    }
    return pairs.join(pd.DataFrame(found, index=pairs.index)), metrics


def _is_gone(pairs: pd.DataFrame) -> pd.Series:
    return pairs["passage_gone"].notna() | pairs["gone_1"].notna() | pairs["gone_2"].notna()


def _reasons(pairs: pd.DataFrame, metrics: tuple[MetricColumn, ...], settings: Settings) -> pd.Series:
    """Why each pair is left out, the first reason of those there are; empty where it is in."""
    scores = [make_column(metric.subject, number) for metric in metrics for number in NUMBERS]
    is_unscored = pairs["human_1"].isna() | pairs["human_2"].isna()
    reasons = {
        WITHDRAWN: _is_gone(pairs),
        SAME_TEXT: pairs["text_1"] == pairs["text_2"],
        UNSCORED: is_unscored,
        NOT_HIGHER: ~is_unscored & (pairs["human_1"] <= pairs["human_2"]),
        NO_METRIC: pairs[scores].isna().any(axis=1) & (not settings.as_zero),
    }
    return pd.Series(np.select(list(reasons.values()), list(reasons), default=""), index=pairs.index)


def _scored(pairs: pd.DataFrame, reason: pd.Series, name: str) -> pd.DataFrame:
    """All pairs that people scored in this way, whether or not they say that the first is the better."""
    is_scored = pairs[f"{name}_1"].notna() & pairs[f"{name}_2"].notna() & ~reason.isin([WITHDRAWN, SAME_TEXT])
    return pairs.loc[is_scored, [DATASET, PHENOMENON, f"{name}_1", f"{name}_2"]].reset_index(drop=True)


def _listed(out: pd.DataFrame) -> list[dict[str, Any]]:
    names = {"id": f"{EXTERNAL_ID}_1", DATASET: DATASET, PHENOMENON: PHENOMENON, REASON: REASON}
    listed = out.assign(**{name: out[column] for name, column in names.items()})[list(names)]
    scores = out[["human_1", "human_2"]].astype(object).where(out[["human_1", "human_2"]].notna(), None)
    return [{str(name): value for name, value in row.items()} for row in listed.join(scores).to_dict("records")]


def format_reason(reason: str) -> str:
    return {
        WITHDRAWN: "a candidate or its passage is withdrawn",
        SAME_TEXT: "both texts are the same",
        UNSCORED: "people have not scored both",
        NOT_HIGHER: "people do not score the first higher",
        NO_METRIC: "some metric has no score for one of them",
    }.get(reason, reason)


def _say_nothing(reason: pd.Series) -> str:
    said = "; ".join(f"{format_reason(name)}: {n}" for name, n in Counter(reason).items())
    return "No minimal pair is left to study. {reasons}.".format(reasons=said or "None is of what was chosen")
