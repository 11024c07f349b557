"""Correlation within groups: the worked example, plain loops of scipy, and what is undefined."""

from typing import Any

import numpy as np
import pytest
from scipy.stats import kendalltau, pearsonr, rankdata, t

from measures.correlation import pearson
from measures.outcome import Undefined
from measures.patterns import Floats
from measures.studies.within_groups import WithinGroups, correlate_within
from tests.measures.studies.grids import HUMAN, METRIC, draw_scores, find_wilson_ends

SYSTEMS, QUESTIONS = (each.ravel() for each in np.indices(HUMAN.shape))


def correlate(human: Floats, metrics: dict[str, Floats], groups: Any, units: Any, **over: Any) -> WithinGroups:
    return correlate_within(human, metrics, groups, units=units, rng=np.random.default_rng(1), **over)


@pytest.mark.parametrize(
    ("groups", "expected"), [(np.zeros(12), 0.6859), (QUESTIONS, 0.2373), (SYSTEMS, 0.6298)], ids=("none", "q", "s")
)
def test_the_worked_example(groups: Any, expected: float) -> None:
    found = correlate(HUMAN.ravel(), {"m": METRIC.ravel()}, groups, QUESTIONS)
    assert found.metrics["m"]["pearson"].value == pytest.approx(expected, abs=5e-5)


def loop(human: Floats, metric: Floats, groups: Any, averaged: list[int]) -> list[float]:
    """The three coefficients group by group, and their means."""
    found = []
    for group in averaged:
        x, y = human[groups == group], metric[groups == group]
        found.append([pearsonr(x, y)[0], pearsonr(rankdata(x), rankdata(y))[0], kendalltau(x, y)[0]])
    return list(np.mean(found, axis=0))


@pytest.mark.parametrize("by", ["question", "system"])
def test_it_equals_a_loop_over_groups_and_over_passages_left_out(by: str) -> None:
    rng = np.random.default_rng(2)
    human, one, other = draw_scores(rng, 6, 24, gaps=0.4)
    rows, columns = np.nonzero(~np.isnan(human))
    human, metrics = human[rows, columns], {"one": one[rows, columns], "other": other[rows, columns]}
    groups, units = (columns if by == "question" else rows), columns // 2
    found = correlate(human, metrics, groups, units)
    averaged = [
        group
        for group in range(int(groups.max()) + 1)
        if not any(isinstance(pearson(human[groups == group], each[groups == group]), Undefined)
                   for each in metrics.values())
    ]  # fmt: skip
    assert found.n_averaged == len(averaged) == found.n_groups - found.n_small - found.n_equal
    assert by == "system" or 4 < found.n_averaged < found.n_groups
    for name, metric in metrics.items():
        values = loop(human, metric, groups, averaged)
        for at, each in enumerate(found.metrics[name].values()):
            assert each.value == pytest.approx(values[at])
        without: list[float] = []
        for unit in np.unique(units[np.isin(groups, averaged)]):
            kept = units != unit
            left = [group for group in averaged if by == "system" or (kept & (groups == group)).any()]
            without.append(loop(human[kept], metric[kept], groups[kept], left)[0])
        n = len(without)
        se = np.sqrt((n - 1) / n * ((np.array(without) - np.mean(without)) ** 2).sum())
        # The passages weigh by their groups, or by their items where groups cut across them.
        is_in = np.isin(groups, averaged)
        weighed = np.unique(groups[is_in], return_index=True)[1] if by == "question" else slice(None)
        sizes = np.unique(units[is_in][weighed], return_counts=True)[1]
        degrees = sizes.sum() ** 2 / (sizes**2).sum() - 1
        first = found.metrics[name]["pearson"]
        ends = find_wilson_ends(values[0], float(t.ppf(0.975, degrees) * se), low=-1.0)
        assert (first.low, first.high) == pytest.approx(ends)


def test_a_system_of_which_a_passage_leaves_two_answers_leaves_no_interval() -> None:
    # Of the first system five answers are on one passage. Without them two are left, whose correlation would be 1.
    systems, units = np.repeat([0, 1], 7), np.array([0, 0, 0, 0, 0, 1, 2, 0, 0, 1, 1, 2, 2, 2])
    human = np.array([1.0, 2, 3, 4, 2, 5, 1, 3, 1, 4, 2, 2, 5, 1])
    metric = np.array([2.0, 1, 3, 3, 1, 5, 2, 1, 2, 4, 1, 3, 4, 2])
    for each in correlate(human, {"m": metric}, systems, units).metrics["m"].values():
        assert not isinstance(each.value, Undefined)
        assert (each.low, each.high) == (None, None)
        assert each.why_no_interval == "the estimate without one passage is undefined"


@pytest.mark.parametrize("undefined_as", ["left_out", "zero"])
def test_a_system_on_two_passages_counts_without_each_of_them(undefined_as: str) -> None:
    systems, units = np.repeat([0, 1], [8, 12]), np.repeat([0, 1, 0, 1, 2], 4)
    human, metric = np.random.default_rng(4).normal(size=(2, 20))
    found = correlate(human, {"m": metric}, systems, units, undefined_as=undefined_as).metrics["m"]["pearson"]
    without = np.array([loop(human[kept], metric[kept], systems[kept], [0, 1])[0] for kept in units != [[0], [1], [2]]])
    se = np.sqrt(2 / 3 * ((without - without.mean()) ** 2).sum())
    degrees = 20**2 / (8**2 + 8**2 + 4**2) - 1
    assert isinstance(found.value, float)
    ends = find_wilson_ends(found.value, float(t.ppf(0.975, degrees) * se), low=-1.0)
    assert (found.low, found.high) == pytest.approx(ends)


def test_large_groups_have_the_same_tau_as_small_ones() -> None:
    rng = np.random.default_rng(3)
    human, metric = np.round(rng.normal(size=(2, 900)), 1)
    groups = np.repeat([0, 1, 2], [600, 299, 1])
    found = correlate(human, {"m": metric}, groups, groups)
    expected = [kendalltau(human[groups == each], metric[groups == each])[0] for each in (0, 1)]
    assert found.metrics["m"]["kendall"].value == pytest.approx(np.mean(expected))
    assert (found.n_small, found.metrics["m"]["kendall"].why_no_interval) == (1, "fewer than three passages")


def test_a_group_that_one_metric_leaves_undefined_is_left_out_for_all_or_counts_zero() -> None:
    human = np.array([1.0, 2, 3, 1, 2, 4, 2, 2, 2, 1, 2])
    good, flat = human + np.arange(11) / 100, np.array([3.0, 1, 2, 5, 5, 5, 1, 2, 3, 1, 2])
    groups = np.repeat([0, 1, 2, 3], [3, 3, 3, 2])
    found = correlate(human, {"good": good, "flat": flat}, groups, groups)
    assert (found.n_groups, found.n_averaged, found.n_small, found.n_equal) == (4, 1, 1, 1)
    assert found.n_constant == {"good": 0, "flat": 1}
    assert found.metrics["flat"]["pearson"].value == pytest.approx(-0.5)
    beside = correlate(human, {"good": good, "none": np.ones(11)}, groups, groups)
    assert beside.n_averaged == 2, "a metric without any correlation leaves nothing out for the others"
    assert beside.metrics["none"]["kendall"].value == Undefined(reason="defined in no group")
    as_zero = correlate(human, {"good": good, "flat": flat}, groups, groups, undefined_as="zero")
    assert as_zero.metrics["flat"]["pearson"].value == pytest.approx(-0.5 / 4)
    assert as_zero.n_averaged == 4
    nowhere = correlate(np.ones(11), {"good": good}, groups, groups).metrics["good"]["pearson"]
    assert (nowhere.value, nowhere.low) == (Undefined(reason="defined in no group"), None)
    assert correlate(human[:0], {"good": human[:0]}, groups[:0], groups[:0]).n_groups == 0
    with pytest.raises(ValueError, match="one unit"):
        correlate(human, {"good": good}, groups, groups[1:])
