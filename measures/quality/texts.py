"""Surface features of candidates (words shared with the references, length), and how scores correlate with them."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from measures.correlation import spearman
from measures.outcome import Undefined
from measures.patterns import Floats
from measures.token_overlap import split_squad_words, token_f1

LEAST_ITEMS = 10
"""Over fewer items a rank correlation is mostly noise: its standard error is above 0.3."""


@dataclass(frozen=True, kw_only=True)
class TextFeatures:
    """Surface features of a candidate relative to its references.

    Attributes
    ----------
    overlap : float
        Token F1 with the best reference, 0 to 1.
    length, nearness : float
        Words of the candidate divided by the mean number of words of the references, and how close this ratio is to 1
        (the smaller of the ratio and its inverse).
    first_length, first_nearness : float
        The same relative to the first reference.

    All are NaN without a reference that has a word.
    """

    overlap: float
    length: float
    nearness: float
    first_length: float
    first_nearness: float


@dataclass(frozen=True, kw_only=True)
class FeatureCorrelation:
    """The correlation of an annotator's scores with a feature of the texts.

    Attributes
    ----------
    rho : float
        Spearman's correlation.
    feature : str
        Name of the feature; of several, the one with the highest correlation.
    n : int
        Items.
    """

    rho: float
    feature: str
    n: int


def measure_text(candidate: str, references: Sequence[str]) -> TextFeatures:
    """Compute the surface features of a candidate.

    Parameters
    ----------
    candidate : str
        The text as shown.
    references : sequence of str
        The references in order.

    Returns
    -------
    TextFeatures
        Words are those of `measures.token_overlap`. NaN without a reference that has a word.

    Examples
    --------
    >>> found = measure_text("On the mat.", ["The mat", "It sat on the mat"])
    >>> round(found.overlap, 4), round(found.length, 4), found.first_length
    (0.6667, 0.8, 2.0)
    """
    words = split_squad_words(candidate)
    known = {text: found for text in references if (found := split_squad_words(text))}
    others = list(known.values())
    if not others:
        return TextFeatures(overlap=np.nan, length=np.nan, nearness=np.nan, first_length=np.nan, first_nearness=np.nan)
    length = len(words) / (sum(map(len, others)) / len(others))
    first = len(words) / len(others[0])
    return TextFeatures(
        overlap=max(token_f1(candidate, text) for text in known),
        length=length,
        nearness=_nearness(length),
        first_length=first,
        first_nearness=_nearness(first),
    )


def correlate_with_features(scores: Floats, features: dict[str, Floats]) -> FeatureCorrelation | Undefined:
    """Correlate an annotator's scores with features of the texts, and return the highest correlation.

    Parameters
    ----------
    scores : ndarray of float64, shape (n,)
        One score per item; NaN is left out.
    features : dict of str to ndarray of float64, shape (n,)
        The features by name; items with NaN in any of them are left out.

    Returns
    -------
    FeatureCorrelation or Undefined
        Undefined for fewer than ten items, and if the scores or all features do not vary.

    Examples
    --------
    >>> found = correlate_with_features(np.arange(10.0), {"length": np.arange(10.0) ** 2, "overlap": np.ones(10)})
    >>> found.feature, found.rho, found.n
    ('length', 1.0, 10)
    """
    known = ~np.isnan(scores)
    for feature in features.values():
        known &= ~np.isnan(feature)
    n = int(known.sum())
    if n < LEAST_ITEMS:
        return Undefined(reason=f"fewer than {LEAST_ITEMS} rated items with a reference")
    found = {name: spearman(scores[known], feature[known]) for name, feature in features.items()}
    defined = {name: rho for name, rho in found.items() if not isinstance(rho, Undefined)}
    if not defined:
        return next(rho for rho in found.values() if isinstance(rho, Undefined))
    name = max(defined, key=lambda each: defined[each])
    return FeatureCorrelation(rho=defined[name], feature=name, n=n)


def _nearness(ratio: float) -> float:
    return min(ratio, 1 / ratio) if ratio else 0.0
