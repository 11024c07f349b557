"""Nominal 95 % intervals cover about 95 % of simulated studies: a short run of benchmarks/coverage.py."""

import pytest

from benchmarks.coverage import measure_coverage


@pytest.mark.parametrize(("n_passages", "n_items", "is_skewed"), [(30, 1, True), (12, 5, False)])
def test_the_jackknife_covers_as_often_as_it_says(n_passages: int, n_items: int, is_skewed: bool) -> None:
    found = measure_coverage(n_passages, n_items, is_skewed=is_skewed, n_runs=200, n_resamples=0, n_true=30_000)
    for name in ("pearson", "spearman", "alpha"):
        share, undefined = found[name, "jackknife"]
        # Three standard errors of 200 runs are 4.6 %.
        assert 0.904 <= share <= 0.996, name
        assert undefined < 0.01
    if n_items > 1:
        # Items of one passage are not independent.
        assert found["alpha", "items"][0] < found["alpha", "jackknife"][0]
