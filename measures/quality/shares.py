"""Shares with Wilson's interval: of correct known answers, returned HITs, rejected items."""

from dataclasses import dataclass
from math import sqrt

from scipy.special import ndtri

from measures.outcome import Undefined


@dataclass(frozen=True, kw_only=True)
class Share:
    """A share with its interval.

    Attributes
    ----------
    share : float
        ``n_yes / n``.
    low, high : float
        Wilson's interval.
    n_yes, n : int
        Items counted, and all items.
    """

    share: float
    low: float
    high: float
    n_yes: int
    n: int


def compute_share(n_yes: int, n: int, *, nothing: str, confidence: float = 0.95) -> Share | Undefined:
    """Compute a share with Wilson's score interval.

    Parameters
    ----------
    n_yes, n : int
        Items counted, and all items; 0 <= n_yes <= n.
    nothing : str
        The reason to return if n is 0.
    confidence : float
        Nominal coverage of the interval, between 0 and 1.

    Returns
    -------
    Share or Undefined
        Undefined if n is 0.

    Raises
    ------
    ValueError
        `n_yes` is not between 0 and n.

    References
    ----------
    E. B. Wilson (1927), Probable Inference, the Law of Succession, and Statistical Inference, JASA 22, 209-212.

    Examples
    --------
    >>> found = compute_share(8, 10, nothing="no items")
    >>> round(found.low, 4), round(found.high, 4)
    (0.4902, 0.9433)
    >>> compute_share(0, 0, nothing="no items").reason
    'no items'
    """
    if not 0 <= n_yes <= n:
        raise ValueError(f"n_yes must be between 0 and n, not {n_yes} of {n}.")
    if n == 0:
        return Undefined(reason=nothing)
    z = float(ndtri((1 + confidence) / 2))
    share = n_yes / n
    middle = (share + z**2 / (2 * n)) / (1 + z**2 / n)
    half = z / (1 + z**2 / n) * sqrt(share * (1 - share) / n + z**2 / (4 * n**2))
    # Rounding would leave these ends a little outside 0 to 1.
    low = 0.0 if n_yes == 0 else middle - half
    high = 1.0 if n_yes == n else middle + half
    return Share(share=share, low=low, high=high, n_yes=n_yes, n=n)
