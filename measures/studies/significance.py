"""Significance of the difference between metrics: paired bootstrap and Williams' test, with Holm's correction."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from itertools import combinations, permutations

import numpy as np
import numpy.typing as npt

from measures.corrections import holm
from measures.correlation import name_human_side, pearson
from measures.outcome import Undefined
from measures.patterns import Floats
from measures.studies.items import Items
from measures.studies.williams import Williams, williams_from_correlations

LEAST_RESAMPLED = 5
"""Two passages have three resamples, which the better metric wins all by chance: p would be 1 / (B + 1). Of true
hypotheses at the level .05 the test rejects 48 % with two passages, 23 % with three, and 15 % with four or five.
"""
_SAME = 1e-12
"""A smaller difference of correlations is a rounding error, and counts as a tie."""


class PRule(StrEnum):
    """How the p of a bootstrap test follows from B defined resamples, in k of which A is not better.

    ``plus_one``: (k + 1) / (B + 1), which is never 0. ``yang2018``: k / B, as published by Yang et al. (2018).
    """

    PLUS_ONE = "plus_one"
    YANG2018 = "yang2018"


@dataclass(frozen=True, kw_only=True)
class PairedBootstrap:
    """The paired bootstrap test of whether metric A correlates better with human scores than metric B.

    Attributes
    ----------
    p : float
        One-sided, from the resamples in which A's correlation is not higher than B's (a tie counts against A), by the
        `PRule` of the test.
    difference : float
        A's correlation minus B's, over all items.
    low, high : float
        Its 2.5th and 97.5th percentiles over the resamples.
    n_resamples : int
        Resamples drawn.
    undefined_share : float
        The share of resamples in which a correlation is undefined; they are left out.
    """

    p: float
    difference: float
    low: float
    high: float
    n_resamples: int
    undefined_share: float


@dataclass(frozen=True, kw_only=True)
class MetricComparison:
    """The comparison of one metric with another on the same items.

    Attributes
    ----------
    first, second : str
        The metric that may be better, and the metric it is compared with.
    r_first, r_second, r_between : float or Undefined
        Pearson's correlation of each with the human scores, and of the two with each other.
    bootstrap : PairedBootstrap or Undefined
        The paired bootstrap test.
    williams : Williams or Undefined
        Williams' test, which assumes independent items.
    bootstrap_holm, williams_holm : float or None
        Two-sided p-values after Holm's correction over all unordered pairs, for the direction that the test favours;
        1 for the other direction, and None if undefined.
    """

    first: str
    second: str
    r_first: float | Undefined
    r_second: float | Undefined
    r_between: float | Undefined
    bootstrap: PairedBootstrap | Undefined
    williams: Williams | Undefined
    bootstrap_holm: float | None
    williams_holm: float | None


def paired_bootstrap(
    human: Floats,
    a: Floats,
    b: Floats,
    *,
    rng: np.random.Generator,
    groups: Sequence[object] | npt.NDArray[np.generic] | None = None,
    n_resamples: int = 1000,
    by_group: bool = False,
    p_rule: PRule | str = PRule.PLUS_ONE,
) -> PairedBootstrap | Undefined:
    """Test by resampling whether metric A correlates better with human scores than metric B.

    Parameters
    ----------
    human, a, b : ndarray of float64, shape (n,)
        Human scores and two metrics of the same items; all finite.
    rng : numpy.random.Generator
        The source of randomness; both metrics use the same resamples.
    groups : sequence, shape (n,), optional
        The group of each item, such as its passage.
    n_resamples : int
        Number of resamples; Yang et al. use 100.
    by_group : bool
        Resample whole groups instead of items.
    p_rule : PRule or str
        How p is computed.

    Returns
    -------
    PairedBootstrap or Undefined
        Undefined if a correlation is, with fewer than five items or groups, and if every resample is undefined.

    Raises
    ------
    ValueError
        A score is missing, lengths differ, `by_group` is set without groups, or `n_resamples` is below 1.

    References
    ----------
    P. Koehn (2004), Statistical Significance Tests for Machine Translation Evaluation, EMNLP; A. Yang et al. (2018),
    section 4.2; A. C. Davison and D. V. Hinkley (1997), Bootstrap Methods and their Application, section 4.2; B. V.
    North et al. (2002), A Note on the Calculation of Empirical P Values from Monte Carlo Procedures, American Journal
    of Human Genetics 71.

    Examples
    --------
    >>> human, rng = np.arange(20.0), np.random.default_rng(1)
    >>> noise = rng.normal(size=20)
    >>> near, far = human + noise, human + 30 * noise
    >>> round(paired_bootstrap(human, near, far, rng=rng).p, 6), paired_bootstrap(human, near, far, rng=rng,
    ...                                                                           p_rule="yang2018").p
    (0.000999, 0.0)
    >>> paired_bootstrap(human, noise, 2 * noise + 1, rng=rng).p
    1.0
    """
    items = Items(human, {"a": a, "b": b}, groups, by_group=by_group)
    return _bootstrap("a", "b", _whole(items), _resample(items, n_resamples, rng), items, PRule(p_rule))


def compare_all(
    human: Floats,
    metrics: Mapping[str, Floats],
    *,
    rng: np.random.Generator,
    groups: Sequence[object] | npt.NDArray[np.generic] | None = None,
    n_resamples: int = 1000,
    by_group: bool = False,
    p_rule: PRule | str = PRule.PLUS_ONE,
) -> list[MetricComparison]:
    """Compare every metric with every other, in both directions, using the same resamples.

    Parameters
    ----------
    human, rng, groups, n_resamples, by_group, p_rule
        As in `paired_bootstrap`.
    metrics : mapping of str to ndarray of float64, shape (n,)
        The metrics by name, on the same items.

    Returns
    -------
    list of MetricComparison
        Each ordered pair, with one-sided p-values. Holm's correction is over unordered pairs: as no direction was
        chosen before seeing the data, a pair is tested once, two-sided, by twice the smaller of its one-sided p-values.

    Raises
    ------
    ValueError
        As in `paired_bootstrap`.

    References
    ----------
    As in `paired_bootstrap`, `measures.corrections.holm` and `measures.studies.williams.williams`.

    Examples
    --------
    >>> human, rng = np.arange(30.0), np.random.default_rng(1)
    >>> metrics = {"near": human + rng.normal(size=30), "far": human + 20 * rng.normal(size=30)}
    >>> [(one.first, one.bootstrap_holm) for one in compare_all(human, metrics, rng=rng)]
    [('near', 0.001998001998001998), ('far', 1.0)]
    """
    items = Items(human, metrics, groups, by_group=by_group)
    whole, drawn = _whole(items), _resample(items, n_resamples, rng)
    pairs = list(permutations(metrics, 2))
    bootstraps = [_bootstrap(a, b, whole, drawn, items, PRule(p_rule)) for a, b in pairs]
    between = {frozenset(pair): pearson(*(items.metrics[name].values for name in sorted(pair))) for pair in pairs}
    tests = [williams_from_correlations(whole[a], whole[b], between[frozenset((a, b))], n=items.n) for a, b in pairs]
    bootstrap_holm, williams_holm = (
        correct_pairs(
            {pair: None if isinstance(one, Undefined) else one.p for pair, one in zip(pairs, tested, strict=True)}
        )
        for tested in (bootstraps, tests)
    )
    return [
        MetricComparison(
            first=a, second=b, r_first=whole[a], r_second=whole[b], r_between=between[frozenset((a, b))],
            bootstrap=bootstraps[at], williams=tests[at],
            bootstrap_holm=bootstrap_holm[a, b], williams_holm=williams_holm[a, b],
        )
        for at, (a, b) in enumerate(pairs)
    ]  # fmt: skip


def correct_pairs(p_values: Mapping[tuple[str, str], float | None]) -> dict[tuple[str, str], float | None]:
    """Correct one-sided p-values of ordered pairs by Holm's procedure over the unordered pairs.

    Parameters
    ----------
    p_values : mapping of tuple of str to float or None
        For both orders of each pair: the p of the test that the first is better; None where undefined.

    Returns
    -------
    dict of tuple of str to float or None
        Two-sided corrected p in the direction that the test favours, 1 in the other; see `MetricComparison`.

    Examples
    --------
    >>> correct_pairs({("a", "b"): 0.01, ("b", "a"): 0.995})
    {('a', 'b'): 0.02, ('b', 'a'): 1.0}
    """
    pairs = list(combinations(dict.fromkeys(name for pair in p_values for name in pair), 2))
    both = [(p_values[a, b], p_values[b, a]) for a, b in pairs]
    # Undefined is a test in both directions alike.
    corrected = holm([None if one is None or other is None else min(1.0, 2 * min(one, other)) for one, other in both])
    found: dict[tuple[str, str], float | None] = {}
    for (a, b), (one, other), p in zip(pairs, both, corrected, strict=True):
        if p is None or one is None or other is None:
            found[a, b] = found[b, a] = None
        else:
            found[a, b], found[b, a] = (p if one <= other else 1.0), (p if other <= one else 1.0)
    return found


def _whole(items: Items) -> dict[str, float | Undefined]:
    return {name: name_human_side(pearson(metric.values, items.human.values)) for name, metric in items.metrics.items()}


def _resample(items: Items, n_resamples: int, rng: np.random.Generator) -> dict[str, Floats]:
    """Return each metric's correlation in each resample, NaN where undefined."""
    drawn = items.resample_pearsons(n_resamples, rng)
    return {name: drawn[:, at] for at, name in enumerate(items.metrics)}


def _bootstrap(
    a: str, b: str, whole: Mapping[str, float | Undefined], drawn: Mapping[str, Floats], items: Items, p_rule: PRule
) -> PairedBootstrap | Undefined:
    r_a, r_b = whole[a], whole[b]
    if isinstance(r_a, Undefined):
        return r_a
    if isinstance(r_b, Undefined):
        return r_b
    if items.n_drawn < LEAST_RESAMPLED:
        unit = "candidate" if items.drawn is None else "passage"
        return Undefined(reason=f"fewer than five {unit}s to resample")
    differences = drawn[a] - drawn[b]
    defined = differences[~np.isnan(differences)]
    if not defined.size:
        return Undefined(reason="every resample is undefined")
    low, high = np.quantile(defined, [0.025, 0.975])
    k, n = int((defined < _SAME).sum()), defined.size
    return PairedBootstrap(
        p=k / n if p_rule is PRule.YANG2018 else (k + 1) / (n + 1),
        difference=r_a - r_b, low=float(low), high=float(high),
        n_resamples=len(differences), undefined_share=1 - defined.size / len(differences),
    )  # fmt: skip
