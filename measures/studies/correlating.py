"""Correlation of metrics with human scores: three coefficients, with bootstrap intervals from the same resamples."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from measures.outcome import Undefined
from measures.patterns import Floats
from measures.studies.items import COEFFICIENTS, Items


@dataclass(frozen=True, kw_only=True)
class Correlation:
    """A correlation of a metric with the human scores.

    Attributes
    ----------
    coefficient : str
        ``pearson``, ``spearman`` or ``kendall`` (tau-b).
    value : float or Undefined
        The correlation over the items, -1 to 1, or the mean of the correlations of several parts.
    low, high : float or None
        Percentile interval; None if the value or every resample is undefined, and with one item or group only.
    n, n_groups : int
        Items, and the groups (passages) they come from; 0 groups if none were given.
    undefined_share : float
        The share of resamples in which it is undefined; they are left out.
    """

    coefficient: str
    value: float | Undefined
    low: float | None
    high: float | None
    n: int
    n_groups: int
    undefined_share: float

    @classmethod
    def of(
        cls, coefficient: str, value: float | Undefined, drawn: Floats, *, n: int, n_groups: int, confidence: float
    ) -> "Correlation":
        """Return a value with the interval of its resamples, which are NaN where undefined."""
        if not 0 < confidence < 1:
            raise ValueError("confidence must be between 0 and 1.")
        defined = drawn[~np.isnan(drawn)]
        low, high = None, None
        if defined.size and not isinstance(value, Undefined):
            low, high = (float(end) for end in np.quantile(defined, [(1 - confidence) / 2, (1 + confidence) / 2]))
        return cls(
            coefficient=coefficient, value=value, low=low, high=high, n=n, n_groups=n_groups,
            undefined_share=1 - defined.size / len(drawn),
        )  # fmt: skip


@dataclass(frozen=True, kw_only=True)
class Correlations:
    """The three correlations of one metric, with intervals from the same resamples."""

    pearson: Correlation
    spearman: Correlation
    kendall: Correlation

    @classmethod
    def of(
        cls, values: Sequence[float | Undefined], drawn: Floats, *, n: int, n_groups: int, confidence: float
    ) -> "Correlations":
        """Return the correlations from their three values and their resamples, shape (3, resamples)."""
        return cls(
            **{
                name: Correlation.of(name, value, each, n=n, n_groups=n_groups, confidence=confidence)
                for name, value, each in zip(COEFFICIENTS, values, drawn, strict=True)
            }
        )


def correlate(
    human: Floats,
    metric: Floats,
    *,
    rng: np.random.Generator,
    groups: Sequence[object] | npt.NDArray[np.generic] | None = None,
    n_resamples: int = 1000,
    confidence: float = 0.95,
    by_group: bool = False,
) -> Correlations:
    """Correlate a metric with the human scores of the same items.

    Parameters
    ----------
    human, metric : ndarray of float64, shape (n,)
        All finite: items with a missing score have to be left out, or given a score, before.
    rng : numpy.random.Generator
        The source of randomness; the same seed and order of rows give the same intervals.
    groups : sequence, shape (n,), optional
        The group of each item, such as its passage.
    n_resamples : int
        Number of resamples.
    confidence : float
        Nominal coverage of the intervals, between 0 and 1.
    by_group : bool
        Resample whole groups instead of items, because items of one passage are not independent.

    Returns
    -------
    Correlations
        Undefined for fewer than three items, and if all human scores or all scores of the metric are equal.

    Raises
    ------
    ValueError
        A score is missing, lengths differ, `by_group` is set without groups, or an option is out of range.

    References
    ----------
    B. Efron and R. Tibshirani (1993), An Introduction to the Bootstrap, chapter 13; for groups, A. C. Davison and
    D. V. Hinkley (1997), Bootstrap Methods and their Application, section 3.8.

    Examples
    --------
    >>> found = correlate(np.arange(9.0), np.arange(9.0) ** 2, rng=np.random.default_rng(1))
    >>> round(found.pearson.value, 3), found.spearman.value, found.kendall.low
    (0.962, 1.0, 1.0)
    """
    only = {"metric": metric}
    return correlate_all(
        human, only, rng=rng, groups=groups, n_resamples=n_resamples, confidence=confidence, by_group=by_group
    )["metric"]


def correlate_all(
    human: Floats,
    metrics: Mapping[str, Floats],
    *,
    rng: np.random.Generator,
    groups: Sequence[object] | npt.NDArray[np.generic] | None = None,
    n_resamples: int = 1000,
    confidence: float = 0.95,
    by_group: bool = False,
) -> dict[str, Correlations]:
    """Correlate several metrics with the human scores of the same items, using the same resamples.

    Each resample is computed exactly, with its own ranks and ties. Kendall's tau-b takes ``n log2 k`` steps, where k is
    the smaller number of distinct scores of the two sides, so no limit on n is needed.

    Parameters
    ----------
    human, rng, groups, n_resamples, confidence, by_group
        As in `correlate`.
    metrics : mapping of str to ndarray of float64, shape (n,)
        The metrics by name, on the same items.

    Returns
    -------
    dict of str to Correlations
        For each metric, what `correlate` returns with the same seed.

    Raises
    ------
    ValueError
        As in `correlate`.

    Examples
    --------
    >>> human, metric = np.array([1.0, 2, 3, 5, 4]), np.array([0.1, 0.3, 0.2, 0.9, 0.4])
    >>> both = correlate_all(human, {"a": metric, "b": -metric}, rng=np.random.default_rng(1), n_resamples=50)
    >>> both["a"].pearson.value == -both["b"].pearson.value, both["a"].pearson.high == -both["b"].pearson.low
    (True, True)
    """
    items = Items(human, metrics, groups, by_group=by_group)
    drawn = items.resample(n_resamples, rng)
    return {
        name: Correlations.of(values, drawn[name], n=items.n, n_groups=items.n_groups, confidence=confidence)
        for name, values in items.whole().items()
    }
