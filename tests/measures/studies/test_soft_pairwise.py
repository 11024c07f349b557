"""Soft pairwise accuracy: the worked example, p-values by enumeration and by scipy, what is undefined."""

from itertools import combinations, product
from typing import Any

import numpy as np
import pytest
from scipy.stats import permutation_test, t

from measures.outcome import Undefined
from measures.patterns import Floats
from measures.studies.grids import Grid
from measures.studies.soft_pairwise import SoftAccuracies, SoftAccuracy, compare_system_pairs
from tests.measures.studies.grids import HUMAN, METRIC, draw_scores, find_wilson_ends, make_grid


def compare(grid: Grid, **over: bool) -> SoftAccuracies:
    found = compare_system_pairs(grid, rng=np.random.default_rng(1), **over)
    assert isinstance(found, SoftAccuracies)
    return found


def read_one(found: SoftAccuracies, name: str) -> SoftAccuracy:
    each = found.metrics[name]
    assert isinstance(each, SoftAccuracy)
    return each


def enumerate_p(scores: Floats, units: Any) -> Any:
    """p of each pair of systems from every pattern of signs of the units."""
    found = []
    for one, other in combinations(range(len(scores)), 2):
        leads = np.bincount(units, scores[one] - scores[other])
        every = [np.dot(signs, leads) >= leads.sum() - 1e-9 for signs in product((-1, 1), repeat=len(leads))]
        found.append(np.mean(every))
    return np.array(found)


def test_the_worked_example() -> None:
    assert enumerate_p(HUMAN, np.arange(3)).tolist() == [0.25, 0.25, 0.125, 0.5, 0.25, 0.25]
    assert enumerate_p(METRIC, np.arange(3)).tolist() == [0.125, 0.125, 0.125, 0.25, 0.375, 0.375]
    found = compare(make_grid(HUMAN, m=METRIC))
    assert (read_one(found, "m").soft, found.n_pairs, found.n_patterns, found.is_exact) == (0.875, 6, 8, True)
    # scipy: with paired samples it flips the signs of the differences.
    p = permutation_test((HUMAN[0], HUMAN[3]), lambda x, y, axis: np.sum(x - y, axis=axis), vectorized=True,
                         permutation_type="samples", alternative="greater").pvalue  # fmt: skip
    assert p == 0.125


def test_it_equals_enumeration_by_question_and_by_passage_also_without_a_passage() -> None:
    human, one, other = draw_scores(np.random.default_rng(2), 5, 9)
    units = np.arange(9) // 2
    grid = make_grid(human, units, one=one, other=other)
    for by_unit, flipped in ((False, np.arange(9)), (True, units)):
        found = compare(grid, by_unit=by_unit)
        for name, metric in (("one", one), ("other", other)):
            expected = 1 - np.abs(enumerate_p(human, flipped) - enumerate_p(metric, flipped)).mean()
            assert read_one(found, name).soft == pytest.approx(expected)
    without = []
    for unit in range(5):
        kept = units != unit
        flipped = np.unique(units[kept], return_inverse=True)[1]
        without.append(1 - np.abs(enumerate_p(human[:, kept], flipped) - enumerate_p(one[:, kept], flipped)).mean())
    se = np.sqrt(4 / 5 * ((without - np.mean(without)) ** 2).sum())
    first = read_one(compare(grid, by_unit=True), "one")
    # Four passages of two questions and one of one count as 81 / 17.
    assert (first.low, first.high) == pytest.approx(find_wilson_ends(first.soft, t.ppf(0.975, 81 / 17 - 1) * se))
    assert 0 < (first.low or 0) < first.soft < (first.high or 1) < 1


def test_random_signs_come_near_to_all_and_are_drawn_once() -> None:
    human, one, other = draw_scores(np.random.default_rng(3), 6, 14)
    found = compare(make_grid(human, one=one, other=other, same=human, turned=-human))
    assert (found.is_exact, found.n_patterns) == (False, 1000)
    for name, scores in (("one", one), ("turned", -human)):
        expected = 1 - np.abs(enumerate_p(human, np.arange(14)) - enumerate_p(scores, np.arange(14))).mean()
        assert read_one(found, name).soft == pytest.approx(expected, abs=0.02)
    assert (read_one(found, "same").soft, read_one(found, "same").plain) == (1.0, 1.0), "The same signs on both sides."


def test_plain_accuracy_counts_a_tie_of_one_side_as_wrong() -> None:
    human = np.array([[5.0, 5], [4, 4], [3, 3], [3, 3]])
    ties = np.array([[5.0, 5], [5, 5], [3, 3], [3, 3]])
    found = compare(make_grid(human, ties=ties))
    assert read_one(found, "ties").plain == pytest.approx(5 / 6)


def test_only_questions_of_all_systems_count_and_too_few_are_said() -> None:
    human, one, _other = draw_scores(np.random.default_rng(4), 5, 8)
    human[2, 3] = np.nan
    assert compare(make_grid(human, one=one)).n_questions == 7
    few = compare_system_pairs(make_grid(human[:3], one=one[:3]), rng=np.random.default_rng(1))
    assert few == Undefined(reason="fewer than four systems")
    human[1, :7] = np.nan
    short = compare_system_pairs(make_grid(human, one=one), rng=np.random.default_rng(1))
    assert short == Undefined(reason="fewer than two questions that every system has")


def test_a_metric_of_equal_scores_is_undefined_and_the_others_are_not() -> None:
    found = compare(make_grid(HUMAN, flat=np.ones(HUMAN.shape), m=METRIC))
    assert found.metrics["flat"] == Undefined(reason="all scores are equal")
    assert read_one(found, "m").soft == 0.875


def test_equal_human_scores_leave_every_metric_undefined() -> None:
    found = compare(make_grid(np.full(HUMAN.shape, 3.0), flat=np.ones(HUMAN.shape), m=METRIC))
    assert found.metrics["flat"] == Undefined(reason="all scores are equal")
    assert found.metrics["m"] == Undefined(reason="all human scores are equal")


def test_an_interval_near_one_stays_below_it() -> None:
    rng = np.random.default_rng(5)
    human = np.arange(5.0)[:, None] + rng.normal(size=(5, 8))
    near = human + 0.5 * rng.normal(size=human.shape)
    found = compare(make_grid(human, near=near, same=human))
    each = read_one(found, "near")
    assert each.low is not None
    assert each.high is not None
    assert 0.8 < each.low < each.soft < each.high < 1
    assert read_one(found, "same").why_no_interval == "no single passage changes the estimate"
