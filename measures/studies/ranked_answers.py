"""Ranked answers: how early a system gives an answer that is good enough, by any metric or by people."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from measures.jackknife import Scale, bound_interval, effective_number, jackknife_interval
from measures.outcome import Undefined
from measures.patterns import Floats, Ints
from measures.studies.items import number_groups

DEPTH = 10
"""The number of first answers that count, if nobody says otherwise."""


@dataclass(frozen=True, kw_only=True)
class Share:
    """A share with its interval: Wilson's, with the standard error of the jackknife.

    Attributes
    ----------
    value : float
        The share, or mean, 0 to 1.
    low, high : float or None
        The ends of the interval; None where there is none.
    why_no_interval : str
        The reason why there is none; empty otherwise.
    """

    value: float
    low: float | None
    high: float | None
    why_no_interval: str


@dataclass(frozen=True, kw_only=True)
class RankedAccuracy:
    """Top-N accuracy and mean reciprocal rank over lists of answers.

    Attributes
    ----------
    top : tuple of Share
        For N = 1, 2, … up to the depth: the lists with an answer among the first N that reaches the threshold.
    reciprocal_rank : Share
        The mean of 1 / rank of the first answer that reaches it; 0 for a list without one.
    n_lists, n_left_out : int
        Lists that count, and others, in which one of the first answers has no score.
    n_answers, n_units : int
        The first answers and the passages of the lists that count.
    n_effective : float
        As how many passages of one size they count in intervals.
    """

    top: tuple[Share, ...]
    reciprocal_rank: Share
    n_lists: int
    n_left_out: int
    n_answers: int
    n_units: int
    n_effective: float


@dataclass(frozen=True, kw_only=True, eq=False)
class Places:
    """The place of each answer in its list.

    Attributes
    ----------
    lists : ndarray of int64, shape (n,)
        The list of each answer, numbered from 0 without gaps.
    places : ndarray of int64, shape (n,)
        Its place in the list, from 1; 0 for an answer without a rank.
    n_unranked : int
        Lists in which no answer has a rank.
    n_tied : int
        Lists in which two answers have the same rank or confidence; these keep the order given.
    """

    lists: Ints
    places: Ints
    n_unranked: int
    n_tied: int

    @classmethod
    def by(cls, keys: npt.ArrayLike, lists: Sequence[object] | npt.NDArray[np.generic]) -> "Places":
        """Put the answers of each list in order of their keys, the lowest first.

        Parameters
        ----------
        keys : array_like of float, shape (n,)
            The rank of each answer, or its negative confidence; NaN for an answer that has none.
        lists : sequence, shape (n,)
            The list of each answer, such as its question and system.

        Returns
        -------
        Places

        Raises
        ------
        ValueError
            Lengths differ.

        Examples
        --------
        >>> Places.by([2.0, 1, np.nan, 5, 5], list("aaabb")).places.tolist()
        [2, 1, 0, 1, 2]
        """
        values, codes = np.asarray(keys, np.float64), number_groups(lists)
        if len(values) != len(codes):
            raise ValueError("Each answer needs one key and one list.")
        n_lists = int(codes.max(initial=-1)) + 1
        rows = np.flatnonzero(~np.isnan(values))
        rows = rows[np.lexsort((values[rows], codes[rows]))]
        ordered = codes[rows]
        places = np.zeros(len(values), np.int64)
        places[rows] = np.arange(len(rows)) - np.searchsorted(ordered, ordered) + 1
        is_tied = (np.diff(ordered) == 0) & (np.diff(values[rows]) == 0)
        return cls(
            lists=codes,
            places=places,
            n_unranked=n_lists - len(np.unique(ordered)),
            n_tied=len(np.unique(ordered[1:][is_tied])),
        )


def measure_ranked(
    values: npt.ArrayLike,
    places: Places,
    *,
    threshold: float,
    units: Sequence[object] | npt.NDArray[np.generic],
    depth: int = DEPTH,
    confidence: float = 0.95,
) -> RankedAccuracy | Undefined:
    """Compute Top-N accuracy for every N up to a depth, and the mean reciprocal rank.

    Parameters
    ----------
    values : array_like of float, shape (n,)
        The score of each answer; NaN where it has none.
    places : Places
        The places of the answers.
    threshold : float
        The lowest sufficient score.
    units : sequence, shape (n,)
        What the jackknife leaves out as a whole, such as the passage of each answer.
    depth : int
        How many first answers count; a list with fewer counts as it is.
    confidence : float
        Nominal coverage of the intervals, between 0 and 1.

    Returns
    -------
    RankedAccuracy or Undefined
        A list counts if each of its first answers has a score, so that an answer without one never counts as a poor
        one. Undefined if no list does.

    Raises
    ------
    ValueError
        `depth` is below 1, or lengths differ.

    References
    ----------
    E. M. Voorhees (1999), The TREC-8 Question Answering Track Report, for the reciprocal rank.

    Examples
    --------
    >>> places = Places.by([1, 2, 1, 2, 1, 2, 1, 2, 3, 4], list("aabbccdddd"))
    >>> found = measure_ranked([0, 1, 1, 0, 0, 0, 0, 0, 0, 1], places, threshold=1, units=list("aabbccdddd"))
    >>> [found.top[n - 1].value for n in (1, 3, 5)], found.reciprocal_rank.value
    ([0.25, 0.5, 0.75], 0.4375)
    """
    scores, numbers = np.asarray(values, np.float64), number_groups(units)
    if depth < 1 or not len(scores) == len(places.places) == len(numbers):
        raise ValueError("Each answer needs one score, one place and one unit, and depth must be 1 or more.")
    is_first = (places.places > 0) & (places.places <= depth)
    n_lists = int(places.lists.max(initial=-1)) + 1
    is_ranked = np.bincount(places.lists[is_first], minlength=n_lists) > 0
    lacks = np.bincount(places.lists[is_first & np.isnan(scores)], minlength=n_lists) > 0
    used = np.flatnonzero(is_ranked & ~lacks)
    if not used.size:
        return Undefined(reason="in no list do all of the first answers have a score")
    # Beyond every depth where no answer is good enough.
    first = np.full(n_lists, np.inf)
    is_good = is_first & (scores >= threshold)
    np.minimum.at(first, places.lists[is_good], places.places[is_good].astype(np.float64))
    its_units = np.zeros(n_lists, np.int64)
    its_units[places.lists] = numbers
    groups = np.unique(its_units[used], return_inverse=True)[1]
    reached = [(first[used] <= n).astype(np.float64) for n in range(1, depth + 1)]
    return RankedAccuracy(
        top=tuple(_average(each, groups, confidence) for each in reached),
        reciprocal_rank=_average(1 / first[used], groups, confidence),
        n_lists=len(used),
        n_left_out=int((is_ranked & lacks).sum()),
        n_answers=int(np.bincount(places.lists[is_first], minlength=n_lists)[used].sum()),
        n_units=int(groups.max()) + 1,
        n_effective=effective_number(np.bincount(groups)),
    )


def _average(values: Floats, groups: Ints, confidence: float) -> Share:
    mean, sizes = float(values.mean()), np.bincount(groups)
    with np.errstate(divide="ignore", invalid="ignore"):
        left_out = (values.sum() - np.bincount(groups, values)) / (len(values) - sizes)
    found = jackknife_interval(mean, left_out, scale=Scale.PLAIN, sizes=sizes, confidence=confidence, unit="passage")
    # A share near 0 or 1 has no interval that is symmetric about it.
    bounded = bound_interval(mean, found, low=0, high=1)
    if isinstance(bounded, Undefined):
        return Share(value=mean, low=None, high=None, why_no_interval=bounded.reason)
    return Share(value=mean, low=bounded.low, high=bounded.high, why_no_interval="")
