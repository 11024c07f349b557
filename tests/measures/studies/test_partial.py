"""Partial correlation: by residuals, and what is undefined."""

import numpy as np
import pytest

from measures.outcome import Undefined
from measures.patterns import Floats
from measures.studies.partial import correlate_partially


def residuals(values: Floats, given: Floats) -> Floats:
    slope, start = np.polyfit(given, values, 1)
    return np.asarray(values - slope * given - start, np.float64)


def test_it_is_the_correlation_of_residuals_also_without_a_passage() -> None:
    rng = np.random.default_rng(1)
    given = rng.normal(size=40)
    human, metric = given + rng.normal(size=40), given + rng.normal(size=40)
    units = np.arange(40) // 4
    found = correlate_partially(human, metric, given, units=units)

    def by_residuals(rows: Floats) -> float:
        return float(np.corrcoef(residuals(human[rows], given[rows]), residuals(metric[rows], given[rows]))[0, 1])

    assert found.value == pytest.approx(by_residuals(np.ones(40, bool)))
    z = np.arctanh([by_residuals(units != unit) for unit in range(10)])
    assert isinstance(found.value, float)
    reach = 2.2621572 * np.sqrt(9 / 10 * ((z - z.mean()) ** 2).sum())
    assert found.low == pytest.approx(np.tanh(np.arctanh(found.value) - reach))


def test_what_is_undefined_is_said() -> None:
    x, y = np.array([1.0, 2, 3, 5]), np.array([2.0, 1, 4, 3])
    assert correlate_partially(x, y, 2 * x, units=range(4)).value == Undefined(
        reason="one column follows from the length alone"
    )
    assert correlate_partially(x, np.ones(4), y, units=range(4)).value == Undefined(reason="all scores are equal")
    assert correlate_partially(x[:3], y[:3], np.array([1.0, 5, 2]), units=range(3)).value == Undefined(
        reason="fewer than four candidates"
    )
