"""Known answers, repeats and degraded texts: known values, and each test computed a second time."""

from itertools import combinations, product

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from measures.outcome import Undefined
from measures.quality.degraded import Degraded, DegradedTest, Verdict, degraded_test, signed_rank_p
from measures.quality.repeats import Repeats, repeats
from measures.quality.shares import Share, compute_share


def run(degraded: list[float], source: list[float], test: str = "signed_rank", **over: object) -> Degraded:
    found = degraded_test(np.array(degraded, float), np.array(source, float), test=test, **over)  # type: ignore[arg-type]
    assert isinstance(found, Degraded)
    return found


# Newcombe (1998), Two-sided confidence intervals for the single proportion, Statistics in Medicine 17, table I
@pytest.mark.parametrize(
    ("n_yes", "n", "low", "high"),
    [(81, 263, 0.2553, 0.3662), (15, 148, 0.0624, 0.1605), (0, 20, 0.0, 0.1611), (1, 29, 0.0061, 0.1718)],
)
def test_wilson_as_published(n_yes: int, n: int, low: float, high: float) -> None:
    found = compute_share(n_yes, n, nothing="")
    assert isinstance(found, Share)
    assert (round(found.low, 4), round(found.high, 4)) == (low, high)


@given(st.integers(0, 60), st.integers(1, 60))
def test_wilson_as_scipy_has_it(n_yes: int, n: int) -> None:
    n_yes = min(n_yes, n)
    found = compute_share(n_yes, n, nothing="")
    theirs = stats.binomtest(n_yes, n).proportion_ci(method="wilson")
    assert isinstance(found, Share)
    assert (found.low, found.high) == pytest.approx((theirs.low, theirs.high), abs=1e-9)


def test_no_share_of_nothing() -> None:
    assert compute_share(0, 0, nothing="no items") == Undefined(reason="no items")
    with pytest.raises(ValueError, match="3 of 2"):
        compute_share(3, 2, nothing="")


@given(st.lists(st.integers(-4, 4).filter(bool), min_size=1, max_size=11))
def test_signed_rank_by_counting_every_sign(differences: list[int]) -> None:
    array = np.array(differences, float)
    ranks = stats.rankdata(np.abs(array))
    observed = ranks[array > 0].sum()
    sums = [ranks[np.array(signs, bool)].sum() for signs in product((0, 1), repeat=len(array))]
    assert signed_rank_p(array) == pytest.approx(np.mean(np.array(sums) <= observed + 1e-9), abs=1e-12)


def test_signed_rank_without_ties_as_scipy_has_it() -> None:
    array = np.random.default_rng(3).normal(-0.4, 1, 30)
    theirs = stats.wilcoxon(array, alternative="less", method="exact")
    assert signed_rank_p(array) == pytest.approx(theirs.pvalue, abs=1e-12)


def test_signed_rank_of_many_is_normal_with_both_corrections() -> None:
    array = np.random.default_rng(4).integers(-3, 3, 200).astype(float)
    array = array[array != 0]
    theirs = stats.wilcoxon(array, alternative="less", method="approx", correction=True)
    assert signed_rank_p(array) == pytest.approx(theirs.pvalue, rel=1e-3)


def test_exact_and_normal_meet_at_the_border() -> None:
    array = np.random.default_rng(5).integers(-3, 4, 80).astype(float)
    array = array[array != 0][:50]
    assert len(array) == 50
    theirs = stats.wilcoxon(array, alternative="less", method="approx", correction=True)
    assert signed_rank_p(array) == pytest.approx(theirs.pvalue, abs=0.005)


def test_five_lower_pairs_pass_and_four_are_too_few() -> None:
    five = run([1, 2, 1, 1, 2], [4, 5, 5, 3, 4])
    assert (five.verdict, five.p, five.n_used, five.n_lower) == (Verdict.PASSED, 1 / 32, 5, 5)
    four = run([1, 2, 1, 1], [4, 5, 5, 3])
    assert (four.verdict, four.p, four.n) == (Verdict.TOO_FEW, None, 4)


def test_ties_hold_where_scores_come_from_shares_of_the_scale() -> None:
    source, degraded = [20.0, 30, 40, 50, 60, 70], [29.0, 21, 31, 41, 51, 61]
    assert 0 + 100 * (29 / 100) != 29
    exact = run(degraded, source)
    found = run([100 * (each / 100) for each in degraded], source)
    assert (exact.p, exact.verdict) == (found.p, found.verdict) == (0.109375, Verdict.FAILED)
    assert signed_rank_p(np.array([0.3 - 0.2, 0.2 - 0.3, 0.1 - 0.2])) == signed_rank_p(np.array([1.0, -1.0, -1.0]))


@pytest.mark.parametrize("test", list(DegradedTest))
def test_means_over_criteria_are_tied_as_their_sums_are(test: DegradedTest) -> None:
    """Three criteria from 1 to 5: a share of the scale is the mean of three, in any order."""
    rng = np.random.default_rng(2)
    for _ in range(40):
        ratings = rng.integers(1, 6, (2, 9, 3)).astype(float)
        shares = ((ratings[..., 0] - 1) / 4 + (ratings[..., 1] - 1) / 4 + (ratings[..., 2] - 1) / 4) / 3
        found, exact = (run(list(each[0]), list(each[1]), test) for each in (1 + 4 * shares, ratings.sum(axis=2)))
        assert (found.verdict, found.n_used, found.n_lower) == (exact.verdict, exact.n_used, exact.n_lower)
        assert found.p == pytest.approx(exact.p, abs=1e-9)


def test_pairs_without_a_difference_are_too_few_and_no_failure() -> None:
    found = run([4, 4, 4, 4, 1, 1], [4, 4, 4, 4, 4, 4])
    assert (found.verdict, found.n, found.n_used) == (Verdict.TOO_FEW, 6, 2)


@pytest.mark.parametrize("test", list(DegradedTest))
def test_who_scores_everything_alike_has_failed(test: DegradedTest) -> None:
    found = run([3, 3, 3, 3, 3], [3, 3, 3, 3, 3], test)
    assert (found.verdict, found.p) == (Verdict.FAILED, 1.0)


@pytest.mark.parametrize("test", list(DegradedTest))
def test_the_wrong_way_round_fails(test: DegradedTest) -> None:
    found = run([4, 5, 5, 3, 4, 5], [1, 2, 1, 1, 2, 3], test)
    assert found.verdict is Verdict.FAILED
    assert found.p is not None
    assert found.p > 0.9
    assert (found.mean_degraded, found.mean_source) == pytest.approx((26 / 6, 10 / 6))


def test_nan_excludes_its_pair() -> None:
    found = run([1, 2, 1, 1, 2, np.nan, 5], [4, 5, 5, 3, 4, 1, np.nan])
    assert (found.n, found.verdict) == (5, Verdict.PASSED)
    assert isinstance(degraded_test(np.array([np.nan]), np.array([4.0])), Undefined)
    assert isinstance(degraded_test(np.zeros(0), np.zeros(0)), Undefined)


@given(st.lists(st.tuples(st.integers(1, 5), st.integers(1, 5)), min_size=5, max_size=30))
def test_paired_t_as_scipy_has_it(pairs: list[tuple[int, int]]) -> None:
    degraded, source = np.array(pairs, float).T
    if np.ptp(degraded - source) == 0:
        return
    theirs = stats.ttest_rel(degraded, source, alternative="less")
    assert run(list(degraded), list(source), "paired_t").p == pytest.approx(theirs.pvalue, abs=1e-9)


def test_paired_t_of_one_difference_throughout() -> None:
    assert run([1, 2, 3, 1, 2], [2, 3, 4, 2, 3], "paired_t").p == 0.0


def test_unpaired_tests_take_all_ordinary_scores() -> None:
    degraded, source = [1.0, 2, 2, 3, 1], [4.0, 5, 5, 3, 4]
    ordinary = np.array([4.0, 5, 5, 3, 4, 1, 2, 3, 5, np.nan])
    known = ordinary[:-1]
    mann = run(degraded, source, "mannwhitney", ordinary=ordinary)
    assert mann.p == pytest.approx(stats.mannwhitneyu(degraded, known, alternative="less").pvalue)
    assert run(degraded, source, "ranksum", ordinary=ordinary).p == pytest.approx(
        stats.ranksums(degraded, known, alternative="less").pvalue
    )
    assert run(degraded[:3], source[:3], "ranksum", ordinary=ordinary).verdict is Verdict.TOO_FEW


@pytest.mark.parametrize("seed", range(5))
def test_mann_whitney_by_counting_every_division(seed: int) -> None:
    """Without ties: of all ways to take four of nine scores, the share with as low a sum of ranks."""
    scores = np.random.default_rng(seed).permutation(9).astype(float)
    degraded, ordinary = scores[:4], scores[4:]
    sums = [sum(each) for each in combinations(sorted(scores), 4)]
    expected = np.mean([each <= degraded.sum() for each in sums])
    found = run(list(degraded), list(degraded + 1), "mannwhitney", ordinary=ordinary)
    assert found.p == pytest.approx(expected, abs=1e-12)


def test_unpaired_tests_with_ties_by_their_formulas() -> None:
    rng = np.random.default_rng(8)
    degraded, ordinary = rng.integers(1, 5, 12).astype(float), rng.integers(1, 6, 30).astype(float)
    n, m = len(degraded), len(ordinary)
    ranks = stats.rankdata(np.concatenate([degraded, ordinary]))
    below = ranks[:n].sum() - n * (n + 1) / 2
    _, ties = np.unique(ranks, return_counts=True)
    whole = n + m
    spread = np.sqrt(n * m / 12 * (whole + 1 - (ties**3 - ties).sum() / (whole * (whole - 1))))
    mann = run(list(degraded), list(degraded), "mannwhitney", ordinary=ordinary)
    assert mann.p == pytest.approx(stats.norm.cdf((below - n * m / 2 + 0.5) / spread), abs=1e-12)
    rank_sum = run(list(degraded), list(degraded), "ranksum", ordinary=ordinary)
    plain = np.sqrt(n * m * (whole + 1) / 12)
    assert rank_sum.p == pytest.approx(stats.norm.cdf((below - n * m / 2) / plain), abs=1e-12)


def test_repeats_known_values() -> None:
    found = repeats(np.array([1.0, 2, 5, 4, np.nan]), np.array([1.0, 3, 2, 4, 4]))
    assert isinstance(found, Repeats)
    assert (found.n, found.mean_difference, found.exact_share, found.within_one_share) == (4, 1.0, 0.5, 0.75)
    assert found.r == pytest.approx(np.corrcoef([1, 2, 5, 4], [1, 3, 2, 4])[0, 1])


def test_repeats_that_never_vary_have_no_correlation() -> None:
    found = repeats(np.array([3.0, 3, 3]), np.array([3.0, 3, 3]))
    assert isinstance(found, Repeats)
    assert found.exact_share == 1.0
    assert found.r == Undefined(reason="all scores are equal")
    assert isinstance(repeats(np.zeros(0), np.zeros(0)), Undefined)
