"""Correction of p-values for several tests."""

import math
from collections.abc import Sequence


def holm(p_values: Sequence[float | None]) -> list[float | None]:
    """Correct p-values of several tests by Holm's step-down procedure.

    Parameters
    ----------
    p_values : sequence of float or None
        One for each test; None for an undefined test, which is not counted.

    Returns
    -------
    list of float or None
        Adjusted p-values in the same order: the i-th smallest of m is multiplied by m - i + 1, is at least as large as
        those before it, and is at most 1.

    References
    ----------
    S. Holm (1979), A Simple Sequentially Rejective Multiple Test Procedure, Scandinavian Journal of Statistics 6.

    Examples
    --------
    >>> holm([0.01, None, 0.04, 0.03])
    [0.03, None, 0.06, 0.06]
    """
    defined = sorted((p, place) for place, p in enumerate(p_values) if p is not None)
    adjusted: list[float | None] = [None] * len(p_values)
    least = 0.0
    for at, (p, place) in enumerate(defined):
        least = max(least, min(1.0, p * (len(defined) - at)))
        adjusted[place] = least
    return adjusted


def least_resamples(n_tests: int, *, alpha: float = 0.05) -> int:
    """Return the fewest resamples with which Holm's correction can give a p below `alpha`.

    Parameters
    ----------
    n_tests : int
        The number of one-sided tests; a two-sided test counts as two.
    alpha : float
        The level.

    Returns
    -------
    int
        The least B with ``n_tests / (B + 1) < alpha``, as the smallest p of B resamples is ``1 / (B + 1)``.

    Examples
    --------
    >>> least_resamples(90), round(90 / 1001, 4), round(90 / 1801, 5)
    (1800, 0.0899, 0.04997)
    """
    # Rounded, as the quotient of a whole number of steps may lie just below it.
    return math.floor(round(n_tests / alpha, 9))


def least_groups(n_tests: int, *, alpha: float = 0.05) -> int:
    """Return the fewest groups with which a sign-flip test can reach a p below `alpha` after Holm's correction.

    Parameters
    ----------
    n_tests : int
        The number of two-sided tests.
    alpha : float
        The level.

    Returns
    -------
    int
        The least C with ``n_tests * 2^(1 - C) < alpha``, as the smallest p with C groups is ``2^(1 - C)``.

    Examples
    --------
    >>> least_groups(1), least_groups(6)
    (6, 8)
    """
    n = 1
    while n_tests * 2.0 ** (1 - n) >= alpha:
        n += 1
    return n
