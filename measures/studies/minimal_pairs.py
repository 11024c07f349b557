"""Minimal pairs: how often a metric scores the better of two candidates higher."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
from scipy.special import ndtri

from measures.bootstrap import Interval
from measures.outcome import Undefined
from measures.rounding import are_equal

Floats = npt.NDArray[np.float64]

WILSON, MOVER = "wilson", "mover"
"""The methods of the intervals."""
HIGHER, TIE, LOWER = 1.0, 0.5, 0.0
"""The outcome of a pair: the first candidate has the higher, an equal or the lower score."""


@dataclass(frozen=True, kw_only=True)
class PairAccuracy:
    """The share of minimal pairs in which the first candidate has the higher score.

    Attributes
    ----------
    accuracy : float
        Between 0 and 1; a tie counts as half a pair.
    interval : Interval
        Wilson's score interval, which is defined when all pairs come out alike too.
    n : int
        Pairs.
    n_ties : int
        Pairs with equal scores.
    """

    accuracy: float
    interval: Interval
    n: int
    n_ties: int


@dataclass(frozen=True, kw_only=True)
class MeanAccuracy:
    """The unweighted mean of the datasets' accuracies.

    Attributes
    ----------
    accuracy : float
        Between 0 and 1.
    interval : Interval
        From Wilson's intervals of the datasets by the MOVER.
    n_datasets : int
        Datasets with a pair.
    """

    accuracy: float
    interval: Interval
    n_datasets: int


@dataclass(frozen=True, kw_only=True)
class MinimalPairAccuracy:
    """The accuracies of one metric on minimal pairs.

    Attributes
    ----------
    overall : PairAccuracy or Undefined
        All pairs together.
    mean : MeanAccuracy or Undefined
        The unweighted mean of the datasets.
    by_dataset, by_phenomenon : mapping of str to PairAccuracy
        By name, sorted; parts without a scored pair are absent.
    left_out : tuple of int
        Indices of the pairs in which a score is missing.
    """

    overall: PairAccuracy | Undefined
    mean: MeanAccuracy | Undefined
    by_dataset: Mapping[str, PairAccuracy]
    by_phenomenon: Mapping[str, PairAccuracy]
    left_out: tuple[int, ...]


def pair_outcomes(first: npt.ArrayLike, second: npt.ArrayLike) -> Floats:
    """Return the outcome of each pair: 1 if the first candidate scores higher, 0.5 for a tie, 0 if it scores lower.

    Parameters
    ----------
    first, second : array_like of float, shape (n,)
        The scores of the better and the worse candidate of each pair, unrounded, because rounding would add ties.
        Scores that differ by rounding errors of floats alone are equal. NaN is a missing score.

    Returns
    -------
    ndarray of float64, shape (n,)
        NaN where a score is missing.

    Raises
    ------
    ValueError
        The columns differ in length.

    References
    ----------
    A. Chen et al. (2020), MOCHA, section 4.4.

    Examples
    --------
    >>> pair_outcomes([0.9, 0.1 + 0.2, 0.1, np.nan], [0.2, 0.3, 0.3, 0.3]).tolist()
    [1.0, 0.5, 0.0, nan]
    """
    one, other = np.asarray(first, dtype=np.float64), np.asarray(second, dtype=np.float64)
    if one.shape != other.shape or one.ndim != 1:
        raise ValueError("Each pair needs two scores, in two columns of the same length.")
    outcomes: Floats = np.where(are_equal(one, other), TIE, np.where(one > other, HIGHER, LOWER))
    outcomes[np.isnan(one) | np.isnan(other)] = np.nan
    return outcomes


def minimal_pair_accuracy(
    first: npt.ArrayLike,
    second: npt.ArrayLike,
    *,
    datasets: Sequence[str],
    phenomena: Sequence[str],
    confidence: float = 0.95,
) -> MinimalPairAccuracy:
    """Compute how often a metric scores the better candidate of a minimal pair higher.

    The order of pairs does not matter.

    Parameters
    ----------
    first, second : array_like of float, shape (n,)
        The scores of both candidates of each pair, as in `pair_outcomes`.
    datasets, phenomena : sequence of str, shape (n,)
        The dataset and the phenomenon of each pair.
    confidence : float
        Nominal coverage of the intervals, between 0 and 1.

    Returns
    -------
    MinimalPairAccuracy
        Pairs in which a score is missing are left out and listed. `overall` and `mean` are undefined without a pair.

    Raises
    ------
    ValueError
        The columns differ in length, or `confidence` is not between 0 and 1.

    References
    ----------
    A. Chen et al. (2020), MOCHA, section 4.4 and table 8; for the intervals as in `wilson_interval` and
    `mover_interval`.

    Examples
    --------
    >>> found = minimal_pair_accuracy(
    ...     [0.9, 0.5, 0.1, 0.7],
    ...     [0.2, 0.5, 0.3, 0.3],
    ...     datasets=["mcscript", "mcscript", "mcscript", "cosmosqa"],
    ...     phenomena=["negation", "syntax", "negation", "syntax"],
    ... )
    >>> found.overall.accuracy, found.overall.n_ties, found.mean.accuracy
    (0.625, 1, 0.75)
    >>> {name: part.accuracy for name, part in found.by_phenomenon.items()}
    {'negation': 0.5, 'syntax': 0.75}
    """
    outcomes = pair_outcomes(first, second)
    if not len(outcomes) == len(datasets) == len(phenomena):
        raise ValueError("Each pair needs a dataset and a phenomenon.")
    if not 0 < confidence < 1:
        raise ValueError("confidence must be between 0 and 1.")
    scored = outcomes[~np.isnan(outcomes)]
    by_dataset, by_phenomenon = (
        {name: _measure(part, confidence) for name, part in _parts(outcomes, names)} for names in (datasets, phenomena)
    )
    nothing = Undefined(reason="no pairs with scores")
    return MinimalPairAccuracy(
        overall=_measure(scored, confidence) if len(scored) else nothing,
        mean=_average(list(by_dataset.values()), confidence) if by_dataset else nothing,
        by_dataset=by_dataset,
        by_phenomenon=by_phenomenon,
        left_out=tuple(np.flatnonzero(np.isnan(outcomes)).tolist()),
    )


def wilson_interval(share: float, n: int, *, confidence: float = 0.95) -> tuple[float, float]:
    """Compute the score interval of a share of independent pairs.

    Parameters
    ----------
    share : float
        Between 0 and 1; ties may count half.
    n : int
        Number of pairs; at least 1.
    confidence : float
        Nominal coverage, between 0 and 1.

    Returns
    -------
    tuple of float
        The ends, between 0 and 1: ``(p + z^2/2n +- z sqrt(p(1-p)/n + z^2/4n^2)) / (1 + z^2/n)``.

    References
    ----------
    E. B. Wilson (1927), Probable inference, the law of succession, and statistical inference, JASA 22.

    Examples
    --------
    >>> [round(end, 3) for end in wilson_interval(45 / 50, 50)]
    [0.786, 0.957]
    """
    z = float(ndtri((1 + confidence) / 2))
    middle = share + z * z / (2 * n)
    reach = z * np.sqrt(share * (1 - share) / n + z * z / (4 * n * n))
    below = 1 + z * z / n
    return max(0.0, float(middle - reach) / below), min(1.0, float(middle + reach) / below)


def mover_interval(shares: Sequence[float], ends: Sequence[tuple[float, float]]) -> tuple[float, float]:
    """Compute the interval of the unweighted mean of independent estimates from their intervals.

    Parameters
    ----------
    shares : sequence of float
        The estimates; at least one.
    ends : sequence of tuple of float
        The interval of each, of the same nominal coverage.

    Returns
    -------
    tuple of float
        ``mean - sqrt(sum (p_k - l_k)^2) / K`` and ``mean + sqrt(sum (u_k - p_k)^2) / K``.

    References
    ----------
    G. Y. Zou and A. Donner (2008), Construction of confidence limits about effect measures: a general approach,
    Statistics in Medicine 27 (method of variance estimates recovery, MOVER).

    Examples
    --------
    >>> mover_interval([0.9, 0.5], [(0.8, 0.95), (0.4, 0.6)])[0] < 0.7
    True
    """
    estimates, (lows, highs) = np.asarray(shares, np.float64), np.asarray(ends, np.float64).T
    mean, k = float(estimates.mean()), len(estimates)
    low = mean - float(np.sqrt(((estimates - lows) ** 2).sum())) / k
    high = mean + float(np.sqrt(((highs - estimates) ** 2).sum())) / k
    return low, high


def _measure(outcomes: Floats, confidence: float) -> PairAccuracy:
    share = float(outcomes.mean())
    ends = wilson_interval(share, len(outcomes), confidence=confidence)
    n_ties = int(np.count_nonzero(outcomes == TIE))
    return PairAccuracy(accuracy=share, interval=_as_interval(ends, WILSON, confidence), n=len(outcomes), n_ties=n_ties)


def _average(parts: Sequence[PairAccuracy], confidence: float) -> MeanAccuracy:
    shares = [part.accuracy for part in parts]
    ends = mover_interval(shares, [(part.interval.low, part.interval.high) for part in parts])
    return MeanAccuracy(
        accuracy=float(np.mean(shares)), interval=_as_interval(ends, MOVER, confidence), n_datasets=len(parts)
    )


def _as_interval(ends: tuple[float, float], method: str, confidence: float) -> Interval:
    low, high = ends
    return Interval(
        low=low, high=high, confidence=confidence, n_resamples=None, undefined_share=0.0, resampled="", method=method
    )


def _parts(outcomes: Floats, names: Sequence[str]) -> list[tuple[str, Floats]]:
    """Return the outcomes of each name, sorted by name, without missing ones."""
    known = ~np.isnan(outcomes)
    labels = np.asarray(names, dtype=object)
    return [(name, outcomes[known & (labels == name)]) for name in sorted(set(labels[known]))]
