"""Significance of the difference between metrics: paired bootstrap and Williams' test, with Holm's correction."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import permutations

import numpy as np
import numpy.typing as npt

from measures.correlation import pearson
from measures.outcome import Undefined
from measures.patterns import Floats
from measures.studies.items import Items
from measures.studies.williams import Williams, williams_from_correlations

_SAME = 1e-12
"""A smaller difference of correlations is a rounding error, and counts as a tie."""


@dataclass(frozen=True, kw_only=True)
class PairedBootstrap:
    """The paired bootstrap test of whether metric A correlates better with human scores than metric B.

    Attributes
    ----------
    p : float
        One-sided: the share of resamples in which A's correlation is not higher than B's; a tie counts against A.
    difference : float
        A's correlation minus B's, over all items.
    low, high : float
        Its 2.5th and 97.5th percentiles over the resamples.
    n_resamples : int
        Resamples drawn; a `p` of 0 means below 1 / n_resamples.
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
        The p-values after Holm's correction over all ordered pairs; None if undefined.
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

    Returns
    -------
    PairedBootstrap or Undefined
        Undefined if a correlation is, with one item or group only, and if every resample is undefined.

    Raises
    ------
    ValueError
        A score is missing, lengths differ, `by_group` is set without groups, or `n_resamples` is below 1.

    References
    ----------
    P. Koehn (2004), Statistical Significance Tests for Machine Translation Evaluation, EMNLP; A. Yang et al. (2018),
    section 4.2.

    Examples
    --------
    >>> human, rng = np.arange(20.0), np.random.default_rng(1)
    >>> noise = rng.normal(size=20)
    >>> paired_bootstrap(human, human + noise, human + 30 * noise, rng=rng).p
    0.0
    >>> paired_bootstrap(human, noise, 2 * noise + 1, rng=rng).p
    1.0
    """
    items = Items(human, {"a": a, "b": b}, groups, by_group=by_group)
    return _bootstrap("a", "b", _whole(items), _resample(items, n_resamples, rng), items)


def holm(p_values: Sequence[float | None]) -> list[float | None]:
    """Correct p-values of several tests by Holm's step-down procedure.

    Parameters
    ----------
    p_values : sequence of float or None
        One for each test; None for an undefined test, which is not counted.

    Returns
    -------
    list of float or None
        Adjusted p-values in the same order: the i-th smallest of m is multiplied by m - i + 1, is at least as large as
        those before it, and is at most 1.

    References
    ----------
    S. Holm (1979), A Simple Sequentially Rejective Multiple Test Procedure, Scandinavian Journal of Statistics 6.

    Examples
    --------
    >>> holm([0.01, None, 0.04, 0.03])
    [0.03, None, 0.06, 0.06]
    """
    defined = sorted((p, place) for place, p in enumerate(p_values) if p is not None)
    adjusted: list[float | None] = [None] * len(p_values)
    least = 0.0
    for at, (p, place) in enumerate(defined):
        least = max(least, min(1.0, p * (len(defined) - at)))
        adjusted[place] = least
    return adjusted


def compare_all(
    human: Floats,
    metrics: Mapping[str, Floats],
    *,
    rng: np.random.Generator,
    groups: Sequence[object] | npt.NDArray[np.generic] | None = None,
    n_resamples: int = 1000,
    by_group: bool = False,
) -> list[MetricComparison]:
    """Compare every metric with every other, in both directions, using the same resamples.

    Parameters
    ----------
    human, rng, groups, n_resamples, by_group
        As in `paired_bootstrap`.
    metrics : mapping of str to ndarray of float64, shape (n,)
        The metrics by name, on the same items.

    Returns
    -------
    list of MetricComparison
        Each ordered pair. Holm's correction counts all of them, because no direction was chosen before seeing the data.

    Raises
    ------
    ValueError
        As in `paired_bootstrap`.

    References
    ----------
    As in `paired_bootstrap`, `holm` and `measures.studies.williams.williams`.

    Examples
    --------
    >>> human, rng = np.arange(30.0), np.random.default_rng(1)
    >>> metrics = {"near": human + rng.normal(size=30), "far": human + 20 * rng.normal(size=30)}
    >>> [(one.first, one.bootstrap_holm) for one in compare_all(human, metrics, rng=rng)]
    [('near', 0.0), ('far', 1.0)]
    """
    items = Items(human, metrics, groups, by_group=by_group)
    whole, drawn = _whole(items), _resample(items, n_resamples, rng)
    pairs = list(permutations(metrics, 2))
    bootstraps = [_bootstrap(a, b, whole, drawn, items) for a, b in pairs]
    between = {frozenset(pair): pearson(*(items.metrics[name].values for name in sorted(pair))) for pair in pairs}
    tests = [williams_from_correlations(whole[a], whole[b], between[frozenset((a, b))], n=items.n) for a, b in pairs]
    bootstrap_holm, williams_holm = (
        holm([None if isinstance(one, Undefined) else one.p for one in tested]) for tested in (bootstraps, tests)
    )
    return [
        MetricComparison(
            first=a, second=b, r_first=whole[a], r_second=whole[b], r_between=between[frozenset((a, b))],
            bootstrap=bootstraps[at], williams=tests[at],
            bootstrap_holm=bootstrap_holm[at], williams_holm=williams_holm[at],
        )
        for at, (a, b) in enumerate(pairs)
    ]  # fmt: skip


def _whole(items: Items) -> dict[str, float | Undefined]:
    return {name: pearson(metric.values, items.human.values) for name, metric in items.metrics.items()}


def _resample(items: Items, n_resamples: int, rng: np.random.Generator) -> dict[str, Floats]:
    """Return each metric's correlation in each resample, NaN where undefined."""
    drawn = items.resample_pearsons(n_resamples, rng)
    return {name: drawn[:, at] for at, name in enumerate(items.metrics)}


def _bootstrap(
    a: str, b: str, whole: Mapping[str, float | Undefined], drawn: Mapping[str, Floats], items: Items
) -> PairedBootstrap | Undefined:
    r_a, r_b = whole[a], whole[b]
    if isinstance(r_a, Undefined):
        return r_a
    if isinstance(r_b, Undefined):
        return r_b
    if items.n_drawn < 2:
        unit = "item" if items.drawn is None else "passage"
        return Undefined(reason=f"one {unit} only, so there is nothing to resample")
    differences = drawn[a] - drawn[b]
    defined = differences[~np.isnan(differences)]
    if not defined.size:
        return Undefined(reason="every resample is undefined")
    low, high = np.quantile(defined, [0.025, 0.975])
    return PairedBootstrap(
        p=float((defined < _SAME).mean()), difference=r_a - r_b, low=float(low), high=float(high),
        n_resamples=len(differences), undefined_share=1 - defined.size / len(differences),
    )  # fmt: skip
