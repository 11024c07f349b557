"""Systems by questions: the worked example of four systems on three questions, and random scores with gaps."""

from typing import Any

import numpy as np
from scipy.optimize import brentq

from measures.patterns import Floats
from measures.studies.grids import Grid

HUMAN = np.array([[5, 4, 2], [3, 4, 1], [3, 2, 2], [1, 2, 1]], np.float64)
METRIC = np.array([[80, 60, 40], [70, 30, 35], [50, 45, 10], [20, 40, 30]], np.float64)
OTHER = np.array([[40, 60, 70], [70, 50, 35], [30, 45, 20], [20, 30, 60]], np.float64)


def make_grid(human: Floats, units: Any = None, **metrics: Floats) -> Grid:
    """A grid without the cells that are NaN; each question is a passage, if nothing else is said."""
    rows, columns = np.nonzero(~np.isnan(human))
    its_units = np.arange(human.shape[1]) if units is None else np.asarray(units)
    return Grid.of(
        human[rows, columns],
        {name: each[rows, columns] for name, each in metrics.items()},
        systems=[f"{row:03}" for row in rows],
        questions=columns,
        units=its_units[columns],
    )


def find_wilson_ends(mean: float, reach: float, *, low: float = 0.0, high: float = 1.0) -> tuple[float, float]:
    """The true means from which the observed one is just `reach` away, as that changes with (m - low)(high - m)."""

    def find(one: float, other: float) -> float:
        variance = reach**2 / ((mean - low) * (high - mean))
        return float(brentq(lambda m: (mean - m) ** 2 - variance * (m - low) * (high - m), one, other, xtol=1e-14))

    return find(low, mean), find(mean, high)


def draw_scores(rng: np.random.Generator, n_systems: int, n_questions: int, *, gaps: float = 0.0) -> list[Floats]:
    """Human scores with many ties and two metrics, some cells missing."""
    quality = rng.normal(size=(n_systems, 1)) + rng.normal(size=(n_systems, n_questions))
    human = np.clip(np.rint(3 + quality), 1, 5)
    human[rng.random(human.shape) < gaps] = np.nan
    # Every question keeps an answer, so that questions are numbered as the columns are.
    human[0] = np.where(np.isnan(human).all(axis=0), 3.0, human[0])
    return [human, quality + rng.normal(size=human.shape), np.round(quality + 2 * rng.normal(size=human.shape), 1)]
