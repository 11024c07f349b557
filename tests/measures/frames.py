"""Long frames that the tests of the measures share."""

import numpy as np
import pandas as pd

# Krippendorff (2011), Computing Krippendorff's Alpha-Reliability, section C: four observers, twelve units, missing data
CANONICAL = [
    "1 2 3 3 2 1 4 1 2 . . .",
    "1 2 3 3 2 2 4 1 2 5 . 3",
    ". 3 3 3 2 3 4 2 2 5 1 .",
    "1 2 3 3 2 4 4 1 2 5 1 .",
]

SAME_IN_ANY_ORDER = ["acb 555", "cab 555", "abc 555", "acb 555", "bca 545", "cab 534", "cba 345"]
"""Seven units by three annotators, in the order of rating: sums of the z scores of 5, 5 and 5 differ by rounding."""


def from_table(table: list[str]) -> pd.DataFrame:
    """A long frame of a table of one annotator a row and one unit a column, a dot where there is no rating."""
    rows = [
        (unit, "wxyz"[annotator], float(value))
        for annotator, line in enumerate(table)
        for unit, value in enumerate(line.split())
        if value != "."
    ]
    return pd.DataFrame(rows, columns=["unit", "annotator", "value"])


def read_ratings(units: list[str]) -> pd.DataFrame:
    """A long frame of units with the annotators and the rating of each, in the order of rating."""
    rows = [
        (unit, annotator, float(value))
        for unit, line in enumerate(units)
        for annotator, value in zip(*line.split(), strict=True)
    ]
    return pd.DataFrame(rows, columns=["unit", "annotator", "value"])


def random_frame(
    rng: np.random.Generator, *, n_units: int, n_annotators: int, continuous: bool = False, share: float = 0.75
) -> pd.DataFrame:
    """Ratings that agree somewhat, with missing cells."""
    units, annotators = np.meshgrid(np.arange(n_units), np.arange(n_annotators), indexing="ij")
    ratings = np.clip(rng.random((n_units, 1)) * 100 + rng.normal(0, 15, units.shape), 0, 100)
    if not continuous:
        ratings = 1 + np.minimum(ratings // 20, 4)
    kept = rng.random(units.shape) < share
    names = np.array(list("wxyz"))[annotators[kept]]
    return pd.DataFrame({"unit": units[kept], "annotator": names, "value": ratings[kept]})


def system_ratings(seed: int = 3, n_units: int = 60, systems: str = "abc") -> pd.DataFrame:
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
