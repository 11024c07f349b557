"""Largest errors: the items on which a metric differs most from human scores, or from another metric, on one scale."""

import math
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from measures.outcome import Undefined
from measures.patterns import Floats


@dataclass(frozen=True, kw_only=True)
class Span:
    """The range of a metric that is mapped to the scale of the human scores.

    Attributes
    ----------
    low, high : float
        Its ends.
    is_declared : bool
        Whether the metric declares them; otherwise they are the minimum and maximum of its scores.
    """

    low: float
    high: float
    is_declared: bool


@dataclass(frozen=True, kw_only=True)
class Gap:
    """The difference of two scores of one item.

    Attributes
    ----------
    row : int
        The index of the item in the columns.
    first, second : float
        Its scores, on one scale.
    """

    row: int
    first: float
    second: float

    @property
    def size(self) -> float:
        return abs(self.second - self.first)


@dataclass(frozen=True, kw_only=True)
class CauseShare:
    """How often a cause of errors was given.

    Attributes
    ----------
    cause : str
        The cause, spelled as it was given first.
    n : int
        Items with this cause.
    share : float
        Their share of all items with a cause, 0 to 1.
    """

    cause: str
    n: int
    share: float


def find_span(scores: Floats, *, low: float | None = None, high: float | None = None) -> Span | Undefined:
    """Find the range of a metric, for mapping it to another scale.

    Parameters
    ----------
    scores : ndarray of float64, shape (n,)
        The metric's scores; all finite.
    low, high : float or None
        The range that the metric declares; None or infinite if it has no bound.

    Returns
    -------
    Span or Undefined
        The declared range if both ends are finite and no score is outside, else the range of the scores. Undefined
        without scores, and if the scores are all equal and the declared range can't be used.

    Examples
    --------
    >>> find_span(np.array([0.2, 0.9]), low=0.0, high=1.0)
    Span(low=0.0, high=1.0, is_declared=True)
    >>> find_span(np.array([-7.5, -0.5]), low=-math.inf, high=0.0)
    Span(low=-7.5, high=-0.5, is_declared=False)
    """
    least, greatest = (float(scores.min()), float(scores.max())) if len(scores) else (math.nan, math.nan)
    is_bounded = low is not None and high is not None and math.isfinite(low) and math.isfinite(high) and low < high
    if is_bounded and low is not None and high is not None and low <= least and greatest <= high:
        return Span(low=low, high=high, is_declared=True)
    if not greatest > least:
        return Undefined(reason="all scores are equal" if len(scores) else "there are no scores")
    return Span(low=least, high=greatest, is_declared=False)


def bring_to_scale(scores: Floats, span: Span, *, low: float, high: float) -> Floats:
    """Map scores linearly to a scale, so that the ends of their range become its ends.

    Parameters
    ----------
    scores : ndarray of float64, shape (n,)
        Scores of a metric.
    span : Span
        Their range.
    low, high : float
        The ends of the human scale, such as 1 and 5.

    Returns
    -------
    ndarray of float64, shape (n,)
        The scores on that scale.

    References
    ----------
    A. Chen et al. (2020), MOCHA, EMNLP, sections 4.2 and 4.5, which compare metrics with human scores but do not say
    how they are mapped to one scale.

    Examples
    --------
    >>> bring_to_scale(np.array([0.0, 0.25, 1.0]), Span(low=0, high=1, is_declared=True), low=1, high=5).tolist()
    [1.0, 2.0, 5.0]
    """
    scaled: Floats = low + (scores - span.low) * ((high - low) / (span.high - span.low))
    return scaled


def largest_gaps(
    first: Floats, second: Floats, parts: Sequence[str] | npt.NDArray[np.generic], *, n: int = 10
) -> dict[str, list[Gap]]:
    """Find the items of each part on which two columns of scores, on one scale, differ most.

    Parameters
    ----------
    first, second : ndarray of float64, shape (items,)
        Human scores and a metric, or two metrics; all finite.
    parts : sequence of str, shape (items,)
        The part of each item, such as its dataset.
    n : int
        Maximum number of items per part.

    Returns
    -------
    dict of str to list of Gap
        By part in alphabetical order, the largest gap first, equal gaps in the order of rows. Items without a gap are
        left out.

    Raises
    ------
    ValueError
        Lengths differ, or `n` is below 1.

    Examples
    --------
    >>> human, metric = np.array([1.0, 5, 3, 3]), np.array([1.5, 1, 3, 5])
    >>> [(gap.row, gap.size) for gap in largest_gaps(human, metric, ["d"] * 4)["d"]]
    [(1, 4.0), (3, 2.0), (0, 0.5)]
    """
    names = np.asarray([str(part) for part in parts], dtype=object)
    if not len(first) == len(second) == len(names):
        raise ValueError("Each item needs two scores and one part.")
    if n < 1:
        raise ValueError("n must be 1 or more.")
    sizes = np.abs(np.asarray(second, np.float64) - first)
    found = {}
    for name in sorted(set(names)):
        rows = np.flatnonzero((names == name) & (sizes > 0))
        widest = rows[np.argsort(-sizes[rows], kind="stable")[:n]]
        found[str(name)] = [Gap(row=int(row), first=float(first[row]), second=float(second[row])) for row in widest]
    return found


def share_causes(causes: Sequence[str]) -> list[CauseShare]:
    """Count the causes of errors that people gave.

    Parameters
    ----------
    causes : sequence of str
        The cause of each item; an empty text if none was given. Letter case is ignored.

    Returns
    -------
    list of CauseShare
        The most frequent first, then by name.

    References
    ----------
    A. Chen et al. (2020), MOCHA, EMNLP, tables 7 and 9.

    Examples
    --------
    >>> [(one.cause, one.n, one.share) for one in share_causes(["Negation", "", "synonym", "negation", "negation"])]
    [('Negation', 3, 0.75), ('synonym', 1, 0.25)]
    """
    given = [cause for cause in causes if cause]
    words: dict[str, str] = {}
    for cause in given:
        words.setdefault(cause.casefold(), cause)
    counts = Counter(cause.casefold() for cause in given)
    return [
        CauseShare(cause=words[key], n=n, share=n / len(given))
        for key, n in sorted(counts.items(), key=lambda item: (-item[1], item[0]))
    ]
