"""Correlation in each of many groups at once: Pearson, ranks for Spearman, Kendall, and groups of equal scores."""

import numpy as np
import numpy.typing as npt

from measures.correlation import LEAST_PAIRS, kendall
from measures.outcome import Undefined
from measures.patterns import Floats, Ints
from measures.rounding import IN_SUMS

_FEW = 200
"""Pairs of a group of up to this many items are listed; a larger one is sorted."""


def are_constant(values: Floats, codes: Ints, n_groups: int) -> npt.NDArray[np.bool_]:
    """Return in which groups scores are all equal up to rounding, as `measures.rounding.is_constant` tells it.

    Parameters
    ----------
    values : ndarray of float64, shape (n,)
        The scores; all finite.
    codes : ndarray of int64, shape (n,)
        The group of each score, 0 to `n_groups` - 1.
    n_groups : int
        How many groups there are.

    Returns
    -------
    ndarray of bool, shape (n_groups,)

    Examples
    --------
    >>> are_constant(np.array([0.3, 0.1 + 0.2, 1.0, 2.0]), np.array([0, 0, 1, 1]), 2)
    array([ True, False])
    """
    low, high = _find_ends(values, codes, n_groups)
    return np.asarray(high - low <= IN_SUMS * np.maximum(np.abs(low), np.abs(high)), np.bool_)


def correlate_groups(first: Floats, second: Floats, codes: Ints, n_groups: int) -> Floats:
    """Compute Pearson's correlation in each group.

    Parameters
    ----------
    first, second : ndarray of float64, shape (n,)
        Two scores of each item; all finite.
    codes : ndarray of int64, shape (n,)
        The group of each score, 0 to `n_groups` - 1.
    n_groups : int
        How many groups there are.

    Returns
    -------
    ndarray of float64, shape (n_groups,)
        NaN in a group of fewer than three items, and where one of the scores is equal for all.

    Examples
    --------
    >>> first, second = np.array([1.0, 2, 3, 4, 4, 4]), np.array([1.0, 3, 2, 1, 2, 3])
    >>> correlate_groups(first, second, np.array([0, 0, 0, 1, 1, 1]), 2).round(4)
    array([0.5, nan])
    """
    sizes = np.bincount(codes, minlength=n_groups)

    def centre(values: Floats) -> Floats:
        # Each group on its own scale, exactly, so that squares of a metric's scores neither overflow nor vanish.
        largest = np.maximum(*map(np.abs, _find_ends(values, codes, n_groups)))
        values = np.ldexp(values, -np.frexp(largest)[1][codes])
        return np.asarray(values - (np.bincount(codes, values, n_groups) / sizes)[codes], np.float64)

    x, y = centre(first), centre(second)
    xx, yy, xy = (np.bincount(codes, each, n_groups) for each in (x * x, y * y, x * y))
    is_defined = (sizes >= LEAST_PAIRS) & ~are_constant(first, codes, n_groups)
    is_defined &= ~are_constant(second, codes, n_groups)
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.where(is_defined, np.clip(xy / np.sqrt(xx * yy), -1, 1), np.nan)


def rank_in_groups(values: Floats, codes: Ints) -> Floats:
    """Rank scores within their groups, up to a constant for each group, which no correlation sees.

    Parameters
    ----------
    values : ndarray of float64, shape (n,)
        The scores; all finite.
    codes : ndarray of int64, shape (n,)
        The group of each.

    Returns
    -------
    ndarray of float64, shape (n,)
        Ties share their mean rank.

    Examples
    --------
    >>> rank_in_groups(np.array([5.0, 3, 3, 7, 9]), np.array([0, 0, 0, 1, 1]))
    array([2. , 0.5, 0.5, 3. , 4. ])
    """
    order = np.lexsort((values, codes))
    is_new = np.append(True, (np.diff(codes[order]) != 0) | (np.diff(values[order]) != 0))
    run = np.cumsum(is_new) - 1
    starts = np.append(np.flatnonzero(is_new), len(order))
    # Places in the whole order differ from those within a group by that constant.
    ranks = np.empty(len(values))
    ranks[order] = (starts[run] + starts[run + 1] - 1) / 2
    return ranks


def kendall_of_groups(first: Floats, second: Floats, codes: Ints, n_groups: int) -> Floats:
    """Compute Kendall's tau-b in each group.

    Parameters
    ----------
    first, second : ndarray of float64, shape (n,)
        Two scores of each item; all finite.
    codes : ndarray of int64, shape (n,)
        The group of each score, 0 to `n_groups` - 1.
    n_groups : int
        How many groups there are.

    Returns
    -------
    ndarray of float64, shape (n_groups,)
        NaN where `correlate_groups` returns NaN.

    Examples
    --------
    >>> first, second = np.array([1.0, 2, 3, 4]), np.array([1.0, 3, 2, 1])
    >>> kendall_of_groups(first, second, np.array([0, 0, 0, 1]), 2).round(4)
    array([0.3333,    nan])
    """
    sizes = np.bincount(codes, minlength=n_groups)
    is_few = sizes <= _FEW
    order = np.argsort(codes, kind="stable")
    order = order[is_few[codes[order]]]
    sums = np.zeros((3, n_groups))
    for one, other in list_pairs(codes[order]):
        pair = np.stack([order[one], order[other]])
        signs = np.sign(first[pair[0]] - first[pair[1]]), np.sign(second[pair[0]] - second[pair[1]])
        for at, each in enumerate((signs[0] * signs[1], signs[0] ** 2, signs[1] ** 2)):
            sums[at] += np.bincount(codes[pair[0]], each, n_groups)
    is_defined = (sizes >= LEAST_PAIRS) & ~are_constant(first, codes, n_groups)
    is_defined &= ~are_constant(second, codes, n_groups)
    with np.errstate(divide="ignore", invalid="ignore"):
        found = np.where(is_defined, np.clip(sums[0] / np.sqrt(sums[1] * sums[2]), -1, 1), np.nan)
    for group in np.flatnonzero(~is_few):
        rows = codes == group
        value = kendall(first[rows], second[rows])
        found[group] = np.nan if isinstance(value, Undefined) else value
    return found


def list_pairs(codes: Ints) -> list[tuple[Ints, Ints]]:
    """List the pairs of places with the same code, where equal codes are neighbours.

    Parameters
    ----------
    codes : ndarray of int64, shape (n,)
        Codes in which equal ones are adjacent.

    Returns
    -------
    list of tuple of ndarray
        The two places of each pair: neighbours, then places two apart, and so on.

    Examples
    --------
    >>> [(one.tolist(), other.tolist()) for one, other in list_pairs(np.array([0, 0, 0, 1]))]
    [([0, 1], [1, 2]), ([0], [2])]
    """
    found: list[tuple[Ints, Ints]] = []
    low, lag = np.arange(len(codes)), 0
    while True:
        lag += 1
        low = low[low + lag < len(codes)]
        low = low[codes[low] == codes[low + lag]]
        if not low.size:
            return found
        found.append((low, low + lag))


def _find_ends(values: Floats, codes: Ints, n_groups: int) -> tuple[Floats, Floats]:
    """Return the smallest and the largest score of each group."""
    low, high = np.full(n_groups, np.inf), np.full(n_groups, -np.inf)
    np.minimum.at(low, codes, values)
    np.maximum.at(high, codes, values)
    return low, high
