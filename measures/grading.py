"""Grading: answers held against what is known to be right, for qualification tests and known-answer controls alike."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from measures.outcome import Undefined
from measures.rubric import is_right


@dataclass(frozen=True, kw_only=True)
class Expected:
    """What an item should be rated.

    Parameters
    ----------
    ranges : Mapping[str, tuple[float, float]]
        For each criterion key the lowest and the highest right answer, in scale units, both included.
    tolerance : float
        How far outside the range still counts as right, in scale units; 0 asks for an exact match.
    """

    ranges: Mapping[str, tuple[float, float]]
    tolerance: float = 0.0


@dataclass(frozen=True, kw_only=True)
class Grade:
    """How many items of a form are right.

    Attributes
    ----------
    is_right : tuple[bool, ...]
        For each item, in the order given, whether it is right.
    """

    is_right: tuple[bool, ...]

    @property
    def n_items(self) -> int:
        return len(self.is_right)

    @property
    def n_right(self) -> int:
        return sum(self.is_right)

    @property
    def share(self) -> float:
        """The share of right items, 0 to 1."""
        return self.n_right / self.n_items


def grade(
    answers: Sequence[Mapping[str, float | None] | None],
    expected: Sequence[Expected],
    criteria: Collection[str],
) -> Grade:
    """Grade the answers to some items.

    An item is right if every criterion used for quality is. An answer that is missing, or that says "cannot be
    judged", is wrong.

    Parameters
    ----------
    answers : sequence of Mapping[str, float or None] or None
        For each item its answers by criterion key; None for an item without any. Further keys are not looked at.
    expected : sequence of Expected
        For each item what is right, in the same order.
    criteria : collection of str
        The keys of the criteria used for quality.

    Returns
    -------
    Grade
        Right or wrong for each item.

    Raises
    ------
    ValueError
        There is nothing to grade (no item, no criterion), the lengths differ, or an item says nothing of what is
        right by one of the criteria.

    References
    ----------
    A. Chen et al. (2020), MOCHA: A Dataset for Training and Evaluating Generative Reading Comprehension Metrics,
    EMNLP, appendix D: annotators qualify with 80 % of ten items. What counts as right is not said there.

    Examples
    --------
    >>> known = [Expected(ranges={"correctness": (4, 5)}), Expected(ranges={"correctness": (1, 1)}, tolerance=1)]
    >>> graded = grade([{"correctness": 3}, {"correctness": 2}], known, ["correctness"])
    >>> graded.is_right, graded.n_right, graded.share
    ((False, True), 1, 0.5)
    >>> grade([None, {"correctness": None}], known, ["correctness"]).n_right
    0
    """
    if len(answers) != len(expected):
        raise ValueError(f"There are {len(answers)} answers to {len(expected)} items.")
    if not expected or not criteria:
        raise ValueError("There is nothing to grade: no item, or no criterion to grade it by.")
    return Grade(
        is_right=tuple(
            _is_item_right(given or {}, item, criteria) for given, item in zip(answers, expected, strict=True)
        )
    )


def reaches(n_right: int, n_items: int, pass_share: float) -> bool:
    """Tell whether so many right items are enough; a share such as 0.8 of 10 asks for 8, whatever 0.8 is in binary.

    Parameters
    ----------
    n_right, n_items : int
        Right items, and items in all.
    pass_share : float
        The share asked for, 0 to 1.

    Returns
    -------
    bool
        Whether `n_right` is at least `least_right(n_items, pass_share)`.

    Examples
    --------
    >>> reaches(8, 10, 0.8), reaches(7, 10, 0.8)
    (True, False)
    """
    return n_right >= least_right(n_items, pass_share)


def least_right(n_items: int, pass_share: float) -> int:
    """Say how many items must be right to reach a share.

    Parameters
    ----------
    n_items : int
        Items in all.
    pass_share : float
        The share asked for, 0 to 1.

    Returns
    -------
    int
        The smallest number of right items whose share is not below `pass_share`.

    Examples
    --------
    >>> least_right(10, 0.8), least_right(3, 0.8), least_right(10, 0.7), least_right(5, 0.0)
    (8, 3, 7, 0)
    """
    return int(np.ceil(round(n_items * pass_share, 9)))


def discrimination(is_right: Sequence[bool], rest_shares: Sequence[float]) -> float | Undefined:
    """Compute how well one item tells strong forms from weak ones.

    The point-biserial correlation of right (1) or wrong (0) with the share of right answers among the other items of
    the same form: the item itself is left out, for it would correlate with itself.

    Parameters
    ----------
    is_right : sequence of bool
        For each form in which the item was, whether it was right there.
    rest_shares : sequence of float
        For each of these forms the share of right answers among its other items, 0 to 1.

    Returns
    -------
    float or Undefined
        Pearson's correlation, -1 to 1; undefined below three forms, where all were right or all wrong, and where the
        rest scores are all equal.

    Raises
    ------
    ValueError
        The lengths differ.

    References
    ----------
    F. M. Lord and M. R. Novick (1968), Statistical Theories of Mental Test Scores, section 15.5.

    Examples
    --------
    >>> round(discrimination([True, True, False, False], [1.0, 0.8, 0.4, 0.2]), 4)
    0.9487
    >>> discrimination([True, True, True], [1.0, 0.5, 0.2])
    Undefined(reason='every rating is correct')
    """
    if len(is_right) != len(rest_shares):
        raise ValueError(f"There are {len(is_right)} answers and {len(rest_shares)} rest scores.")
    if len(is_right) < 3:
        return Undefined(reason="fewer than three ratings")
    if all(is_right) or not any(is_right):
        return Undefined(reason="every rating is correct" if is_right[0] else "no rating is correct")
    if np.ptp(rest_shares) < 1e-12:
        return Undefined(reason="everyone has the same share correct on the other items")
    return float(np.corrcoef(np.asarray(is_right, dtype=float), np.asarray(rest_shares, dtype=float))[0, 1])


def _is_item_right(given: Mapping[str, float | None], item: Expected, criteria: Collection[str]) -> bool:
    missing = [key for key in criteria if key not in item.ranges]
    if missing:
        raise ValueError(f"An item does not say what is right by “{missing[0]}”.")
    return all(is_right(given.get(key), *item.ranges[key], item.tolerance) for key in criteria)
