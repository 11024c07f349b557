"""The sign-flip test of paired differences, against enumeration, scipy and simulated systems without a difference."""

from itertools import product

import numpy as np
import pytest
from scipy import stats

from measures.patterns import Floats
from measures.sign_flips import MOST_ENUMERATED, sign_flip_p

WORKED = [2, -1, 3, 1.5, 2.5, 1]


def rng(seed: int = 1) -> np.random.Generator:
    return np.random.default_rng(seed)


def enumerate_signs(sums: Floats) -> float:
    flipped = [abs(float(np.dot(signs, sums))) for signs in product((1, -1), repeat=len(sums))]
    return float(np.mean(np.array(flipped) >= abs(sums.sum()) - 1e-9))


def test_the_worked_value_by_enumeration_and_by_scipy() -> None:
    sums = np.array(WORKED)
    found = sign_flip_p(sums[:, None], rng=rng())[0]
    assert found == enumerate_signs(sums) == 6 / 64
    theirs = stats.permutation_test((sums,), np.sum, permutation_type="samples", n_resamples=2**16)
    assert found == theirs.pvalue


def test_pairs_are_tested_together_as_alone_and_groups_without_a_difference_change_nothing() -> None:
    sums = rng(4).normal(0.3, 1, (12, 5)).round(1)
    sums[rng(5).random(sums.shape) < 0.3] = 0
    together = sign_flip_p(sums, rng=rng())
    assert together.tolist() == [sign_flip_p(sums[:, [at]], rng=rng())[0] for at in range(5)]
    assert together == pytest.approx([enumerate_signs(sums[:, at]) for at in range(5)])
    assert sign_flip_p(np.zeros((3, 1)), rng=rng()).tolist() == [1]


def test_many_groups_draw_patterns_by_the_seed() -> None:
    sums = rng(7).normal(0.4, 1, (MOST_ENUMERATED + 2, 2))
    found = sign_flip_p(sums, rng=rng())
    assert found.tolist() == sign_flip_p(sums, rng=rng()).tolist()
    assert found == pytest.approx([enumerate_signs(sums[:, at]) for at in range(2)], abs=0.01)
    # (k + 1) / (B + 1): never 0, and the same for the opposite differences.
    assert (found * 10_000).round(6).tolist() == (found * 10_000).round().tolist()
    assert sign_flip_p(-sums, rng=rng()).tolist() == found.tolist()
    assert sign_flip_p(np.full((40, 1), 3.0), rng=rng())[0] == 1e-4


@pytest.mark.parametrize(("n_groups", "n_questions"), [(20, 3), (10, 5)])
def test_two_equal_systems_differ_in_one_test_of_twenty(n_groups: int, n_questions: int) -> None:
    """Three ratings of an item on 1-5, passages that suit one system or the other: every column is a study.

    Signs by question, as if the questions of a passage were independent, reject more than twice as often.
    """
    n, draw = 4_000, rng(20)
    passage = draw.normal(0, 0.5, (2, n_groups, 1, n))
    items = 3 + passage + draw.normal(0, 0.7, (2, n_groups, n_questions, n))
    ratings = np.clip(np.rint(items + draw.normal(0, 1, (3, *items.shape))), 1, 5).mean(axis=0)
    difference = ratings[0] - ratings[1]
    by_passage = sign_flip_p(difference.sum(axis=1), rng=rng())
    assert np.mean(by_passage <= 0.05) == pytest.approx(0.05, abs=0.01)
    few = difference[..., :400].reshape(n_groups * n_questions, -1)
    assert np.mean(sign_flip_p(few, rng=rng()) <= 0.05) > 0.08
