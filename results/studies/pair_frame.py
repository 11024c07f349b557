"""The frame of an evaluation on minimal pairs: human and metric scores of both candidates of each pair."""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pandas as pd

from annotate.frames.annotator_baselines import fetch_baselines
from annotate.frames.criteria_in_use import Scope
from annotate.frames.shared_ratings import RATED, fetch_shared_judgments
from measures import columns
from measures.gold_scores import N
from measures.patterns import Floats
from projects.errors import Refused
from projects.models import MinimalPair, Project
from results.models import MetricRun
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
    in_facets,
    list_scope_settings,
    make_gold_table,
)
from results.studies.joining import CANDIDATE, EXTERNAL_ID, MetricColumn, with_scores
from results.studies.metrics_chosen import find_chosen_runs
from results.studies.settings import Settings

PAIR, PHENOMENON, REASON = "pair", "phenomenon", "reason"
GIVEN, GOLDS = "given scores first", "gold scores first"
"""Which human scores decide a pair that has both kinds. The values are stored in settings."""
WITHDRAWN, SAME_TEXT, UNSCORED, NOT_HIGHER, NO_METRIC = "withdrawn", "same_text", "unscored", "not_higher", "no_score"
"""Why a pair is excluded, in the order in which the reasons are tested."""
REASONS = {
    WITHDRAWN: "a candidate or its passage is withdrawn",
    SAME_TEXT: "both texts are the same",
    UNSCORED: "a candidate has no human score",
    NOT_HIGHER: "the first candidate has no higher human score",
    NO_METRIC: "a metric has no score for a candidate",
}
"""Why pairs are excluded, as pages say it."""
NUMBERS = (1, 2)
MOST_LISTED = 500
"""The most excluded pairs that are listed; all are counted."""

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
    """The pairs of an evaluation: a row for each in `table`, in order of dataset and id.

    Beside the columns of a frame, a row has the scores of both candidates by each metric, under `make_column`.
    """

    human: Mapping[str, pd.DataFrame] = field(default_factory=dict)
    """Human scores by origin: dataset, phenomenon and both scores of each pair that has them."""
    reasons: Mapping[str, int] = field(default_factory=dict)
    """The number of excluded pairs, by the first reason."""
    listed: tuple[Mapping[str, Any], ...] = ()
    """The first excluded pairs, with their reason."""

    @property
    def n_shared(self) -> int:
        """None: candidates of minimal pairs are rated themselves."""
        return 0

    def both(self, metric: MetricColumn) -> tuple[Floats, Floats]:
        """Return a metric's scores of the better candidates, and of the others."""
        one, other = (self.table[make_column(metric.subject, number)].to_numpy(np.float64) for number in NUMBERS)
        return one, other


def make_column(name: str, number: int) -> str:
    return f"{name}_{number}"


def read_pairs(
    project: Project,
    settings: Settings,
    *,
    keeps_unscored: bool = False,
    current: Sequence[MetricRun] | None = None,
) -> PairFrame:
    """Read and join pairs, human scores and metric scores. Raises Refused where no pair is left, with the reasons.

    With `keeps_unscored`, pairs for which a metric has no score stay, with NaN and without the reasons. `current` are
    the current runs, where they are known already.
    """
    scope, golds, judgments = _read_golds(project, settings)
    runs = find_chosen_runs(project, settings, current)
    pairs = _read_table(project)
    if pairs.empty:
        raise Refused("The project has no minimal pairs. Add some on the page of a question, or import them.")
    pairs = pairs[_is_selected(pairs, settings)].reset_index(drop=True)
    pairs = _with_human(pairs, golds, settings)
    pairs, metrics = _with_metrics(pairs, runs, with_reasons=not keeps_unscored)
    reason = _find_reasons(pairs, metrics, is_score_needed=not (settings.as_zero or keeps_unscored))
    is_in = (reason == "").to_numpy()
    if not is_in.any():
        raise Refused(_explain_empty(pairs, reason, metrics))
    kept = pairs[is_in].reset_index(drop=True)
    scores = [make_column(metric.subject, number) for metric in metrics for number in NUMBERS]
    out = pairs[~is_in].assign(**{REASON: reason[~is_in]})
    # Only judgments behind pairs that are included are counted as used.
    ids = set(kept[f"{CANDIDATE}_1"]) | set(kept[f"{CANDIDATE}_2"])
    behind = judgments[judgments[columns.UNIT].isin(ids)]
    return PairFrame(
        project=project,
        scope=scope,
        table=kept.fillna(dict.fromkeys(scores, 0.0)) if settings.as_zero else kept,
        metrics=metrics,
        judgments=behind[[columns.UNIT, columns.VALUE, RATED]],
        left_out=LeftOut(),
        has_simulated=not behind.empty and has_simulated(project, behind),
        human={name: _select_scored(pairs, reason, name) for name in ("given", GOLD)},
        reasons=dict(Counter(out[REASON])),
        listed=tuple(_list_pairs(out.head(MOST_LISTED))),
    )


def _read_golds(project: Project, settings: Settings) -> tuple[Scope, pd.DataFrame, pd.DataFrame]:
    """Return the scope, gold scores by candidate, and the judgments behind them, as far as there are any."""
    scopes = read_scopes(project, list_scope_settings(settings))
    if not scopes:
        # No batch yet: pairs that came with scores are evaluated by these alone.
        criterion = choose_criterion_to_measure(project, key=settings.criterion)
        empty = pd.DataFrame(
            {
                columns.UNIT: np.array([], dtype=np.int64),
                columns.VALUE: np.array([], dtype=np.float64),
                RATED: np.array([], dtype=np.int64),
            }
        )
        return Scope(project=project, criterion=criterion, stage=settings.stage), pd.DataFrame(), empty
    scope = choose_scope(scopes, settings.criterion)
    rows = MinimalPair.objects.filter(question__dataset__project=project)
    # The judgments of all other candidates would be read in vain.
    ids = [pk for both in rows.values_list("candidate_1_id", "candidate_2_id") for pk in both]
    judgments = fetch_shared_judgments(scope, only=ids)
    if judgments.empty:
        return scope, pd.DataFrame(), judgments
    if not scope.criterion.has_one_scale:
        raise Refused(explain_several_scales(scope.criterion))
    criteria = [each.criterion for each in scopes]
    norms = fetch_baselines(scope, criteria, with_controls=settings.controls_in_z)
    golds = make_gold_table(project, settings, scope, norms, judgments)
    return scope, golds[golds[N] >= settings.least_judgments], judgments


def _read_table(project: Project) -> pd.DataFrame:
    # Pairs are written by hand and few, so the ORM reads them, and not COPY.
    rows = MinimalPair.objects.filter(question__dataset__project=project).values_list(*_FIELDS.values())
    table = pd.DataFrame.from_records(list(rows), columns=list(_FIELDS))
    return table.sort_values([DATASET, f"{EXTERNAL_ID}_1", PAIR], ignore_index=True)


def _is_selected(pairs: pd.DataFrame, settings: Settings) -> pd.Series:
    return in_facets(pairs.assign(**{SOURCE: pairs[f"{SOURCE}_1"]}), settings)


def _with_human(pairs: pd.DataFrame, golds: pd.DataFrame, settings: Settings) -> pd.DataFrame:
    """Return the pairs with their gold scores, and with those that count: both of a pair are of one kind."""
    joined = pairs.copy()
    for number in NUMBERS:
        joined[f"given_{number}"] = joined[f"given_{number}"].astype("float64")
        found = golds[GOLD].reindex(joined[f"{CANDIDATE}_{number}"]).to_numpy(np.float64) if len(golds) else np.nan
        joined[f"{GOLD}_{number}"] = found
    # The setting says which origin comes first; the other fills pairs that lack it.
    first, second = (GOLD, "given") if settings.options.get("human") == GOLDS else ("given", GOLD)
    has_first = joined[f"{first}_1"].notna() & joined[f"{first}_2"].notna()
    for number in NUMBERS:
        # Both scores of a pair come from one source: an imported score and a gold score cannot be compared.
        joined[f"human_{number}"] = joined[f"{first}_{number}"].where(has_first, joined[f"{second}_{number}"])
    return joined


def _with_metrics(
    pairs: pd.DataFrame, runs: Any, *, with_reasons: bool
) -> tuple[pd.DataFrame, tuple[MetricColumn, ...]]:
    """Return the pairs with both scores by each metric; missing ones are counted without withdrawn candidates."""
    present = pairs[~_is_withdrawn(pairs)]
    both = [
        present[[f"{CANDIDATE}_{n}", f"{EXTERNAL_ID}_{n}"]].set_axis([CANDIDATE, EXTERNAL_ID], axis=1) for n in NUMBERS
    ]
    scored, metrics = with_scores(pd.concat(both, ignore_index=True), runs, with_reasons=with_reasons)
    scores = scored.set_index(CANDIDATE)
    found = {
        make_column(metric.subject, number): scores[metric.subject].reindex(pairs[f"{CANDIDATE}_{number}"]).to_numpy()
        for metric in metrics
        for number in NUMBERS
    }
    return pairs.join(pd.DataFrame(found, index=pairs.index)), metrics


def _is_withdrawn(pairs: pd.DataFrame) -> pd.Series:
    return pairs["passage_gone"].notna() | pairs["gone_1"].notna() | pairs["gone_2"].notna()


def _find_reasons(pairs: pd.DataFrame, metrics: tuple[MetricColumn, ...], *, is_score_needed: bool) -> pd.Series:
    """Return the first reason why each pair is excluded; empty where it is included."""
    scores = [make_column(metric.subject, number) for metric in metrics for number in NUMBERS]
    is_unscored = pairs["human_1"].isna() | pairs["human_2"].isna()
    reasons = {
        WITHDRAWN: _is_withdrawn(pairs),
        SAME_TEXT: pairs["text_1"] == pairs["text_2"],
        UNSCORED: is_unscored,
        NOT_HIGHER: ~is_unscored & (pairs["human_1"] <= pairs["human_2"]),
        NO_METRIC: pairs[scores].isna().any(axis=1) & is_score_needed,
    }
    # np.select takes the first condition that holds.
    return pd.Series(np.select(list(reasons.values()), list(reasons), default=""), index=pairs.index)


def _select_scored(pairs: pd.DataFrame, reason: pd.Series, name: str) -> pd.DataFrame:
    """Return all pairs with such human scores, whether or not the first candidate scores higher."""
    is_scored = pairs[f"{name}_1"].notna() & pairs[f"{name}_2"].notna() & ~reason.isin([WITHDRAWN, SAME_TEXT])
    return pairs.loc[is_scored, [DATASET, PHENOMENON, f"{name}_1", f"{name}_2"]].reset_index(drop=True)


def _list_pairs(out: pd.DataFrame) -> list[dict[str, Any]]:
    names = {"id": f"{EXTERNAL_ID}_1", DATASET: DATASET, PHENOMENON: PHENOMENON, REASON: REASON}
    listed = out.assign(**{name: out[column] for name, column in names.items()})[list(names)]
    scores = out[["human_1", "human_2"]].astype(object).where(out[["human_1", "human_2"]].notna(), None)
    return [{str(name): value for name, value in row.items()} for row in listed.join(scores).to_dict("records")]


def format_reason(reason: str) -> str:
    """Return the reason as the tables in frozen sets have it; pages reword it."""
    return {
        WITHDRAWN: "a candidate or its passage is withdrawn",
        SAME_TEXT: "both texts are the same",
        UNSCORED: "people have not scored both",
        NOT_HIGHER: "people do not score the first higher",
        NO_METRIC: "some metric has no score for one of them",
    }.get(reason, reason)


def count_reasons(reasons: Mapping[str, int]) -> str:
    """Return how many pairs are excluded for each reason, as the end of a sentence."""
    return "; ".join(f"{n:,} because {REASONS.get(name, name)}" for name, n in reasons.items())


def _explain_empty(pairs: pd.DataFrame, reason: pd.Series, metrics: tuple[MetricColumn, ...]) -> str:
    if reason.empty:
        return "No minimal pairs are left to evaluate: none matches the filters."
    words = f"No minimal pairs are left to evaluate: {count_reasons(Counter(reason))}."
    unscored = pairs[reason == NO_METRIC]
    lacking = [
        metric.label
        for metric in metrics
        if unscored[[make_column(metric.subject, number) for number in NUMBERS]].isna().to_numpy().any()
    ]
    return f"{words} Leave out metrics without these scores: {', '.join(lacking)}." if lacking else words
