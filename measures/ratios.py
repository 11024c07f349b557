"""A ratio of two sums over people, with an interval that treats each person's work as one observation."""

from collections.abc import Sequence
from dataclasses import dataclass
from math import exp, log, sqrt

from scipy.special import stdtrit

from measures.jackknife import effective_number
from measures.outcome import Undefined

WIDEST = log(1_000)
"""Half the width of an interval, on the logarithmic scale, beyond which it says nothing."""


@dataclass(frozen=True, kw_only=True)
class Ratio:
    """A ratio of sums.

    Attributes
    ----------
    value : float
        The sum of the numerators over the sum of the denominators.
    low, high : float or None
        The interval; None if there is only one person, whose difference from others cannot be known, or so few that it
        would reach beyond a thousandth or a thousandfold.
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

    The interval is that of the ratio estimator with people as clusters. Its standard error is the jackknife's, which
    leaves out one person at a time. Student's t has one degree of freedom fewer than there would be people if all had
    done as much as one another (Kish's effective number), but at least one: a few who did most of the work count as
    few. The interval is taken on the logarithmic scale, so that it never goes below zero. Simulated with speeds that
    differ by 20 to 40 % and workloads from equal to a standard deviation of 1 on the logarithmic scale, its coverage is
    93.8 to 97.1 % for 2 to 30 people; that of linearisation with n - 1 degrees of freedom is down to 85 %.

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
    R. M. Bell and D. F. McCaffrey (2002), Bias reduction in standard errors for linear regression with multi-stage
    samples, Survey Methodology 28(2).
    L. Kish (1965), Survey Sampling, section 11.7.

    Examples
    --------
    >>> found = compute_ratio([10, 30, 20], [10, 20, 30])
    >>> found.value, round(found.low, 3), round(found.high, 3)
    (1.0, 0.146, 6.832)
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
    without = []
    for above, below in zip(numerators, denominators, strict=True):
        if below >= base:
            # One person did everything that was measured.
            return Ratio(value=value, low=None, high=None, n=n)
        without.append((total - above) / (base - below))
    # The relative standard error, which on the logarithmic scale is the standard error.
    error = sqrt((n - 1) / n * sum((ratio - value) ** 2 for ratio in without)) / value
    half = float(stdtrit(max(1, effective_number(denominators) - 1), (1 + confidence) / 2)) * error
    if half > WIDEST:
        return Ratio(value=value, low=None, high=None, n=n)
    return Ratio(value=value, low=value * exp(-half), high=value * exp(half), n=n)
