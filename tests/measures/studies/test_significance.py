from itertools import combinations
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from measures.outcome import Undefined
from measures.patterns import Floats
from measures.studies.significance import PairedBootstrap, compare_all, holm, paired_bootstrap
from measures.studies.williams import Williams, williams, williams_from_correlations

N = 80


def rng(seed: int = 1) -> np.random.Generator:
    return np.random.default_rng(seed)


HUMAN = rng(2).integers(1, 6, N).astype(float)
NEAR, FAR = HUMAN + rng(3).normal(scale=1.0, size=N), HUMAN + rng(4).normal(scale=1.2, size=N)


def columns(n: int) -> Any:
    return st.lists(st.integers(0, 4), min_size=n, max_size=n)


triples = st.integers(4, 20).flatmap(lambda n: st.tuples(columns(n), columns(n), columns(n)))


def test_williams_gives_the_published_value() -> None:
    # N. C. Silver, J. B. Hittner, K. May (2006), A FORTRAN 77 Program for Comparing Dependent Correlations,
    # Applied Psychological Measurement 30: t = -1.0767, two-sided p = 0.2843
    found = williams_from_correlations(0.3, 0.4, 0.5, n=100)
    assert isinstance(found, Williams)
    assert (round(found.t, 4), found.df, round(2 * (1 - found.p), 4)) == (-1.0767, 97, 0.2843)


def test_williams_agrees_with_the_determinant_of_the_correlation_matrix() -> None:
    found = williams(HUMAN, NEAR, FAR)
    assert isinstance(found, Williams)
    matrix = np.corrcoef([HUMAN, NEAR, FAR])
    (r12, r13), r23 = matrix[0, 1:], matrix[1, 2]
    mean = (r12 + r13) / 2
    below = 2 * (N - 1) / (N - 3) * np.linalg.det(matrix) + mean**2 * (1 - r23) ** 3
    t = (r12 - r13) * np.sqrt((N - 1) * (1 + r23) / below)
    assert found.t == pytest.approx(t)
    assert found.p == pytest.approx(1 - stats.t.cdf(t, N - 3))


@pytest.mark.parametrize(
    ("a", "b", "reason"),
    [
        (NEAR, 2 * NEAR + 1, "each metric is a linear function of the other"),
        (NEAR, -NEAR, "each metric is a linear function of the other"),
        (NEAR, np.ones(N), "all scores are equal"),
    ],
)
def test_williams_is_undefined_where_the_metrics_cannot_differ(a: Floats, b: Floats, reason: str) -> None:
    assert williams(HUMAN, a, b) == Undefined(reason=reason)


def test_williams_needs_four_items() -> None:
    assert williams(HUMAN[:3], NEAR[:3], FAR[:3]) == Undefined(reason="fewer than four items")
    assert isinstance(williams(HUMAN[:4], NEAR[:4], FAR[:4]), Williams)


def test_a_perfect_metric_beats_another_by_williams() -> None:
    found = williams(HUMAN, HUMAN / 5, FAR)
    assert isinstance(found, Williams)
    assert found.p < 1e-9


def test_holm_by_hand() -> None:
    assert holm([0.01, 0.04, 0.03, 0.005]) == pytest.approx([0.03, 0.06, 0.06, 0.02])
    assert holm([0.6, 0.7]) == [1.0, 1.0]
    assert holm([None, 0.02]) == [None, 0.02]
    assert holm([]) == []


@given(st.lists(st.floats(0, 1), min_size=1, max_size=12))
def test_holm_keeps_the_order_and_only_raises(p_values: list[float]) -> None:
    adjusted = holm(p_values)
    for p, q in zip(p_values, adjusted, strict=True):
        assert q is not None
        assert p <= q <= 1
    in_order: list[Any] = [adjusted[at] for at in np.argsort(p_values, kind="stable")]
    assert in_order == sorted(in_order)


@pytest.mark.parametrize("by_group", [False, True])
def test_p_is_the_share_of_resamples_in_which_the_first_is_not_higher(by_group: bool) -> None:
    groups = np.arange(N) // 4
    found = paired_bootstrap(HUMAN, NEAR, FAR, rng=rng(), groups=groups, n_resamples=300, by_group=by_group)
    random, differences = rng(), []
    for _ in range(300):
        if by_group:
            rows = np.concatenate([np.flatnonzero(groups == one) for one in random.integers(20, size=20)])
        else:
            rows = random.integers(N, size=N)
        near, far = (stats.pearsonr(each[rows], HUMAN[rows]).statistic for each in (NEAR, FAR))
        differences.append(near - far)
    assert isinstance(found, PairedBootstrap)
    assert found.p == np.mean(np.array(differences) <= 0)
    assert (found.low, found.high) == pytest.approx(tuple(np.quantile(differences, [0.025, 0.975])))
    assert 0 < found.p < 0.5


def test_a_tie_is_no_win_also_where_rounding_tells_the_two_apart() -> None:
    for other in (NEAR, 0.1 * NEAR + 7.3):
        found = paired_bootstrap(HUMAN, NEAR, other, rng=rng(), n_resamples=200)
        assert isinstance(found, PairedBootstrap)
        assert (found.p, found.undefined_share) == (1.0, 0.0)


def test_undefined_resamples_are_left_out_and_counted() -> None:
    human, a, b = np.array([1.0, 5, 5, 5]), np.array([0.0, 1, 1, 1]), np.array([1.0, 1, 0, 0])
    found = paired_bootstrap(human, a, b, rng=rng(), n_resamples=500)
    assert isinstance(found, PairedBootstrap)
    assert 0.3 < found.undefined_share < 0.7
    assert found.p < 0.2
    alone = paired_bootstrap(human, a, b, rng=rng(), groups=["p"] * 4, by_group=True)
    assert alone == Undefined(reason="one passage only, so there is nothing to resample")
    assert paired_bootstrap(human, a, np.ones(4), rng=rng()) == Undefined(reason="all scores are equal")


@given(triples)
def test_one_way_and_the_other_make_1_and_the_ties(triple: Any) -> None:
    human, a, b = (np.array(side, float) for side in triple)
    one, other = (paired_bootstrap(human, *pair, rng=rng(), n_resamples=40) for pair in ((a, b), (b, a)))
    if isinstance(one, PairedBootstrap) and isinstance(other, PairedBootstrap):
        assert one.p + other.p >= 1 - 1e-9
        assert one.undefined_share == other.undefined_share
    else:
        assert isinstance(one, Undefined)
        assert isinstance(other, Undefined)
    ways = [williams(human, *pair) for pair in ((a, b), (b, a))]
    if isinstance(ways[0], Williams) and isinstance(ways[1], Williams):
        assert ways[0].p + ways[1].p == pytest.approx(1)


def test_all_pairs_are_each_pair_alone_and_corrected_over_both_ways() -> None:
    metrics = {"near": NEAR, "far": FAR, "flat": np.ones(N)}
    found = {(one.first, one.second): one for one in compare_all(HUMAN, metrics, rng=rng(), n_resamples=100)}
    assert len(found) == 6
    for pair in combinations(("near", "far"), 2):
        assert found[pair].bootstrap == paired_bootstrap(
            HUMAN, *(metrics[name] for name in pair), rng=rng(), n_resamples=100
        )
        assert found[pair].williams == williams(HUMAN, *(metrics[name] for name in pair))
    one, other = found["near", "far"], found["far", "near"]
    assert isinstance(one.williams, Williams)
    assert isinstance(other.williams, Williams)
    assert one.williams_holm == pytest.approx(2 * one.williams.p)  # the pairs with "flat" are no tests
    assert other.williams_holm == other.williams.p
    assert found["near", "flat"].bootstrap == found["flat", "near"].williams == Undefined(reason="all scores are equal")
    assert found["near", "flat"].bootstrap_holm is None
