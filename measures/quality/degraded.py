"""Whether an annotator scores degraded texts below their originals: four one-sided tests; "too few" is not "failed"."""

from dataclasses import dataclass
from enum import StrEnum
from math import sqrt

import numpy as np
from scipy.special import ndtr, stdtr

from measures.outcome import Undefined
from measures.patterns import Floats
from measures.ranks import rank_with_ties
from measures.rounding import ON_SCALE, is_constant, merge_ties

MOST_EXACT = 50
"""Up to this many differences the signed-rank distribution is exact, with ties; above it, a normal approximation."""
LEAST_PAIRS = 5
"""The least p of the signed-rank test is 0.0625 with four pairs and 0.03125 with five, the first below 0.05."""
LEAST_A_SIDE = 4
"""The least p of the rank-sum test with three scores per side is 0.05, which is not below 0.05."""


class DegradedTest(StrEnum):
    """The test that compares the scores of degraded texts with others."""

    SIGNED_RANK = "signed_rank"
    PAIRED_T = "paired_t"
    MANN_WHITNEY = "mannwhitney"
    RANK_SUM = "ranksum"

    @property
    def is_paired(self) -> bool:
        return self in (DegradedTest.SIGNED_RANK, DegradedTest.PAIRED_T)


class Verdict(StrEnum):
    """The result of the test; with too few pairs it is neither passed nor failed."""

    PASSED = "passed"
    FAILED = "failed"
    TOO_FEW = "too few"


@dataclass(frozen=True, kw_only=True)
class Degraded:
    """The scores of degraded texts and of their originals, in one annotator's work.

    Attributes
    ----------
    test : DegradedTest
        The test that was used.
    verdict : Verdict
        Passed if p is below the significance level.
    p : float or None
        One-sided p-value, against the hypothesis that degraded texts are not scored lower; None with too few scores.
    n : int
        Pairs with both scores.
    n_used : int
        Sample size of the test: pairs that differ (signed rank), all pairs (paired t), or degraded scores (unpaired).
    n_lower : int
        Pairs in which the degraded text has the lower score.
    mean_degraded, mean_source : float
        Mean scores of the degraded texts and of their originals, in points of the scale.
    """

    test: DegradedTest
    verdict: Verdict
    p: float | None
    n: int
    n_used: int
    n_lower: int
    mean_degraded: float
    mean_source: float


def degraded_test(
    degraded: Floats,
    source: Floats,
    *,
    test: DegradedTest | str = DegradedTest.SIGNED_RANK,
    ordinary: Floats | None = None,
    level: float = 0.05,
) -> Degraded | Undefined:
    """Test whether an annotator scores degraded texts lower.

    Parameters
    ----------
    degraded, source : ndarray of float64, shape (n,)
        The scores of each pair: of the degraded text, and of its original. A pair with NaN is left out. Scores that
        differ by rounding errors alone are equal, and so are differences.
    test : DegradedTest or str
        ``signed_rank`` or ``paired_t`` on the pairs; ``mannwhitney`` or ``ranksum`` of the degraded scores against
        `ordinary`.
    ordinary : ndarray of float64, optional
        For the unpaired tests: all scores of ordinary items, NaN left out; the originals by default.
    level : float
        Significance level: the test is passed if p is below it.

    Returns
    -------
    Degraded or Undefined
        Undefined without pairs. If all scores are equal (a standard deviation of 0), the test is failed with p = 1.

    References
    ----------
    F. Wilcoxon (1945), Individual Comparisons by Ranking Methods, Biometrics Bulletin 1, 80-83; Y. Graham et al.
    (2017), Can machine translation systems be evaluated by the crowd alone, Natural Language Engineering 23, 3-30.

    Examples
    --------
    >>> found = degraded_test(np.array([1.0, 2, 1, 2, 1]), np.array([4.0, 5, 5, 4, 3]))
    >>> found.p, found.verdict.value
    (0.03125, 'passed')
    >>> degraded_test(np.array([1.0, 2]), np.array([4.0, 5])).verdict.value
    'too few'
    """
    test = DegradedTest(test)
    both = ~(np.isnan(degraded) | np.isnan(source))
    degraded, source = degraded[both], source[both]
    if not len(degraded):
        return Undefined(reason="no degraded item rated together with its original yet")
    against = source if ordinary is None or test.is_paired else ordinary[~np.isnan(ordinary)]
    # Means over criteria, and shares of a scale brought back to it, differ in their last digits.
    n, scores = len(degraded), merge_ties(np.concatenate([degraded, source, against]), within=ON_SCALE)
    degraded, source, against = scores[:n], scores[n : 2 * n], scores[2 * n :]
    n_used, p = _run(test, degraded, source, against)
    verdict = Verdict.TOO_FEW
    if p is not None:
        verdict = Verdict.PASSED if p < level else Verdict.FAILED
    return Degraded(
        test=test,
        verdict=verdict,
        p=p,
        n=len(degraded),
        n_used=n_used,
        n_lower=int((degraded < source).sum()),
        mean_degraded=float(degraded.mean()),
        mean_source=float(source.mean()),
    )


def signed_rank_p(differences: Floats) -> float:
    """Compute the one-sided p of the signed-rank test that differences lie below zero.

    Parameters
    ----------
    differences : ndarray of float64, shape (n,)
        None of them zero. Ties share their mean rank, also where only rounding parts them.

    Returns
    -------
    float
        The probability that the ranks of the positive differences have a sum this small or smaller, if each sign is
        positive with probability 1/2.

    Notes
    -----
    Up to 50 differences the p-value is exact: the distribution of the sum over a random subset of the ranks is
    computed by dynamic programming. Ranks are doubled, so that mid-ranks are integers. Above 50 it is a normal
    approximation with corrections for ties and continuity. scipy's exact test does not allow ties.

    References
    ----------
    F. Wilcoxon (1945), as in `degraded_test`.

    Examples
    --------
    >>> signed_rank_p(np.array([-1.0, -2.0, -3.0]))
    0.125
    >>> signed_rank_p(np.array([-1.0, -1.0, 1.0]))
    0.5
    """
    # Ties share mean ranks, which may end in .5: doubled, all ranks are whole numbers that can index an array.
    ranks = rank_with_ties(merge_ties(np.abs(differences), within=ON_SCALE))
    doubled = np.rint(2 * ranks).astype(np.int64)
    observed = int(doubled[differences > 0].sum())
    n = len(doubled)
    if n > MOST_EXACT:
        # The + 1 is the continuity correction of a half, doubled like the ranks.
        spread = sqrt(float((doubled.astype(np.float64) ** 2).sum())) / 2
        return float(ndtr((observed + 1 - doubled.sum() / 2) / spread))
    chances = np.zeros(int(doubled.sum()) + 1)
    chances[0] = 1.0
    # After each rank, `chances[s]` is the probability that the positive ranks so far sum to s.
    for rank in doubled:
        shifted = np.zeros_like(chances)
        shifted[rank:] = chances[: len(chances) - rank]
        chances = (chances + shifted) / 2
    return float(min(1.0, chances[: observed + 1].sum()))


def _run(test: DegradedTest, degraded: Floats, source: Floats, against: Floats) -> tuple[int, float | None]:
    """Return the sample size of the test and its p-value, None if the sample is too small."""
    difference = degraded - source
    n_least = LEAST_PAIRS if test.is_paired else LEAST_A_SIDE
    # Without this, an annotator who gives everything the same score would have "too few" differences for ever.
    if len(degraded) >= n_least and np.ptp(np.concatenate([degraded, against])) == 0:
        return len(degraded), 1.0
    if test is DegradedTest.SIGNED_RANK:
        nonzero = difference[difference != 0]
        return len(nonzero), signed_rank_p(nonzero) if len(nonzero) >= LEAST_PAIRS else None
    if test is DegradedTest.PAIRED_T:
        return len(difference), _paired_t(difference) if len(difference) >= LEAST_PAIRS else None
    if len(degraded) < LEAST_A_SIDE or len(against) < LEAST_A_SIDE:
        return len(degraded), None
    from scipy.stats import mannwhitneyu, ranksums

    if test is DegradedTest.MANN_WHITNEY:
        return len(degraded), float(mannwhitneyu(degraded, against, alternative="less").pvalue)
    return len(degraded), float(ranksums(degraded, against, alternative="less").pvalue)


def _paired_t(difference: Floats) -> float:
    spread = float(difference.std(ddof=1))
    mean = float(difference.mean())
    # If all differences are equal, t would be a division by zero.
    if is_constant(difference, within=ON_SCALE):
        return 0.0 if mean < -ON_SCALE else 1.0
    return float(stdtr(len(difference) - 1, mean / spread * sqrt(len(difference))))
