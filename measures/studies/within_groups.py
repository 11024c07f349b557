"""Correlation of metrics with human scores within groups, such as the answers to one question, and its mean."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum

import numpy as np
import numpy.typing as npt

from measures.correlation import LEAST_PAIRS
from measures.jackknife import Scale, bound_interval, effective_number, jackknife_interval
from measures.outcome import Undefined
from measures.patterns import Floats, Ints
from measures.studies.group_correlations import are_constant, correlate_groups, kendall_of_groups, rank_in_groups
from measures.studies.items import COEFFICIENTS, MOST_RANKED, N_BLOCKS, Items, number_groups
from measures.studies.resampling import merge_at_random


class UndefinedAs(StrEnum):
    """What a group without a correlation counts as."""

    LEFT_OUT = "left_out"
    ZERO = "zero"


@dataclass(frozen=True, kw_only=True)
class WithinCorrelation:
    """The mean of one coefficient of one metric over groups.

    Attributes
    ----------
    value : float or Undefined
        The unweighted mean over the groups that count.
    low, high : float or None
        The ends of its interval, from the standard error of the jackknife; None where there is none.
    why_no_interval : str
        The reason why there is none; empty otherwise.
    """

    value: float | Undefined
    low: float | None
    high: float | None
    why_no_interval: str


@dataclass(frozen=True, kw_only=True)
class WithinGroups:
    """The correlations of metrics with human scores within groups.

    Attributes
    ----------
    metrics : dict of str to dict of str to WithinCorrelation
        By metric, then by coefficient.
    n_groups, n_averaged : int
        All groups, and those in every mean.
    n_small, n_equal : int
        Groups with fewer than three items, and others whose human scores are all equal.
    n_constant : dict of str to int
        By metric: the other groups in which it gives all items the same score.
    n_units : int
        What the jackknife leaves out, one at a time.
    n_effective : float
        As how many units of one size they count in its intervals.
    """

    metrics: dict[str, dict[str, WithinCorrelation]]
    n_groups: int
    n_averaged: int
    n_small: int
    n_equal: int
    n_constant: dict[str, int]
    n_units: int
    n_effective: float


def correlate_within(
    human: Floats,
    metrics: Mapping[str, Floats],
    groups: Sequence[object] | npt.NDArray[np.generic],
    *,
    units: Sequence[object] | npt.NDArray[np.generic],
    rng: np.random.Generator,
    undefined_as: UndefinedAs | str = UndefinedAs.LEFT_OUT,
    confidence: float = 0.95,
) -> WithinGroups:
    """Correlate metrics with the human scores within each group, and average over the groups.

    Parameters
    ----------
    human : ndarray of float64, shape (n,)
        The human scores; all finite.
    metrics : mapping of str to ndarray of float64, shape (n,)
        The metrics by name; all finite.
    groups : sequence, shape (n,)
        The group of each item: its question, its system, or one group for all.
    units : sequence, shape (n,)
        What the jackknife leaves out as a whole, such as the passage of each item.
    rng : numpy.random.Generator
        The source of randomness, for blocks of more than 2,000 units where groups are not within units.
    undefined_as : UndefinedAs or str
        ``left_out``: a group that is undefined for one metric enters no mean, so that all means are over the same
        groups; ``zero``: it counts as a correlation of 0.
    confidence : float
        Nominal coverage of the intervals, between 0 and 1.

    Returns
    -------
    WithinGroups
        A correlation is undefined in a group of fewer than three items, and where all human scores or all scores of
        the metric in it are equal; a mean over no group is undefined, and a metric without any correlation leaves no
        group out for the others. Intervals leave out one unit at a time: of a mean they are Wilson's between -1 and 1,
        of a single group on Fisher's z. There is none where a group becomes undefined without a unit.

    Raises
    ------
    ValueError
        A score is missing, or lengths differ.

    References
    ----------
    D. Deutsch, R. Dror and D. Roth (2021), A Statistical Analysis of Summarization Evaluation Metrics using Resampling
    Methods, TACL 9, section 2; B. Efron and R. Tibshirani (1993), An Introduction to the Bootstrap, chapter 11.

    Examples
    --------
    >>> human, metric = np.array([5.0, 3, 3, 1, 4, 4, 2, 2]), np.array([80.0, 70, 50, 20, 60, 30, 45, 40])
    >>> found = correlate_within(human, {"m": metric}, list("aaaabbbb"), units=list("aaaabbbb"),
    ...                          rng=np.random.default_rng(1))
    >>> round(found.metrics["m"]["pearson"].value, 4), found.metrics["m"]["pearson"].why_no_interval
    (0.5206, 'fewer than three passages')
    """
    undefined_as = UndefinedAs(undefined_as)
    items = Items(human, metrics, groups, by_group=True)
    if len(units) != items.n:
        raise ValueError("Each item needs one unit.")
    codes, its_units = _codes(items), number_groups(units)
    chosen = _choose_groups(items, undefined_as)
    averaged = chosen.averaged
    # Questions lie within passages, while the answers of a system come from all of them.
    is_within = len(np.unique(np.stack([codes, its_units], axis=1), axis=0)) == items.n_groups
    if not is_within and int(its_units.max(initial=0)) >= MOST_RANKED:
        its_units = merge_at_random(its_units, N_BLOCKS, rng)
    find = _average_whole_groups if is_within else _average_parts
    means = find(items, codes, its_units, averaged, undefined_as=undefined_as)
    means |= {name: tuple(_find_nowhere() for _ in COEFFICIENTS) for name in chosen.hopeless}
    # A mean over whole groups is over as many groups of each unit, any other over its items.
    sizes = np.bincount(_find_units(codes, its_units, averaged) if is_within else its_units[np.isin(codes, averaged)])
    scale = Scale.PLAIN if len(averaged) > 1 else Scale.FISHER_Z
    return WithinGroups(
        metrics={
            name: {
                coefficient: _as_result(*mean, scale=scale, sizes=sizes, confidence=confidence)
                for coefficient, mean in zip(COEFFICIENTS, each, strict=True)
            }
            for name, each in means.items()
        },
        n_groups=items.n_groups,
        n_averaged=len(averaged),
        n_small=chosen.n_small,
        n_equal=chosen.n_equal,
        n_constant=chosen.n_constant,
        # Units without a group that counts are none of these.
        n_units=max((len(left_out) for each in means.values() for _value, left_out in each), default=0),
        n_effective=effective_number(sizes) if sizes.any() else 0.0,
    )


Mean = tuple[float | Undefined, Floats]
"""A mean over groups, and the means without each unit, NaN where undefined."""


@dataclass(frozen=True, kw_only=True)
class _Chosen:
    """The groups that enter the means, the metrics that have a correlation in none, and the groups without one."""

    averaged: Ints
    hopeless: set[str]
    n_small: int
    n_equal: int
    n_constant: dict[str, int]


def _choose_groups(items: Items, undefined_as: UndefinedAs) -> _Chosen:
    codes, n_groups = _codes(items), items.n_groups
    is_small = np.bincount(codes, minlength=n_groups) < LEAST_PAIRS
    is_equal = ~is_small & are_constant(items.human.values, codes, n_groups)
    constant = {
        name: ~is_small & ~is_equal & are_constant(column.values, codes, n_groups)
        for name, column in items.metrics.items()
    }
    # A metric that has no correlation anywhere leaves nothing out for the others.
    hopeless = {name for name, each in constant.items() if (each | is_small | is_equal).all()}
    is_out = np.logical_or.reduce(
        [is_small, is_equal, *(each for name, each in constant.items() if name not in hopeless)]
    )
    return _Chosen(
        averaged=np.arange(n_groups) if undefined_as is UndefinedAs.ZERO else np.flatnonzero(~is_out),
        hopeless=hopeless,
        n_small=int(is_small.sum()),
        n_equal=int(is_equal.sum()),
        n_constant={name: int(each.sum()) for name, each in constant.items()},
    )


def _codes(items: Items) -> Ints:
    assert items.groups is not None
    return items.groups


def _as_result(
    value: float | Undefined, left_out: Floats, *, scale: Scale, sizes: Ints, confidence: float
) -> WithinCorrelation:
    found = jackknife_interval(value, left_out, scale=scale, sizes=sizes, confidence=confidence, unit="passage")
    if scale is Scale.PLAIN and not isinstance(value, Undefined):
        # A mean of correlations lies between theirs, and so does its interval.
        found = bound_interval(value, found, low=-1, high=1)
    if isinstance(found, Undefined):
        return WithinCorrelation(value=value, low=None, high=None, why_no_interval=found.reason)
    return WithinCorrelation(value=value, low=found.low, high=found.high, why_no_interval="")


def _find_nowhere() -> Mean:
    return Undefined(reason="defined in no group"), np.zeros(0)


def _average_whole_groups(
    items: Items, codes: Ints, units: Ints, averaged: Ints, *, undefined_as: UndefinedAs
) -> dict[str, tuple[Mean, ...]]:
    """Average where each group lies within one unit: a unit is left out by subtracting its groups from the sum."""
    its_units = _find_units(codes, units, averaged)
    n_left = len(averaged) - np.bincount(its_units)
    human_ranks = rank_in_groups(items.human.values, codes)
    found = {}
    for name, column in items.metrics.items():
        each = (
            correlate_groups(items.human.values, column.values, codes, items.n_groups),
            correlate_groups(human_ranks, rank_in_groups(column.values, codes), codes, items.n_groups),
            kendall_of_groups(items.human.values, column.values, codes, items.n_groups),
        )
        found[name] = tuple(_average(values[averaged], its_units, n_left, undefined_as) for values in each)
    return found


def _find_units(codes: Ints, units: Ints, averaged: Ints) -> Ints:
    """Return the unit of each group that counts; a unit without one leaves nothing out and has no number."""
    unit_of_group = np.zeros(int(codes.max(initial=-1)) + 1, np.int64)
    unit_of_group[codes] = units
    return np.unique(unit_of_group[averaged], return_inverse=True)[1]


def _average(values: Floats, units: Ints, n_left: Ints, undefined_as: UndefinedAs) -> Mean:
    if undefined_as is UndefinedAs.ZERO:
        values = np.nan_to_num(values)
    if not len(values):
        return _find_nowhere()
    with np.errstate(divide="ignore", invalid="ignore"):
        return float(values.mean()), (values.sum() - np.bincount(units, values)) / n_left


def _average_parts(
    items: Items, codes: Ints, units: Ints, averaged: Ints, *, undefined_as: UndefinedAs
) -> dict[str, tuple[Mean, ...]]:
    """Average where groups share units: each group is computed without each of its units."""
    n_units = int(units.max(initial=-1)) + 1
    values = {name: np.full((len(averaged), len(COEFFICIENTS)), np.nan) for name in items.metrics}
    left_out = {name: np.zeros((len(COEFFICIENTS), n_units)) for name in items.metrics}
    for place, group in enumerate(averaged):
        rows = np.flatnonzero(codes == group)
        own = Items(
            items.human.values[rows],
            {name: column.values[rows] for name, column in items.metrics.items()},
            units[rows],
            by_group=True,
        )
        # The units of the group in the order in which its items number them.
        its_units = units[rows][np.sort(np.unique(units[rows], return_index=True)[1])]
        # Nothing is drawn, as there are at most 2,000 units.
        parts = own.leave_out(np.random.default_rng(0))
        for name, whole in own.whole().items():
            values[name][place] = [np.nan if isinstance(each, Undefined) else each for each in whole]
            for at, without in enumerate(parts[name]):
                column = np.full(n_units, values[name][place, at])
                column[its_units] = without
                left_out[name][at] += np.nan_to_num(column) if undefined_as is UndefinedAs.ZERO else column
    if not len(averaged):
        return {name: tuple(_find_nowhere() for _ in COEFFICIENTS) for name in items.metrics}
    if undefined_as is UndefinedAs.ZERO:
        values = {name: np.nan_to_num(each) for name, each in values.items()}
    return {
        name: tuple(
            (float(values[name][:, at].mean()), left_out[name][at] / len(averaged)) for at in range(len(COEFFICIENTS))
        )
        for name in items.metrics
    }
