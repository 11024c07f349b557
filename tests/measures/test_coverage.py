"""Nominal 95 % intervals cover about 95 % of simulated studies: a short run of benchmarks/coverage.py."""

from collections.abc import Sequence

import pytest

from benchmarks.coverage import DESIGNS, TO_30, measure_coverage, measure_means, measure_nearly_equal, measure_shares
from measures.alpha_intervals import are_nearly_equal


@pytest.mark.parametrize(
    ("sizes", "is_skewed"), [([1] * 30, True), ([5] * 12, False), (TO_30, False)], ids=("single", "even", "uneven")
)
def test_the_jackknife_covers_as_often_as_it_says(sizes: Sequence[int], is_skewed: bool) -> None:
    names = ("pearson", "spearman", "alpha", "mean")
    only = [*((name, "jackknife") for name in names), ("alpha", "items"), ("alpha", "counted")]
    found = measure_coverage(sizes, is_skewed=is_skewed, n_runs=200, n_resamples=0, n_true=30_000, only=only)
    for name in names:
        share, undefined = found[name, "jackknife"]
        # Three standard errors of 200 runs are 4.6 %.
        assert 0.904 <= share <= 0.996, name
        assert undefined < 0.01
    if max(sizes) > 1:
        # Items of one passage are not independent.
        assert found["alpha", "items"][0] < found["alpha", "jackknife"][0]
    if sizes == TO_30:
        # Few passages have most of the items, and count as few.
        assert found["alpha", "counted"][0] < found["alpha", "jackknife"][0]


@pytest.mark.parametrize(("share", "differ"), [(0.05, 0.0), (0.1, 0.3), (0.5, 0.3)])
def test_intervals_of_shares_near_0_cover_as_often_as_others(share: float, differ: float) -> None:
    shown, plain, undefined = measure_shares(DESIGNS["20 of 5"], share=share, differ=differ, n_runs=400)
    # Three standard errors of 400 runs are 3.3 %.
    assert 0.917 <= shown <= 0.983
    assert undefined < 0.03
    if share < 0.5:
        assert plain < shown


def test_intervals_of_means_near_the_end_of_a_scale_cover_as_often_as_others() -> None:
    true, shown, plain, undefined = measure_means(DESIGNS["20 of 5"], share=0.1, n_runs=400)
    assert true > 4.8
    assert 0.917 <= shown <= 0.983
    assert plain < shown
    assert undefined < 0.03


@pytest.mark.parametrize(("share", "least", "most"), [(0.02, 0.4, 0.75), (0.2, 0.907, 0.99)])
def test_alpha_of_nearly_equal_ratings_is_covered_too_rarely_and_said_to_be(
    share: float, least: float, most: float
) -> None:
    n_others, covered, _undefined = measure_nearly_equal(share, n_units=200, n_runs=200, n_true=30_000)
    assert least <= covered <= most
    assert are_nearly_equal(round(n_others), 200) is (covered < 0.9)
