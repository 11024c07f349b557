import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from measures.outcome import Undefined
from measures.system_scores import (
    compare_systems,
    mean_over_criteria,
    replicate,
    sum_units,
    system_scores,
)


def ratings(seed: int = 3, n_units: int = 60, systems: str = "abc") -> pd.DataFrame:
    """Two ratings of each unit; the later systems are better."""
    rng = np.random.default_rng(seed)
    units = np.repeat(np.arange(n_units), 2)
    sources = np.array(list(systems))[units % len(systems)]
    better = units % len(systems)
    return pd.DataFrame(
        {
            "unit": units,
            "group": units // 6,
            "source": sources,
            "annotator": np.tile(["x", "y"], n_units),
            "value": np.clip(np.round(2 + better + rng.normal(0, 1, len(units))), 1, 5),
            "z": better + rng.normal(0, 1, len(units)),
        }
    )


def test_scores_are_the_means_of_ratings_and_the_best_by_z_comes_first() -> None:
    frame = ratings()
    scores = system_scores({"overall": sum_units(frame)}, rng=np.random.default_rng(1), n_resamples=200)
    assert [score.source for score in scores["overall"]] == ["c", "b", "a"]
    for score in scores["overall"]:
        own = frame[frame["source"] == score.source]
        assert (score.n_units, score.n_ratings) == (20, 40)
        assert score.raw.mean == pytest.approx(own["value"].mean())
        assert score.z.mean == pytest.approx(own["z"].mean())
    assert [(s.source, s.z.mean) for s in scores[""]] == [(s.source, s.z.mean) for s in scores["overall"]]


def test_overall_is_the_mean_of_the_criterias_means() -> None:
    one, other = ratings(1), ratings(2).head(60)  # half of the units have no rating on the second
    scores = system_scores({"p": sum_units(one), "q": sum_units(other)}, rng=np.random.default_rng(1), n_resamples=50)
    for score in scores[""]:
        means = [frame[frame["source"] == score.source]["z"].mean() for frame in (one, other)]
        assert score.z.mean == pytest.approx(np.mean(means))
        assert (score.n_units, score.n_ratings) == (20, 60)


def test_the_interval_by_unit_is_that_of_scipys_bootstrap() -> None:
    frame = ratings(4, n_units=200, systems="a")
    (score,) = system_scores({"q": sum_units(frame)}, rng=np.random.default_rng(1), n_resamples=4000)["q"]
    means = frame.groupby("unit")["value"].mean().to_numpy()
    known = stats.bootstrap((means,), np.mean, n_resamples=4000, method="percentile", rng=np.random.default_rng(2))
    assert not isinstance(score.raw.by_unit, Undefined)
    assert score.raw.by_unit.low == pytest.approx(known.confidence_interval.low, abs=0.02)
    assert score.raw.by_unit.high == pytest.approx(known.confidence_interval.high, abs=0.02)


def test_units_that_are_alike_within_passages_make_the_interval_by_passage_wider() -> None:
    rng = np.random.default_rng(5)
    group = np.repeat(np.arange(20), 10)
    values = rng.normal(0, 1, 20)[group] + rng.normal(0, 0.2, 200)
    frame = pd.DataFrame({"unit": range(200), "group": group, "source": "a", "value": values, "z": values})
    (score,) = system_scores({"q": sum_units(frame)}, rng=np.random.default_rng(1), n_resamples=500)["q"]
    by_unit, by_group = score.z.by_unit, score.z.by_group
    assert not isinstance(by_unit, Undefined)
    assert not isinstance(by_group, Undefined)
    assert by_group.high - by_group.low > 2 * (by_unit.high - by_unit.low)


def test_what_is_undefined_says_why() -> None:
    frame = pd.DataFrame({"unit": [1, 1], "group": 1, "source": "a", "value": [4.0, 5.0], "z": [np.nan, np.nan]})
    sums = sum_units(frame)
    (score,) = system_scores({"p": sums, "q": sums}, rng=np.random.default_rng(1), is_one_scale=False)[""]
    assert score.raw.mean == Undefined(reason="the criteria have different scales")
    assert score.z.mean == Undefined(reason="no rating has a z score")
    (alone,) = system_scores({"q": sums}, rng=np.random.default_rng(1))["q"]
    assert alone.raw.mean == 4.5
    assert alone.raw.by_unit == Undefined(reason="one unit only, so there is nothing to resample")
    assert alone.raw.by_group == Undefined(reason="one group only, so there is nothing to resample")
    with pytest.raises(ValueError, match="resample"):
        system_scores({"q": sums}, rng=np.random.default_rng(1), n_resamples=0)


def test_each_pair_is_compared_both_ways_as_scipy_does() -> None:
    frame = ratings()
    found = {(each.first, each.second): each for each in compare_systems(frame, sources=["c", "b", "a"])}
    assert len(found) == 6
    for (first, second), each in found.items():
        one, other = (frame.loc[frame["source"] == name, "z"] for name in (first, second))
        assert each.p == stats.mannwhitneyu(one, other, alternative="greater").pvalue
    assert (found["c", "a"].p < 0.05, found["a", "c"].p < 0.05) == (True, False)  # type: ignore[operator]


def test_systems_without_scores_or_difference_are_not_compared() -> None:
    frame = pd.DataFrame({"source": ["a", "a", "b", "c"], "z": [1.0, 1.0, 1.0, np.nan]})
    said = {(each.first, each.second): each.p for each in compare_systems(frame, sources=["a", "b", "c"])}
    assert said["a", "b"] == Undefined(reason="all scores are equal")
    assert said["a", "c"] == Undefined(reason="no rating has a z score")


def test_over_criteria_each_annotators_scores_of_a_unit_are_averaged() -> None:
    one = ratings(1)
    other = ratings(2).assign(annotator=pd.Categorical(ratings(2)["annotator"]))
    both = mean_over_criteria([one, other])
    assert len(both) == len(one)
    expected = (one["z"] + other["z"]) / 2
    assert sorted(both["z"]) == pytest.approx(sorted(expected))
    assert both.groupby("source")["z"].mean()["a"] == pytest.approx(expected[one["source"] == "a"].mean())


@settings(max_examples=10, deadline=None)
@given(st.permutations(range(30)))
def test_the_order_of_the_rows_does_not_matter(order: list[int]) -> None:
    frame = ratings(n_units=15)
    one, other = (
        system_scores({"q": sum_units(each)}, rng=np.random.default_rng(1), n_resamples=20)["q"]
        for each in (frame, frame.iloc[order])
    )
    for before, after in zip(one, other, strict=True):
        assert (before.source, before.n_ratings) == (after.source, after.n_ratings)
        assert after.z.mean == pytest.approx(before.z.mean)
        assert after.z.by_unit.high == pytest.approx(before.z.by_unit.high)  # type: ignore[union-attr]


def test_replication_is_of_the_systems_that_both_runs_have() -> None:
    first = {"a": 0.1, "b": 0.5, "c": 0.9, "only here": 3.0}
    again = replicate(first, {"a": 0.2, "b": 0.1, "c": 0.8})
    assert again.n == 3
    assert again.pearson == pytest.approx(stats.pearsonr([0.1, 0.5, 0.9], [0.2, 0.1, 0.8]).statistic)
    assert again.spearman == pytest.approx(0.5)
    assert again.kendall == pytest.approx(1 / 3)
    assert replicate(first, {"a": 1.0}).pearson == Undefined(reason="fewer than three pairs")
