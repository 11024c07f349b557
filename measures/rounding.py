"""Scores that differ by rounding errors of floats alone: which are equal, and how ties among them are kept.

What counts as equal depends on where numbers come from, so there are three limits for scores.
"""

import numpy as np
import numpy.typing as npt

from measures.patterns import Floats, Ints

LAST_DIGITS = 4 * float(np.finfo(np.float64).eps)
"""For scores as a metric gives them, relative to their size: a double holds 15 digits, and all of these count."""
IN_SUMS = 1e-12
"""For sums and means of many scores, relative to their size: the order of the addends changes the last digits."""
ON_SCALE = 1e-9
"""For ratings, their means and z scores: far below a step of any scale, and absolute, because z scores cancel to 0."""


def is_constant(values: Floats, *, within: float = 0.0) -> bool:
    """Tell whether scores are all equal up to rounding.

    Parameters
    ----------
    values : ndarray of float64
        No NaN; at least one.
    within : float
        The largest absolute difference of equal scores, such as `ON_SCALE`. Differences of up to `IN_SUMS` of the
        largest score are none in any case: a spread so small has too few digits for a correlation.

    Returns
    -------
    bool

    Examples
    --------
    >>> is_constant(np.array([0.1 + 0.2, 0.3])), is_constant(np.array([4e-14, 2e-11]))
    (True, False)
    """
    low, high = float(values.min()), float(values.max())
    return high - low <= max(within, IN_SUMS * max(abs(low), abs(high)))


def differ(ordered: Floats, *, within: float | Floats = 0.0, relative: float = LAST_DIGITS) -> npt.NDArray[np.bool_]:
    """Tell which neighbours of a sorted column differ by more than rounding errors.

    Parameters
    ----------
    ordered : ndarray of float64, shape (n,)
        Ascending.
    within : float or ndarray of float64, shape (n,)
        The largest absolute difference of equal scores: one for all, or one for each score.
    relative : float
        The same as a share of the larger of the two.

    Returns
    -------
    ndarray of bool, shape (n - 1,)

    Examples
    --------
    >>> differ(np.array([0.1, 0.3, 0.1 + 0.2, 0.5])).tolist()
    [True, False, True]
    """
    size = np.abs(ordered)
    limit = np.maximum(relative * size, within)
    apart: npt.NDArray[np.bool_] = np.diff(ordered) > np.maximum(limit[1:], limit[:-1])
    return apart


def are_equal(first: Floats, second: Floats, *, relative: float = LAST_DIGITS) -> npt.NDArray[np.bool_]:
    """Tell which scores of two columns are equal up to rounding.

    Parameters
    ----------
    first, second : ndarray of float64, shape (n,)
        Infinite scores are equal to themselves alone, NaN to nothing.
    relative : float
        The largest difference of equal scores, as a share of the larger of the two.

    Returns
    -------
    ndarray of bool, shape (n,)

    Examples
    --------
    >>> are_equal(np.array([0.1 + 0.2, 0.3, np.inf]), np.array([0.3, 0.2, np.inf])).tolist()
    [True, False, True]
    """
    size = np.maximum(np.abs(first), np.abs(second))
    with np.errstate(invalid="ignore"):  # a difference of infinite scores
        is_close = np.isfinite(size) & (np.abs(first - second) <= relative * size)
    equal: npt.NDArray[np.bool_] = (first == second) | is_close
    return equal


def merge_ties(values: Floats, *, within: float | Floats = 0.0, relative: float = LAST_DIGITS) -> Floats:
    """Give scores that are equal up to rounding one value, the middle one of theirs.

    Parameters
    ----------
    values : ndarray of float64, shape (n,)
        No NaN.
    within, relative
        As in `differ`.

    Returns
    -------
    ndarray of float64, shape (n,)
        The column itself where nothing is to be merged; it is never changed in place.

    Examples
    --------
    >>> merge_ties(np.array([0.1 + 0.2, 2.0, 0.3])).tolist()
    [0.3, 2.0, 0.3]
    """
    order = np.argsort(values, kind="stable")
    limit = within if isinstance(within, float) else within[order]
    return merge_sorted(values, order, differ(values[order], within=limit, relative=relative))


def merge_sorted(values: Floats, order: Ints, apart: npt.NDArray[np.bool_]) -> Floats:
    """Do the same for a column of which the order and the differing neighbours are known.

    Parameters
    ----------
    values : ndarray of float64, shape (n,)
        As in `merge_ties`.
    order : ndarray of int64, shape (n,)
        The places by ascending score.
    apart : ndarray of bool, shape (n - 1,)
        The result of `differ` for the sorted column.

    Returns
    -------
    ndarray of float64, shape (n,)
        As `merge_ties`.

    Examples
    --------
    >>> merge_sorted(np.array([3.0, 1.0, 2.0]), np.array([1, 2, 0]), np.array([True, False])).tolist()
    [2.0, 1.0, 2.0]
    """
    ordered = values[order]
    if np.array_equal(apart, np.diff(ordered) > 0):
        return values
    starts = np.flatnonzero(np.append(True, apart))
    ends = np.append(starts[1:], len(ordered))
    merged = np.empty_like(values)
    merged[order] = np.repeat(ordered[(starts + ends - 1) // 2], ends - starts)
    return merged


def scale_to_one(values: Floats) -> Floats:
    """Scale a column exactly, by a power of two, so that its largest score is about 1.

    Squares of such scores neither overflow nor vanish, and a correlation is the same to its last digit.

    Parameters
    ----------
    values : ndarray of float64
        All finite.

    Returns
    -------
    ndarray of float64

    Examples
    --------
    >>> scale_to_one(np.array([3e200, -6e200])).tolist() == scale_to_one(np.array([3.0, -6.0]) * 1e200).tolist()
    True
    >>> scale_to_one(np.array([3.0, -6.0])).tolist()
    [0.375, -0.75]
    """
    largest = float(np.abs(values).max(initial=0.0))
    return np.ldexp(values, -int(np.frexp(largest)[1]))
