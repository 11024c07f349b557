"""Soft pairwise accuracy: whether a metric is as sure as people are of which of two systems is better."""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from measures.jackknife import Scale, bound_interval, effective_number, jackknife_interval
from measures.outcome import Undefined
from measures.patterns import Floats, Ints
from measures.rounding import IN_SUMS, is_constant
from measures.studies.grids import Grid

LEAST_SYSTEMS, LEAST_QUESTIONS = 4, 2
"""Three systems have three pairs, and the signs of one question two patterns: nothing to be sure of."""
MOST_ENUMERATED = 12
"""Up to this many signs all patterns are tried, which are 4,096 at the most."""
N_PATTERNS = 1_000
"""As many as Thompson et al. (2024) draw."""


@dataclass(frozen=True, kw_only=True)
class SoftAccuracy:
    """How a metric compares systems, pair by pair, beside people.

    Attributes
    ----------
    soft : float
        One minus the mean difference of the two p-values of each pair, 0 to 1.
    plain : float
        The share of pairs that both sides put in the same order; a tie of one side alone is wrong.
    low, high : float or None
        The ends of the interval of `soft`, for these systems: Wilson's, with the standard error of the jackknife. None
        where there is none.
    why_no_interval : str
        The reason why there is none; empty otherwise.
    """

    soft: float
    plain: float
    low: float | None
    high: float | None
    why_no_interval: str


@dataclass(frozen=True, kw_only=True)
class SoftAccuracies:
    """The soft pairwise accuracies of metrics, all from the same patterns of signs.

    Attributes
    ----------
    metrics : dict of str to SoftAccuracy or Undefined
        By metric; undefined for one that gives every answer the same score, which is sure of nothing, and for all where
        people do.
    n_systems, n_pairs, n_questions, n_units : int
        What they rest on; the questions are those that every system has, the units their passages.
    n_effective : float
        As how many units of one size they count in intervals.
    n_patterns : int
        The number of patterns of signs.
    is_exact : bool
        Whether these are all patterns.
    """

    metrics: dict[str, SoftAccuracy | Undefined]
    n_systems: int
    n_pairs: int
    n_questions: int
    n_units: int
    n_effective: float
    n_patterns: int
    is_exact: bool


def compare_system_pairs(
    grid: Grid,
    *,
    rng: np.random.Generator,
    by_unit: bool = False,
    n_patterns: int = N_PATTERNS,
    confidence: float = 0.95,
) -> SoftAccuracies | Undefined:
    """Compare each metric with people on all pairs of systems.

    For each pair of systems both sides have a one-sided p of a paired sign-flip test: the share of patterns of signs in
    which the lead of the first system is at least the observed one. All pairs and all sides use the same patterns.

    Parameters
    ----------
    grid : Grid
        The scores.
    rng : numpy.random.Generator
        The source of randomness, where there are more than 12 signs.
    by_unit : bool
        Flip the signs of whole passages, not of single questions.
    n_patterns : int
        The number of random patterns.
    confidence : float
        Nominal coverage of the interval, between 0 and 1.

    Returns
    -------
    SoftAccuracies or Undefined
        Undefined with fewer than four systems, or fewer than two questions that every system has. Intervals leave out
        one passage at a time; an accuracy of exactly 1 has none. A metric whose scores are all equal is undefined: it
        has p = 1 for every pair, in whichever order. So are all metrics where the human scores are all equal.

    References
    ----------
    B. Thompson et al. (2024), Improving Statistical Significance in Human Evaluation of Automatic Metrics via Soft
    Pairwise Accuracy, WMT; T. Kocmi et al. (2021), To Ship or Not to Ship, WMT, for the plain accuracy.

    Examples
    --------
    >>> human = np.array([5.0, 4, 2, 3, 4, 1, 3, 2, 2, 1, 2, 1])
    >>> metric = np.array([80.0, 60, 40, 70, 30, 35, 50, 45, 10, 20, 40, 30])
    >>> grid = Grid.of(human, {"m": metric}, systems=list("aaabbbcccddd"), questions=list("xyz" * 4),
    ...                units=list("xyz" * 4))
    >>> found = compare_system_pairs(grid, rng=np.random.default_rng(1))
    >>> found.metrics["m"].soft, found.metrics["m"].plain, found.n_pairs, found.is_exact
    (0.875, 1.0, 6, True)
    """
    is_used, n_systems = grid.complete, len(grid.systems)
    n_questions = int(is_used.sum())
    if n_systems < LEAST_SYSTEMS:
        return Undefined(reason="fewer than four systems")
    if n_questions < LEAST_QUESTIONS:
        return Undefined(reason="fewer than two questions that every system has")
    units = np.unique(grid.units[is_used], return_inverse=True)[1]
    flipped = units if by_unit else np.arange(n_questions)
    n_signs = int(flipped.max()) + 1
    signs = _draw_signs(n_signs, n_patterns, rng)
    human = _Leads(grid.human[:, is_used], signs[:, flipped])
    p_human, p_human_without = human.whole(), list(human.without(units))
    has_no_order = is_constant(grid.human[:, is_used])
    found: dict[str, SoftAccuracy | Undefined] = {}
    for name, scores in grid.metrics.items():
        if is_constant(scores[:, is_used]):
            found[name] = Undefined(reason="all scores are equal")
            continue
        if has_no_order:
            found[name] = Undefined(reason="all human scores are equal")
            continue
        metric = _Leads(scores[:, is_used], signs[:, flipped])
        soft = _soften(p_human, metric.whole())
        left_out = [_soften(one, other) for one, other in zip(p_human_without, metric.without(units), strict=True)]
        symmetric = jackknife_interval(
            soft, left_out, scale=Scale.PLAIN, sizes=np.bincount(units), confidence=confidence, unit="passage"
        )
        # An accuracy near 1 has no interval that is symmetric about it.
        ends = bound_interval(soft, symmetric, low=0, high=1)
        low, high, why = (None, None, ends.reason) if isinstance(ends, Undefined) else (ends.low, ends.high, "")
        plain = float((human.order() == metric.order()).mean())
        found[name] = SoftAccuracy(soft=soft, plain=plain, low=low, high=high, why_no_interval=why)
    return SoftAccuracies(
        metrics=found,
        n_systems=n_systems,
        n_pairs=n_systems * (n_systems - 1) // 2,
        n_questions=n_questions,
        n_units=int(units.max()) + 1,
        n_effective=effective_number(np.bincount(units)),
        n_patterns=len(signs),
        is_exact=n_signs <= MOST_ENUMERATED,
    )


def _draw_signs(n: int, n_patterns: int, rng: np.random.Generator) -> Floats:
    """Return all patterns of n signs if these are few, otherwise random ones; shape (patterns, n)."""
    if n <= MOST_ENUMERATED:
        bits: Ints = (np.arange(2**n)[:, None] >> np.arange(n)) & 1
        return (1 - 2 * bits).astype(np.float64)
    return 1.0 - 2.0 * rng.integers(2, size=(n_patterns, n)).astype(np.float64)


def _soften(p_human: Floats, p_metric: Floats) -> float:
    return float(1 - np.abs(p_human - p_metric).mean())


class _Leads:
    """The leads of one system over another by one side's scores, observed and under each pattern of signs."""

    def __init__(self, scores: Floats, signs: Floats) -> None:
        # The sum of each system under each pattern: the lead in a pair is the difference of two such sums, so no
        # array of pairs by questions is needed.
        self._scores, self._signs = scores, signs
        self._totals: Floats = scores.sum(axis=1)
        self._flipped: Floats = np.einsum("bq,sq->bs", signs, scores)
        self._first, self._second = np.triu_indices(len(scores), 1)
        # Sums that differ by less are equal, whatever order they were added in.
        sizes = np.abs(scores).sum(axis=1)
        self._error: Floats = IN_SUMS * (sizes[self._first] + sizes[self._second])

    def order(self) -> Floats:
        """Return the sign of each lead."""
        leads = self._totals[self._first] - self._totals[self._second]
        order: Floats = np.where(np.abs(leads) <= self._error, 0.0, np.sign(leads))
        return order

    def whole(self) -> Floats:
        """Return p for each pair."""
        return self._p_values(self._totals, self._flipped)

    def without(self, units: Ints) -> Iterator[Floats]:
        """Yield p for each pair without each unit of questions."""
        for unit in range(int(units.max()) + 1):
            own = units == unit
            flipped = np.einsum("bq,sq->bs", self._signs[:, own], self._scores[:, own])
            yield self._p_values(self._totals - self._scores[:, own].sum(axis=1), self._flipped - flipped)

    def _p_values(self, totals: Floats, flipped: Floats) -> Floats:
        leads = totals[self._first] - totals[self._second]
        p: Floats = ((flipped[:, self._first] - flipped[:, self._second]) >= leads - self._error).mean(axis=0)
        return p
