"""Agreement of pairs of annotators on the items that both have rated."""

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from measures.columns import ANNOTATOR, UNIT, VALUE, require_columns
from measures.correlation import pearson, pearson_p, spearman
from measures.outcome import Undefined
from measures.patterns import Floats, Ints
from measures.rubric import NO_ORDER

if TYPE_CHECKING:
    import pandas as pd

QUADRATIC, UNWEIGHTED = "quadratic", "unweighted"
"""The weights of Cohen's kappa: none where the points are categories without an order."""


@dataclass(frozen=True, kw_only=True)
class PairAgreement:
    """The agreement of two annotators on their common items.

    Attributes
    ----------
    first, second : str
        The annotators, sorted by name.
    n : int
        Items that both have rated.
    same_share : float
        The share of these items to which they gave the same score.
    kappa : float or Undefined
        Cohen's kappa with quadratic weights, or without weights where the points have no order.
    pearson, spearman : float or Undefined
        Correlation of their scores; undefined where the points have no order.
    p : float or None
        Two-sided p-value of Pearson's correlation; None where that is undefined.
    """

    first: str
    second: str
    n: int
    same_share: float
    kappa: float | Undefined
    pearson: float | Undefined
    spearman: float | Undefined
    p: float | None


@dataclass(frozen=True)
class Pairs:
    """The pairs that were computed, those with the most common items first, and the number of all pairs."""

    computed: tuple[PairAgreement, ...]
    n_pairs: int


def pair_agreements(frame: "pd.DataFrame", *, most: int = 2000, has_order: bool = True) -> Pairs | Undefined:
    """Compute the agreement of every two annotators with a common item.

    Parameters
    ----------
    frame : pandas.DataFrame
        A long frame of one criterion: `unit`, `annotator`, `value`; each annotator once per unit. Rows without a value
        are left out.
    most : int
        At most this many pairs are computed, those with the most common items; the others are only counted.
    has_order : bool
        False if the values are codes of categories (`measures.rubric.has_order`): kappa is then without weights, and
        correlations are undefined.

    Returns
    -------
    Pairs or Undefined
        Undefined if an annotator is unknown, and if no two have rated the same item.

    Raises
    ------
    ValueError
        A column is missing, or `value` does not hold numbers.

    References
    ----------
    Yang et al. (2018), table 1, for the correlations.

    Examples
    --------
    >>> import pandas as pd
    >>> rows = [(u, a, v) for a, values in {"x": [1, 2, 3, 4], "y": [1, 3, 2, 4]}.items() for u, v in enumerate(values)]
    >>> pairs = pair_agreements(pd.DataFrame(rows, columns=["unit", "annotator", "value"]))
    >>> (pairs.computed[0].n, pairs.computed[0].same_share, round(pairs.computed[0].pearson, 4))
    (4, 0.5, 0.8)
    """
    import pandas as pd

    require_columns(frame, UNIT, ANNOTATOR, VALUE)
    frame = frame[frame[VALUE].notna()]
    if frame[ANNOTATOR].isna().any():
        return Undefined(reason="some annotators are unknown")
    annotators, names = pd.factorize(frame[ANNOTATOR].astype("str"), sort=True)
    units = pd.factorize(frame[UNIT])[0]
    pair, first, second = _line_up(units, annotators.astype(np.int64), frame[VALUE].to_numpy(np.float64), len(names))
    if not len(pair):
        return Undefined(reason="no two annotators have rated the same candidate")
    pairs, starts, counts = np.unique(pair, return_index=True, return_counts=True)
    chosen = np.lexsort((pairs, -counts))[:most]
    computed = []
    for number in chosen:
        here = slice(starts[number], starts[number] + counts[number])
        one, other = divmod(int(pairs[number]), len(names))
        computed.append(_compare(str(names[one]), str(names[other]), first[here], second[here], has_order))
    return Pairs(tuple(computed), len(pairs))


def quadratic_kappa(first: Floats, second: Floats) -> float | Undefined:
    """Compute Cohen's kappa with quadratic weights.

    Parameters
    ----------
    first, second : ndarray of float64, shape (n,)
        The scores of two annotators on the same items, on an interval scale. No NaN.

    Returns
    -------
    float or Undefined
        At most 1; 0 is agreement by chance. Undefined without items, and if both always gave the same score, so that
        the expected disagreement is 0.

    Notes
    -----
    With weights ``(c - k)^2`` the observed disagreement is the mean squared difference, and the expected one, from the
    annotators' own marginals, is the sum of their variances and of the squared difference of their means. So kappa is
    twice the covariance, divided by the expected disagreement. From sums of whole numbers it is exact: agreement by
    chance is 0 and not 1e-16.

    References
    ----------
    J. Cohen (1968), Weighted kappa, Psychological Bulletin 70(4).

    Examples
    --------
    >>> round(quadratic_kappa(np.array([1.0, 2, 3, 4]), np.array([1.0, 3, 2, 4])), 4)
    0.8
    """
    if not len(first):
        return Undefined(reason="no candidate that both have rated")
    # Near 0, so that the squares stay small: a shift of both by the same changes nothing.
    origin, n = np.round(first.mean()), len(first)
    x, y = first - origin, second - origin
    covariance = n * (x @ y) - x.sum() * y.sum()
    expected = n * (x @ x + y @ y) - x.sum() ** 2 - y.sum() ** 2 + (x.sum() - y.sum()) ** 2
    if expected < 1e-12 * n**2:
        return Undefined(reason="both annotators always gave the same score")
    return float(2 * covariance / expected)


def nominal_kappa(first: Floats, second: Floats) -> float | Undefined:
    """Compute Cohen's kappa without weights: every two categories differ alike.

    Parameters
    ----------
    first, second : ndarray of float64, shape (n,)
        The categories that two annotators chose for the same items, as codes. No NaN.

    Returns
    -------
    float or Undefined
        At most 1; 0 is agreement by chance. Undefined without items, and if both always chose the same category, so
        that the expected disagreement is 0.

    Notes
    -----
    From counts, which are whole numbers: agreement by chance is exactly 0. With two categories it equals the kappa
    with quadratic weights.

    References
    ----------
    J. Cohen (1960), A coefficient of agreement for nominal scales, Educational and Psychological Measurement 20(1).

    Examples
    --------
    >>> round(nominal_kappa(np.array([0.0, 0, 1, 2]), np.array([0.0, 1, 1, 2])), 4)
    0.6364
    """
    n = len(first)
    if not n:
        return Undefined(reason="no candidate that both have rated")
    codes = np.unique(np.concatenate([first, second]), return_inverse=True)[1]
    same = int((codes[:n] == codes[n:]).sum())
    by_chance = int(
        np.bincount(codes[:n], minlength=codes.max() + 1) @ np.bincount(codes[n:], minlength=codes.max() + 1)
    )
    if by_chance == n * n:
        return Undefined(reason="both annotators always gave the same score")
    return (n * same - by_chance) / (n * n - by_chance)


def _compare(first_name: str, second_name: str, first: Floats, second: Floats, has_order: bool) -> PairAgreement:
    no_order = Undefined(reason=NO_ORDER)
    r = pearson(first, second) if has_order else no_order
    return PairAgreement(
        first=first_name,
        second=second_name,
        n=len(first),
        same_share=float((first == second).mean()),
        kappa=quadratic_kappa(first, second) if has_order else nominal_kappa(first, second),
        pearson=r,
        spearman=spearman(first, second) if has_order else no_order,
        p=None if isinstance(r, Undefined) else pearson_p(r, len(first)),
    )


def _line_up(units: Ints, annotators: Ints, values: Floats, n_annotators: int) -> tuple[Ints, Floats, Floats]:
    """Return every two ratings of a unit, sorted by pair of annotators: the number of the pair and the two scores."""
    order = np.lexsort((annotators, units))
    units, annotators, values = units[order], annotators[order], values[order]
    # Ratings of a unit are neighbours: those `lag` apart are paired in one step.
    parts = [np.zeros((0, 2), np.int64)]
    low, lag = np.arange(len(units)), 0
    while low.size:
        lag += 1
        low = low[low + lag < len(units)]
        low = low[units[low] == units[low + lag]]
        parts.append(np.column_stack([low, low + lag]))
    rows = np.concatenate(parts)
    pair = annotators[rows[:, 0]] * n_annotators + annotators[rows[:, 1]]
    by_pair = np.argsort(pair, kind="stable")
    return pair[by_pair], values[rows[by_pair, 0]], values[rows[by_pair, 1]]
