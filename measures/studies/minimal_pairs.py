"""Minimal pairs: how often a metric scores the better of two candidates higher."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from measures.bootstrap import Interval
from measures.outcome import Undefined

Floats = npt.NDArray[np.float64]

HIGHER, TIE, LOWER = 1.0, 0.5, 0.0
"""The outcome of a pair: the first candidate has the higher, an equal or the lower score."""


@dataclass(frozen=True, kw_only=True)
class PairAccuracy:
    """The share of minimal pairs in which the first candidate has the higher score.

    Attributes
    ----------
    accuracy : float
        Between 0 and 1; a tie counts as half a pair.
    interval : Interval or Undefined
        Over resampled pairs; undefined if all pairs have the same outcome, so that resampling shows no variation.
    n : int
        Pairs.
    n_ties : int
        Pairs with exactly equal scores.
    """

    accuracy: float
    interval: Interval | Undefined
    n: int
    n_ties: int


@dataclass(frozen=True, kw_only=True)
class MeanAccuracy:
    """The unweighted mean of the datasets' accuracies.

    Attributes
    ----------
    accuracy : float
        Between 0 and 1.
    interval : Interval or Undefined
        Pairs are resampled within each dataset.
    n_datasets : int
        Datasets with a pair.
    """

    accuracy: float
    interval: Interval | Undefined
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
        The scores of the better and the worse candidate of each pair, unrounded, because rounding would add ties. NaN
        is a missing score.

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
    >>> pair_outcomes([0.9, 0.5, 0.1, np.nan], [0.2, 0.5, 0.3, 0.3]).tolist()
    [1.0, 0.5, 0.0, nan]
    """
    one, other = np.asarray(first, dtype=np.float64), np.asarray(second, dtype=np.float64)
    if one.shape != other.shape or one.ndim != 1:
        raise ValueError("Each pair needs two scores, in two columns of the same length.")
    outcomes: Floats = np.where(one > other, HIGHER, np.where(one == other, TIE, LOWER))
    outcomes[np.isnan(one) | np.isnan(other)] = np.nan
    return outcomes


def minimal_pair_accuracy(
    first: npt.ArrayLike,
    second: npt.ArrayLike,
    *,
    datasets: Sequence[str],
    phenomena: Sequence[str],
    rng: np.random.Generator,
    n_resamples: int = 1000,
    confidence: float = 0.95,
) -> MinimalPairAccuracy:
    """Compute how often a metric scores the better candidate of a minimal pair higher.

    Pairs are resampled with replacement, for the mean over datasets within each dataset. The order of pairs does not
    matter.

    Parameters
    ----------
    first, second : array_like of float, shape (n,)
        The scores of both candidates of each pair, as in `pair_outcomes`.
    datasets, phenomena : sequence of str, shape (n,)
        The dataset and the phenomenon of each pair.
    rng : numpy.random.Generator
        The source of randomness; the same seed gives the same intervals.
    n_resamples : int
        Number of resamples.
    confidence : float
        Nominal coverage of the intervals, between 0 and 1.

    Returns
    -------
    MinimalPairAccuracy
        Pairs in which a score is missing are left out and listed. `overall` and `mean` are undefined without a pair.

    Raises
    ------
    ValueError
        The columns differ in length, or `n_resamples` or `confidence` is out of range.

    References
    ----------
    A. Chen et al. (2020), MOCHA, section 4.4 and table 8.

    Examples
    --------
    >>> found = minimal_pair_accuracy(
    ...     [0.9, 0.5, 0.1, 0.7],
    ...     [0.2, 0.5, 0.3, 0.3],
    ...     datasets=["mcscript", "mcscript", "mcscript", "cosmosqa"],
    ...     phenomena=["negation", "syntax", "negation", "syntax"],
    ...     rng=np.random.default_rng(1),
    ... )
    >>> found.overall.accuracy, found.overall.n_ties, found.mean.accuracy
    (0.625, 1, 0.75)
    >>> {name: part.accuracy for name, part in found.by_phenomenon.items()}
    {'negation': 0.5, 'syntax': 0.75}
    """
    outcomes = pair_outcomes(first, second)
    if not len(outcomes) == len(datasets) == len(phenomena):
        raise ValueError("Each pair needs a dataset and a phenomenon.")
    if n_resamples < 1 or not 0 < confidence < 1:
        raise ValueError("n_resamples must be 1 or more, and confidence must be between 0 and 1.")
    by_dataset = {name: _Part(part, rng, n_resamples) for name, part in _parts(outcomes, datasets)}
    by_phenomenon = {name: _Part(part, rng, n_resamples) for name, part in _parts(outcomes, phenomena)}
    whole = _Part(outcomes[~np.isnan(outcomes)], rng, n_resamples)
    return MinimalPairAccuracy(
        overall=whole.accuracy(confidence) if whole.n else Undefined(reason="no pairs with scores"),
        mean=_mean(list(by_dataset.values()), confidence),
        by_dataset={name: part.accuracy(confidence) for name, part in by_dataset.items()},
        by_phenomenon={name: part.accuracy(confidence) for name, part in by_phenomenon.items()},
        left_out=tuple(np.flatnonzero(np.isnan(outcomes)).tolist()),
    )


class _Part:
    """The outcomes of some pairs, and the accuracies of their resamples: one multinomial draw each."""

    def __init__(self, outcomes: Floats, rng: np.random.Generator, n_resamples: int) -> None:
        self.n = len(outcomes)
        self.counts = np.array([np.count_nonzero(outcomes == worth) for worth in (HIGHER, TIE)])
        shares = self.counts / max(self.n, 1)
        # The last share is cut off at 0, because rounding can make the others sum to slightly more than 1.
        drawn = rng.multinomial(self.n, [*shares, max(0.0, 1.0 - shares.sum())], n_resamples)
        self.draws: Floats = (drawn[:, 0] + TIE * drawn[:, 1]) / max(self.n, 1)

    @property
    def share(self) -> float:
        return float(self.counts[0] + TIE * self.counts[1]) / self.n

    def accuracy(self, confidence: float) -> PairAccuracy:
        interval = _interval(self.draws, confidence)
        return PairAccuracy(accuracy=self.share, interval=interval, n=self.n, n_ties=int(self.counts[1]))


def _parts(outcomes: Floats, names: Sequence[str]) -> list[tuple[str, Floats]]:
    """Return the outcomes of each name, sorted by name, without missing ones."""
    known = ~np.isnan(outcomes)
    labels = np.asarray(names, dtype=object)
    return [(name, outcomes[known & (labels == name)]) for name in sorted(set(labels[known]))]


def _mean(parts: Sequence[_Part], confidence: float) -> MeanAccuracy | Undefined:
    if not parts:
        return Undefined(reason="no pairs with scores")
    draws: Floats = np.mean([part.draws for part in parts], axis=0)
    return MeanAccuracy(
        accuracy=float(np.mean([part.share for part in parts])),
        interval=_interval(draws, confidence),
        n_datasets=len(parts),
    )


def _interval(draws: Floats, confidence: float) -> Interval | Undefined:
    if np.ptp(draws) == 0:
        return Undefined(reason="all pairs have the same outcome, so resampling shows no variation")
    low, high = np.quantile(draws, [(1 - confidence) / 2, (1 + confidence) / 2])
    return Interval(
        low=float(low),
        high=float(high),
        confidence=confidence,
        n_resamples=len(draws),
        undefined_share=0.0,
        resampled="units",
    )
