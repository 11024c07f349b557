"""Partial correlation: of two columns at equal values of a third."""

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from measures.outcome import Undefined
from measures.patterns import Floats
from measures.studies.correlating import Correlation
from measures.studies.items import Items

_ROUNDING = 1e-12
"""What rounding leaves of the variance of a column that follows from the third is less."""


def correlate_partially(
    human: Floats,
    metric: Floats,
    given: Floats,
    *,
    units: Sequence[object] | npt.NDArray[np.generic],
    confidence: float = 0.95,
) -> Correlation:
    """Compute Pearson's partial correlation of a metric with human scores, given a third column.

    Parameters
    ----------
    human, metric, given : ndarray of float64, shape (n,)
        All finite, such as human scores, a metric and the logarithm of the lengths.
    units : sequence, shape (n,)
        What the jackknife leaves out as a whole, such as the passage of each item.
    confidence : float
        Nominal coverage of the interval, between 0 and 1.

    Returns
    -------
    Correlation
        Undefined where one of the three correlations is, with fewer than four items, and where the third column
        determines one of the others.

    Raises
    ------
    ValueError
        A score is missing, or lengths differ.

    References
    ----------
    G. U. Yule (1907), On the Theory of Correlation for any Number of Variables, Proceedings of the Royal Society A 79.

    Examples
    --------
    >>> human, metric = np.array([1.0, 2, 3, 4, 5]), np.array([2.0, 1, 4, 3, 5])
    >>> round(correlate_partially(human, metric, np.array([1.0, 1, 2, 2, 2]), units=range(5)).value, 4)
    0.2
    """
    with_human = Items(human, {"metric": metric, "given": given}, units, by_group=True)
    with_metric = Items(metric, {"given": given}, units, by_group=True, within=0.0)
    whole, between = with_human.whole(), with_metric.whole()["given"][0]
    each = (whole["metric"][0], whole["given"][0], between)
    value: float | Undefined
    undefined = next((one for one in each if isinstance(one, Undefined)), None)
    if undefined is not None:
        value = undefined
    elif len(human) < 4:
        value = Undefined(reason="fewer than four candidates")
    else:
        found = float(_combine(*(np.array([one], np.float64) for one in each))[0])
        value = Undefined(reason="one column follows from the length alone") if np.isnan(found) else found
    parts, other = with_human.leave_out_pearsons(), with_metric.leave_out_pearsons()
    left_out = _combine(parts[:, 0], parts[:, 1], other[:, 0])
    return Correlation.jackknifed("pearson", value, left_out, with_human, confidence)


def _combine(both: Floats, human: Floats, metric: Floats) -> Floats:
    """Return (r_xy - r_xz r_yz) / sqrt((1 - r_xz²)(1 - r_yz²)), NaN where a column follows from the third."""
    below = (1 - human**2) * (1 - metric**2)
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.where(below > _ROUNDING, np.clip((both - human * metric) / np.sqrt(np.abs(below)), -1, 1), np.nan)
