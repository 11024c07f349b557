"""The numbers printed beside the SQuALITY ratings: 300 items, three of four raters each."""

import os
from pathlib import Path

import pandas as pd
import pytest

from measures.agreement import Agreement, krippendorff_alpha
from measures.gold_scores import gold_scores

FOLDER = os.environ.get("SQUALITY_DIR", "")

pytestmark = pytest.mark.skipif(not FOLDER, reason="SQUALITY_DIR does not name the folder of the SQuALITY ratings")


@pytest.fixture(scope="module")
def ratings() -> pd.DataFrame:
    table = pd.read_csv(Path(FOLDER) / "ratings.csv")
    return table.rename(columns={"item_id": "unit", "rater": "annotator"})


def make_frame(ratings: pd.DataFrame, column: str) -> pd.DataFrame:
    return ratings[["unit", "annotator"]].assign(value=ratings[column].astype("float64"))


@pytest.mark.parametrize(
    ("column", "level", "alpha"),
    [
        ("correctness", "interval", 0.4587),
        ("coverage", "interval", 0.7813),
        ("overall", "interval", 0.7983),
        ("correctness", "ordinal", 0.5344),
        ("coverage", "ordinal", 0.7155),
        ("overall", "ordinal", 0.7218),
        ("correctness_1to5", "ordinal", 0.4355),
        ("coverage_1to5", "ordinal", 0.7362),
        ("overall_1to5", "ordinal", 0.7336),
        ("correctness_1to5", "interval", 0.3913),
        ("correctness_1to5", "nominal", 0.2379),
    ],
)
def test_alpha(ratings: pd.DataFrame, column: str, level: str, alpha: float) -> None:
    result = krippendorff_alpha(make_frame(ratings, column), level=level)
    assert isinstance(result, Agreement)
    assert round(result.alpha, 4) == alpha
    assert (result.n_units, result.n_ratings, result.n_annotators, result.n_single) == (300, 900, 4, 0)


@pytest.mark.parametrize(
    ("column", "means", "digits"),
    [
        ("correctness", (34.8, 45.4, 94.1), 1),
        ("coverage", (15.6, 24.3, 88.8), 1),
        ("overall", (18.1, 27.9, 91.3), 1),
        ("correctness_1to5", (2.393, 2.873, 4.913), 3),
    ],
)
def test_mean_gold_by_system(ratings: pd.DataFrame, column: str, means: tuple[float, ...], digits: int) -> None:
    gold = gold_scores(make_frame(ratings, column))
    system = gold.index.str.replace(r"^.*-q\d+-", "", regex=True)
    by_system = gold["mean"].groupby(system).mean().round(digits)
    assert by_system.to_dict() == dict(zip(["bart", "bart-dpr", "human"], means, strict=True))
