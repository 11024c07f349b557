import numpy as np
import pytest

from measures.outcome import Undefined
from measures.studies.significance import PairedBootstrap, paired_bootstrap
from measures.studies.sweeps import sweep

N = 50
HUMAN = np.random.default_rng(1).integers(1, 6, N).astype(float)
OFF = np.random.default_rng(2).normal(size=N)


def rng() -> np.random.Generator:
    return np.random.default_rng(8)


def test_a_bonus_that_follows_people_raises_the_correlation_and_the_gain_is_paired() -> None:
    points = sweep(HUMAN, lambda weight: OFF + weight * HUMAN, [0, 0.5, 1, 2], rng=rng(), n_resamples=200)
    values = [point.value for point in points]
    assert values == sorted(values)  # type: ignore[type-var]
    assert (points[0].gain, points[0].gain_low, points[0].gain_high) == (0, 0, 0)
    alone = paired_bootstrap(HUMAN, OFF + HUMAN, OFF, rng=rng(), n_resamples=200)
    assert isinstance(alone, PairedBootstrap)
    assert (points[2].gain, points[2].gain_low, points[2].gain_high) == pytest.approx(
        (alone.difference, alone.low, alone.high)
    )


def test_a_flat_start_leaves_the_gain_undefined_and_not_the_value() -> None:
    first, second = sweep(HUMAN, lambda weight: weight * HUMAN, [0, 1], rng=rng(), n_resamples=50)
    assert first.value == first.gain == second.gain == Undefined(reason="all scores are equal")
    assert (first.low, first.undefined_share, second.gain_low) == (None, 1.0, None)
    # A correlation of 1 has no interval.
    assert second.value == pytest.approx(1)
    assert second.low is None


def test_whole_passages_may_be_drawn_and_one_leaves_nothing_to_resample() -> None:
    by_item, by_group, lone = (
        sweep(HUMAN, lambda weight: OFF + weight * HUMAN, [1], rng=rng(), groups=groups, by_group=by_group)[0]
        for groups, by_group in ((None, False), (np.repeat(np.arange(5), 10), True), (np.zeros(N), True))
    )
    assert by_item.value == by_group.value == lone.value
    assert by_item.low != by_group.low
    assert (lone.low, lone.high) == (None, None)
