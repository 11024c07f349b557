"""Systems against each other: the test of two, and a second run."""

import numpy as np
import pandas as pd
import pytest
from scipy import stats

from measures.outcome import Undefined
from measures.system_comparisons import compare_systems, replicate
from tests.measures.frames import system_ratings


def test_each_pair_is_compared_both_ways_as_scipy_does() -> None:
    frame = system_ratings()
    found = {(each.first, each.second): each for each in compare_systems(frame, sources=["c", "b", "a"])}
    assert len(found) == 6
    for (first, second), each in found.items():
        one, other = (frame.loc[frame["source"] == name, "z"] for name in (first, second))
        assert each.p == stats.mannwhitneyu(one, other, alternative="greater").pvalue
    assert (found["c", "a"].p < 0.05, found["a", "c"].p < 0.05) == (True, False)  # type: ignore[operator]


def test_systems_without_scores_or_difference_are_not_compared() -> None:
    frame = pd.DataFrame({"source": ["a", "a", "b", "c"], "z": [1.0, 1.0, 1.0, np.nan]})
    p_values = {(each.first, each.second): each.p for each in compare_systems(frame, sources=["a", "b", "c"])}
    assert p_values["a", "b"] == Undefined(reason="all scores are equal")
    assert p_values["a", "c"] == Undefined(reason="no rating has a z score")


def test_replication_is_of_the_systems_that_both_runs_have() -> None:
    first = {"a": 0.1, "b": 0.5, "c": 0.9, "only here": 3.0}
    again = replicate(first, {"a": 0.2, "b": 0.1, "c": 0.8})
    assert again.n == 3
    assert again.pearson == pytest.approx(stats.pearsonr([0.1, 0.5, 0.9], [0.2, 0.1, 0.8]).statistic)
    assert again.spearman == pytest.approx(0.5)
    assert again.kendall == pytest.approx(1 / 3)
    assert replicate(first, {"a": 1.0}).pearson == Undefined(reason="fewer than three pairs")
