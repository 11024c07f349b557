import math
import statistics

import numpy as np
import pandas as pd
import pytest

from measures.columns import DTYPES, UNIT, VALUE, empty_frame
from measures.gold_scores import gold_scores
from tests.measures.frames import random_frame


def test_gold_is_the_unrounded_mean_with_n_and_spread() -> None:
    frame = pd.DataFrame({"unit": ["b", "a", "b", "b", "a"], "value": [4, 1, 5, 5, 2]})
    gold = gold_scores(frame)
    assert list(gold.index) == ["a", "b"]
    assert list(gold.loc["b"]) == [3, 14 / 3, 5, pytest.approx(math.sqrt(1 / 3))]
    assert list(gold.loc["a"]) == [2, 1.5, 1.5, pytest.approx(math.sqrt(0.5))]


def test_the_standard_library_says_the_same() -> None:
    frame = random_frame(np.random.default_rng(4), n_units=200, n_annotators=4, continuous=True)
    gold = gold_scores(frame)
    for unit, values in frame.groupby("unit")["value"]:
        row = gold.to_dict("index")[unit]
        assert row["n"] == len(values)
        assert row["mean"] == pytest.approx(statistics.mean(values))
        assert row["median"] == pytest.approx(statistics.median(values))
        if len(values) > 1:
            assert row["sd"] == pytest.approx(statistics.stdev(values))
        else:
            assert math.isnan(row["sd"])
    assert str(gold["n"].dtype) == "int64"


def test_what_could_not_be_judged_is_missing_and_not_zero() -> None:
    frame = pd.DataFrame({"unit": ["a", "a", "b"], "value": [4, math.nan, math.nan]})
    gold = gold_scores(frame)
    assert list(gold.index) == ["a"]
    assert list(gold.loc["a", ["n", "mean"]]) == [1, 4]


def test_no_judgments_no_gold() -> None:
    assert gold_scores(empty_frame(UNIT, VALUE)).empty
    assert list(empty_frame()) == list(DTYPES)


def test_a_frame_without_values_is_refused() -> None:
    with pytest.raises(ValueError, match="value"):
        gold_scores(pd.DataFrame({"unit": ["a"]}))
