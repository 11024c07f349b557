"""Correlation of two columns of scores, or the reason why it is undefined."""

import numpy as np
from scipy.special import stdtr

from measures.outcome import Undefined
from measures.patterns import Floats
from measures.ranks import rank_with_ties
from measures.rounding import is_constant, merge_ties, scale_to_one

OTHER_SIDE_EQUAL = Undefined(reason="all scores on the other side are equal")
"""For a correlation whose second side is not named."""
LEAST_PAIRS = 3
"""The correlation of two pairs is always 1 or -1."""


def pearson(first: Floats, second: Floats, *, within: float = 0.0) -> float | Undefined:
    """Compute Pearson's correlation.

    Parameters
    ----------
    first, second : ndarray of float64, shape (n,)
        No NaN.
    within : float
        The largest absolute difference of equal scores; see `measures.rounding`.

    Returns
    -------
    float or Undefined
        -1 to 1. Undefined for fewer than three pairs, and if the scores of one side are all equal.

    Examples
    --------
    >>> round(pearson(np.array([1.0, 2, 3, 4]), np.array([1.0, 3, 2, 4])), 4)
    0.8
    >>> pearson(np.array([1.0, 1, 1]), np.array([1.0, 3, 2])).reason
    'all scores are equal'
    """
    if len(first) < LEAST_PAIRS:
        return Undefined(reason="fewer than three pairs")
    if is_constant(first, within=within):
        return Undefined(reason="all scores are equal")
    if is_constant(second, within=within):
        return OTHER_SIDE_EQUAL
    first, second = scale_to_one(first), scale_to_one(second)
    first, second = first - first.mean(), second - second.mean()
    spread = float(np.sqrt((first @ first) * (second @ second)))
    return float(np.clip(first @ second / spread, -1.0, 1.0))


def spearman(first: Floats, second: Floats, *, within: float = 0.0) -> float | Undefined:
    """Compute Spearman's rank correlation; ties share their mean rank, and scores that rounding alone parts are tied.

    Parameters
    ----------
    first, second : ndarray of float64, shape (n,)
        No NaN.
    within : float
        As in `pearson`.

    Returns
    -------
    float or Undefined
        -1 to 1. Undefined for fewer than three pairs, and if the scores of one side are all equal.

    Examples
    --------
    >>> spearman(np.array([1.0, 2, 3]), np.array([1.0, 10, 100]))
    1.0
    """
    return pearson(*(rank_with_ties(merge_ties(each, within=within)) for each in (first, second)))


def kendall(first: Floats, second: Floats, *, within: float = 0.0) -> float | Undefined:
    """Compute Kendall's rank correlation, tau-b, which takes ties into account, as `spearman` does.

    Parameters
    ----------
    first, second : ndarray of float64, shape (n,)
        No NaN.
    within : float
        As in `pearson`.

    Returns
    -------
    float or Undefined
        -1 to 1. Undefined for fewer than three pairs, and if the scores of one side are all equal.

    References
    ----------
    M. G. Kendall (1945), The treatment of ties in ranking problems, Biometrika 33.

    Examples
    --------
    >>> round(kendall(np.array([1.0, 2, 3, 4]), np.array([1.0, 3, 2, 4])), 4)
    0.6667
    """
    first, second = (rank_with_ties(merge_ties(each, within=within)) for each in (first, second))
    whole = pearson(first, second)
    if isinstance(whole, Undefined):
        return whole
    from scipy.stats import kendalltau

    return float(kendalltau(first, second, variant="b").statistic)


def name_human_side(value: float | Undefined) -> float | Undefined:
    """Return a correlation of a metric with human scores; where these are all equal, the reason names them.

    Examples
    --------
    >>> name_human_side(pearson(np.array([1.0, 2, 3]), np.array([4.0, 4, 4])))
    Undefined(reason='all human scores are equal')
    """
    return Undefined(reason="all human scores are equal") if value == OTHER_SIDE_EQUAL else value


def pearson_p(r: float, n: int) -> float:
    """Compute the two-sided p-value of Pearson's correlation under independence.

    Parameters
    ----------
    r : float
        The correlation.
    n : int
        Number of pairs; at least 3.

    Returns
    -------
    float
        From Student's t with n - 2 degrees of freedom, ``t = r sqrt((n - 2) / (1 - r^2))``; 0 where r is 1 or -1.

    Examples
    --------
    >>> round(pearson_p(0.8, 4), 4)
    0.2
    """
    if abs(r) >= 1:
        return 0.0
    return float(2 * stdtr(n - 2, -abs(r) * np.sqrt((n - 2) / (1 - r * r))))
