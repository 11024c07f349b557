import numpy as np
import pandas as pd
import pytest

from measures.one_against_others import OneAgainstOthers, one_against_others
from measures.outcome import Undefined


def make_frame(ratings: list[list[float]]) -> pd.DataFrame:
    rows = [(unit, value) for unit, values in enumerate(ratings) for value in values]
    return pd.DataFrame(rows, columns=["unit", "value"]).astype({"value": "float64"})


def test_one_draw_is_the_correlation_with_the_others() -> None:
    """Where all ratings of an item but the one drawn are equal, the result reveals the draw."""
    ratings = [[1.0, 2.0], [3.0, 1.0], [5.0, 4.0], [2.0, 5.0]]
    found = one_against_others(make_frame(ratings), rng=np.random.default_rng(4), n_draws=1)
    assert isinstance(found, OneAgainstOthers)
    firsts, seconds = map(np.array, zip(*ratings, strict=True))
    possible = {
        round(float(np.corrcoef(np.where(mask, firsts, seconds), np.where(mask, seconds, firsts))[0, 1]), 12)
        for mask in (np.array([bit == "1" for bit in f"{n:04b}"]) for n in range(16))
    }
    assert round(found.r, 12) in possible
    assert found.r == found.low == found.high


def test_people_who_agree_correlate_fully_and_noise_lowers_it() -> None:
    rng = np.random.default_rng(1)
    truth = rng.normal(size=400)
    exact = one_against_others(make_frame([[t, t, t] for t in truth]), rng=rng)
    noisy = one_against_others(make_frame([list(t + rng.normal(size=3)) for t in truth]), rng=rng)
    assert isinstance(exact, OneAgainstOthers)
    assert isinstance(noisy, OneAgainstOthers)
    assert exact.r == pytest.approx(1)
    # one judgment and the mean of two others: 1 / sqrt(2 * 1.5)
    assert noisy.r == pytest.approx(1 / np.sqrt(3), abs=0.06)
    assert noisy.low <= noisy.r <= noisy.high
    assert (noisy.n_units, noisy.n_draws) == (400, 100)


def test_single_judgments_do_not_enter() -> None:
    whole = make_frame([[1.0, 2.0], [3.0, 3.0], [5.0, 4.0], [2.0]])
    less = make_frame([[1.0, 2.0], [3.0, 3.0], [5.0, 4.0]])
    ours, theirs = (one_against_others(each, rng=np.random.default_rng(2)) for each in (whole, less))
    assert ours == theirs


@pytest.mark.parametrize("ratings", [[[1.0, 2.0], [2.0, 3.0], [4.0]], [[2.0, 2.0], [2.0, 2.0], [2.0, 2.0]], []])
def test_it_is_undefined_in_words(ratings: list[list[float]]) -> None:
    assert isinstance(one_against_others(make_frame(ratings), rng=np.random.default_rng(1)), Undefined)
