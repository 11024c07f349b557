"""The interval of a ratio over people: its coverage, and when there is none."""

import numpy as np
import pytest

from measures.outcome import Undefined
from measures.ratios import Ratio, compute_ratio

N_SAMPLES = 1_500


def sample(numerators: list[float], denominators: list[float]) -> Ratio:
    found = compute_ratio(numerators, denominators)
    assert not isinstance(found, Undefined)
    return found


@pytest.mark.parametrize("n_people", [2, 5, 20])
@pytest.mark.parametrize("spread", [0.0, 0.8])
def test_the_interval_covers_in_95_of_100_samples(n_people: int, spread: float) -> None:
    """Speeds differ by 30 %; `spread` is that of how much people work, of which a few usually do most."""
    rng = np.random.default_rng([n_people, int(10 * spread)])
    speeds = rng.lognormal(-(0.3**2) / 2, 0.3, (N_SAMPLES, n_people))
    work = rng.lognormal(0, spread, (N_SAMPLES, n_people))
    n_covered = 0
    for numerators, denominators in zip((speeds * work).tolist(), work.tolist(), strict=True):
        found = sample(numerators, denominators)
        n_covered += found.low is None or found.high is None or found.low <= 1 <= found.high
    assert n_covered / N_SAMPLES == pytest.approx(0.95, abs=0.02)


def test_too_little_is_told_without_an_interval() -> None:
    assert sample([5], [4]).low is None
    assert sample([5, 0], [4, 0]).high is None, "One person did everything."
    assert sample([1, 50], [1, 1]).low is None, "The interval would reach from nothing to everything."
    assert sample([1, 1, 1], [1, 1, 1]) == Ratio(value=1, low=1, high=1, n=3)
    equal = sample([8, 10, 12], [10, 10, 10])
    # With equal work it is the usual interval of a mean, on the logarithmic scale: 0.4 / sqrt(12) and t = 4.3027.
    assert equal.low == pytest.approx(0.6085, abs=1e-4)
    assert equal.high == pytest.approx(1.6434, abs=1e-4)
