"""Greedy matching of the tokens of two texts by the cosine of their vectors, as BERTScore does."""

from collections.abc import Mapping
from dataclasses import dataclass
from math import log

import numpy as np
import numpy.typing as npt

from measures.neural.encoding import Vectors
from measures.patterns import Floats


@dataclass(frozen=True)
class EncodedText:
    """A text as the vectors of its tokens.

    Attributes
    ----------
    vectors : ndarray of float32, shape (t, d)
        Of length 1.
    weights : ndarray of float64, shape (t,)
        How much each token counts, 0 or more.
    is_partner : ndarray of bool, shape (t,)
        Whether tokens of another text may be matched with it.
    """

    vectors: Vectors
    weights: Floats
    is_partner: npt.NDArray[np.bool_]

    @property
    def nbytes(self) -> int:
        return self.vectors.nbytes + self.weights.nbytes + self.is_partner.nbytes


def match_greedily(candidate: EncodedText, reference: EncodedText) -> tuple[float, float, float]:
    """Match each token with the most similar one of the other text.

    Parameters
    ----------
    candidate, reference : EncodedText
        The two texts.

    Returns
    -------
    precision, recall, f1 : float
        Precision is the weighted mean over the candidate's tokens of the highest cosine, recall that over the
        reference's. All are 0 if a text has no token with a weight, or none to match with.

    References
    ----------
    T. Zhang et al. (2020), BERTScore: Evaluating Text Generation with BERT, ICLR, section 3.

    Examples
    --------
    The first and the last token are special: they weigh nothing, but others may be matched with them.

    >>> weights, partners = np.array([0.0, 1, 1, 0]), np.ones(4, dtype=bool)
    >>> candidate = EncodedText(np.array([[1, 0], [0.6, 0.8], [0, 1], [0.8, 0.6]]), weights, partners)
    >>> reference = EncodedText(np.array([[0, 1], [1, 0], [0.6, 0.8]]), weights[[0, 1, 3]], partners[:3])
    >>> match_greedily(candidate, reference)
    (1.0, 1.0, 1.0)
    """
    totals = candidate.weights.sum(), reference.weights.sum()
    if not (all(totals) and candidate.is_partner.any() and reference.is_partner.any()):
        return 0.0, 0.0, 0.0
    # Rounding can take the cosine of two equal vectors beyond 1.
    similarity = np.minimum(candidate.vectors @ reference.vectors.T, 1)
    best = similarity[:, reference.is_partner].max(axis=1), similarity[candidate.is_partner].max(axis=0)
    precision = float(best[0] @ candidate.weights / totals[0])
    recall = float(best[1] @ reference.weights / totals[1])
    both = precision + recall
    return precision, recall, 2 * precision * recall / both if both else 0.0


def weigh_by_rarity(n_texts: int, n_with: Mapping[int, int], tokens: list[int]) -> Floats:
    """Return the inverse document frequency of tokens.

    Parameters
    ----------
    n_texts : int
        The texts that were counted.
    n_with : mapping of int to int
        In how many of them each token is.
    tokens : list of int
        The tokens to weigh.

    Returns
    -------
    ndarray of float64, shape (t,)
        log((n + 1) / (n_with + 1)); 0 for a token of every text.

    References
    ----------
    T. Zhang et al. (2020), BERTScore: Evaluating Text Generation with BERT, ICLR, section 3.

    Examples
    --------
    >>> weigh_by_rarity(3, {7: 3, 8: 1}, [7, 8, 9]).round(4).tolist()
    [0.0, 0.6931, 1.3863]
    """
    return np.array([log((n_texts + 1) / (n_with.get(token, 0) + 1)) for token in tokens])
