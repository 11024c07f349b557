import math
import statistics

import numpy as np
import pandas as pd
import pytest

from measures.columns import UNIT, VALUE
from measures.gold_rules import GoldRule
from measures.gold_scores import RULES, apply_adjudications, gold_by, gold_scores
from measures.outcome import Undefined
from measures.standardising import annotator_norms
from tests.measures.frames import random_frame


def test_gold_is_the_unrounded_mean_with_n_and_spread() -> None:
    frame = pd.DataFrame({"unit": ["b", "a", "b", "b", "a"], "value": [4, 1, 5, 5, 2]})
    gold = gold_scores(frame)
    assert list(gold.index) == ["a", "b"]
    assert list(gold.loc["b"]) == [3, 14 / 3, 5, pytest.approx(math.sqrt(1 / 3))]
    assert list(gold.loc["a"]) == [2, 1.5, 1.5, pytest.approx(math.sqrt(0.5))]


def test_the_standard_library_agrees() -> None:
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
    assert gold_scores(pd.DataFrame({UNIT: pd.Series(dtype="str"), VALUE: pd.Series(dtype="float64")})).empty


def test_a_frame_without_values_is_refused() -> None:
    with pytest.raises(ValueError, match="value"):
        gold_scores(pd.DataFrame({"unit": ["a"]}))


def test_every_rule_is_that_of_its_column() -> None:
    frame = random_frame(np.random.default_rng(4), n_units=80, n_annotators=4)
    norms = annotator_norms(frame)
    scores = gold_scores(frame)
    for rule, column in ((GoldRule.MEAN, "mean"), (GoldRule.MEDIAN, "median")):
        pd.testing.assert_series_equal(given(rule, frame), scores[column], check_names=False)
    z = given(GoldRule.Z, frame, norms=norms)
    for unit, own in frame.groupby("unit"):
        by = norms.loc[own["annotator"]]
        mine = (own["value"].to_numpy() - by["mean"].to_numpy()) / by["sd"].to_numpy()
        assert z[unit] == pytest.approx(statistics.mean(mine))
    assert set(RULES) == set(GoldRule)


def given(rule: GoldRule, frame: pd.DataFrame, **over: pd.DataFrame) -> pd.Series:
    found = gold_by(rule, frame, **over)
    assert not isinstance(found, Undefined)
    return found


def test_a_unit_of_which_nobody_varies_has_no_z_and_so_no_gold() -> None:
    frame = pd.DataFrame({"unit": ["a", "a", "b"], "annotator": ["x", "y", "x"], "value": [3.0, 1.0, 3.0]})
    frame = pd.concat([frame, pd.DataFrame({"unit": ["c"], "annotator": ["y"], "value": [5.0]})])
    z = given(GoldRule.Z, frame, norms=annotator_norms(frame))
    assert list(z.index) == ["a", "c"], "x gave 3 throughout; of a the score of y is left"


def test_z_needs_names_and_norms() -> None:
    frame = pd.DataFrame({"unit": ["a", "a"], "annotator": ["x", None], "value": [3.0, 1.0]})
    assert gold_by("z", frame, norms=annotator_norms(frame)) == Undefined(reason="some annotators are unknown")
    with pytest.raises(ValueError, match="norms"):
        gold_by("z", frame)
    with pytest.raises(ValueError, match="skill"):
        gold_by("skill", frame)


def test_an_adjudicated_score_wins_on_the_scale_and_nowhere_else() -> None:
    golds, adjudicated = pd.Series({"a": 3.5, "b": 2.0}), pd.Series({"b": 5.0, "nobody judged": 1.0})
    assert apply_adjudications(golds, adjudicated, rule="median").to_dict() == {"a": 3.5, "b": 5.0}
    assert apply_adjudications(golds, adjudicated, rule="z").to_dict() == {"a": 3.5, "b": 2.0}
