"""Correlation of metrics with human scores: three coefficients with their intervals."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum

import numpy as np
import numpy.typing as npt
from scipy.special import ndtri

from measures.jackknife import Scale, jackknife_interval
from measures.outcome import Undefined
from measures.patterns import Floats
from measures.studies.items import COEFFICIENTS, Items


class Method(StrEnum):
    """How an interval of a correlation is computed."""

    JACKKNIFE = "jackknife"
    FISHER_Z = "fisher_z"
    PERCENTILE = "percentile"


LEAST_FOR_FISHER = 4
"""The standard error of Fisher's z is 1 / sqrt(n - 3)."""


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
        The interval; None where it is undefined.
    n, n_groups : int
        Items, and the groups (passages) they come from; 0 groups if none were given.
    undefined_share : float
        The share of resamples in which it is undefined; they are left out. 0 for other methods.
    method : Method
        How the interval was computed.
    n_parts : int or None
        The items, groups or blocks that a jackknife left out.
    why_no_interval : str
        The reason why there is none; empty otherwise.
    """

    coefficient: str
    value: float | Undefined
    low: float | None
    high: float | None
    n: int
    n_groups: int
    undefined_share: float
    method: Method = Method.PERCENTILE
    n_parts: int | None = None
    why_no_interval: str = ""

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
            why_no_interval="" if defined.size else "every resample is undefined",
        )  # fmt: skip

    @classmethod
    def jackknifed(
        cls, coefficient: str, value: float | Undefined, left_out: Floats, items: Items, confidence: float
    ) -> "Correlation":
        """Return a value with the jackknife interval of the values without each item or group."""
        unit = "passage" if items.drawn is not None else "candidate"
        found = jackknife_interval(
            value, left_out, scale=Scale.FISHER_Z, sizes=items.sizes, confidence=confidence, unit=unit
        )
        low, high, why = (None, None, found.reason) if isinstance(found, Undefined) else (found.low, found.high, "")
        return cls(
            coefficient=coefficient, value=value, low=low, high=high, n=items.n, n_groups=items.n_groups,
            undefined_share=0.0, method=Method.JACKKNIFE, n_parts=len(left_out), why_no_interval=why,
        )  # fmt: skip

    @classmethod
    def by_fisher_z(cls, coefficient: str, value: float | Undefined, items: Items, confidence: float) -> "Correlation":
        """Return a value with Fisher's interval, which takes items as independent and scores as normal."""
        ends = fisher_z_interval(value, items.n, confidence=confidence)
        low, high, why = (None, None, ends.reason) if isinstance(ends, Undefined) else (*ends, "")
        return cls(
            coefficient=coefficient, value=value, low=low, high=high, n=items.n, n_groups=items.n_groups,
            undefined_share=0.0, method=Method.FISHER_Z, why_no_interval=why,
        )  # fmt: skip


@dataclass(frozen=True, kw_only=True)
class Correlations:
    """The three correlations of one metric, with intervals from the same resamples or left-out parts."""

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

    @classmethod
    def jackknifed(
        cls, values: Sequence[float | Undefined], left_out: Sequence[Floats], items: Items, confidence: float
    ) -> "Correlations":
        """Return the correlations from their three values and those without each item or group."""
        return cls(
            **{
                name: Correlation.jackknifed(name, value, each, items, confidence)
                for name, value, each in zip(COEFFICIENTS, values, left_out, strict=True)
            }
        )


def fisher_z_interval(r: float | Undefined, n: int, *, confidence: float = 0.95) -> tuple[float, float] | Undefined:
    """Compute the interval of Pearson's correlation of independent pairs by Fisher's z.

    Parameters
    ----------
    r : float or Undefined
        The correlation.
    n : int
        Number of pairs.
    confidence : float
        Nominal coverage, between 0 and 1.

    Returns
    -------
    tuple of float, or Undefined
        ``tanh(atanh r +- z / sqrt(n - 3))``. Undefined if `r` is, with fewer than four pairs, and where r is 1 or -1.

    Raises
    ------
    ValueError
        `confidence` is not between 0 and 1.

    References
    ----------
    R. A. Fisher (1921), On the "probable error" of a coefficient of correlation, Metron 1.

    Examples
    --------
    >>> [round(end, 4) for end in fisher_z_interval(0.5, 28)]
    [0.156, 0.7358]
    """
    if not 0 < confidence < 1:
        raise ValueError("confidence must be between 0 and 1.")
    if isinstance(r, Undefined):
        return r
    if n < LEAST_FOR_FISHER:
        return Undefined(reason="fewer than four candidates")
    if abs(r) >= 1:
        return Undefined(reason=f"the estimate is exactly {round(r)}")
    reach = ndtri((1 + confidence) / 2) / np.sqrt(n - 3)
    low, high = np.tanh(np.arctanh(r) + np.array([-reach, reach]))
    return float(low), float(high)


def correlate(
    human: Floats,
    metric: Floats,
    *,
    rng: np.random.Generator,
    groups: Sequence[object] | npt.NDArray[np.generic] | None = None,
    n_resamples: int = 1000,
    confidence: float = 0.95,
    by_group: bool = False,
    method: Method | str = Method.JACKKNIFE,
) -> Correlations:
    """Correlate a metric with the human scores of the same items.

    Parameters
    ----------
    human, metric : ndarray of float64, shape (n,)
        All finite: items with a missing score have to be left out, or given a score, before.
    rng : numpy.random.Generator
        The source of randomness: of the resamples of a percentile interval, and of the blocks of a jackknife of ranks
        over more than 2,000 items or groups. Other jackknife intervals need none.
    groups : sequence, shape (n,), optional
        The group of each item, such as its passage.
    n_resamples : int
        Number of resamples of a percentile interval.
    confidence : float
        Nominal coverage of the intervals, between 0 and 1.
    by_group : bool
        Leave out or resample whole groups instead of items, because items of one passage are not independent.
    method : Method or str
        ``jackknife`` on Fisher's z with Student's t; ``fisher_z``, for Pearson's correlation of independent items, with
        the jackknife for ranks; or ``percentile``, over resamples.

    Returns
    -------
    Correlations
        Undefined for fewer than three items, and if all human scores or all scores of the metric are equal.

    Raises
    ------
    ValueError
        A score is missing, lengths differ, `by_group` is set without groups or with Fisher's z, or an option is out of
        range.

    References
    ----------
    B. Efron and R. Tibshirani (1993), An Introduction to the Bootstrap, chapters 11 and 13; for groups, A. C. Davison
    and D. V. Hinkley (1997), Bootstrap Methods and their Application, section 3.8.

    Examples
    --------
    >>> found = correlate(np.arange(9.0), np.arange(9.0) ** 2, rng=np.random.default_rng(1))
    >>> round(found.pearson.value, 3), found.spearman.value, found.kendall.why_no_interval
    (0.962, 1.0, 'the estimate is exactly 1')
    >>> round(found.pearson.low, 3), round(found.pearson.high, 3), found.pearson.n_parts
    (0.878, 0.989, 9)
    """
    only = {"metric": metric}
    return correlate_all(
        human, only, rng=rng, groups=groups, n_resamples=n_resamples, confidence=confidence, by_group=by_group,
        method=method,
    )["metric"]  # fmt: skip


def correlate_linearly(
    human: Floats,
    metrics: Mapping[str, Floats],
    *,
    groups: Sequence[object] | npt.NDArray[np.generic] | None = None,
    confidence: float = 0.95,
    by_group: bool = False,
) -> dict[str, Correlation]:
    """Compute Pearson's correlation of several metrics with the human scores, with its jackknife interval.

    Parameters
    ----------
    human, groups, confidence, by_group
        As in `correlate`.
    metrics : mapping of str to ndarray of float64, shape (n,)
        The metrics by name, on the same items.

    Returns
    -------
    dict of str to Correlation
        For each metric, the `pearson` of `correlate`. Nothing is drawn.

    Raises
    ------
    ValueError
        As in `correlate`.

    Examples
    --------
    >>> human, metric = np.array([1.0, 2, 3, 5, 4]), np.array([0.1, 0.3, 0.2, 0.9, 0.4])
    >>> round(correlate_linearly(human, {"a": metric})["a"].low, 3)
    0.315
    """
    items = Items(human, metrics, groups, by_group=by_group)
    left_out = items.leave_out_pearsons()
    return {
        name: Correlation.jackknifed("pearson", values[0], left_out[:, at], items, confidence)
        for at, (name, values) in enumerate(items.whole().items())
    }


def correlate_all(
    human: Floats,
    metrics: Mapping[str, Floats],
    *,
    rng: np.random.Generator,
    groups: Sequence[object] | npt.NDArray[np.generic] | None = None,
    n_resamples: int = 1000,
    confidence: float = 0.95,
    by_group: bool = False,
    method: Method | str = Method.JACKKNIFE,
) -> dict[str, Correlations]:
    """Correlate several metrics with the human scores of the same items, with the same items left out or resampled.

    Each case is computed exactly, with its own ranks and ties. Kendall's tau-b takes ``n log2 k`` steps, where k is
    the smaller number of distinct scores of the two sides, so no limit on n is needed.

    Parameters
    ----------
    human, rng, groups, n_resamples, confidence, by_group, method
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
    items, method = Items(human, metrics, groups, by_group=by_group), Method(method)
    if method is Method.FISHER_Z and by_group:
        raise ValueError("Fisher's z takes items as independent, so it can't be combined with groups.")
    wholes = items.whole()
    if method is Method.PERCENTILE:
        drawn = items.resample(n_resamples, rng)
        return {
            name: Correlations.of(values, drawn[name], n=items.n, n_groups=items.n_groups, confidence=confidence)
            for name, values in wholes.items()
        }
    left_out = items.leave_out(rng)
    found = {
        name: Correlations.jackknifed(values, left_out[name], items, confidence) for name, values in wholes.items()
    }
    if method is Method.JACKKNIFE:
        return found
    return {
        name: replace(each, pearson=Correlation.by_fisher_z("pearson", each.pearson.value, items, confidence))
        for name, each in found.items()
    }
