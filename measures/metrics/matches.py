"""How much each answer has in common with each of its references, pair by pair, for metrics of overlap."""

from dataclasses import dataclass

import numpy as np

from measures.patterns import Floats, Ints


@dataclass(frozen=True, kw_only=True)
class Matches:
    """Counts for each pair of an answer and a reference; the pairs of an answer follow each other.

    Attributes
    ----------
    n_common : ndarray of float64, shape (m,)
        What the two have in common: n-grams, or the length of the longest common subsequence.
    n_candidate, n_reference : ndarray of float64, shape (m,)
        The n-grams (or words) of the answer, and of the reference.
    answer : ndarray of int64, shape (m,)
        The answer that each pair belongs to, 0 to n - 1, ascending; every answer has a pair.
    """

    n_common: Floats
    n_candidate: Floats
    n_reference: Floats
    answer: Ints

    @property
    def starts(self) -> Ints:
        """The first pair of each answer, shape (n,)."""
        return np.flatnonzero(np.diff(self.answer, prepend=-1))

    @property
    def precision(self) -> Floats:
        return ratio(self.n_common, self.n_candidate)

    @property
    def recall(self) -> Floats:
        return ratio(self.n_common, self.n_reference)

    def best(self, values: Floats) -> Floats:
        """Return the highest value over the references of each answer, shape (n,)."""
        return np.maximum.reduceat(values, self.starts) if len(values) else values

    def summed(self) -> "Matches":
        """Return one pair for each answer, with the sums over its references."""
        n_common, n_candidate, n_reference = (
            np.bincount(self.answer, column).astype(np.float64)
            for column in (self.n_common, self.n_candidate, self.n_reference)
        )
        answer = np.arange(len(n_common))
        return Matches(n_common=n_common, n_candidate=n_candidate, n_reference=n_reference, answer=answer)

    def plus(self, bonus: Floats) -> "Matches":
        """Return the counts with a bonus for each pair, as if both texts had that much more, all of it in common."""
        return Matches(
            n_common=self.n_common + bonus,
            n_candidate=self.n_candidate + bonus,
            n_reference=self.n_reference + bonus,
            answer=self.answer,
        )


def ratio(part: Floats, whole: Floats) -> Floats:
    """Divide; 0 / 0 is 0.

    Parameters
    ----------
    part, whole : ndarray of float64
        Arrays of the same shape.

    Returns
    -------
    ndarray of float64
        0 where `whole` is 0.

    Examples
    --------
    >>> ratio(np.array([1.0, 0.0]), np.array([2.0, 0.0]))
    array([0.5, 0. ])
    """
    return np.divide(part, whole, out=np.zeros_like(part), where=whole > 0)


def f_measure(precision: Floats, recall: Floats, beta: float = 1.0) -> Floats:
    """Combine precision and recall into an F measure.

    Parameters
    ----------
    precision, recall : ndarray of float64
        Arrays of the same shape, 0 to 1.
    beta : float
        Weight of recall relative to precision.

    Returns
    -------
    ndarray of float64
        (1 + beta²) P R / (R + beta² P); 0 where both are 0.

    References
    ----------
    C. J. van Rijsbergen (1979), Information Retrieval, chapter 7.

    Examples
    --------
    >>> f_measure(np.array([1.0, 0.0]), np.array([0.5, 0.0]))
    array([0.66666667, 0.        ])
    """
    weight = beta**2
    return ratio((1 + weight) * precision * recall, recall + weight * precision)
