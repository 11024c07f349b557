from array import array
from typing import Any

from measures.rubric import Level
from results.scope.equal_ratings import NEARLY_EQUAL
from results.sets.agreement_text import write_agreement
from results.sets.figures import measure
from results.sets.scores import Judgments, Scores
from results.sets.selecting import ScaledCriterion
from results.sets.settings import Settings

CRITERION = ScaledCriterion("correctness", "points", 1, 5)


def judge(values: list[float], splits: list[int]) -> Judgments:
    """Two people have judged each candidate of one dataset; `splits` has the number of each candidate's split."""
    n_units = len(splits)
    part = Scores(
        CRITERION,
        units=array("i", [unit for unit in range(n_units) for _ in range(2)]),
        annotators=array("i", [0, 1] * n_units),
        values=array("d", values),
    )
    nothing = array("i", [0] * n_units)
    return Judgments(
        n_rows=len(values),
        names=["A1", "A2"],
        parts={CRITERION: part},
        n_units=n_units,
        groups=array("i", range(n_units)),
        facets={"dataset": nothing, "split": array("i", splits), "source": nothing},
        labels={"dataset": ["main"], "split": ["train", "dev"], "source": ["system"]},
    )


def test_alpha_of_each_split_is_that_of_its_own_judgments_and_of_an_only_dataset_that_of_all() -> None:
    train, dev = [1.0, 1, 5, 5, 3, 3, 2, 3], [1.0, 5, 4, 2, 3, 3, 5, 1]
    levels = {CRITERION: Level.ORDINAL}
    (whole,) = measure(judge([*train, *dev], [0] * 4 + [1] * 4), Settings(), levels)
    by_split = {each.pop("name"): each for each in whole["by"]["split"]}
    for name, values in (("train", train), ("dev", dev)):
        (alone,) = measure(judge(values, [0] * 4), Settings(), levels)
        assert by_split[name] == alone["agreement"]
    assert by_split["train"]["alpha"] > whole["agreement"]["alpha"] > by_split["dev"]["alpha"]
    assert whole["by"]["dataset"] == [{"name": "main", **whole["agreement"]}]
    assert whole["agreement"]["n_ratings"] == 16


def _make_criterion(name: str, unit: str, **interval: Any) -> dict[str, Any]:
    agreement = {"alpha": 0.5, "n_annotators": 3, "n_units": 9, "n_ratings": 20, "n_single": 1}
    found = {"low": 0.4, "high": 0.6, "undefined": None, "method": "jackknife", **interval}
    return {
        "criterion": name,
        "scale": "1 to 5",
        "level": "ordinal",
        "scale_low": 1,
        "scale_high": 5,
        "agreement": agreement,
        "interval_unit": unit,
        "interval_over_passages": found,
        "interval_over_candidates": found,
    }


def test_the_prose_tells_what_the_intervals_of_each_criterion_are_over() -> None:
    one, other = (_make_criterion(name, "passages", n_resampled=n) for name, n in (("correctness", 5), ("fluency", 12)))
    (*_, text, _end) = write_agreement({"criteria": [one, other]})
    method = "jackknife intervals with Student's t"
    assert f"The intervals are {method} over passages (5 for correctness, 12 for fluency)." in text
    few = "Few passages: with fewer than 20 the intervals are rough."
    assert f"{few} Criteria with fewer: correctness (5); fluency (12)." in text
    assert "also has the intervals over candidates, alpha" in text
    third = _make_criterion("style", "candidates", n_resampled=30)
    (*_, text, _end) = write_agreement({"criteria": [one, third]})
    assert f"The intervals of correctness are {method} over passages (5 for correctness)." in text
    assert f"The intervals of style are {method} over candidates (30 for style)." in text
    assert f"{few} Criteria with fewer: correctness (5)." in text
    assert "also has the intervals over candidates and passages, alpha" in text
    uneven = [_make_criterion("correctness", "passages", n_resampled=20, n_effective=4.2)]
    (*_, text, _end) = write_agreement({"criteria": uneven})
    assert "Criteria with fewer: correctness (20, which count as 4 because some weigh more than others)." in text
    enough = [_make_criterion("correctness", "passages", n_resampled=20)]
    assert few not in " ".join(write_agreement({"criteria": enough}))


def test_the_prose_names_criteria_of_which_nearly_all_ratings_are_equal() -> None:
    names = ("safety", "fluency", "style")
    equal, fluent, earlier = (_make_criterion(name, "passages", n_resampled=40) for name in names)
    equal["agreement"] |= {"n_units": 200, "n_off_mode": 7}
    fluent["agreement"] |= {"n_units": 200, "n_off_mode": 90}
    (*_, text, _end) = write_agreement({"criteria": [equal, fluent, earlier]})
    assert f"{NEARLY_EQUAL} Criteria with fewer: safety (7 of 200)." in text
    equal["interval_over_passages"] |= {"low": None, "high": None, "undefined": "the estimate is exactly 1"}
    assert NEARLY_EQUAL not in " ".join(write_agreement({"criteria": [equal]})), "there is no interval to doubt"
