"""Shares of items, with Wilson's interval: known answers got right, HITs given back, reviews marked poor."""

from dataclasses import dataclass
from math import sqrt

from scipy.stats import norm

from measures.outcome import Undefined


@dataclass(frozen=True, kw_only=True)
class Share:
    """A share of n with its interval.

    Attributes
    ----------
    share : float
        ``n_yes / n``.
    low, high : float
        Wilson's interval.
    n_yes, n : int
        How many, of how many.
    """

    share: float
    low: float
    high: float
    n_yes: int
    n: int


def share_of(n_yes: int, n: int, *, nothing: str, confidence: float = 0.95) -> Share | Undefined:
    """Compute a share with Wilson's score interval.

    Parameters
    ----------
    n_yes, n : int
        How many, of how many.
    nothing : str
        The reason given where n is 0.
    confidence : float
        The level of the interval.

    Returns
    -------
    Share or Undefined
        Undefined where n is 0.

    References
    ----------
    E. B. Wilson (1927), Probable Inference, the Law of Succession, and Statistical Inference, JASA 22, 209-212.

    Examples
    --------
    >>> found = share_of(8, 10, nothing="no items")
    >>> round(found.low, 4), round(found.high, 4)
    (0.4902, 0.9433)
    >>> share_of(0, 0, nothing="no items").reason
    'no items'
    """
    if not 0 <= n_yes <= n:
        raise ValueError(f"{n_yes} of {n} is no share.")
    if n == 0:
        return Undefined(reason=nothing)
    z = float(norm.ppf((1 + confidence) / 2))
    share = n_yes / n
    middle = (share + z**2 / (2 * n)) / (1 + z**2 / n)
    half = z / (1 + z**2 / n) * sqrt(share * (1 - share) / n + z**2 / (4 * n**2))
    low = 0.0 if n_yes == 0 else middle - half
    high = 1.0 if n_yes == n else middle + half
    return Share(share=share, low=low, high=high, n_yes=n_yes, n=n)
