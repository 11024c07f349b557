"""Each pair of systems compared: by the mean of each answer's ratings, or by the published test over ratings."""

from collections.abc import Mapping, Sequence
from dataclasses import asdict
from enum import StrEnum
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa

from measures.columns import GROUP, SOURCE, UNIT, VALUE
from measures.corrections import least_groups
from measures.jackknife import FEW_UNITS
from measures.outcome import Undefined
from measures.system_comparisons import compare_systems
from measures.system_pairs import NO_VALUES, QUESTION, PairTest, SystemPair, compare_pairs
from measures.system_scores import SystemScore, mean_over_criteria
from projects.database.frames import copy_frame
from results.scope.gold_settings import CONFIDENCE, SEED, SIGNIFICANCE_LEVEL

# 30 systems are 435 pairs; beyond that the table fits no page.
MOST_SYSTEMS = 30
"""The most systems that are compared pair by pair, the best ones; all have their scores."""
# The name is stored with figures. The paper appeared online in 2015, and its issue in 2017.
GRAHAM2016 = "graham2016"
TESTS = {
    PairTest.SIGN_FLIP.value: "sign flips by passage",
    PairTest.SIGNED_RANK.value: "signed ranks by passage (Wilcoxon)",
    GRAHAM2016: "Mann-Whitney over ratings (Graham et al., 2017)",
}
RATINGS_INDEPENDENT = (
    "Ratings are taken as independent, so p-values are too small where a candidate has several ratings or a passage "
    "several questions. They are one-sided and not corrected for the number of pairs."
)


class Measure(StrEnum):
    """What an answer's value is the mean of: z scores, or ratings on the scale."""

    Z = "z"
    RAW = "raw"


def compare_by_ratings(frames: Sequence[pd.DataFrame], scores: Sequence[SystemScore]) -> list[dict[str, Any]]:
    """Return each of the best systems tested against each by single z scores, as published by Graham et al. (2017).

    Over all criteria, one annotator's ratings of an item are averaged.
    """
    if not frames:
        return []
    return [asdict(pair) for pair in compare_systems(mean_over_criteria(frames), sources=_list_best(scores))]


def compare_by_answers(
    sums: Sequence[pd.DataFrame],
    scores: Sequence[SystemScore],
    questions: pd.Series,
    *,
    test: PairTest,
    measure: Measure,
) -> list[SystemPair]:
    """Return each pair of the best systems compared on the questions that both answered.

    `sums` are those of each criterion; over several, an answer's value is the mean over the criteria that it has a
    value on.
    """
    if not sums:
        return []
    return compare_pairs(
        _make_items(sums, questions, measure),
        sources=_list_best(scores),
        rng=np.random.default_rng(SEED),
        test=test,
        confidence=CONFIDENCE,
    )


def fetch_questions(sums: Mapping[str, pd.DataFrame]) -> pd.Series:
    """Return the question of each candidate, by candidate."""
    ids = sorted(set().union(*(each.index for each in sums.values())))
    rows = copy_frame(_QUESTIONS, {"ids": [int(each) for each in ids]}, {UNIT: pa.int64(), QUESTION: pa.int64()})
    return rows.set_index(UNIT)[QUESTION]


def list_notes(pairs: Sequence[SystemPair]) -> list[str]:
    """Return what a reader of the comparisons has to know: few passages, no shared question, or no values."""
    tested = [pair for pair in pairs if pair.is_paired and not isinstance(pair.p, Undefined)]
    notes = [_explain_few_passages(tested, sum(pair.p_holm is not None for pair in pairs))] if tested else []
    without_values = Undefined(reason=NO_VALUES)
    if n := sum(pair.p == without_values for pair in pairs):
        notes.append(
            f"{n:,} of {len(pairs):,} pairs can't be compared by z scores: a system has none, as its annotators always "
            "gave the same score or are unknown. Compare by ratings."
        )
    if n := sum(not pair.is_paired and pair.p != without_values for pair in pairs):
        notes.append(
            f"{n:,} of {len(pairs):,} pairs share no question: they are unpaired, and the means of their passages are "
            "compared as independent samples (Mann-Whitney)."
        )
    return [note for note in notes if note]


def _explain_few_passages(tested: Sequence[SystemPair], n_tests: int) -> str:
    needed = least_groups(n_tests, alpha=SIGNIFICANCE_LEVEL)
    most = max(pair.n_groups for pair in tested)
    corrected = f"after Holm's correction over {n_tests:,} pairs" if n_tests > 1 else "with one pair"
    if most < needed:
        least = min(1.0, n_tests * 2.0 ** (1 - most))
        return (
            f"Too few passages: pairs share {most:,} at most, so the smallest possible p is {least:.4f} {corrected}, "
            f"and no pair can be significant at {SIGNIFICANCE_LEVEL:.2f}. That takes {needed} shared passages."
        )
    if n := sum(pair.n_groups < needed for pair in tested):
        return (
            f"{n:,} of {len(tested):,} pairs share fewer than {needed} passages: they can't be significant at "
            f"{SIGNIFICANCE_LEVEL:.2f} {corrected}, whatever their difference."
        )
    if most < FEW_UNITS:
        return f"Few passages: pairs share {most:,} at most, so intervals and p-values are rough."
    return ""


def _list_best(scores: Sequence[SystemScore]) -> list[str]:
    return [score.source for score in scores[:MOST_SYSTEMS]]


def _make_items(sums: Sequence[pd.DataFrame], questions: pd.Series, measure: Measure) -> pd.DataFrame:
    """Return the source, question, passage and value of each answer."""
    n, total = ("n_z", "total_z") if measure is Measure.Z else ("n", "total")
    rated = [each[each[n] > 0] for each in sums]
    items = pd.concat(
        [each[[SOURCE, GROUP]].assign(**{VALUE: each[total].to_numpy() / each[n].to_numpy()}) for each in rated]
    )
    if len(rated) > 1:
        items = items.groupby(level=0).agg({SOURCE: "first", GROUP: "first", VALUE: "mean"})
    return items.assign(**{QUESTION: questions.reindex(items.index).to_numpy()})


_QUESTIONS = "SELECT c.id AS unit, c.question_id AS question FROM projects_candidate c WHERE c.id = ANY(%(ids)s)"
