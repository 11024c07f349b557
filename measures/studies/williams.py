"""Williams' test of two correlations that share the human scores."""

from dataclasses import dataclass

import numpy as np
from scipy.special import stdtr

from measures.correlation import name_human_side, pearson
from measures.outcome import Undefined
from measures.patterns import Floats

_ROUNDING = 1e-12
"""A smaller value is a rounding error of 0."""


@dataclass(frozen=True, kw_only=True)
class Williams:
    """The result of Williams' test of whether metric A correlates better with human scores than metric B.

    Attributes
    ----------
    t : float
        The test statistic; above 0 if A's correlation is higher.
    df : int
        Degrees of freedom, n - 3.
    p : float
        One-sided p-value, from Student's t.
    """

    t: float
    df: int
    p: float


def williams(human: Floats, a: Floats, b: Floats) -> Williams | Undefined:
    """Test by Williams' formula whether metric A correlates better with human scores than metric B.

    Parameters
    ----------
    human, a, b : ndarray of float64, shape (n,)
        Human scores and two metrics of the same items, which are treated as independent; no NaN.

    Returns
    -------
    Williams or Undefined
        Undefined for fewer than four items, if all scores of a column are equal, if one metric is a linear function of
        the other, and if human scores and metrics are linearly dependent.

    References
    ----------
    E. J. Williams (1959), Regression Analysis, section 5.4; J. H. Steiger (1980), Tests for comparing elements of a
    correlation matrix, Psychological Bulletin 87, equation 7; Y. Graham and T. Baldwin (2014), Testing for
    Significance of Increased Correlation with Human Judgment, EMNLP.

    Examples
    --------
    >>> human = np.array([1.0, 2, 3, 4, 5, 6])
    >>> found = williams(human, np.array([1.0, 2, 3, 5, 4, 6]), np.array([2.0, 1, 6, 3, 5, 4]))
    >>> found.df, found.t > 0, found.p < 0.5
    (3, True, True)
    """
    return williams_from_correlations(
        name_human_side(pearson(a, human)), name_human_side(pearson(b, human)), pearson(a, b), n=len(human)
    )


def williams_from_correlations(
    r_a: float | Undefined, r_b: float | Undefined, r_ab: float | Undefined, *, n: int
) -> Williams | Undefined:
    """Compute Williams' test from three correlations.

    Parameters
    ----------
    r_a, r_b : float or Undefined
        Pearson's correlation of each metric with the human scores.
    r_ab : float or Undefined
        Pearson's correlation of the two metrics.
    n : int
        Number of items.

    Returns
    -------
    Williams or Undefined
        As in `williams`.

    Notes
    -----
    With ``K = 1 - r_a^2 - r_b^2 - r_ab^2 + 2 r_a r_b r_ab``, ``t = (r_a - r_b) sqrt((n - 1)(1 + r_ab) /
    (2 K (n - 1) / (n - 3) + (r_a + r_b)^2 / 4 (1 - r_ab)^3))``.

    References
    ----------
    As in `williams`.

    Examples
    --------
    >>> found = williams_from_correlations(0.3, 0.4, 0.5, n=100)
    >>> round(found.t, 4), found.df, round(2 * (1 - found.p), 4)
    (-1.0767, 97, 0.2843)
    """
    if n < 4:
        return Undefined(reason="fewer than four candidates")
    for r in (r_a, r_b, r_ab):
        if isinstance(r, Undefined):
            return r
    assert not isinstance(r_a, Undefined)
    assert not isinstance(r_b, Undefined)
    assert not isinstance(r_ab, Undefined)
    if 1 - abs(r_ab) < _ROUNDING:
        return Undefined(reason="each metric is a linear function of the other")
    k = max(0.0, 1 - r_a**2 - r_b**2 - r_ab**2 + 2 * r_a * r_b * r_ab)
    below = 2 * k * (n - 1) / (n - 3) + (r_a + r_b) ** 2 / 4 * (1 - r_ab) ** 3
    if below < _ROUNDING:
        return Undefined(reason="the human scores and the two metrics are linearly dependent")
    t = (r_a - r_b) * float(np.sqrt((n - 1) * (1 + r_ab) / below))
    return Williams(t=t, df=n - 3, p=float(stdtr(n - 3, -t)))
