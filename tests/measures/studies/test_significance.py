from itertools import combinations
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from measures.corrections import holm
from measures.outcome import Undefined
from measures.patterns import Floats
from measures.studies.significance import PairedBootstrap, compare_all, paired_bootstrap
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
    assert williams(HUMAN[:3], NEAR[:3], FAR[:3]) == Undefined(reason="fewer than four candidates")
    assert isinstance(williams(HUMAN[:4], NEAR[:4], FAR[:4]), Williams)


def test_a_perfect_metric_beats_another_by_williams() -> None:
    found = williams(HUMAN, HUMAN / 5, FAR)
    assert isinstance(found, Williams)
    assert found.p < 1e-9


@pytest.mark.parametrize("by_group", [False, True])
def test_p_counts_the_resamples_in_which_the_first_is_not_higher_and_one_more(by_group: bool) -> None:
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
    k = int((np.array(differences) <= 0).sum())
    assert found.p == (k + 1) / 301
    chosen: dict[str, Any] = {"groups": groups, "n_resamples": 300, "by_group": by_group, "p_rule": "yang2018"}
    published = paired_bootstrap(HUMAN, NEAR, FAR, rng=rng(), **chosen)
    assert isinstance(published, PairedBootstrap)
    assert published.p == k / 300
    assert (found.low, found.high) == pytest.approx(tuple(np.quantile(differences, [0.025, 0.975])))
    assert 0 < found.p < 0.5


def test_a_tie_is_no_win_also_where_rounding_tells_the_two_apart() -> None:
    for other in (NEAR, 0.1 * NEAR + 7.3):
        found = paired_bootstrap(HUMAN, NEAR, other, rng=rng(), n_resamples=200)
        assert isinstance(found, PairedBootstrap)
        assert (found.p, found.undefined_share) == (1.0, 0.0)


def test_undefined_resamples_are_left_out_and_counted() -> None:
    human, a, b = np.array([1.0, 5, 5, 5, 5]), np.array([0.0, 1, 1, 1, 1]), np.array([1.0, 1, 0, 0, 0])
    found = paired_bootstrap(human, a, b, rng=rng(), n_resamples=500)
    assert isinstance(found, PairedBootstrap)
    assert 0.3 < found.undefined_share < 0.7
    # B is the number of defined resamples.
    n_defined = round(500 * (1 - found.undefined_share))
    assert found.p * (n_defined + 1) == pytest.approx(round(found.p * (n_defined + 1)))
    assert found.p < 0.2
    assert paired_bootstrap(human, a, np.ones(5), rng=rng()) == Undefined(reason="all scores are equal")


@pytest.mark.parametrize("n_passages", [1, 2, 4])
def test_too_few_passages_have_no_p_that_only_their_number_makes_small(n_passages: int) -> None:
    """The better metric wins all three resamples of two passages, by chance in half of the studies."""
    groups = [f"p{n % n_passages}" for n in range(len(HUMAN))]
    found = paired_bootstrap(HUMAN, NEAR, FAR, rng=rng(), groups=groups, by_group=True)
    assert found == Undefined(reason="fewer than five passages to resample")
    compared = compare_all(HUMAN, {"near": NEAR, "far": FAR}, rng=rng(), groups=groups, by_group=True)
    assert {one.bootstrap_holm for one in compared} == {None}
    few = slice(0, 4)
    alone = paired_bootstrap(HUMAN[few], NEAR[few], FAR[few], rng=rng())
    assert alone == Undefined(reason="fewer than five candidates to resample")
    enough = [f"p{n % 5}" for n in range(len(HUMAN))]
    assert isinstance(paired_bootstrap(HUMAN, NEAR, FAR, rng=rng(), groups=enough, by_group=True), PairedBootstrap)


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


def test_all_pairs_are_each_pair_alone_and_corrected_over_unordered_pairs() -> None:
    metrics = {"near": NEAR, "far": FAR, "noise": rng(9).normal(size=N), "flat": np.ones(N)}
    found = {(one.first, one.second): one for one in compare_all(HUMAN, metrics, rng=rng(), n_resamples=100)}
    assert len(found) == 12
    pairs = list(combinations(("near", "far", "noise"), 2))
    for pair in pairs:
        assert found[pair].bootstrap == paired_bootstrap(
            HUMAN, *(metrics[name] for name in pair), rng=rng(), n_resamples=100
        )
        assert found[pair].williams == williams(HUMAN, *(metrics[name] for name in pair))
    # Three pairs are three tests, two-sided; those with "flat" are none. The favoured direction has the corrected p.
    for test in ("bootstrap", "williams"):
        one_sided = [(getattr(found[a, b], test).p, getattr(found[b, a], test).p) for a, b in pairs]
        expected = holm([min(1, 2 * min(both)) for both in one_sided])
        for (a, b), (there, back), p in zip(pairs, one_sided, expected, strict=True):
            better, worse = (found[a, b], found[b, a]) if there < back else (found[b, a], found[a, b])
            assert getattr(better, f"{test}_holm") == pytest.approx(p), (a, b)
            assert getattr(worse, f"{test}_holm") == 1
    # Over ordered pairs the second smallest would be multiplied by 5, over unordered ones by 4.
    second = sorted(2 * min(found[a, b].williams.p, found[b, a].williams.p) for a, b in pairs)[1]  # type: ignore[union-attr]
    assert sorted(min(found[a, b].williams_holm or 1, found[b, a].williams_holm or 1) for a, b in pairs)[1] == (
        pytest.approx(2 * second)
    )
    assert found["near", "flat"].bootstrap == found["flat", "near"].williams == Undefined(reason="all scores are equal")
    assert found["near", "flat"].bootstrap_holm is None
