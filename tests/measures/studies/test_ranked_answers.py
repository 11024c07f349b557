"""Ranked answers: the worked example, a plain loop over lists, ties, missing scores."""

import numpy as np
import pytest

from measures.metrics.top_n import TopN, top_n_accuracy
from measures.outcome import Undefined
from measures.studies.ranked_answers import Places, RankedAccuracy, measure_ranked


def measure(values: list[float], keys: list[float], lists: str, **over: int) -> RankedAccuracy:
    found = measure_ranked(values, Places.by(keys, list(lists)), threshold=1, units=list(lists), **over)
    assert isinstance(found, RankedAccuracy)
    return found


def test_the_worked_example() -> None:
    # The first good answers are second, first, none, fourth.
    found = measure([0, 1, 1, 0, 0, 0, 0, 0, 0, 1], [1, 2, 1, 2, 1, 2, 1, 2, 3, 4], "aabbccdddd")
    assert [found.top[n - 1].value for n in (1, 3, 5)] == [0.25, 0.5, 0.75]
    assert (found.reciprocal_rank.value, found.n_lists, len(found.top)) == (0.4375, 4, 10)


def test_it_equals_a_loop_and_the_function_for_one_n() -> None:
    rng = np.random.default_rng(1)
    lists, values = rng.integers(30, size=150), rng.random(150)
    keys = rng.permutation(150).astype(float)
    places = Places.by(keys, lists)
    found = measure_ranked(values, places, threshold=0.7, units=lists // 2, depth=4)
    assert isinstance(found, RankedAccuracy)
    firsts = []
    for each in dict.fromkeys(lists):
        ordered = values[lists == each][np.argsort(keys[lists == each])][:4]
        firsts.append(next((at for at, value in enumerate(ordered, 1) if value >= 0.7), np.inf))
    for n in range(1, 5):
        assert found.top[n - 1].value == pytest.approx(np.mean([first <= n for first in firsts]))
        one = top_n_accuracy(values, lists.tolist(), n=n, threshold=0.7, ranks=keys)
        assert isinstance(one, TopN)
        assert found.top[n - 1].value == pytest.approx(one.accuracy)
    assert found.reciprocal_rank.value == pytest.approx(np.mean([1 / first for first in firsts]))
    assert found.n_units == len(np.unique(lists // 2))
    low, high = found.top[0].low, found.top[0].high
    assert low is not None
    assert high is not None
    assert 0 <= low < found.top[0].value < high <= 1


def test_the_interval_is_wilsons_where_each_list_has_a_passage_of_its_own() -> None:
    # The ends are the shares that lie t standard errors of their own from the estimate.
    values, lists = [1.0] * 3 + [0.0] * 22, [str(n) for n in range(25)]
    found = measure_ranked(values, Places.by([1.0] * 25, lists), threshold=1, units=lists, depth=1)
    assert isinstance(found, RankedAccuracy)
    # The jackknife's variance of a share is p (1 - p) / (n - 1).
    t, n = 2.0638986, 24
    for end in (found.top[0].low, found.top[0].high):
        assert end is not None
        assert (0.12 - end) ** 2 == pytest.approx(t**2 * end * (1 - end) / n, rel=1e-6)
    none = measure_ranked([0.0] * 25, Places.by([1.0] * 25, lists), threshold=1, units=lists, depth=1)
    assert isinstance(none, RankedAccuracy)
    assert none.top[0].low is None, "No passage changes a share of 0."


def test_an_answer_without_a_score_leaves_its_list_out_only_among_the_first() -> None:
    values, keys = [np.nan, 1, 1, np.nan, 0, 1], [1.0, 2, 1, 2, 1, 2]
    shallow = measure(values, keys, "aabbcc", depth=1)
    assert (shallow.top[0].value, shallow.n_lists, shallow.n_left_out) == (0.5, 2, 1)
    deep = measure(values, keys, "aabbcc", depth=2)
    assert ([each.value for each in deep.top], deep.n_lists, deep.n_left_out) == ([0.0, 1.0], 1, 2)
    nothing = measure_ranked([np.nan], Places.by([1.0], ["a"]), threshold=1, units=["a"])
    assert nothing == Undefined(reason="in no list do all of the first answers have a score")
    assert isinstance(measure_ranked([], Places.by([], []), threshold=1, units=[]), Undefined)


def test_equal_confidences_keep_the_order_and_are_counted() -> None:
    confidences = np.array([0.5, 0.5, 0.9, 0.1, np.nan])
    places = Places.by(-confidences, list("aabbc"))
    assert (places.places.tolist(), places.n_tied, places.n_unranked) == ([1, 2, 1, 2, 0], 1, 1)
    with pytest.raises(ValueError, match="depth"):
        measure_ranked([1.0] * 5, places, threshold=1, units=list("aabbc"), depth=0)
