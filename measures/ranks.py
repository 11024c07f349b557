"""Ranks of values. scipy.stats has them too, but takes a second and 35 MB to load, which the web server would feel."""

import numpy as np

from measures.patterns import Floats


def rank_with_ties(values: Floats) -> Floats:
    """Rank values from the smallest, 1, to the largest; ties share the mean of their ranks.

    Parameters
    ----------
    values : ndarray of float64, shape (n,)
        No NaN.

    Returns
    -------
    ndarray of float64, shape (n,)

    Examples
    --------
    >>> rank_with_ties(np.array([20.0, 10.0, 20.0, 30.0])).tolist()
    [2.5, 1.0, 2.5, 4.0]
    """
    _, places, counts = np.unique(values, return_inverse=True, return_counts=True)
    ranks: Floats = (np.cumsum(counts) - (counts - 1) / 2)[places]
    return ranks
