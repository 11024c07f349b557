"""Correlation of metrics with human scores over means of systems, with intervals for the same systems."""

from collections.abc import Mapping, Sequence
from dataclasses import replace

import numpy as np
import numpy.typing as npt

from measures.correlation import LEAST_PAIRS
from measures.outcome import Undefined
from measures.patterns import Floats
from measures.rounding import IN_SUMS, ON_SCALE, scale_to_one
from measures.studies.correlating import Correlation
from measures.studies.items import Items, number_groups


def correlate_means(
    human: Floats,
    metrics: Mapping[str, Floats],
    *,
    systems: Sequence[str] | npt.NDArray[np.generic],
    units: Sequence[object] | npt.NDArray[np.generic],
    confidence: float = 0.95,
) -> dict[str, Correlation]:
    """Correlate the mean score of each system by a metric with its mean human score.

    Parameters
    ----------
    human : ndarray of float64, shape (n,)
        The human scores of the answers; all finite.
    metrics : mapping of str to ndarray of float64, shape (n,)
        The metrics by name; all finite.
    systems : sequence of str, shape (n,)
        The system of each answer.
    units : sequence, shape (n,)
        What the jackknife leaves out as a whole, such as the passage of each answer.
    confidence : float
        Nominal coverage of the intervals, between 0 and 1.

    Returns
    -------
    dict of str to Correlation
        Pearson's correlation, one point for each system. The jackknife interval says how far the correlation of these
        same systems would move with as many other passages, and nothing of other systems. Means contain error, which
        lowers the correlation where systems differ little: it is not that of means without error. Undefined with fewer
        than three systems, and where all means of a side are equal; without an interval if a system is on one passage
        alone.

    Raises
    ------
    ValueError
        A score is missing, or lengths differ.

    Examples
    --------
    >>> human = np.array([5.0, 4, 2, 3, 4, 1, 3, 2, 2, 1, 2, 1])
    >>> metric = np.array([80.0, 60, 40, 70, 30, 35, 50, 45, 10, 20, 40, 30])
    >>> found = correlate_means(human, {"m": metric}, systems=list("aaabbbcccddd"), units=list("xyz" * 4))["m"]
    >>> round(found.value, 4), found.n, found.n_parts
    (0.9602, 4, 3)
    """
    items = Items(human, metrics, units, by_group=True)
    if len(systems) != items.n:
        raise ValueError("Each answer needs a system.")
    rows, columns = number_groups([str(each) for each in systems]), items.groups
    assert columns is not None
    n_systems = int(rows.max(initial=-1)) + 1
    cells, shape = rows * items.n_groups + columns, (n_systems, items.n_groups)

    def add_up(values: Floats) -> Floats:
        """Sum over the answers of each system on each unit."""
        sums: Floats = np.bincount(cells, values, n_systems * items.n_groups).astype(np.float64).reshape(shape)
        return sums

    counts, of_people = add_up(np.ones(items.n)), add_up(items.human.values)
    found = {}
    for name, column in items.metrics.items():
        sums = add_up(scale_to_one(column.values))
        with np.errstate(divide="ignore", invalid="ignore"):
            # All answers in the first column, and then without each unit.
            left = [_without_each(each) for each in (counts, of_people, sums)]
            each = _correlate_columns(left[1] / left[0], left[2] / left[0])
        value: float | Undefined
        if n_systems < LEAST_PAIRS:
            value = Undefined(reason="fewer than three systems")
        elif np.isnan(each[0]):
            value = Undefined(reason="all means of the systems are equal")
        else:
            value = float(each[0])
        found[name] = replace(Correlation.jackknifed("pearson", value, each[1:], items, confidence), n=n_systems)
    return found


def _without_each(sums: Floats) -> Floats:
    whole = sums.sum(axis=1, keepdims=True)
    return np.hstack([whole, whole - sums])


def _correlate_columns(first: Floats, second: Floats) -> Floats:
    """Return Pearson's correlation of each column, NaN where a side is constant or a mean is missing."""
    x, y = first - first.mean(axis=0), second - second.mean(axis=0)
    xx, yy, xy = (x * x).sum(axis=0), (y * y).sum(axis=0), (x * y).sum(axis=0)
    varies = np.ptp(first, axis=0) > ON_SCALE
    varies &= np.ptp(second, axis=0) > IN_SUMS * np.abs(second).max(axis=0)
    return np.where(varies, np.clip(xy / np.sqrt(xx * yy), -1, 1), np.nan)
