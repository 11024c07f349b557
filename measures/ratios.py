"""A ratio of two sums over people, with an interval that treats each person's work as one observation."""

from collections.abc import Sequence
from dataclasses import dataclass
from math import exp, sqrt

from scipy.stats import t as student

from measures.outcome import Undefined


@dataclass(frozen=True, kw_only=True)
class Ratio:
    """A ratio of sums.

    Attributes
    ----------
    value : float
        The sum of the numerators over the sum of the denominators.
    low, high : float or None
        The interval; None if there is only one person, whose difference from others cannot be known.
    n : int
        People.
    """

    value: float
    low: float | None
    high: float | None
    n: int


def compute_ratio(
    numerators: Sequence[float], denominators: Sequence[float], *, confidence: float = 0.95
) -> Ratio | Undefined:
    """Compute the ratio of two sums, each with one term for each person.

    The interval is that of the ratio estimator with people as clusters, by linearisation, and Student's t with one
    degree of freedom fewer than people. It is taken on the logarithmic scale, so that it never goes below zero.

    Parameters
    ----------
    numerators, denominators : sequence of float
        Each person's sums, in the same order; not negative.
    confidence : float
        Nominal coverage of the interval, between 0 and 1.

    Returns
    -------
    Ratio or Undefined
        Undefined if one of the sums is 0.

    References
    ----------
    W. G. Cochran (1977), Sampling Techniques, 3rd edition, sections 6.3 and 9A.

    Examples
    --------
    >>> found = compute_ratio([10, 30, 20], [10, 20, 30])
    >>> found.value, round(found.low, 3), round(found.high, 3)
    (1.0, 0.289, 3.463)
    >>> compute_ratio([12], [10]).low is None
    True
    >>> compute_ratio([], []).reason
    'nothing was measured'
    """
    total, base = sum(numerators), sum(denominators)
    if total <= 0 or base <= 0:
        return Undefined(reason="nothing was measured")
    value, n = total / base, len(numerators)
    if n < 2:
        return Ratio(value=value, low=None, high=None, n=n)
    pairs = zip(numerators, denominators, strict=True)
    # The relative standard error, which on the logarithmic scale is the standard error.
    error = sqrt(n / (n - 1) * sum((above - value * below) ** 2 for above, below in pairs)) / total
    half = float(student.ppf((1 + confidence) / 2, n - 1)) * error
    return Ratio(value=value, low=value * exp(-half), high=value * exp(half), n=n)
