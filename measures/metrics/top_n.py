"""Top-N accuracy: how often one of the first answers to a question is good enough."""

from collections.abc import Hashable, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from measures.outcome import Undefined
from measures.patterns import Floats


@dataclass(frozen=True, kw_only=True)
class TopN:
    """How often one of the first answers to a question reaches a threshold.

    Attributes
    ----------
    accuracy : float
        The share of questions with an answer that does, 0 to 1.
    n_questions : int
        Questions that it rests on.
    n_left_out : int
        Questions without an answer that has a place and a score.
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
    """Compute the share of questions of which one of the first n answers reaches a threshold.

    Answers stand by rank, the least first, or by confidence, the highest first; where two are alike, in the order in
    which they are given. With several systems give a key of question and system as the question.

    Parameters
    ----------
    values : array_like of float, shape (m,)
        The score of each answer by some metric against its best reference. NaN where there is none: the answer keeps
        its place, and does not reach the threshold.
    questions : sequence of hashable, length m
        The question that each answer is for.
    n : int
        How many answers count; a question with fewer is judged by those.
    threshold : float
        The least score that is good enough, itself included.
    ranks, confidences : array_like of float, shape (m,)
        One of the two. An answer with NaN has no place and is left out.

    Returns
    -------
    TopN or Undefined
        Undefined where no question has an answer with a place and a score among its first n.

    Raises
    ------
    ValueError
        n is less than 1, both or neither of ranks and confidences are given, or columns differ in length.

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
        raise ValueError("n is 1 or more.")
    if (ranks is None) == (confidences is None):
        raise ValueError("Answers stand by ranks or by confidences, one of the two.")
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
        return Undefined(reason="no question has an answer with a place and a score")
    n_questions = int(is_known.sum())
    return TopN(accuracy=float(reached[is_known].mean()), n_questions=n_questions, n_left_out=len(number) - n_questions)


def _first(question: npt.NDArray[np.int64], keys: Floats, n: int) -> npt.NDArray[np.bool_]:
    """Whether each answer is among the first n of its question; those without a key are not."""
    rows = np.flatnonzero(~np.isnan(keys))
    rows = rows[np.lexsort((keys[rows], question[rows]))]
    sorted_questions = question[rows]
    place = np.arange(len(rows)) - np.searchsorted(sorted_questions, sorted_questions)
    is_first = np.zeros(len(keys), dtype=bool)
    is_first[rows[place < n]] = True
    return is_first
