"""Consistency of an annotator on repeated items."""

from dataclasses import dataclass

import numpy as np

from measures.correlation import pearson
from measures.outcome import Undefined
from measures.patterns import Floats


@dataclass(frozen=True, kw_only=True)
class Repeats:
    """How far the second scores of repeated items differ from the first.

    Attributes
    ----------
    mean_difference : float
        Mean absolute difference, in units of the scale.
    exact_share, within_one_share : float
        Shares of pairs that are equal, and that differ by at most one point.
    n_within_one : int
        Pairs that differ by at most one point.
    r : float or Undefined
        Pearson's correlation of first and second scores.
    n : int
        Pairs with both scores.
    """

    mean_difference: float
    exact_share: float
    within_one_share: float
    n_within_one: int
    r: float | Undefined
    n: int


def repeats(first: Floats, second: Floats, *, point: float = 1.0) -> Repeats | Undefined:
    """Compare an annotator's first and second scores of the same items.

    Parameters
    ----------
    first, second : ndarray of float64, shape (n,)
        The scores; a pair with NaN is left out.
    point : float
        The difference that counts as one point, in units of the scale: 1 on a scale of points; the caller chooses it
        for a slider.

    Returns
    -------
    Repeats or Undefined
        Undefined without pairs.

    Examples
    --------
    >>> found = repeats(np.array([1.0, 4, 5]), np.array([1.0, 5, 2]))
    >>> round(found.mean_difference, 4), round(found.exact_share, 4), round(found.within_one_share, 4)
    (1.3333, 0.3333, 0.6667)
    """
    both = ~(np.isnan(first) | np.isnan(second))
    first, second = first[both], second[both]
    if not len(first):
        return Undefined(reason="no repeated item rated twice yet")
    difference = np.abs(first - second)
    # The tolerance is for fractions: 0.3 - 0.2 is a little more than 0.1.
    n_within_one = int((difference <= point + 1e-9).sum())
    return Repeats(
        mean_difference=float(difference.mean()),
        exact_share=float((difference < 1e-9).mean()),
        within_one_share=n_within_one / len(first),
        n_within_one=n_within_one,
        r=pearson(first, second),
        n=len(first),
    )
