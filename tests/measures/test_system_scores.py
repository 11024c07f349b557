import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from measures.jackknife import JackknifeInterval, jackknife
from measures.outcome import Undefined
from measures.patterns import Floats
from measures.system_scores import mean_over_criteria, sum_units, system_scores
from tests.measures.frames import system_ratings


def test_scores_are_the_means_of_ratings_and_the_best_by_z_comes_first() -> None:
    frame = system_ratings()
    scores = system_scores({"overall": sum_units(frame)})
    assert [score.source for score in scores["overall"]] == ["c", "b", "a"]
    for score in scores["overall"]:
        own = frame[frame["source"] == score.source]
        assert (score.n_units, score.n_ratings) == (20, 40)
        assert score.raw.mean == pytest.approx(own["value"].mean())
        assert score.z.mean == pytest.approx(own["z"].mean())
    assert [(s.source, s.z.mean) for s in scores[""]] == [(s.source, s.z.mean) for s in scores["overall"]]


def test_a_system_without_z_scores_is_not_ranked_among_those_that_have_them() -> None:
    """A raw mean of 1 to 5 is above nearly every mean z."""
    frame = system_ratings()
    frame.loc[frame["source"] == "b", "z"] = np.nan
    assert [score.source for score in system_scores({"q": sum_units(frame)})["q"]] == ["c", "a", "b"]
    frame["z"] = np.nan
    by_mean = frame.groupby("source")["value"].mean().sort_values(ascending=False)
    assert [score.source for score in system_scores({"q": sum_units(frame)})["q"]] == list(by_mean.index)


def test_overall_is_the_mean_of_the_criterias_means() -> None:
    one, other = system_ratings(1), system_ratings(2).head(60)  # half of the units have no rating on the second
    scores = system_scores({"p": sum_units(one), "q": sum_units(other)})
    for score in scores[""]:
        means = [frame[frame["source"] == score.source]["z"].mean() for frame in (one, other)]
        assert score.z.mean == pytest.approx(np.mean(means))
        assert (score.n_units, score.n_ratings) == (20, 60)


def test_the_interval_of_a_mean_near_an_end_of_the_scale_stays_on_it() -> None:
    frame = system_ratings(4, n_units=60, systems="a")
    # All but two units have only the highest rating.
    frame["value"] = np.where(frame["unit"].isin(sorted(frame["unit"].unique())[::30]), 3.0, 5.0)
    sums = {"p": sum_units(frame), "q": sum_units(frame)}
    (plain,) = system_scores(sums)["p"]
    found = system_scores(sums, scales={"p": (1, 5), "q": (1, 5)})
    (score,), (every,) = found["p"], found[""]
    for before, after in ((plain.raw.by_unit, score.raw.by_unit), (plain.raw.by_group, score.raw.by_group)):
        assert not isinstance(before, Undefined)
        assert not isinstance(after, Undefined)
        assert isinstance(score.raw.mean, float)
        assert before.high > 5 > after.high > score.raw.mean > after.low > before.low - 1
        # Wilson's ends are the shares whose own standard error puts the observed share t of them away.
        t, share = stats.t.ppf(0.975, (after.n_effective or 0) - 1), (score.raw.mean - 1) / 4
        n = share * (1 - share) / ((before.high - before.low) / 2 / t / 4) ** 2
        for end in (after.low, after.high):
            at = (end - 1) / 4
            assert (at - share) ** 2 == pytest.approx(t**2 * at * (1 - at) / n)
    assert every.raw == score.raw, "criteria of one scale have means on it"
    assert (score.z, every.z) == (plain.z, plain.z), "z scores have no ends"
    other = system_scores(sums, is_one_scale=False, scales={"p": (1, 5), "q": (0, 100)})
    assert isinstance(other[""][0].raw.mean, Undefined)


def test_the_interval_is_students_and_over_passages_the_jackknifes() -> None:
    frame = system_ratings(4, n_units=60, systems="a")
    (score,) = system_scores({"q": sum_units(frame)})["q"]
    means = frame.groupby("unit")["value"].mean().to_numpy()
    assert not isinstance(score.raw.by_unit, Undefined)
    # Every unit has as many ratings, so that the mean of the ratings is that of the units.
    assert (score.raw.by_unit.low, score.raw.by_unit.high) == pytest.approx(
        stats.t.interval(0.95, len(means) - 1, means.mean(), stats.sem(means))
    )
    expected = _leave_out_each(frame["value"].to_numpy(), frame["group"])
    assert not isinstance(expected, Undefined)
    assert not isinstance(score.raw.by_group, Undefined)
    assert (score.raw.by_group.low, score.raw.by_group.high) == pytest.approx((expected.low, expected.high))
    assert (score.raw.by_group.method, score.raw.by_group.n_parts) == ("jackknife", expected.n_units)


def _leave_out_each(values: Floats, groups: pd.Series) -> JackknifeInterval | Undefined:
    return jackknife(lambda rows: float(values[rows].mean()), groups.tolist(), scale="plain")


@pytest.mark.parametrize(("n_passages", "n_z"), [(3, 3), (5, 4), (2, 2)])
def test_an_interval_is_over_what_is_rated_on_its_criterion(n_passages: int, n_z: int) -> None:
    """Leaving out a passage that has no rating on the criterion changes nothing, and so adds no degree of freedom."""
    whole = system_ratings(4, n_units=60, systems="a")
    part = whole[whole["group"] < n_passages].copy()
    part.loc[part["group"] >= n_z, "z"] = np.nan
    (found,) = system_scores({"p": sum_units(whole), "q": sum_units(part)})["q"]
    for mean, column in ((found.raw, "value"), (found.z, "z")):
        rows = part[part[column].notna()]
        for interval, name in ((mean.by_unit, "unit"), (mean.by_group, "group")):
            expected = _leave_out_each(rows[column].to_numpy(), rows[name])
            if isinstance(expected, Undefined):
                assert interval == Undefined(reason="fewer than three passages")
                continue
            assert not isinstance(interval, Undefined)
            assert (interval.low, interval.high) == pytest.approx((expected.low, expected.high))
            assert interval.n_parts == rows[name].nunique()


def test_units_that_are_alike_within_passages_make_the_interval_by_passage_wider() -> None:
    rng = np.random.default_rng(5)
    group = np.repeat(np.arange(20), 10)
    values = rng.normal(0, 1, 20)[group] + rng.normal(0, 0.2, 200)
    frame = pd.DataFrame({"unit": range(200), "group": group, "source": "a", "value": values, "z": values})
    (score,) = system_scores({"q": sum_units(frame)})["q"]
    by_unit, by_group = score.z.by_unit, score.z.by_group
    assert not isinstance(by_unit, Undefined)
    assert not isinstance(by_group, Undefined)
    assert by_group.high - by_group.low > 2 * (by_unit.high - by_unit.low)


def test_what_is_undefined_says_why() -> None:
    frame = pd.DataFrame({"unit": [1, 1], "group": 1, "source": "a", "value": [4.0, 5.0], "z": [np.nan, np.nan]})
    sums = sum_units(frame)
    (score,) = system_scores({"p": sums, "q": sums}, is_one_scale=False)[""]
    assert score.raw.mean == Undefined(reason="the criteria have different scales")
    assert score.z.mean == Undefined(reason="no rating has a z score")
    (unrated,) = system_scores({"p": sums, "q": sums.head(0)})[""]
    assert unrated.raw.mean == 4.5, "nobody has rated on q"
    of_other = sums.assign(source="b")
    (without, _other) = system_scores({"p": sums, "q": of_other})[""]
    assert without.raw.mean == without.z.mean == Undefined(reason="no ratings on one of the criteria")
    (alone,) = system_scores({"q": sums})["q"]
    assert alone.raw.mean == 4.5
    assert alone.raw.by_unit == Undefined(reason="fewer than three candidates")
    assert alone.raw.by_group == Undefined(reason="fewer than three passages")
    with pytest.raises(ValueError, match="confidence"):
        system_scores({"q": sums}, confidence=95)


def test_over_criteria_each_annotators_scores_of_a_unit_are_averaged() -> None:
    one = system_ratings(1)
    other = system_ratings(2).assign(annotator=pd.Categorical(system_ratings(2)["annotator"]))
    both = mean_over_criteria([one, other])
    assert len(both) == len(one)
    expected = (one["z"] + other["z"]) / 2
    assert sorted(both["z"]) == pytest.approx(sorted(expected))
    assert both.groupby("source")["z"].mean()["a"] == pytest.approx(expected[one["source"] == "a"].mean())


@settings(max_examples=10, deadline=None)
@given(st.permutations(range(30)))
def test_the_order_of_the_rows_does_not_matter(order: list[int]) -> None:
    frame = system_ratings(n_units=15)
    one, other = (system_scores({"q": sum_units(each)})["q"] for each in (frame, frame.iloc[order]))
    for before, after in zip(one, other, strict=True):
        assert (before.source, before.n_ratings) == (after.source, after.n_ratings)
        assert after.z.mean == pytest.approx(before.z.mean)
        assert after.z.by_unit.high == pytest.approx(before.z.by_unit.high)  # type: ignore[union-attr]
