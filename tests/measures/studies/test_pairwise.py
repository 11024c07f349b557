"""Pairwise accuracy: the worked example, a plain loop over pairs and thresholds, floors, folds."""

from itertools import combinations

import numpy as np
import pytest

from measures.outcome import Undefined
from measures.patterns import Floats
from measures.studies.pairwise import AnswerPairs, PairwiseAccuracy
from tests.measures.studies.grids import HUMAN, METRIC, draw_scores

QUESTIONS = np.indices(HUMAN.shape)[1].ravel()


def make_pairs(human: Floats = HUMAN) -> AnswerPairs:
    questions = np.indices(human.shape)[1].ravel()
    return AnswerPairs(human.ravel(), questions, units=questions // 2)


def check(found: PairwiseAccuracy | Undefined) -> PairwiseAccuracy:
    assert isinstance(found, PairwiseAccuracy)
    return found


def loop(human: Floats, metric: Floats, epsilon: float, columns: list[int]) -> float:
    """The accuracy, pair by pair."""
    shares = []
    for column in columns:
        right = []
        for one, other in combinations(range(len(human)), 2):
            gold = np.sign(human[one, column] - human[other, column])
            difference = round(metric[one, column] - metric[other, column], 9)
            right.append(gold == (0 if abs(difference) <= epsilon else np.sign(difference)))
        shares.append(np.mean(right))
    return float(np.mean(shares))


def test_the_worked_example() -> None:
    pairs = make_pairs()
    assert check(pairs.measure(METRIC.ravel(), threshold="number")).accuracy == pytest.approx(0.5)
    best = check(pairs.measure(METRIC.ravel()))
    assert (round(best.accuracy, 4), best.epsilons) == (0.5556, (5.0,))
    assert pairs.floors == pytest.approx((0.2778, 0.3611), abs=5e-5)


@pytest.mark.parametrize("seed", range(3))
def test_the_calibrated_threshold_is_the_smallest_of_the_best_in_a_loop(seed: int) -> None:
    rng = np.random.default_rng(seed)
    human, metric, coarse = draw_scores(rng, 5, 9)
    for scores in (np.round(metric, 9), coarse, np.zeros(human.shape)):
        tried = sorted({0.0, *(abs(round(scores[one, column] - scores[other, column], 9))
                               for column in range(9) for one, other in combinations(range(5), 2))})  # fmt: skip
        accuracies = [loop(human, scores, each, list(range(9))) for each in tried]
        best = max(accuracies)
        found = check(make_pairs(human).measure(scores.ravel()))
        assert found.accuracy == pytest.approx(best)
        assert found.epsilons == (next(e for e, a in zip(tried, accuracies, strict=True) if a >= best - 1e-12),)
        given = check(make_pairs(human).measure(scores.ravel(), threshold="number", epsilon=0.3))
        assert given.accuracy == pytest.approx(loop(human, scores, 0.3, list(range(9))))


def test_a_threshold_of_a_fold_comes_from_the_other_folds() -> None:
    human, metric, _coarse = draw_scores(np.random.default_rng(5), 6, 12)
    pairs = make_pairs(human)
    found = check(pairs.measure(metric.ravel(), threshold="cross_fit", rng=np.random.default_rng(7)))
    assert len(found.epsilons) == 5
    # The same draw of folds over six passages of two questions.
    folds = (np.random.default_rng(7).permutation(6) * 5 // 6)[np.arange(12) // 2]
    shares = []
    for fold, epsilon in enumerate(found.epsilons):
        others = np.flatnonzero(folds != fold)
        kept = AnswerPairs(human[:, others].ravel(), np.tile(others, 6), units=np.tile(others, 6))
        assert check(kept.measure(metric[:, others].ravel())).epsilons == (epsilon,)
        shares += [loop(human, metric, epsilon, [int(column)]) for column in np.flatnonzero(folds == fold)]
    assert found.accuracy == pytest.approx(np.mean(shares))
    assert found.accuracy <= check(pairs.measure(metric.ravel())).accuracy


def test_rounding_errors_make_and_break_no_tie() -> None:
    human, noisy = np.array([1.0, 1, 2, 2]), np.array([0.3, 0.1 + 0.2, 0.7, 0.8 - 0.1])
    found = check(AnswerPairs(human, [1] * 4, units=[1] * 4).measure(noisy, threshold="number"))
    assert found.accuracy == 1.0
    assert found.tie_share == pytest.approx(1 / 3)
    # A tenth from each other, whatever the floats say.
    pairs = AnswerPairs(human[:3], [1] * 3, units=[1] * 3)
    tenth = check(pairs.measure(np.array([0.3, 0.2, 0.9]), threshold="number", epsilon=0.1))
    assert tenth.accuracy == 1.0


def test_floors_are_those_of_a_constant_metric_and_of_a_coin() -> None:
    human = draw_scores(np.random.default_rng(8), 8, 40)[0]
    pairs, rng = make_pairs(human), np.random.default_rng(1)
    floors = pairs.floors
    assert not isinstance(floors, Undefined)
    assert check(pairs.measure(np.ones(human.size), threshold="number")).accuracy == pytest.approx(floors[0])
    coins = [check(pairs.measure(rng.random(human.size), threshold="number")).accuracy for _ in range(40)]
    assert np.mean(coins) == pytest.approx(floors[1], abs=0.02)


def test_the_interval_of_an_accuracy_near_1_leaves_room_below_it() -> None:
    rng = np.random.default_rng(4)
    covered, true, n_runs = 0, 0.985, 200
    for _ in range(n_runs):
        human = np.tile(np.arange(4.0)[:, np.newaxis], (1, 60))
        # Each question has six pairs; in some a metric puts two neighbours the wrong way round.
        metric = human.copy()
        for column in np.flatnonzero(rng.random(60) < 6 * (1 - true)):
            at = rng.integers(3)
            metric[[at, at + 1], column] = metric[[at + 1, at], column]
        found = check(make_pairs(human).measure(metric.ravel(), threshold="number"))
        assert found.low is not None
        assert found.high is not None
        assert 0 < found.low < found.accuracy < found.high < 1
        assert found.accuracy - found.low > found.high - found.accuracy
        covered += found.low <= true <= found.high
    # Three standard errors of 200 runs are 4.6 %; the symmetric interval covers it in 91 %.
    assert 0.904 <= covered / n_runs <= 0.996


def test_what_cannot_be_measured_is_said() -> None:
    alone = AnswerPairs(np.array([1.0, 2]), ["a", "b"], units=["a", "b"])
    assert alone.measure(np.array([1.0, 2])) == Undefined(reason="no question has two answers with scores")
    assert isinstance(alone.floors, Undefined)
    single = AnswerPairs(np.array([1.0, 2]), ["a", "a"], units=["a", "a"])
    found = single.measure(np.array([1.0, 2]), threshold="cross_fit", rng=np.random.default_rng(1))
    assert found == Undefined(reason="one passage only, so there is none to calibrate on")
    whole = check(single.measure(np.array([1.0, 2])))
    assert (whole.accuracy, whole.low, whole.why_no_interval) == (1.0, None, "fewer than three passages")
    with pytest.raises(ValueError, match="0 or more"):
        single.measure(np.array([1.0, 2]), threshold="number", epsilon=-1)
    with pytest.raises(ValueError, match="score of the metric"):
        single.measure(np.array([1.0, np.nan]))


@pytest.mark.parametrize("threshold", ["calibrated", "cross_fit", "number"])
def test_without_a_difference_between_people_no_metric_is_accurate(threshold: str) -> None:
    """The one that ties everything would be right in every pair."""
    pairs = make_pairs(np.tile(np.arange(HUMAN.shape[1], dtype=float), (len(HUMAN), 1)))
    found = pairs.measure(METRIC.ravel(), threshold=threshold, rng=np.random.default_rng(1))
    assert isinstance(found, Undefined)
    assert found.reason == "the human scores of every question are equal"
    assert pairs.floors == (1, 0)
