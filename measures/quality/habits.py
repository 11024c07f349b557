"""How an annotator works: the use of the scale, and the pace."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from measures.outcome import Undefined
from measures.patterns import Floats

BINS = 10
"""The values of a slider are counted in this many equal parts."""
FASTEST_READING = 80.0
"""Characters per second: about 800 words per minute, faster than anybody reads with understanding."""
LEAST_SECONDS = 0.7
"""Nobody reads an answer, decides and presses a key in less time."""
CHARACTERS_PER_WORD = 6.0
"""An English word has about five letters and a space; counting characters also works for scripts without spaces."""


@dataclass(frozen=True, kw_only=True)
class ScaleUse:
    """The use of the scale by an annotator.

    Attributes
    ----------
    counts : tuple of int
        How often each point of the scale (or tenth of a slider) was given.
    entropy : float
        Entropy of these shares divided by its maximum: 1 if all are equal, 0 if only one value is used.
    most_used : int
        The point or part that was given most often, counted from 0.
    most_used_share : float
        Its share of all scores.
    longest_run : int
        The longest run of equal scores, in items, in the order of judging.
    n : int
        Items.
    """

    counts: tuple[int, ...]
    entropy: float
    most_used: int
    most_used_share: float
    longest_run: int
    n: int


@dataclass(frozen=True, kw_only=True)
class Pace:
    """The pace of an annotator.

    Attributes
    ----------
    seconds_per_item : float
        Median over items.
    seconds_per_word : float
        Median over items of the seconds per word that had to be read (six characters count as a word).
    fast_share : float
        Share of items rated faster than the candidate can be read.
    n_fast, n : int
        These items, and all items with a time.
    """

    seconds_per_item: float
    seconds_per_word: float
    fast_share: float
    n_fast: int
    n: int


def scale_use(scores: Floats, *, low: float, high: float, is_slider: bool = False) -> ScaleUse | Undefined:
    """Describe how an annotator uses the scale.

    Parameters
    ----------
    scores : ndarray of float64, shape (n,)
        In the order of judging, without NaN.
    low, high : float
        The ends of the scale.
    is_slider : bool
        Count in ten equal parts instead of by points. A scale of more than 20 points is counted in parts too.

    Returns
    -------
    ScaleUse or Undefined
        Undefined without scores.

    Examples
    --------
    >>> use = scale_use(np.array([5.0, 5, 5, 1]), low=1, high=5)
    >>> use.counts, use.longest_run, round(use.entropy, 4), use.most_used_share
    ((1, 0, 0, 0, 3), 3, 0.3494, 0.75)
    """
    if not len(scores):
        return Undefined(reason="nothing rated yet")
    n_bins = BINS if is_slider or high - low > 2 * BINS else round(high - low) + 1
    if is_slider or high - low > 2 * BINS:
        place = np.minimum((scores - low) / (high - low) * n_bins, n_bins - 1).astype(np.int64)
    else:
        place = np.rint(scores - low).astype(np.int64)
    counts = np.bincount(np.clip(place, 0, n_bins - 1), minlength=n_bins)
    shares = counts[counts > 0] / len(scores)
    return ScaleUse(
        counts=tuple(int(count) for count in counts),
        entropy=float(abs(-(shares * np.log(shares)).sum()) / np.log(n_bins)),
        most_used=int(counts.argmax()),
        most_used_share=float(counts.max() / len(scores)),
        longest_run=longest_run(scores),
        n=len(scores),
    )


def longest_run(scores: Floats | Sequence[float]) -> int:
    """Return the length of the longest run of equal scores.

    Parameters
    ----------
    scores : sequence of float, shape (n,)
        In the order of judging.

    Returns
    -------
    int
        0 without scores.

    Examples
    --------
    >>> longest_run([1, 1, 2, 2, 2, 1]), longest_run([])
    (3, 0)
    """
    array = np.asarray(scores, dtype=np.float64)
    if not len(array):
        return 0
    # Scores of a slider are equal if only their last digits differ.
    changes = np.flatnonzero(np.abs(np.diff(array)) > 1e-9) + 1
    return int(np.diff(np.concatenate([[0], changes, [len(array)]])).max())


def pace(seconds: Floats, own_characters: Floats, all_characters: Floats) -> Pace | Undefined:
    """Describe the pace of an annotator, relative to the text that had to be read.

    Parameters
    ----------
    seconds : ndarray of float64, shape (n,)
        Active seconds on each item; NaN where unknown.
    own_characters : ndarray of float64, shape (n,)
        The length of the candidate.
    all_characters : ndarray of float64, shape (n,)
        The length of all text for the item: candidate, references, question and the item's share of the passage.

    Returns
    -------
    Pace or Undefined
        Undefined without times. An item is too fast below 0.7 s, or if its candidate alone would have been read at
        more than 80 characters per second.

    Examples
    --------
    >>> found = pace(np.array([6.0, 0.5, 8.0]), np.array([60.0, 60, 60]), np.array([240.0, 240, 240]))
    >>> found.seconds_per_item, round(found.seconds_per_word, 2), found.n_fast
    (6.0, 0.15, 1)
    """
    known = ~np.isnan(seconds) & (seconds >= 0)
    seconds, own, everything = seconds[known], own_characters[known], all_characters[known]
    if not len(seconds):
        return Undefined(reason="no times were recorded")
    n_fast = int((seconds < np.maximum(LEAST_SECONDS, own / FASTEST_READING)).sum())
    return Pace(
        seconds_per_item=float(np.median(seconds)),
        seconds_per_word=float(np.median(seconds / np.maximum(everything / CHARACTERS_PER_WORD, 1.0))),
        fast_share=n_fast / len(seconds),
        n_fast=n_fast,
        n=len(seconds),
    )
