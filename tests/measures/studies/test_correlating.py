from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from measures.jackknife import jackknife
from measures.outcome import Undefined
from measures.patterns import Floats, Ints
from measures.studies import items, resampling
from measures.studies.by_part import correlate_by_part
from measures.studies.correlating import Correlation, Correlations, correlate, correlate_all

BY_SCIPY: dict[str, Callable[[Floats, Floats], float]] = {
    "pearson": lambda x, y: float(stats.pearsonr(x, y).statistic),
    "spearman": lambda x, y: float(np.asarray(stats.spearmanr(x, y).statistic)),
    "kendall": lambda x, y: float(stats.kendalltau(x, y).statistic),
}
N = 60


def rng(seed: int = 1) -> np.random.Generator:
    return np.random.default_rng(seed)


def scores(seed: int = 5, *, distinct: int = 1000) -> tuple[Floats, Floats]:
    """Means of judgments from 1 to 5 and a metric that follows them, with ties on both sides."""
    random = rng(seed)
    human = random.integers(2, 11, N) / 2
    return human, np.round(human / 5 + random.normal(scale=0.3, size=N), 1 if distinct < 50 else 6)


@pytest.mark.parametrize("distinct", [10, 1000])
@pytest.mark.parametrize("by_group", [False, True])
@pytest.mark.filterwarnings("ignore::scipy.stats.ConstantInputWarning")
def test_every_resample_is_what_scipy_says_of_its_items(distinct: int, by_group: bool) -> None:
    human, metric = scores(distinct=distinct)
    groups = np.repeat(np.arange(12), 5)
    found = correlate(human, metric, rng=rng(9), groups=groups, n_resamples=80, by_group=by_group, method="percentile")
    random = rng(9)
    drawn = []
    for _ in range(80):
        if by_group:
            rows = np.concatenate([np.flatnonzero(groups == group) for group in random.integers(12, size=12)])
        else:
            rows = random.integers(N, size=N)
        drawn.append(rows)
    for name, compute in BY_SCIPY.items():
        one = getattr(found, name)
        naive = [compute(human[rows], metric[rows]) for rows in drawn]
        assert one.value == pytest.approx(compute(human, metric), abs=1e-12)
        assert (one.low, one.high) == pytest.approx(tuple(np.quantile(naive, [0.025, 0.975])), abs=1e-12)
        assert (one.n, one.n_groups, one.undefined_share) == (N, 12, 0)


@pytest.mark.parametrize("distinct", [10, 1000])
@pytest.mark.parametrize("by_group", [False, True])
def test_jackknife_leaves_out_what_scipy_leaves_out(distinct: int, by_group: bool) -> None:
    human, metric = scores(distinct=distinct)
    groups = np.repeat(np.arange(12), 5)[rng(2).permutation(N)]
    found = correlate(human, metric, rng=rng(), groups=groups, by_group=by_group)
    parts = groups if by_group else np.arange(N)
    for name, compute in BY_SCIPY.items():

        def of_rows(rows: Ints, compute: Callable[[Floats, Floats], float] = compute) -> float:
            return compute(human[rows], metric[rows])

        expected = jackknife(of_rows, parts, scale="fisher_z")
        assert not isinstance(expected, Undefined)
        one = getattr(found, name)
        assert (one.low, one.high) == pytest.approx((expected.low, expected.high), abs=1e-10)
        assert (one.n_parts, one.method, one.undefined_share) == (12 if by_group else N, "jackknife", 0)


@pytest.mark.filterwarnings("ignore::scipy.stats.ConstantInputWarning")
def test_kendall_without_each_part_is_the_same_by_pairs_and_by_weights() -> None:
    random = rng(3)
    for _ in range(60):
        n = int(random.integers(4, 60))
        human, metric = (random.integers(0, random.integers(2, 30), n).astype(float) for _ in range(2))
        parts = np.unique(random.integers(0, random.integers(2, n), n), return_inverse=True)[1]
        pairs = resampling.Pairs(resampling.SortedColumn.of(human), resampling.SortedColumn.of(metric))
        by_weights = np.concatenate([pairs.kendalls(weights) for weights in resampling.leave_out_each(parts)])
        assert pairs.kendalls_without(parts) == pytest.approx(by_weights, abs=1e-12, nan_ok=True)


def test_worked_examples_of_the_jackknife_and_fisher_z() -> None:
    human = np.array([1.0, 2, 2, 3, 4, 4, 5, 3])
    metric = np.array([0.1, 0.3, 0.2, 0.5, 0.4, 0.7, 0.9, 0.3])
    by_item = correlate(human, metric, rng=rng()).pearson
    by_passage = correlate(human, metric, rng=rng(), groups=list("aabbccdd"), by_group=True).pearson
    for one, low in ((by_item, 0.195), (by_passage, 0.215)):
        assert one.low is not None
        assert one.high is not None
        assert (round(one.low, 3), round(one.high, 3)) == (low, 0.992)
    normal = correlate(human, metric, rng=rng(), method="fisher_z")
    ends = stats.pearsonr(human, metric).confidence_interval(0.95)
    assert (normal.pearson.low, normal.pearson.high) == pytest.approx((ends.low, ends.high), abs=1e-12)
    assert normal.spearman == correlate(human, metric, rng=rng()).spearman
    few = correlate(human[:3], metric[:3], rng=rng(), method="fisher_z").pearson
    assert (few.low, few.why_no_interval) == (None, "fewer than four candidates")


def test_ranks_of_many_items_leave_out_blocks(monkeypatch: pytest.MonkeyPatch) -> None:
    human, metric = scores()
    exact = correlate(human, metric, rng=rng())
    monkeypatch.setattr(items, "MOST_RANKED", 50)
    monkeypatch.setattr(items, "N_BLOCKS", 20)
    blocks, again, other = (correlate(human, metric, rng=rng(seed)) for seed in (1, 1, 2))
    assert blocks == again
    assert blocks.pearson == exact.pearson
    assert (blocks.spearman.n_parts, blocks.kendall.n_parts) == (20, 20)
    assert blocks.spearman != other.spearman
    for one, of_all in ((blocks.spearman, exact.spearman), (blocks.kendall, exact.kendall)):
        assert one.low == pytest.approx(of_all.low, abs=0.1)
        assert one.high == pytest.approx(of_all.high, abs=0.1)


@pytest.mark.filterwarnings("ignore::scipy.stats.ConstantInputWarning")
def test_resamples_that_do_not_vary_are_left_out_and_counted() -> None:
    human, metric = np.array([1.0, 5, 5, 5, 5]), np.array([0.1, 0.4, 0.4, 0.4, 0.4])
    found = correlate(human, metric, rng=rng(3), n_resamples=2000, method="percentile")
    for one in (found.pearson, found.spearman, found.kendall):
        assert one.undefined_share == pytest.approx(0.8**5, abs=0.04)
        assert (one.value, one.low, one.high) == pytest.approx((1, 1, 1))


@pytest.mark.parametrize(
    ("human", "metric", "reason"),
    [
        ([1, 2], [1, 2], "fewer than three pairs"),
        ([], [], "fewer than three pairs"),
        ([1, 2, 3], [4, 4, 4], "all scores are equal"),
        ([3, 3, 3], [4, 5, 4], "all human scores are equal"),
    ],
)
def test_what_is_undefined_says_why(human: list[float], metric: list[float], reason: str) -> None:
    found = correlate(np.array(human, float), np.array(metric, float), rng=rng(), n_resamples=20)
    for one in (found.pearson, found.spearman, found.kendall):
        assert one.value == Undefined(reason=reason)
        assert (one.low, one.high) == (None, None)


def test_one_passage_leaves_nothing_to_resample() -> None:
    human, metric = scores()
    found = correlate(human, metric, rng=rng(), groups=["p"] * N, by_group=True)
    assert not isinstance(found.pearson.value, Undefined)
    assert (found.pearson.low, found.pearson.n_groups) == (None, 1)
    assert found.kendall.why_no_interval == "fewer than three passages"
    drawn = correlate(human, metric, rng=rng(), groups=["p"] * N, by_group=True, method="percentile")
    assert (drawn.pearson.low, drawn.pearson.undefined_share) == (None, 1)


def test_metrics_of_one_table_share_their_resamples_and_blocks_change_no_result(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    human, metric = scores()
    other = scores(seed=8)[1]
    both = {"a": metric, "b": other}
    for method in ("percentile", "jackknife"):
        together = correlate_all(human, both, rng=rng(), n_resamples=60, method=method)
        assert together["b"] == correlate(human, other, rng=rng(), n_resamples=60, method=method)
        with monkeypatch.context() as patch:
            patch.setattr(resampling, "_CELLS_AT_A_TIME", 5 * N)
            assert correlate_all(human, both, rng=rng(), n_resamples=60, method=method) == together


@pytest.mark.parametrize(
    "options",
    [
        {"n_resamples": 0, "method": "percentile"},
        {"method": "bca"},
        {"method": "fisher_z", "groups": [1, 2, 3], "by_group": True},
        {"confidence": 1},
        {"by_group": True},
        {"groups": [1]},
        {"metric": np.ones(2)},
        {"metric": np.array([1, np.nan, 2])},
        {"metric": np.array([1, np.inf, 2])},
    ],
)
def test_what_cannot_be_computed_is_refused(options: dict[str, Any]) -> None:
    with pytest.raises(ValueError):
        correlate(**{"human": np.array([1.0, 2, 3]), "metric": np.array([2.0, 1, 3]), "rng": rng(), **options})


columns = st.integers(3, 30).flatmap(
    lambda n: st.tuples(
        st.lists(st.integers(1, 5), min_size=n, max_size=n), st.lists(st.integers(0, 20), min_size=n, max_size=n)
    )
)


def values(found: Correlations) -> list[Any]:
    return [one.value if isinstance(one.value, Undefined) else round(one.value, 9) for one in each(found)]


def each(found: Correlations) -> list[Any]:
    return [found.pearson, found.spearman, found.kendall]


@given(columns, st.randoms(use_true_random=False))
def test_order_of_rows_does_not_matter_and_a_linear_map_of_a_metric_changes_nothing(pair: Any, random: Any) -> None:
    human, metric = (np.array(side, float) for side in pair)
    found = correlate(human, metric, rng=rng(), n_resamples=20)
    order = np.array(random.sample(range(len(human)), len(human)))
    assert values(correlate(human[order], metric[order], rng=rng(), n_resamples=1)) == values(found)
    mapped = correlate(human, 7 * metric - 3, rng=rng(), n_resamples=20)
    for one, other in zip(each(found), each(mapped), strict=True):
        assert one.undefined_share == other.undefined_share
        if not isinstance(one.value, Undefined):
            assert (one.value, one.low, one.high) == pytest.approx((other.value, other.low, other.high), abs=1e-9)


@given(st.lists(st.integers(1, 5), min_size=3, max_size=30).filter(lambda side: len(set(side)) > 1))
def test_a_metric_that_says_what_people_say_has_1_in_every_resample(side: list[int]) -> None:
    human = np.array(side, float)
    found = correlate(human, human / 5, rng=rng(), n_resamples=50, method="percentile")
    for one in each(found):
        assert (one.value, one.low, one.high) == pytest.approx((1, 1, 1), abs=1e-9)


def test_the_mean_of_parts_counts_each_part_the_same() -> None:
    human, metric = scores()
    parts = ["small"] * 12 + ["large"] * 48
    found = correlate_by_part(human, {"a": metric}, parts, rng=rng(), groups=np.arange(N) // 4, n_resamples=200)
    alone = [correlate(human[rows], metric[rows], rng=rng()) for rows in (slice(12), slice(12, None))]
    mean: Any = found.means["a"].pearson
    small: Any = alone[0].pearson
    assert mean.value == pytest.approx(np.mean([values(one)[0] for one in alone]))
    assert mean.low < mean.value < mean.high
    assert (mean.n, mean.n_groups, found.averaged) == (N, 15, ("large", "small"))
    assert mean.high - mean.low < small.high - small.low


def test_a_part_where_one_metric_is_undefined_enters_no_mean() -> None:
    human, metric = scores()
    flat = np.where(np.arange(N) < 20, 0.5, metric)
    parts = ["x"] * 20 + ["y"] * 38 + ["z"] * 2
    found = correlate_by_part(human, {"a": metric, "flat": flat}, parts, rng=rng(), n_resamples=20)
    assert found.averaged == ("y",)
    assert found.left_out == {"x": "all scores are equal (flat)", "z": "fewer than three pairs"}
    assert values(found.means["a"]) == values(correlate(human[20:58], metric[20:58], rng=rng()))
    nothing = correlate_by_part(human, {"a": np.ones(N)}, parts, rng=rng(), n_resamples=20)
    assert nothing.means["a"].kendall.value == Undefined(reason="defined in no part")


@pytest.mark.parametrize("few", [[4, 4, 4, 4], [4, 4, 5, 5]])
def test_a_part_of_few_passages_is_named_where_the_mean_has_no_interval(few: list[int]) -> None:
    human, metric = np.array([1.0, 2, 3, 2, 1, 5, 4, 1]), np.array([1.0, 3, 2, 1, 2, 3, 3, 1])

    def correlate_mean(groups: list[int]) -> Correlation:
        found = correlate_by_part(
            human, {"m": metric}, list("aaaabbbb"), groups=groups, by_group=True,
            rng=np.random.default_rng(1), n_resamples=20,
        )  # fmt: skip
        assert found.averaged == ("a", "b")
        return found.means["m"].pearson

    without = correlate_mean([1, 1, 2, 3, *few])
    assert without.low is None
    assert without.why_no_interval == "“b” has fewer than three passages, too few to resample"
    assert correlate_mean([1, 1, 2, 3, 4, 5, 6, 6]).low is not None
