"""What the texts alone would say of a score: words shared with the references, and length."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from measures.correlation import spearman
from measures.outcome import Undefined
from measures.patterns import Floats
from measures.tokens import token_f1, tokens

LEAST_ITEMS = 10
"""A correlation with a text's looks over fewer items says nothing."""


@dataclass(frozen=True, kw_only=True)
class Looks:
    """What can be seen of a candidate without reading it.

    Attributes
    ----------
    overlap : float
        Token F1 with the best reference, 0 to 1; NaN without references.
    length, nearness : float
        Words of the candidate over the mean words of the references, and how near to 1 that is (the smaller of the
        ratio and its inverse).
    first_length, first_nearness : float
        The same with the first reference.
    """

    overlap: float
    length: float
    nearness: float
    first_length: float
    first_nearness: float


@dataclass(frozen=True, kw_only=True)
class Follows:
    """How closely scores follow a feature of the texts.

    Attributes
    ----------
    rho : float
        Spearman's correlation.
    feature : str
        The feature; the one followed most, where there are several.
    n : int
        Items.
    """

    rho: float
    feature: str
    n: int


def look_at(candidate: str, references: Sequence[str]) -> Looks:
    """Take the looks of a candidate.

    Parameters
    ----------
    candidate : str
        The text as shown.
    references : sequence of str
        The references in their order.

    Returns
    -------
    Looks
        Words as `measures.tokens` has them. NaN where there is no reference with a word.

    Examples
    --------
    >>> looks = look_at("On the mat.", ["The mat", "It sat on the mat"])
    >>> round(looks.overlap, 4), round(looks.length, 4), looks.first_length
    (0.6667, 0.8, 2.0)
    """
    words = tokens(candidate)
    known = {text: found for text in references if (found := tokens(text))}
    others = list(known.values())
    if not others:
        return Looks(overlap=np.nan, length=np.nan, nearness=np.nan, first_length=np.nan, first_nearness=np.nan)
    length = len(words) / (sum(map(len, others)) / len(others))
    first = len(words) / len(others[0])
    return Looks(
        overlap=max(token_f1(candidate, text) for text in known),
        length=length,
        nearness=_nearness(length),
        first_length=first,
        first_nearness=_nearness(first),
    )


def follows(scores: Floats, features: dict[str, Floats]) -> Follows | Undefined:
    """Compute how closely an annotator's scores follow a feature of the texts, the one followed most.

    Parameters
    ----------
    scores : ndarray of float64, shape (n,)
        One score per item.
    features : dict of str to ndarray of float64, shape (n,)
        What they may follow; items with NaN in any are left out.

    Returns
    -------
    Follows or Undefined
        Undefined for fewer than ten items, or where scores or features do not vary.

    Examples
    --------
    >>> found = follows(np.arange(10.0), {"length": np.arange(10.0) ** 2, "overlap": np.ones(10)})
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
    return Follows(rho=defined[name], feature=name, n=n)


def _nearness(ratio: float) -> float:
    return min(ratio, 1 / ratio) if ratio else 0.0
