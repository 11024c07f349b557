"""Permutation tests of metrics: the worked example, every pattern in a plain loop, draws, and bootstrap intervals."""

from itertools import product
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest

from measures.correlation import pearson
from measures.outcome import Undefined
from measures.patterns import Floats
from measures.studies.permutation import CorrelationLevel, Permuted, Swap, bootstrap_correlations, permute
from tests.measures.studies.grids import HUMAN, METRIC, OTHER, draw_scores, make_grid

Masks = list[npt.NDArray[np.bool_]]


def test_the_worked_example() -> None:
    grid = make_grid(HUMAN, m=METRIC, n=OTHER)
    for swap, expected in (("systems", 0.1875), ("inputs", 0.25), ("both", 0.125)):
        found = permute(grid, swap=swap, rng=np.random.default_rng(1))
        pair = found.pairs["m", "n"]
        assert isinstance(pair, Permuted)
        assert (round(pair.difference, 4), pair.p_first, found.is_exact) == (0.4546, expected, True)


def list_masks(human: Floats, units: Floats, swap: Swap) -> Masks:
    n_systems, n_units = len(human), int(units.max()) + 1
    if swap is Swap.CELLS:
        cells = np.argwhere(~np.isnan(human))
        masks = []
        for coins in product((False, True), repeat=len(cells)):
            mask = np.zeros(human.shape, bool)
            mask[tuple(cells.T)] = coins
            masks.append(mask)
        return masks
    rows = list(product((False, True), repeat=n_systems)) if swap is not Swap.INPUTS else [(False,) * n_systems]
    columns = list(product((False, True), repeat=n_units)) if swap is not Swap.SYSTEMS else [(False,) * n_units]
    return [np.array(row)[:, None] ^ np.array(column)[units] for row in rows for column in columns]


def correlate(human: Floats, metric: Floats, level: CorrelationLevel, questions: list[int]) -> float:
    if level is CorrelationLevel.NONE:
        there = ~np.isnan(human)
        found = [pearson(human[there], metric[there])]
    elif level is CorrelationLevel.SYSTEM:
        found = [pearson(np.nanmean(human, axis=1), np.nanmean(np.where(np.isnan(human), np.nan, metric), axis=1))]
    else:
        there = ~np.isnan(human)
        found = [pearson(human[there[:, q], q], metric[there[:, q], q]) for q in questions]
    # Undefined in a pattern is no difference.
    return float(np.mean([0.0 if isinstance(each, Undefined) else each for each in found]))


@pytest.mark.parametrize("swap", Swap)
def test_every_pattern_in_a_loop_gives_the_same_p(swap: Swap) -> None:
    human, one, other = draw_scores(np.random.default_rng(2), 4, 3 if swap is Swap.CELLS else 5, gaps=0.1)
    units = np.minimum(np.arange(human.shape[1]), 3)
    there = ~np.isnan(human)
    z = [(each - each[there].mean()) / each[there].std() for each in (one, other)]
    grid = make_grid(human, units, one=one, other=other)
    for level in CorrelationLevel:
        questions = [
            q for q in range(human.shape[1])
            if not any(isinstance(pearson(human[there[:, q], q], each[there[:, q], q]), Undefined) for each in z)
        ]  # fmt: skip
        whole = correlate(human, z[0], level, questions) - correlate(human, z[1], level, questions)
        every = np.array([
            correlate(human, np.where(mask, z[1], z[0]), level, questions)
            - correlate(human, np.where(mask, z[0], z[1]), level, questions)
            for mask in list_masks(human, units, swap)
        ])  # fmt: skip
        found = permute(grid, swap=swap, level=level, rng=np.random.default_rng(1))
        pair = found.pairs["one", "other"]
        assert isinstance(pair, Permuted)
        assert (found.is_exact, found.n_patterns) == (True, len(every))
        assert pair.difference == pytest.approx(whole)
        assert pair.p_first == pytest.approx((every >= whole - 1e-9).mean()), level
        assert pair.p_second == pytest.approx((-every >= -whole - 1e-9).mean()), level


def test_random_patterns_come_near_to_all_and_never_give_zero() -> None:
    human, one, other = draw_scores(np.random.default_rng(3), 5, 12)
    exact = permute(make_grid(human, one=one, other=other), rng=np.random.default_rng(1)).pairs["one", "other"]
    both = permute(make_grid(human, one=one, other=other), swap="both", n_patterns=2_000, rng=np.random.default_rng(1))
    assert isinstance(exact, Permuted)
    assert (both.is_exact, both.n_patterns) == (False, 2_000)
    assert both.least_p == pytest.approx(1 / 2001)
    sure = permute(make_grid(np.arange(60.0).reshape(3, 20), one=np.arange(60.0).reshape(3, 20),
                             other=np.random.default_rng(1).normal(size=(3, 20))),
                   n_patterns=99, rng=np.random.default_rng(1)).pairs["one", "other"]  # fmt: skip
    assert isinstance(sure, Permuted)
    assert (sure.p_first, sure.p_second) == (0.01, 1.0)
    again = permute(make_grid(human, one=one, other=other), swap="both", n_patterns=2_000, rng=np.random.default_rng(1))
    assert again == both


def test_what_cannot_be_tested_is_said() -> None:
    human, one, other = draw_scores(np.random.default_rng(4), 4, 6)
    rng = np.random.default_rng(1)
    flat = permute(make_grid(human, one=one, flat=np.ones(human.shape), other=other), rng=rng)
    assert flat.pairs["one", "flat"] == Undefined(reason="all scores are equal")
    assert isinstance(flat.pairs["one", "other"], Permuted), "One constant metric takes nothing from the others."
    two: dict[str, Any] = {"one": one[:2], "other": other[:2]}
    for swap, level in (("systems", "none"), ("both", "none"), ("inputs", "system")):
        found = permute(make_grid(human[:2], **two), swap=swap, level=level, rng=rng)
        assert found.pairs["one", "other"] == Undefined(reason="fewer than three systems")
    assert isinstance(permute(make_grid(human[:2], **two), rng=rng).pairs["one", "other"], Permuted)
    equal = permute(make_grid(np.ones(human.shape), one=one, other=other), rng=rng)
    assert equal.values["one"] == Undefined(reason="all human scores are equal")
    with pytest.raises(ValueError, match="1 or more"):
        permute(make_grid(human, one=one), n_patterns=0, rng=rng)
    wrong: list[dict[str, Any]] = [{"resample": "cells"}, {"n_resamples": 0}, {"confidence": 0}, {"confidence": 1}]
    for over in wrong:
        with pytest.raises(ValueError, match="at least once, with a confidence between 0 and 1"):
            bootstrap_correlations(make_grid(human, one=one), rng=rng, **over)
    assert set(bootstrap_correlations(make_grid(human, one=one), rng=rng, n_resamples=1)) == {"one"}


@pytest.mark.parametrize("seed", range(8))
@pytest.mark.parametrize("constant", ["human", "metric"])
def test_a_question_whose_scores_are_all_equal_is_left_out_whatever_they_are(seed: int, constant: str) -> None:
    """The sum of squares about the mean of equal scores is seldom exactly 0."""
    rng = np.random.default_rng(seed)
    human, one, other = draw_scores(rng, 5, 40)
    # Each passage keeps a question that varies, so that both grids have the same passages to draw.
    units, equal = np.arange(40) // 2, (rng.random(40) < 0.7) & (np.arange(40) % 2 == 0)
    # Far from the mean of all, as where everybody can answer a question.
    (human if constant == "human" else one)[:, equal] = 5.0
    gone = human.copy()
    gone[:, equal] = np.nan
    grid, without = (make_grid(each, units, one=one, other=other) for each in (human, gone))
    options: dict[str, Any] = {"level": "question", "swap": "systems"}
    found, expected = (permute(each, **options, rng=np.random.default_rng(1)) for each in (grid, without))
    assert found.values["one"] == pytest.approx(expected.values["one"])
    pair, pair_without = found.pairs["one", "other"], expected.pairs["one", "other"]
    assert isinstance(pair, Permuted)
    assert isinstance(pair_without, Permuted)
    assert pair.difference == pytest.approx(pair_without.difference)
    kept = [pearson(human[:, q], one[:, q]) for q in np.flatnonzero(~equal)]
    defined = [each for each in kept if not isinstance(each, Undefined)]
    assert found.values["one"] == pytest.approx(np.mean(defined))
    of_grid, of_without = (
        bootstrap_correlations(each, level="question", n_resamples=100, rng=np.random.default_rng(1))
        for each in (grid, without)
    )
    assert of_grid["one"] == pytest.approx(of_without["one"], abs=1e-9)


def test_bootstrap_intervals_equal_a_loop_over_the_same_draws() -> None:
    human, one, other = draw_scores(np.random.default_rng(5), 5, 6, gaps=0.1)
    units = np.array([0, 0, 1, 2, 3, 3])
    grid = make_grid(human, units, one=one, other=other)
    there = ~np.isnan(human)
    for level in CorrelationLevel:
        rng = np.random.default_rng(9)
        rows, columns = rng.multinomial(5, np.full(5, 0.2), 60), rng.multinomial(4, np.full(4, 0.25), 60)
        found = bootstrap_correlations(grid, level=level, n_resamples=60, rng=np.random.default_rng(9))
        assert found.keys() == {"one", "other"}
        questions = [
            q for q in range(6)
            if not any(isinstance(pearson(human[there[:, q], q], each[there[:, q], q]), Undefined)
                       for each in (one, other))
        ]  # fmt: skip
        drawn: list[float] = []
        for row, column in zip(rows, columns, strict=True):
            systems = np.repeat(np.arange(5), row)
            chosen = [q for q, unit in enumerate(units) for _ in range(column[unit])]
            if level is CorrelationLevel.QUESTION:
                chosen = [q for q in chosen if q in questions]
                each = [pearson(*(side[systems][there[systems][:, q], q] for side in (human, one))) for q in chosen]
                defined = [value for value in each if not isinstance(value, Undefined)]
                drawn.append(float(np.mean(defined)) if defined else np.nan)
                continue
            x, y = (side[np.ix_(systems, np.array(chosen))] for side in (human, np.where(there, one, np.nan)))
            if level is CorrelationLevel.SYSTEM:
                kept = ~np.isnan(x).all(axis=1)
                value = pearson(np.nanmean(x[kept], axis=1), np.nanmean(y[kept], axis=1))
            else:
                value = pearson(x[~np.isnan(x)], y[~np.isnan(x)])
            drawn.append(np.nan if isinstance(value, Undefined) else value)
        assert found["one"] == pytest.approx(tuple(np.nanquantile(drawn, [0.025, 0.975])), abs=1e-6), level
