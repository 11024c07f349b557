"""Grading: answers compared with known correct ones, in qualification tests and known-answer controls."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from measures.outcome import Undefined
from measures.rubric import is_right


@dataclass(frozen=True, kw_only=True)
class Expected:
    """The correct rating of an item.

    Parameters
    ----------
    ranges : Mapping[str, tuple[float, float]]
        For each criterion key the lowest and the highest correct answer, in points of the scale, both included.
    tolerance : float
        How far outside the range still counts as correct, in points of the scale; 0 asks for an exact match.
    """

    ranges: Mapping[str, tuple[float, float]]
    tolerance: float = 0.0


@dataclass(frozen=True, kw_only=True)
class Grade:
    """The result of grading the items of a form.

    Attributes
    ----------
    is_right : tuple[bool, ...]
        For each item, in the order given, whether it is correct.
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
        """The share of correct items, 0 to 1."""
        return self.n_right / self.n_items


def grade(
    answers: Sequence[Mapping[str, float | None] | None],
    expected: Sequence[Expected],
    criteria: Collection[str],
) -> Grade:
    """Grade the answers to some items.

    An item is correct if its answers to all criteria used for quality are. A missing answer and "cannot be judged"
    are incorrect.

    Parameters
    ----------
    answers : sequence of Mapping[str, float or None] or None
        For each item its answers by criterion key; None for an item without answers. Other keys are ignored.
    expected : sequence of Expected
        For each item the correct rating, in the same order.
    criteria : collection of str
        The keys of the criteria used for quality.

    Returns
    -------
    Grade
        Correct or incorrect for each item.

    Raises
    ------
    ValueError
        There is no item or no criterion, the lengths differ, or an item lacks the correct answer to a criterion.

    References
    ----------
    A. Chen et al. (2020), MOCHA: A Dataset for Training and Evaluating Generative Reading Comprehension Metrics,
    EMNLP, appendix D: annotators qualify with 80 % of ten items. It does not say what counts as correct.

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
        raise ValueError("There is nothing to grade: pass at least one item and one criterion.")
    return Grade(
        is_right=tuple(
            _is_item_right(given or {}, item, criteria) for given, item in zip(answers, expected, strict=True)
        )
    )


def reaches(n_right: int, n_items: int, pass_share: float) -> bool:
    """Return whether enough items are correct.

    Parameters
    ----------
    n_right, n_items : int
        Correct items, and all items.
    pass_share : float
        The share required, 0 to 1.

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
    """Return how many items must be correct to reach a share.

    Parameters
    ----------
    n_items : int
        All items.
    pass_share : float
        The share required, 0 to 1.

    Returns
    -------
    int
        The smallest number of correct items whose share is not below `pass_share`.

    Examples
    --------
    >>> least_right(10, 0.8), least_right(3, 0.8), least_right(10, 0.7), least_right(5, 0.0)
    (8, 3, 7, 0)
    """
    # Rounded, because 0.07 * 100 is 7.000000000000001 in binary, which would ask for 8.
    return int(np.ceil(round(n_items * pass_share, 9)))


def discrimination(is_right: Sequence[bool], rest_shares: Sequence[float]) -> float | Undefined:
    """Compute the discrimination of an item: how well it separates strong attempts from weak ones.

    It is the point-biserial correlation of correct (1) or incorrect (0) with the share of correct answers among the
    other items of the same attempt. The item itself is left out, because it would correlate with itself.

    Parameters
    ----------
    is_right : sequence of bool
        For each attempt that has the item, whether it was correct.
    rest_shares : sequence of float
        For each of these attempts the share of correct answers among its other items, 0 to 1.

    Returns
    -------
    float or Undefined
        Pearson's correlation, -1 to 1; undefined for fewer than three attempts, if all were correct or all incorrect,
        and if the rest scores are all equal.

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
        raise ValueError(f"An item has no correct answer for the criterion “{missing[0]}”.")
    return all(is_right(given.get(key), *item.ranges[key], item.tolerance) for key in criteria)
