"""Correlation of two columns of scores, or the reason why it is undefined."""

import numpy as np
from scipy.special import stdtr

from measures.outcome import Undefined
from measures.patterns import Floats
from measures.ranks import rank_with_ties

LEAST_PAIRS = 3
"""The correlation of two pairs is always 1 or -1."""


def pearson(first: Floats, second: Floats) -> float | Undefined:
    """Compute Pearson's correlation.

    Parameters
    ----------
    first, second : ndarray of float64, shape (n,)
        No NaN.

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
    first, second = first - first.mean(), second - second.mean()
    spread = float(np.sqrt((first @ first) * (second @ second)))
    # Equal means may differ in their last digits, so scores this close count as equal.
    if np.ptp(first) < 1e-9:
        return Undefined(reason="all scores are equal")
    if np.ptp(second) < 1e-9 or spread == 0:
        return Undefined(reason="all scores on the other side are equal")
    return float(np.clip(first @ second / spread, -1.0, 1.0))


def spearman(first: Floats, second: Floats) -> float | Undefined:
    """Compute Spearman's rank correlation; ties share their mean rank.

    Parameters
    ----------
    first, second : ndarray of float64, shape (n,)
        No NaN.

    Returns
    -------
    float or Undefined
        -1 to 1. Undefined for fewer than three pairs, and if the scores of one side are all equal.

    Examples
    --------
    >>> spearman(np.array([1.0, 2, 3]), np.array([1.0, 10, 100]))
    1.0
    """
    return pearson(rank_with_ties(first), rank_with_ties(second))


def kendall(first: Floats, second: Floats) -> float | Undefined:
    """Compute Kendall's rank correlation, tau-b, which takes ties into account.

    Parameters
    ----------
    first, second : ndarray of float64, shape (n,)
        No NaN.

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
    whole = pearson(first, second)
    if isinstance(whole, Undefined):
        return whole
    from scipy.stats import kendalltau

    return float(kendalltau(first, second, variant="b").statistic)


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
