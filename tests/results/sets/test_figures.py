from array import array

from measures.rubric import Level
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
