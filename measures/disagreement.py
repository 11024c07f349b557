"""Sums of differences between ratings, at four levels of measurement: what alpha is a ratio of."""

import numpy as np

from measures.patterns import Floats, Patterns
from measures.rubric import Level

_DIRECT_VALUES = 1024
"""Up to this many distinct values, ratio differences are summed pair by pair (8 MB); above it, by an integral."""


def sum_values(patterns: Patterns, draws: Floats) -> Floats:
    """Count each value in each draw.

    Parameters
    ----------
    patterns : Patterns
        The patterns that draws are made of.
    draws : ndarray of float64, shape (B, P)
        How many units of each pattern each draw holds.

    Returns
    -------
    ndarray of float64, shape (B, V)
        The ratings with each value.

    Examples
    --------
    >>> patterns = Patterns.from_rows([([1, 1], 4), ([4, 5], 2)])
    >>> sum_values(patterns, np.array([[4.0, 2.0], [0.0, 1.0]])).tolist()
    [[8.0, 2.0, 2.0], [0.0, 1.0, 1.0]]
    """
    totals = np.empty((len(draws), len(patterns.values)))
    for total, draw in zip(totals, draws, strict=True):
        total[:] = np.bincount(patterns.value, draw[patterns.pattern] * patterns.count, minlength=len(total))
    return totals


def map_to_scores(values: Floats, totals: Floats, level: Level) -> Floats:
    """Map the values to scores whose differences enter alpha.

    Parameters
    ----------
    values : ndarray of float64, shape (V,)
        The distinct values, ascending.
    totals : ndarray of float64, shape (B, V)
        The ratings with each value, as from `sum_values`.
    level : Level
        The level of measurement.

    Returns
    -------
    ndarray of float64, shape (B, V) or (1, V)
        At ordinal level the mid-ranks, which depend on the draw.

    Examples
    --------
    >>> map_to_scores(np.array([1.0, 4, 5]), np.array([[8.0, 2.0, 2.0]]), Level.ORDINAL).tolist()
    [[-2.0, 3.0, 5.0]]
    """
    if level is Level.ORDINAL:
        midranks: Floats = np.cumsum(totals, axis=1) - (totals + totals.sum(axis=1, keepdims=True)) / 2
        return midranks
    # Differences do not change with the shift, but squares of large values would lose digits.
    shift = values[0] if level is Level.INTERVAL else 0.0
    return (values - shift)[np.newaxis]


def sum_observed(patterns: Patterns, draws: Floats, scores: Floats, level: Level) -> Floats:
    """Sum the weighted differences of the pairs within units.

    Parameters
    ----------
    patterns, draws
        As in `sum_values`.
    scores : ndarray of float64
        As from `map_to_scores`.
    level : Level
        The level of measurement.

    Returns
    -------
    ndarray of float64, shape (B,)
        The observed disagreement of each draw.

    Examples
    --------
    >>> patterns = Patterns.from_rows([([1, 1], 4), ([4, 6], 2)])
    >>> sum_observed(patterns, np.array([[4.0, 2.0]]), np.array([[0.0, 3.0, 5.0]]), Level.INTERVAL).tolist()
    [8.0]
    """
    pattern, low, high, weight = patterns.pairs
    # Ordinal differences change with the draw; all others are computed once for all draws.
    if level is not Level.ORDINAL:
        each = weight * square_difference(scores[0, low], scores[0, high], level)
        observed: Floats = draws @ np.bincount(pattern, each, minlength=draws.shape[1])
        return observed
    sums = [
        weight @ (draw[pattern] * (score[high] - score[low]) ** 2) for draw, score in zip(draws, scores, strict=True)
    ]
    return np.array(sums)


def sum_expected(scores: Floats, totals: Floats, level: Level) -> Floats:
    """Sum the differences over all pairs of ratings, across units.

    Parameters
    ----------
    scores, totals : ndarray of float64
        As from `map_to_scores` and `sum_values`.
    level : Level
        The level of measurement.

    Returns
    -------
    ndarray of float64, shape (B,)
        The expected disagreement of each draw.

    Examples
    --------
    >>> sum_expected(np.array([[0.0, 3.0]]), np.array([[2.0, 1.0]]), Level.INTERVAL).tolist()
    [18.0]
    """
    n = totals.sum(axis=1)
    expected: Floats
    if level is Level.NOMINAL:
        expected = (n**2 - (totals**2).sum(axis=1)) / 2
    elif level is Level.RATIO:
        expected = _sum_expected_ratio(scores[0], totals)
    else:
        # The squared differences of all pairs sum to n times the sum of squares about the mean.
        mean = (totals * scores).sum(axis=1, keepdims=True) / n[:, np.newaxis]
        expected = n * (totals * (scores - mean) ** 2).sum(axis=1)
    return expected


def square_difference(low: Floats, high: Floats, level: Level) -> Floats:
    """Return the squared difference of unequal scores.

    Parameters
    ----------
    low, high : ndarray of float64
        As from `map_to_scores`.
    level : Level
        The level of measurement; at ordinal level the scores are ranks.

    Returns
    -------
    ndarray of float64
        1 at nominal level, and relative to the sum at ratio level.

    Examples
    --------
    >>> square_difference(np.array([1.0]), np.array([3.0]), Level.RATIO).tolist()
    [0.25]
    """
    difference: Floats
    if level is Level.NOMINAL:
        difference = np.ones_like(low)
    elif level is Level.RATIO:
        difference = ((high - low) / (high + low)) ** 2
    else:
        difference = (high - low) ** 2
    return difference


def _sum_expected_ratio(values: Floats, totals: Floats) -> Floats:
    """Sum the ratio differences of all pairs, shape (B,).

    With many values there are too many pairs. Then ``((c - k) / (c + k))^2 = 1 - 4 c k / (c + k)^2`` and
    ``c k / (c + k)^2 = integral of (c t e^(-ct)) (k t e^(-kt)) dt / t`` over t > 0, whose integrand is a product, so
    that the sum over pairs becomes the square of a sum over values. In ``log t`` the trapezoidal rule at step 1/4 is
    exact to about 14 digits for every pair.
    """
    if len(values) <= _DIRECT_VALUES:
        low, high = np.meshgrid(values, values)
        # The + 1 only avoids 0 / 0 for two zeros; such cells are multiplied by 0.
        squares = square_difference(low, np.where(low == high, low + 1, high), Level.RATIO) * (low != high)
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
