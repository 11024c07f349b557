"""One against the others: known values, and alpha without each annotator computed the long way round."""

import os
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from scipy import stats

from measures.agreement import Agreement, krippendorff_alpha
from measures.correlation import pearson, spearman
from measures.jackknife import jackknife
from measures.outcome import Undefined
from measures.quality.others import AlphaEffect, Others, against_others, alpha_effects, others_means
from tests.measures.frames import CANONICAL, from_table, random_frame

FOLDER = os.environ.get("SQUALITY_DIR", "")


def test_means_of_the_others_the_long_way_round() -> None:
    frame = random_frame(np.random.default_rng(1), n_units=40, n_annotators=4)
    units, annotators = pd.factorize(frame["unit"])[0], pd.factorize(frame["annotator"])[0]
    plain, trusted = others_means(units, annotators, frame["value"].to_numpy())
    for row, mean in enumerate(plain):
        rest = frame[(frame["unit"] == frame["unit"].iloc[row]) & (np.arange(len(frame)) != row)]["value"]
        assert mean == pytest.approx(rest.mean(), nan_ok=True)
    assert (np.isnan(plain) == np.isnan(trusted)).all()


def test_a_careless_other_hardly_counts_in_the_trusted_mean() -> None:
    truth = np.tile([1.0, 2, 3, 4, 5], 8)
    scores = np.concatenate([truth, truth, truth, 6 - truth])
    units, annotators = np.tile(np.arange(40), 4), np.repeat([0, 1, 2, 3], 40)
    plain, trusted = others_means(units, annotators, scores)
    assert np.abs(plain[:40] - truth).mean() > 0.7
    assert np.abs(trusted[:40] - truth).mean() < 0.01


def test_against_others_known_values() -> None:
    found = against_others(np.array([5.0, 4, 2, 1, 3]), np.array([4.0, 4, 3, 1, np.nan]))
    assert isinstance(found, Others)
    assert (found.n, found.bias, found.mean_difference) == (4, 0.0, 0.5)
    assert found.r == pytest.approx(stats.pearsonr([5, 4, 2, 1], [4, 4, 3, 1]).statistic)
    low, high = stats.t.interval(0.95, 3, 0, np.std([1, 0, -1, 0], ddof=1) / 2)
    assert (found.bias_low, found.bias_high) == pytest.approx((low, high), abs=1e-12)


def test_the_interval_of_the_bias_is_students_and_the_jackknifes_where_items_share_passages() -> None:
    difference = np.array([0.5, 0, -0.5, 1, 1.5])
    found = against_others(3 + difference, np.full(5, 3.0), groups=np.arange(5))
    assert isinstance(found, Others)
    assert (found.bias, found.n_groups) == (0.5, 0)
    assert found.bias_high - found.bias == pytest.approx(0.982, abs=5e-4)
    assert (found.bias_low, found.bias_high) == pytest.approx(
        stats.t.interval(0.95, 4, difference.mean(), stats.sem(difference))
    )
    passages = np.array([7, 7, 8, 9, 9])
    shared = against_others(3 + difference, np.full(5, 3.0), groups=passages)
    expected = jackknife(lambda rows: float(difference[rows].mean()), passages, scale="plain")
    assert isinstance(shared, Others)
    assert not isinstance(expected, Undefined)
    assert shared.n_groups == 3
    assert (shared.bias_low, shared.bias_high) == pytest.approx((expected.low, expected.high), abs=1e-12)
    for groups, n, reason in (
        (None, 1, "one item only"),
        (np.zeros(5, int), 5, "one passage only"),
        (np.array([1, 1, 1, 2, 2]), 5, "fewer than three passages"),
    ):
        one = against_others(difference[:n], np.zeros(n), groups=groups)
        assert isinstance(one, Others)
        assert np.isnan(one.bias_low)
        assert one.why_no_interval == reason


def test_overlap_one_gives_nothing_and_says_so() -> None:
    assert against_others(np.array([5.0]), np.array([np.nan])) == Undefined(
        reason="nobody else has rated the same candidates"
    )
    frame = pd.DataFrame({"unit": ["a", "b"], "annotator": ["x", "y"], "value": [1.0, 2.0]})
    assert alpha_effects(frame, level="ordinal")["x"] == Undefined(reason="no candidate has two ratings")


@pytest.mark.parametrize("level", ["nominal", "ordinal", "interval", "ratio"])
@pytest.mark.parametrize("seed", range(4))
def test_alpha_without_each_the_long_way_round(level: str, seed: int) -> None:
    rng = np.random.default_rng(seed)
    frame = random_frame(rng, n_units=60, n_annotators=4, continuous=bool(seed % 2), share=0.7)
    check_effects(frame, level)


def test_alpha_without_each_of_the_canonical_example() -> None:
    check_effects(from_table(CANONICAL), "ordinal")


def test_two_annotators_leave_nothing_without_one() -> None:
    frame = random_frame(np.random.default_rng(2), n_units=10, n_annotators=2, share=1.0)
    effects = alpha_effects(frame, level="ordinal")
    assert [type(effect) for effect in effects.values()] == [Undefined, Undefined]


def test_alpha_of_the_one_unit_that_an_annotator_leaves_is_undefined() -> None:
    rows = [("a", "x", 1.0), ("a", "y", 2.0), ("b", "y", 1.0), ("b", "z", 2.0), ("c", "y", 2.0), ("c", "z", 2.0)]
    frame = pd.DataFrame(rows, columns=["unit", "annotator", "value"])
    effects = alpha_effects(frame, level="nominal")
    reason = "without this annotator there is no agreement to compute"
    assert effects["z"] == effects["y"] == Undefined(reason=reason), "alpha of one unit would always be 0"
    assert isinstance(effects["x"], AlphaEffect)


def check_effects(frame: pd.DataFrame, level: str) -> None:
    whole = krippendorff_alpha(frame, level=level)
    assert isinstance(whole, Agreement)
    effects = alpha_effects(frame, level=level)
    assert set(effects) == set(frame["annotator"])
    for annotator, effect in effects.items():
        without = krippendorff_alpha(frame[frame["annotator"] != annotator], level=level)
        assert isinstance(without, Agreement)
        assert isinstance(effect, AlphaEffect)
        assert effect.with_them == pytest.approx(whole.alpha, abs=1e-12)
        assert effect.without_them == pytest.approx(without.alpha, abs=1e-9)
        assert effect.difference == pytest.approx(without.alpha - whole.alpha, abs=1e-9)


def test_correlations_as_scipy_has_them() -> None:
    rng = np.random.default_rng(7)
    first, second = rng.integers(1, 6, 50).astype(float), rng.normal(size=50)
    assert pearson(first, second) == pytest.approx(stats.pearsonr(first, second).statistic)
    assert spearman(first, second) == pytest.approx(stats.spearmanr(first, second).statistic)
    assert pearson(first[:2], second[:2]) == Undefined(reason="fewer than three pairs")
    assert pearson(first, np.ones(50)) == Undefined(reason="all scores on the other side are equal")


@pytest.mark.skipif(not FOLDER, reason="SQUALITY_DIR does not name the folder of the SQuALITY ratings")
def test_the_real_raters_leave_one_out() -> None:
    """Computed for this test by pandas alone: each rater's correlation with the mean of the other two."""
    table = pd.read_csv(Path(FOLDER) / "ratings.csv")
    scores = table["correctness_1to5"].to_numpy(float)
    units, annotators = pd.factorize(table["item_id"])[0], pd.factorize(table["rater"])[0]
    plain, _ = others_means(units, annotators, scores)
    found = {rater: against_others(scores[mask], plain[mask]) for rater, mask in raters(table).items()}
    assert {rater: round(each.r, 2) for rater, each in found.items()} == {  # type: ignore[union-attr,arg-type]
        "w2": 0.68,
        "w3": 0.72,
        "w6": 0.35,
        "w8": 0.73,
    }


def raters(table: pd.DataFrame) -> dict[str, np.ndarray]:
    return {str(rater): (table["rater"] == rater).to_numpy() for rater in table["rater"].unique()}
