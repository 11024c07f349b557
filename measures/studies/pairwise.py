"""Pairwise accuracy: how often a metric orders two answers to a question as people do, with calibrated ties."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum

import numpy as np
import numpy.typing as npt

from measures.jackknife import Scale, bound_interval, effective_number, jackknife_interval
from measures.outcome import Undefined
from measures.patterns import Floats, Ints
from measures.rounding import LAST_DIGITS, ON_SCALE, differ, merge_sorted, merge_ties
from measures.studies.group_correlations import list_pairs
from measures.studies.items import number_groups
from measures.studies.resampling import merge_at_random

N_FOLDS = 5
"""Of cross-fitting the threshold; five are usual (Hastie et al., 2009, section 7.10)."""
_EQUAL = 1e-12
"""Accuracies that differ by less are equal; of their thresholds the smallest is taken."""


class Threshold(StrEnum):
    """How the largest difference that counts as a tie of the metric is chosen.

    ``number``: given. ``calibrated``: the one with the highest accuracy, on the same pairs, so the accuracy is
    optimistic. ``cross_fit``: for each of five folds of passages, the best one on the others.
    """

    NUMBER = "number"
    CALIBRATED = "calibrated"
    CROSS_FIT = "cross_fit"


@dataclass(frozen=True, kw_only=True)
class PairwiseAccuracy:
    """The pairwise accuracy of a metric.

    Attributes
    ----------
    accuracy : float
        The mean over questions of the share of pairs that it orders as people do, ties included.
    low, high : float or None
        The ends of the interval at these thresholds, Wilson's with the jackknife's standard error; None where there is
        none.
    why_no_interval : str
        The reason why there is none; empty otherwise.
    epsilons : tuple of float
        The largest differences that count as a tie: one, or one for each fold.
    tie_share : float
        The share of pairs that are tied by the metric, the mean over questions.
    """

    accuracy: float
    low: float | None
    high: float | None
    why_no_interval: str
    epsilons: tuple[float, ...]
    tie_share: float


class AnswerPairs:
    """The pairs of answers to the same question, with their order by human scores.

    Parameters
    ----------
    human : ndarray of float64, shape (n,)
        The human scores; all finite.
    questions : sequence, shape (n,)
        The question of each answer.
    units : sequence, shape (n,)
        What folds and the jackknife keep together, such as the passage of each answer; a question lies within one.

    Attributes
    ----------
    n, n_questions, n_units : int
        Pairs, questions with a pair, and their units.

    Raises
    ------
    ValueError
        A score is missing, or lengths differ.

    References
    ----------
    D. Deutsch, G. Foster and M. Freitag (2023), Ties Matter: Meta-Evaluating Modern Metrics with Pairwise Accuracy and
    Tie Calibration, EMNLP.

    Examples
    --------
    >>> pairs = AnswerPairs(np.array([5.0, 3, 3, 1]), list("qqqq"), units=list("pppp"))
    >>> found = pairs.measure(np.array([80.0, 70, 50, 20]), threshold="calibrated")
    >>> round(found.accuracy, 4), found.epsilons, pairs.floors
    (0.8333, (0.0,), (0.16666666666666666, 0.4166666666666667))
    """

    def __init__(
        self,
        human: Floats,
        questions: Sequence[object] | npt.NDArray[np.generic],
        *,
        units: Sequence[object] | npt.NDArray[np.generic],
    ) -> None:
        human = np.asarray(human, np.float64)
        if not len(human) == len(questions) == len(units):
            raise ValueError("Each answer needs one human score, one question and one unit.")
        if not np.isfinite(human).all():
            raise ValueError("A human score is missing or infinite. Leave its answer out.")
        codes = number_groups(questions)
        order = np.argsort(codes, kind="stable")
        listed = list_pairs(codes[order])
        nothing = np.zeros(0, np.int64)
        self._one: Ints = order[np.concatenate([nothing, *(one for one, _other in listed)])]
        self._other: Ints = order[np.concatenate([nothing, *(other for _one, other in listed)])]
        tied = merge_ties(human, within=ON_SCALE)
        self._gold = np.sign(tied[self._one] - tied[self._other])
        self._question = np.unique(codes[self._one], return_inverse=True)[1]
        self._counts = np.bincount(self._question)
        self.n, self.n_questions, self.n_answers = len(self._one), len(self._counts), len(human)
        self._unit = np.zeros(self.n_questions, np.int64)
        self._unit[self._question] = number_groups(units)[self._one]
        # Only units with a pair can be left out.
        self._unit = np.unique(self._unit, return_inverse=True)[1]
        self.n_units = int(self._unit.max(initial=-1)) + 1
        # As its intervals count them: by questions.
        self.n_effective = effective_number(np.bincount(self._unit)) if self.n_units else 0.0

    @property
    def floors(self) -> tuple[float, float] | Undefined:
        """The accuracy of a metric that ties everything, which is the share of ties of people, and of a coin."""
        if not self.n:
            return _no_pairs()
        constant = float(self._average((self._gold == 0).astype(np.float64)).mean())
        return constant, (1 - constant) / 2

    def measure(
        self,
        metric: Floats,
        *,
        threshold: Threshold | str = Threshold.CALIBRATED,
        epsilon: float = 0.0,
        rng: np.random.Generator | None = None,
        confidence: float = 0.95,
    ) -> PairwiseAccuracy | Undefined:
        """Return the accuracy of a metric.

        Parameters
        ----------
        metric : ndarray of float64, shape (n,)
            Its scores of the same answers; all finite.
        threshold : Threshold or str
            How the largest difference that is a tie is chosen.
        epsilon : float
            That difference, for ``number``; 0 or more.
        rng : numpy.random.Generator
            The source of randomness, for the folds of ``cross_fit``.
        confidence : float
            Nominal coverage of the interval, between 0 and 1.

        Returns
        -------
        PairwiseAccuracy or Undefined
            Undefined without a pair, where the human scores of every question are equal, so that a metric is best that
            ties everything, and by ``cross_fit`` with one unit only. The interval leaves out one unit at a time and
            keeps the thresholds.

        Raises
        ------
        ValueError
            A score is missing, lengths differ, `epsilon` is below 0, or `rng` is missing.
        """
        metric, threshold = np.asarray(metric, np.float64), Threshold(threshold)
        if len(metric) != self.n_answers or not np.isfinite(metric).all():
            raise ValueError("Each answer needs one score of the metric.")
        if not self.n:
            return _no_pairs()
        if not self._gold.any():
            return Undefined(reason="the human scores of every question are equal")
        difference = _Differences.of(metric, self._one, self._other)
        if threshold is Threshold.CROSS_FIT:
            if rng is None:
                raise ValueError("The folds are drawn, so rng is needed.")
            if self.n_units < 2:
                return Undefined(reason="one passage only, so there is none to calibrate on")
            folds = merge_at_random(self._unit, min(N_FOLDS, self.n_units), rng)
            epsilons = [self._calibrate(difference, folds != fold) for fold in range(int(folds.max()) + 1)]
            limits: Floats = np.array(epsilons)[folds][self._question]
        elif threshold is Threshold.CALIBRATED:
            epsilons = [self._calibrate(difference, np.ones(self.n_questions, bool))]
            limits = np.full(self.n, epsilons[0])
        else:
            if not epsilon >= 0:
                raise ValueError("epsilon must be 0 or more.")
            epsilons, limits = [epsilon], np.full(self.n, epsilon)
        is_tied = difference.sizes <= limits + difference.errors
        is_right = np.where(is_tied, self._gold == 0, difference.signs == self._gold)
        each = self._average(is_right.astype(np.float64))
        found = self._leave_out(each, confidence)
        return PairwiseAccuracy(
            accuracy=float(each.mean()), low=found[0], high=found[1], why_no_interval=found[2],
            epsilons=tuple(map(difference.write, epsilons)),
            tie_share=float(self._average(is_tied.astype(np.float64)).mean()),
        )  # fmt: skip

    def _average(self, values: Floats) -> Floats:
        """Return the mean over the pairs of each question."""
        return np.bincount(self._question, values, self.n_questions) / self._counts

    def _calibrate(self, difference: "_Differences", is_used: npt.NDArray[np.bool_]) -> float:
        """Return the smallest of the thresholds with the highest accuracy over these questions.

        From a threshold below all differences upwards, pairs become ties one by one: a pair that people tie is won, one
        in the right order is lost. So one sort gives the accuracy at every threshold.
        """
        rows = difference.order
        if not is_used.all():
            rows = rows[is_used[self._question[rows]]]
        size, gold = difference.sizes[rows], self._gold[rows]
        weights = (1 / self._counts)[self._question[rows]]
        is_right = (difference.signs[rows] == gold) & (gold != 0)
        gains = np.cumsum(weights * ((gold == 0).astype(np.float64) - is_right))
        ends = np.append(np.flatnonzero(np.diff(size)), len(rows) - 1)
        thresholds, gain = size[ends], gains[ends]
        # 0 is tried also where no difference is 0.
        if thresholds[0] > 0:
            thresholds, gain = np.append(0.0, thresholds), np.append(0.0, gain)
        n_used = int(is_used.sum())
        return float(thresholds[np.argmax(gain >= gain.max() - _EQUAL * n_used)])

    def _leave_out(self, each: Floats, confidence: float) -> tuple[float | None, float | None, str]:
        n_left = self.n_questions - np.bincount(self._unit)
        with np.errstate(divide="ignore", invalid="ignore"):
            left_out = (each.sum() - np.bincount(self._unit, each)) / n_left
        mean, sizes = float(each.mean()), np.bincount(self._unit)
        plain = jackknife_interval(
            mean, left_out, scale=Scale.PLAIN, sizes=sizes, confidence=confidence, unit="passage"
        )
        # An accuracy near 1 has no interval that is symmetric about it.
        found = bound_interval(mean, plain, low=0, high=1)
        return (None, None, found.reason) if isinstance(found, Undefined) else (found.low, found.high, "")


@dataclass(frozen=True, kw_only=True, eq=False)
class _Differences:
    """The differences of a metric in each pair: signs, and sizes of which those that rounding alone parts are equal.

    `errors` are the rounding errors that a size may have, and `order` the pairs by ascending size.
    """

    signs: Floats
    sizes: Floats
    errors: Floats
    order: Ints

    @classmethod
    def of(cls, scores: Floats, one: Ints, other: Ints) -> "_Differences":
        tied = merge_ties(scores)
        first, second = tied[one], tied[other]
        difference = first - second
        sizes, errors = np.abs(difference), LAST_DIGITS / 2 * (np.abs(first) + np.abs(second))
        order = np.argsort(sizes, kind="stable")
        apart = differ(sizes[order], within=errors[order])
        return cls(signs=np.sign(difference), sizes=merge_sorted(sizes, order, apart), errors=errors, order=order)

    def write(self, size: float) -> float:
        """Return a size without the digits that are rounding errors, such as 0.1 for 0.3 - 0.2."""
        error = float(self.errors[self.sizes == size].max(initial=0.0))
        return round(size, -math.ceil(math.log10(error))) if error else size


def _no_pairs() -> Undefined:
    return Undefined(reason="no question has two answers with scores")
