"""Top-N accuracy: how often one of the first answers to a question reaches a threshold."""

from collections.abc import Hashable, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from measures.outcome import Undefined
from measures.patterns import Floats


@dataclass(frozen=True, kw_only=True)
class TopN:
    """Top-N accuracy with its counts.

    Attributes
    ----------
    accuracy : float
        The share of questions with an answer that reaches the threshold, 0 to 1.
    n_questions : int
        Questions with a ranked answer that has a score, among the first n; the denominator of `accuracy`.
    n_left_out : int
        All other questions.
    """

    accuracy: float
    n_questions: int
    n_left_out: int


def top_n_accuracy(
    values: npt.ArrayLike,
    questions: Sequence[Hashable],
    *,
    n: int,
    threshold: float,
    ranks: npt.ArrayLike | None = None,
    confidences: npt.ArrayLike | None = None,
) -> TopN | Undefined:
    """Compute the share of questions for which one of the first n answers reaches a threshold.

    Answers are sorted by rank, the lowest first, or by confidence, the highest first; ties keep the order given. With
    several systems, use the pair of question and system as the question.

    Parameters
    ----------
    values : array_like of float, shape (m,)
        The score of each answer by a metric. An answer with NaN keeps its rank, but does not reach the threshold.
    questions : sequence of hashable, length m
        The question of each answer.
    n : int
        How many answers per question count; a question may have fewer.
    threshold : float
        The lowest sufficient score.
    ranks, confidences : array_like of float, shape (m,)
        One of the two. An answer with NaN is not ranked, and left out.

    Returns
    -------
    TopN or Undefined
        Undefined if no question has an answer with a score among its first n.

    Raises
    ------
    ValueError
        `n` is below 1, both or neither of `ranks` and `confidences` are given, or columns differ in length.

    References
    ----------
    The measure of a 2022 blog post on metrics of question answering, with exact match, F1 or a semantic similarity
    as the metric.

    Examples
    --------
    >>> f1 = [2 / 3, 1.0, 0.0]
    >>> top_n_accuracy(f1, ["who", "who", "where"], n=1, threshold=0.5, confidences=[0.9, 0.4, 0.8])
    TopN(accuracy=0.5, n_questions=2, n_left_out=0)
    """
    if n < 1:
        raise ValueError("n must be 1 or more.")
    if (ranks is None) == (confidences is None):
        raise ValueError("Pass either ranks or confidences.")
    scores = np.asarray(values, dtype=np.float64)
    keys = np.asarray(ranks, dtype=np.float64) if ranks is not None else -np.asarray(confidences, dtype=np.float64)
    if not len(scores) == len(questions) == len(keys):
        raise ValueError("values, questions and ranks or confidences differ in length.")
    number = {question: k for k, question in enumerate(dict.fromkeys(questions))}
    question = np.array([number[each] for each in questions], dtype=np.int64)
    is_first = _first(question, keys, n) & np.isfinite(scores)
    reached = np.bincount(question[is_first & (scores >= threshold)], minlength=len(number)) > 0
    is_known = np.bincount(question[is_first], minlength=len(number)) > 0
    if not is_known.any():
        return Undefined(reason="no question has a ranked answer with a score")
    n_questions = int(is_known.sum())
    return TopN(accuracy=float(reached[is_known].mean()), n_questions=n_questions, n_left_out=len(number) - n_questions)


def _first(question: npt.NDArray[np.int64], keys: Floats, n: int) -> npt.NDArray[np.bool_]:
    """Return whether each answer is among the first n of its question; answers without a key are not."""
    rows = np.flatnonzero(~np.isnan(keys))
    rows = rows[np.lexsort((keys[rows], question[rows]))]
    sorted_questions = question[rows]
    place = np.arange(len(rows)) - np.searchsorted(sorted_questions, sorted_questions)
    is_first = np.zeros(len(keys), dtype=bool)
    is_first[rows[place < n]] = True
    return is_first
