"""Correlation of two columns of scores, or why there is none."""

import numpy as np
from scipy.stats import kendalltau, rankdata, t

from measures.outcome import Undefined
from measures.patterns import Floats

LEAST_PAIRS = 3


def pearson(first: Floats, second: Floats) -> float | Undefined:
    """Compute Pearson's correlation.

    Parameters
    ----------
    first, second : ndarray of float64, shape (n,)
        No NaN.

    Returns
    -------
    float or Undefined
        Undefined for fewer than three pairs, or where a side does not vary.

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
    if np.ptp(first) < 1e-9:
        return Undefined(reason="all scores are equal")
    if np.ptp(second) < 1e-9 or spread == 0:
        return Undefined(reason="what they are compared with does not vary")
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
        Undefined for fewer than three pairs, or where a side does not vary.

    Examples
    --------
    >>> spearman(np.array([1.0, 2, 3]), np.array([1.0, 10, 100]))
    1.0
    """
    return pearson(rankdata(first), rankdata(second))


def kendall(first: Floats, second: Floats) -> float | Undefined:
    """Compute Kendall's rank correlation, tau-b, which takes ties into account.

    Parameters
    ----------
    first, second : ndarray of float64, shape (n,)
        No NaN.

    Returns
    -------
    float or Undefined
        Undefined for fewer than three pairs, or where a side does not vary.

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
    return float(kendalltau(first, second, variant="b").statistic)


def pearson_p(r: float, n: int) -> float:
    """Compute the two-sided p-value of Pearson's correlation under independence.

    Parameters
    ----------
    r : float
        The correlation.
    n : int
        Pairs behind it; at least 3.

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
    return float(2 * t.sf(abs(r) * np.sqrt((n - 2) / (1 - r * r)), n - 2))
