"""Krippendorff's alpha in closed form from rating patterns, at four levels of measurement."""

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from measures.outcome import Undefined
from measures.patterns import Floats, Patterns
from measures.rubric import Level

if TYPE_CHECKING:
    import pandas as pd


_MOST_CELLS = 20_000_000
"""The package allocates units × values × values numbers of 8 bytes; above 160 MB it is not called."""
_DIRECT_VALUES = 1024
"""Up to this many distinct values, ratio differences are summed pair by pair (8 MB); above it, by an integral."""


@dataclass(frozen=True, kw_only=True)
class Agreement:
    """Krippendorff's alpha and the data behind it.

    Attributes
    ----------
    alpha : float
        1 is perfect agreement, 0 agreement by chance, below 0 systematic disagreement.
    level : Level
        The level of measurement, which sets the distance function.
    n_units, n_ratings : int
        Units with at least two ratings, and the ratings in them.
    n_annotators : int or None
        Annotators who gave those ratings; None where annotators are unknown.
    n_single : int
        Units with one rating, which do not enter alpha.
    """

    alpha: float
    level: Level
    n_units: int
    n_annotators: int | None
    n_ratings: int
    n_single: int


@dataclass(frozen=True, kw_only=True)
class UndefinedAgreement(Undefined):
    """Why alpha is undefined, with the counts of `Agreement`."""

    level: Level
    n_units: int
    n_annotators: int | None
    n_ratings: int
    n_single: int

    @classmethod
    def count(cls, patterns: Patterns, *, level: Level, reason: str) -> "UndefinedAgreement":
        """Return the outcome for these ratings.

        Parameters
        ----------
        patterns : Patterns
            The ratings whose counts are given.
        level : Level
            The level of measurement that was asked for.
        reason : str
            Why alpha is undefined.

        Returns
        -------
        UndefinedAgreement
            The reason, with the counts of the ratings.
        """
        return cls(
            reason=reason,
            level=level,
            n_units=patterns.n_units,
            n_annotators=patterns.n_annotators,
            n_ratings=patterns.n_ratings,
            n_single=patterns.n_single,
        )


def krippendorff_alpha(ratings: "Patterns | pd.DataFrame", *, level: Level | str) -> Agreement | UndefinedAgreement:
    """Compute Krippendorff's alpha.

    Parameters
    ----------
    ratings : Patterns or pandas.DataFrame
        Rating patterns, or a long frame of one criterion (see `Patterns.from_frame`), with reversed scores already
        inverted. Missing ratings are absent; nothing is imputed.
    level : Level or str
        ``nominal`` (equal or not), ``ordinal`` (ranks between), ``interval`` (difference) or ``ratio`` (difference over
        sum). There is no default, because alpha differs between levels.

    Returns
    -------
    Agreement or UndefinedAgreement
        Undefined without judgments, without a unit that has two ratings, if all paired ratings are equal, and at
        ratio level with negative ratings. At ratio level the difference of two zeros is 0.

    Notes
    -----
    ``alpha = 1 - (n - 1) * sum_u sum_{c<k} n_uc n_uk d(c, k) / (m_u - 1) / sum_{c<k} n_c n_k d(c, k)`` with ``n_uc``
    the number of ratings `c` of unit `u`, ``m_u`` the number of its ratings, ``n_c`` the number of ratings `c` in all
    units with at least two, ``n`` their sum and `d` the squared difference. The sum in the denominator has a closed
    form in ``n_c``.

    References
    ----------
    K. Krippendorff (2011), Computing Krippendorff's Alpha-Reliability, University of Pennsylvania,
    https://repository.upenn.edu/asc_papers/43.

    Examples
    --------
    >>> patterns = Patterns.from_rows([([1, 1], 4), ([5, 5], 4), ([4, 5], 2)])
    >>> round(krippendorff_alpha(patterns, level="ordinal").alpha, 4)
    0.8733
    >>> krippendorff_alpha(Patterns.from_rows([([3, 3], 2)]), level="nominal").reason
    'all ratings are equal'
    """
    patterns = ratings if isinstance(ratings, Patterns) else Patterns.from_frame(ratings)
    level = Level(level)
    reason = _why_undefined(patterns, level)
    if reason:
        return UndefinedAgreement.count(patterns, level=level, reason=reason)
    alpha = float(alphas(patterns, patterns.units[np.newaxis].astype(np.float64), level)[0])
    return Agreement(
        alpha=alpha,
        level=level,
        n_units=patterns.n_units,
        n_annotators=patterns.n_annotators,
        n_ratings=patterns.n_ratings,
        n_single=patterns.n_single,
    )


def package_alpha(patterns: Patterns, *, level: Level | str) -> float | None:
    """Compute alpha with the package `krippendorff`, as an independent check of the closed form.

    Parameters
    ----------
    patterns : Patterns
        Ratings for which `krippendorff_alpha` is defined.
    level : Level or str
        The level of measurement.

    Returns
    -------
    float or None
        Equal to `krippendorff_alpha` to 12 digits; None where the arrays of the package, units by values by values,
        would exceed 160 MB.

    References
    ----------
    S. Castro (2017), Fast Krippendorff, https://github.com/pln-fing-udelar/fast-krippendorff.

    Examples
    --------
    >>> patterns = Patterns.from_rows([([1, 1], 4), ([5, 5], 4), ([4, 5], 2)])
    >>> round(package_alpha(patterns, level="ordinal"), 4)
    0.8733
    """
    import krippendorff

    if patterns.n_units * len(patterns.values) ** 2 > _MOST_CELLS:
        return None
    # The package needs `value_domain`: without it values are taken as 0, 1, 2 …, which changes alpha at ratio level.
    counts = np.zeros((len(patterns.sizes), len(patterns.values)), np.int64)
    counts[patterns.pattern, patterns.value] = patterns.count
    return float(
        krippendorff.alpha(
            value_counts=np.repeat(counts, patterns.units, axis=0),
            value_domain=patterns.values,
            level_of_measurement=Level(level).value,
        )
    )


def alphas(patterns: Patterns, draws: Floats, level: Level) -> Floats:
    """Compute alpha for each of several draws of units.

    Parameters
    ----------
    patterns : Patterns
        The patterns that draws are made of.
    draws : ndarray of float64, shape (B, P)
        How many units of each pattern each draw holds.
    level : Level
        The level of measurement.

    Returns
    -------
    ndarray of float64, shape (B,)
        NaN where the ratings of a draw do not vary, so that alpha is undefined.

    Examples
    --------
    >>> patterns = Patterns.from_rows([([1, 1], 4), ([5, 5], 4), ([4, 5], 2)])
    >>> alphas(patterns, np.array([[4.0, 2, 4], [10, 0, 0]]), Level.NOMINAL).round(4)
    array([0.6724,    nan])
    """
    totals = _sum_values(patterns, draws)
    scores = _scores(patterns.values, totals, level)
    observed = _observed(patterns, draws, scores, level)
    expected = _expected(scores, totals, level)
    # Without two different values the expected disagreement is 0, and alpha would be 0 / 0.
    varied = (totals > 0).sum(axis=1) > 1
    result = np.full(len(draws), np.nan)
    result[varied] = 1 - (totals[varied].sum(axis=1) - 1) * observed[varied] / expected[varied]
    return result


def _why_undefined(patterns: Patterns, level: Level) -> str:
    if not patterns.n_units:
        if not patterns.n_single:
            return "no judgments"
        if patterns.n_annotators_all == 1:
            return "one annotator only: agreement needs two ratings of the same unit"
        return "no unit has two ratings"
    if level is Level.RATIO and patterns.values[0] < 0:
        return "the ratio level needs a scale without negative values"
    if len(patterns.values) == 1:
        return "all ratings are equal"
    return ""


def _sum_values(patterns: Patterns, draws: Floats) -> Floats:
    """Count each value in each draw, shape (B, V)."""
    totals = np.empty((len(draws), len(patterns.values)))
    for total, draw in zip(totals, draws, strict=True):
        total[:] = np.bincount(patterns.value, draw[patterns.pattern] * patterns.count, minlength=len(total))
    return totals


def _scores(values: Floats, totals: Floats, level: Level) -> Floats:
    """Map the values to scores whose differences enter alpha, shape (1, V) or (B, V).

    An ordinal difference is a difference of mid-ranks, which depend on the draw.
    """
    if level is Level.ORDINAL:
        midranks: Floats = np.cumsum(totals, axis=1) - (totals + totals.sum(axis=1, keepdims=True)) / 2
        return midranks
    # Differences do not change with the shift, but squares of large values would lose digits.
    shift = values[0] if level is Level.INTERVAL else 0.0
    return (values - shift)[np.newaxis]


def _observed(patterns: Patterns, draws: Floats, scores: Floats, level: Level) -> Floats:
    """Sum the weighted differences of the pairs within units, shape (B,)."""
    pattern, low, high, weight = patterns.pairs
    # Ordinal differences change with the draw; all others are computed once for all draws.
    if level is not Level.ORDINAL:
        difference = weight * _difference(scores[0, low], scores[0, high], level)
        observed: Floats = draws @ np.bincount(pattern, difference, minlength=draws.shape[1])
        return observed
    sums = [
        weight @ (draw[pattern] * (score[high] - score[low]) ** 2) for draw, score in zip(draws, scores, strict=True)
    ]
    return np.array(sums)


def _expected(scores: Floats, totals: Floats, level: Level) -> Floats:
    """Sum the differences over all pairs of ratings, across units, shape (B,)."""
    n = totals.sum(axis=1)
    expected: Floats
    if level is Level.NOMINAL:
        expected = (n**2 - (totals**2).sum(axis=1)) / 2
    elif level is Level.RATIO:
        expected = _expected_ratio(scores[0], totals)
    else:
        # The squared differences of all pairs sum to n times the sum of squares about the mean.
        mean = (totals * scores).sum(axis=1, keepdims=True) / n[:, np.newaxis]
        expected = n * (totals * (scores - mean) ** 2).sum(axis=1)
    return expected


def _difference(low: Floats, high: Floats, level: Level) -> Floats:
    """Return the squared difference of unequal values, at the levels where it does not depend on other ratings."""
    difference: Floats
    if level is Level.NOMINAL:
        difference = np.ones_like(low)
    elif level is Level.INTERVAL:
        difference = (high - low) ** 2
    else:
        difference = ((high - low) / (high + low)) ** 2
    return difference


def _expected_ratio(values: Floats, totals: Floats) -> Floats:
    """Sum the ratio differences of all pairs, shape (B,).

    With many values there are too many pairs. Then ``((c - k) / (c + k))^2 = 1 - 4 c k / (c + k)^2`` and
    ``c k / (c + k)^2 = integral of (c t e^(-ct)) (k t e^(-kt)) dt / t`` over t > 0, whose integrand is a product, so
    that the sum over pairs becomes the square of a sum over values. In ``log t`` the trapezoidal rule at step 1/4 is
    exact to about 14 digits for every pair.
    """
    if len(values) <= _DIRECT_VALUES:
        low, high = np.meshgrid(values, values)
        # The + 1 only avoids 0 / 0 for two zeros; such cells are multiplied by 0.
        squares = _difference(low, np.where(low == high, low + 1, high), Level.RATIO) * (low != high)
        direct: Floats = ((totals @ squares) * totals).sum(axis=1) / 2
        return direct
    zeros = totals[:, values == 0].sum(axis=1)
    positive, totals = values[values > 0], totals[:, values > 0]
    step = 0.25
    # The ends leave out less of the integral than rounding does, for the smallest and the largest value.
    nodes = np.exp(np.arange(np.log(5e-8 / positive[-1]), np.log(25 / positive[0]), step))
    integral = np.zeros(len(totals))
    for node in nodes:
        integral += step * (totals @ (positive * node * np.exp(-positive * node))) ** 2
    n = totals.sum(axis=1)
    by_integral: Floats = (n**2 - 4 * integral) / 2 + n * zeros
    return by_integral
