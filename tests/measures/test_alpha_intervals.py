"""Jackknife of alpha: left-out values by subtraction equal those computed anew; few units; ties with the package."""

import math

import numpy as np
import pandas as pd
import pytest
from scipy.stats import t

from measures.agreement import krippendorff_alpha, package_alpha
from measures.alpha_intervals import jackknife_alphas
from measures.jackknife import jackknife
from measures.outcome import Undefined
from measures.patterns import Ints, Patterns
from measures.rubric import Level


def _draw_frame(rng: np.random.Generator, *, n_values: int) -> pd.DataFrame:
    rows = []
    for unit in range(30):
        true = rng.integers(1, n_values + 1)
        for annotator in range(rng.integers(1, 5)):
            value = float(np.clip(true + rng.integers(-2, 3), 1, n_values))
            rows.append((unit, annotator, value, unit // 4))
    return pd.DataFrame(rows, columns=["unit", "annotator", "value", "group"])


@pytest.mark.parametrize("n_values", [5, 400])
@pytest.mark.parametrize("column", ["unit", "group"])
def test_equals_alpha_computed_anew_without_each_part(column: str, n_values: int) -> None:
    frame = _draw_frame(np.random.default_rng(n_values), n_values=n_values)
    # Units with one rating are no units of alpha, so leaving them out is no part of the jackknife.
    frame = frame[frame.groupby("unit")["value"].transform("count") > 1].reset_index(drop=True)
    patterns = Patterns.from_frame(frame)
    found = jackknife_alphas(patterns, levels=list(Level), by_group=column == "group")
    for level in Level:

        def compute(rows: Ints, level: Level = level) -> float | Undefined:
            part = Patterns.from_frame(frame.iloc[rows].drop(columns="group"))
            outcome = krippendorff_alpha(part, level=level)
            # The package is a second way, independent of our sums.
            alpha = package_alpha(part, level=level)
            return outcome if isinstance(outcome, Undefined) else outcome.alpha if alpha is None else alpha

        expected = jackknife(compute, frame[column].tolist(), scale="log_one_minus")
        assert not isinstance(expected, Undefined)
        one = found[level]
        assert not isinstance(one, Undefined)
        assert one.n_units == frame[column].nunique()
        assert (one.low, one.high, one.se) == pytest.approx((expected.low, expected.high, expected.se), rel=1e-7)


def test_units_of_one_pattern_count_as_often_as_they_are() -> None:
    few = Patterns.from_rows([([1, 1], 6), ([5, 5], 5), ([4, 5], 3), ([1, 3], 2)])
    found = jackknife_alphas(few, levels=["interval"], by_group=False)[Level.INTERVAL]
    assert not isinstance(found, Undefined)
    left_out = []
    rows = [([1, 1], 6), ([5, 5], 5), ([4, 5], 3), ([1, 3], 2)]
    for at, (_values, n) in enumerate(rows):
        fewer = [(other, m - (place == at)) for place, (other, m) in enumerate(rows)]
        outcome = krippendorff_alpha(Patterns.from_rows(fewer), level="interval")
        assert not isinstance(outcome, Undefined)
        left_out += n * [math.log(1 - outcome.alpha)]
    se = math.sqrt(15 / 16 * sum((z - np.mean(left_out)) ** 2 for z in left_out))
    assert found.se == pytest.approx(se, rel=1e-9)
    whole = krippendorff_alpha(few, level="interval")
    assert not isinstance(whole, Undefined)
    assert found.high == pytest.approx(1 - (1 - whole.alpha) * math.exp(-t.ppf(0.975, 15) * se))


@pytest.mark.parametrize(
    ("rows", "reason"),
    [
        ([([1, 1], [0, 0]), ([1, 2], [1])], "fewer than three passages"),
        ([([1, 1], [0, 0]), ([1, 2], [0])], "fewer than three passages"),
        ([([1, 1], [0, 1]), ([2, 2], [2])], "the estimate is exactly 1"),
        ([([1, 1], [0, 1]), ([2, 1], [2])], "the estimate without one passage is undefined"),
        ([([3, 3], [0, 1, 2])], "all ratings are equal"),
    ],
)
def test_undefined_with_its_reason(rows: list[tuple[list[int], list[int]]], reason: str) -> None:
    found = jackknife_alphas(Patterns.from_rows(rows), levels=["nominal"], by_group=True)
    assert found[Level.NOMINAL] == Undefined(reason=reason)


def test_three_passages_are_enough() -> None:
    rows = Patterns.from_rows([([1, 1], [0, 1, 2]), ([1, 2], [0, 1]), ([2, 2], [0, 1, 2])])
    found = jackknife_alphas(rows, levels=["nominal"], by_group=True)[Level.NOMINAL]
    assert not isinstance(found, Undefined)
    assert found.low < found.high
