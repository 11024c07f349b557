"""Weight sweep: the correlation of a metric with human scores as a function of one of its weights."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from measures.correlation import name_human_side, pearson
from measures.jackknife import Scale, jackknife_interval
from measures.outcome import Undefined
from measures.patterns import Floats
from measures.studies.items import Items


@dataclass(frozen=True, kw_only=True)
class SweptPoint:
    """Pearson's correlation at one weight, and its gain over the first weight of the sweep.

    Attributes
    ----------
    weight : float
        The weight.
    value : float or Undefined
        The correlation.
    low, high : float or None
        Its 95 % jackknife interval; None where that is undefined.
    gain : float or Undefined
        The correlation minus that at the first weight.
    gain_low, gain_high : float or None
        The percentile interval of the gain. Both correlations come from the same resamples, so it is narrower than
        their two intervals suggest.
    undefined_share : float
        The share of resamples in which the correlation is undefined; they are left out of the interval of the gain.
    """

    weight: float
    value: float | Undefined
    low: float | None
    high: float | None
    gain: float | Undefined
    gain_low: float | None
    gain_high: float | None
    undefined_share: float


def sweep(
    human: Floats,
    score: Callable[[float], Floats],
    weights: Sequence[float],
    *,
    rng: np.random.Generator,
    groups: Sequence[object] | npt.NDArray[np.generic] | None = None,
    n_resamples: int = 1000,
    by_group: bool = False,
) -> list[SweptPoint]:
    """Correlate a metric with human scores at several weights, using the same resamples.

    Parameters
    ----------
    human : ndarray of float64, shape (n,)
        The human scores of n items; all finite.
    score : callable
        Returns the metric's scores of the items at a weight, shape (n,); all finite.
    weights : sequence of float
        The weights. Gains are relative to the first, such as 0 for a metric without its bonus.
    rng : numpy.random.Generator
        The source of randomness of the resamples.
    groups : sequence, shape (n,), optional
        The group of each item, such as its passage.
    n_resamples : int
        Number of resamples.
    by_group : bool
        Leave out and resample whole groups instead of items.

    Returns
    -------
    list of SweptPoint
        One for each weight, in order. The correlation is undefined for fewer than three items, and if all human scores
        or all scores of the metric are equal.

    Raises
    ------
    ValueError
        A score is missing, lengths differ, `by_group` is set without groups, or `n_resamples` is below 1.

    References
    ----------
    A. Yang et al. (2018), Adaptations of ROUGE and BLEU to Better Evaluate Machine Reading Comprehension Task,
    figures 1 and 2.

    Examples
    --------
    >>> human, off = np.arange(12.0), np.tile([3.0, -3.0], 6)
    >>> points = sweep(human, lambda weight: weight * human + off, [0, 1, 2], rng=np.random.default_rng(1))
    >>> [round(point.value, 2) for point in points], round(points[2].gain, 2), points[2].gain_low > 0
    ([-0.14, 0.71, 0.91], 1.05, True)
    """
    items = Items(human, {str(at): score(weight) for at, weight in enumerate(weights)}, groups, by_group=by_group)
    drawn = items.resample_pearsons(n_resamples, rng)
    left_out = items.leave_out_pearsons()
    values = [name_human_side(pearson(metric.values, items.human.values)) for metric in items.metrics.values()]
    return [_point(weight, at, values, drawn, left_out, items) for at, weight in enumerate(weights)]


def _point(
    weight: float, at: int, values: Sequence[float | Undefined], drawn: Floats, left_out: Floats, items: Items
) -> SweptPoint:
    value, first = values[at], values[0]
    if isinstance(value, Undefined):
        gain: float | Undefined = value
    else:
        gain = first if isinstance(first, Undefined) else value - first
    interval = jackknife_interval(value, left_out[:, at], scale=Scale.FISHER_Z, sizes=items.sizes)
    low, high = (None, None) if isinstance(interval, Undefined) else (interval.low, interval.high)
    gain_low, gain_high = _ends(gain, drawn[:, at] - drawn[:, 0])
    return SweptPoint(
        weight=float(weight), value=value, low=low, high=high, gain=gain, gain_low=gain_low, gain_high=gain_high,
        undefined_share=float(np.isnan(drawn[:, at]).mean()),
    )  # fmt: skip


def _ends(value: float | Undefined, drawn: Floats) -> tuple[float | None, float | None]:
    defined = drawn[~np.isnan(drawn)]
    if isinstance(value, Undefined) or not defined.size:
        return None, None
    low, high = np.quantile(defined, [0.025, 0.975])
    return float(low), float(high)
