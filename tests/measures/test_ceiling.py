"""The reliability of gold scores and the highest correlation that a metric can reach with them."""

import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from measures.ceiling import CHANCE, Ceiling, Design, compute_ceiling, raise_reliability
from measures.jackknife import JackknifeInterval, jackknife
from measures.one_against_others import OneAgainstOthers, one_against_others
from measures.outcome import Undefined

EQUAL = [[5, 4], [2, 3], [4, 4], [1, 2], [3, 5], [2, 1]]
UNEQUAL = [[5, 4, 4], [2], [4, 4], [1, 2], [3, 5, 4], [2, 1]]
SQUALITY = os.environ.get("SQUALITY_DIR", "")


def make_frame(ratings: Sequence[Sequence[float]], groups: Sequence[int] | None = None) -> pd.DataFrame:
    """Return a long frame; the ratings of an item are by the annotators 0, 1 and so on."""
    groups = groups or range(len(ratings))
    rows = [
        (unit, groups[unit], str(rater), value)
        for unit, values in enumerate(ratings)
        for rater, value in enumerate(values)
    ]
    return pd.DataFrame(rows, columns=["unit", "group", "annotator", "value"]).astype({"value": "float64"})


def compute(ratings: Sequence[Sequence[float]], groups: Sequence[int] | None = None, **over: Any) -> Ceiling:
    found = compute_ceiling(make_frame(ratings, groups), **over)
    assert isinstance(found, Ceiling)
    return found


@pytest.mark.parametrize(("ratings", "reliability", "ceiling"), [(EQUAL, 0.8148, 0.9027), (UNEQUAL, 0.8722, 0.9339)])
def test_worked_values(ratings: list[list[float]], reliability: float, ceiling: float) -> None:
    found = compute(ratings)
    assert (round(found.reliability, 4), round(float(found.ceiling), 4)) == (reliability, ceiling)  # type: ignore[arg-type]
    assert (found.n_units, found.n_ratings, found.design) == (6, sum(map(len, ratings)), Design.ONE_WAY)


def test_equal_numbers_of_judgments_give_the_icc_of_an_analysis_of_variance() -> None:
    table = np.array(EQUAL, np.float64)
    n, k = table.shape
    between = k * table.mean(axis=1).var(ddof=1)
    within = ((table - table.mean(axis=1, keepdims=True)) ** 2).sum() / (n * (k - 1))
    found = compute(EQUAL)
    assert found.single == pytest.approx((between - within) / (between + (k - 1) * within)) == 0.6875
    assert found.reliability == pytest.approx(1 - within / between) == pytest.approx(raise_reliability(0.6875, 2))
    assert [each.n_judgments for each in found.predictions] == [2, 3, 5, 10]
    assert found.predictions[0].ceiling == pytest.approx(found.ceiling)
    assert found.n_judgments == 2
    # With unequal numbers their harmonic mean counts: one item in six has one judgment, three have two.
    assert compute(UNEQUAL).n_judgments == pytest.approx(6 / (1 + 3 / 2 + 2 / 3))


def test_the_same_raters_of_every_item_share_a_bias_that_is_no_error() -> None:
    table = np.array(EQUAL, np.float64)
    k = table.shape[1]
    # Cronbach's alpha, from the variances of the raters' columns and of the sums.
    alpha = k / (k - 1) * (1 - table.var(axis=0, ddof=1).sum() / table.sum(axis=1).var(ddof=1))
    found = compute(EQUAL, design="crossed")
    assert found.reliability == pytest.approx(alpha)
    assert raise_reliability(found.single, k) == pytest.approx(alpha)
    assert compute(EQUAL, design="auto") == found
    assert compute((table / 100).tolist(), design="crossed").reliability == pytest.approx(alpha)
    assert compute((table + np.array([0, 3])).tolist(), design="auto").reliability == pytest.approx(alpha)
    # Unequal numbers of judgments are no crossed design.
    assert compute(UNEQUAL, design="auto") == compute(UNEQUAL)
    reason = "not all candidates were judged by the same annotators"
    assert compute_ceiling(make_frame(UNEQUAL), design="crossed") == Undefined(reason=reason)
    twice = make_frame(EQUAL).assign(annotator="0")
    assert compute_ceiling(twice, design="crossed") == Undefined(reason=reason)


@pytest.mark.parametrize("design", ["one_way", "crossed"])
def test_the_interval_is_a_jackknife_over_passages(design: str) -> None:
    rng = np.random.default_rng(3)
    groups = np.repeat(np.arange(7), 4)
    truth = rng.normal(size=28) + rng.normal(size=7)[groups]
    ratings = truth[:, None] + rng.normal(size=(28, 3))
    rows = ratings.tolist()
    if design == "one_way":
        rows = [row[: 1 + at % 3] for at, row in enumerate(rows)]
    found = compute(rows, groups.tolist(), design=design)

    def estimate(kept: Any) -> float:
        return compute([rows[at] for at in kept], [int(groups[at]) for at in kept], design=design).reliability

    expected = jackknife(estimate, groups.tolist(), scale="log_one_minus")
    assert isinstance(found.interval, JackknifeInterval)
    assert isinstance(expected, JackknifeInterval)
    assert found.interval.low == pytest.approx(max(0.0, expected.low) ** 0.5)
    assert found.interval.high == pytest.approx(expected.high**0.5)
    assert found.interval.se == pytest.approx(expected.se)
    assert found.n_groups == 7


def test_it_is_undefined_with_a_reason() -> None:
    reasons = {
        "fewer than three candidates with a judgment": [[1, 2], [3, 4]],
        "fewer than two candidates with two judgments": [[1, 2], [3], [4]],
        "all gold scores are equal": [[2, 4], [3, 3], [1, 5]],
    }
    for reason, ratings in reasons.items():
        assert compute_ceiling(make_frame(ratings)) == Undefined(reason=reason)
    # People who agree less than by chance: R is shown, and no ceiling.
    found = compute([[1, 5], [5, 1], [1, 4]])
    assert (found.reliability < 0, found.ceiling, found.predictions) == (True, Undefined(reason=CHANCE), ())
    assert found.interval == Undefined(reason=CHANCE)
    perfect = compute([[1, 1], [2, 2], [4, 4], [5, 5]])
    assert (perfect.ceiling, perfect.interval) == (1, Undefined(reason="the estimate is exactly 1"))


def test_an_interval_needs_gold_scores_that_differ_without_each_passage() -> None:
    """Equal means leave no sum of squares of exactly 0, which once made an interval of 0 to 1."""
    found = compute([[3, 3, 5], *[[1, 2, 2]] * 4])
    assert found.ceiling == pytest.approx(0.882, abs=5e-4)
    assert found.interval == Undefined(reason="the estimate without one candidate is undefined")
    rng = np.random.default_rng(1)
    for _ in range(200):
        one, alike = (rng.integers(1, 6, int(rng.integers(2, 5))).tolist() for _ in range(2))
        if np.mean(one) != np.mean(alike):
            assert isinstance(compute([one, *[alike] * 6]).interval, Undefined), (one, alike)


def test_a_true_score_reaches_the_ceiling_and_passes_one_person() -> None:
    """Of r1 .5 and three judgments, with 200 items in 40 passages: theory .866; one against the others .577."""
    rng = np.random.default_rng(15)
    groups = np.repeat(np.arange(40), 5)
    theory = raise_reliability(0.5, 3) ** 0.5
    estimates, reached, one, covered = [], [], [], []
    for _ in range(150):
        truth = (rng.normal(size=200) + rng.normal(size=40)[groups]) / np.sqrt(2)
        ratings = truth[:, None] + rng.normal(size=(200, 3))
        frame = pd.DataFrame(
            {"unit": np.repeat(np.arange(200), 3), "group": np.repeat(groups, 3), "value": ratings.ravel()}
        )
        found = compute_ceiling(frame)
        assert isinstance(found, Ceiling)
        assert isinstance(found.interval, JackknifeInterval)
        assert isinstance(found.ceiling, float)
        estimates.append(found.ceiling)
        reached.append(np.corrcoef(truth, ratings.mean(axis=1))[0, 1])
        covered.append(found.interval.low <= theory <= found.interval.high)
        others = one_against_others(frame, rng=rng, n_draws=1)
        assert isinstance(others, OneAgainstOthers)
        one.append(others.r)
    assert np.mean(estimates) == pytest.approx(theory, abs=0.005)
    assert np.mean(reached) == pytest.approx(theory, abs=0.005)
    assert np.mean(one) == pytest.approx(1 / np.sqrt(3), abs=0.01)
    # The standard error of a share of 150 is .018; `benchmarks.significance` runs more.
    assert 0.90 <= np.mean(covered) <= 0.99


@pytest.mark.skipif(not SQUALITY, reason="SQUALITY_DIR does not name the folder of the SQuALITY ratings")
def test_squality() -> None:
    table = pd.read_csv(Path(SQUALITY) / "ratings.csv").rename(columns={"item_id": "unit", "rater": "annotator"})
    frame = table[["unit", "annotator"]].assign(
        value=table["correctness_1to5"].astype("float64"), group=table["unit"].str.partition("-")[0]
    )
    found = compute_ceiling(frame)
    assert isinstance(found, Ceiling)
    assert isinstance(found.interval, JackknifeInterval)
    figures = (found.single, found.reliability, found.ceiling, found.interval.low, found.interval.high)
    rounded = [round(float(each), 4) for each in figures]  # type: ignore[arg-type]
    assert rounded == [0.3918, 0.6590, 0.8118, 0.7071, 0.8760]
    others = one_against_others(frame, rng=np.random.default_rng(1000))
    assert isinstance(others, OneAgainstOthers)
    assert others.r == pytest.approx(0.469, abs=0.005)
