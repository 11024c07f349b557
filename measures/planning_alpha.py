"""Planning a study of agreement: the width of alpha's interval by number of items and judgments per item."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import pandas as pd
from scipy.special import stdtrit

from measures.agreement import Agreement, krippendorff_alpha
from measures.alpha_intervals import jackknife_alphas
from measures.columns import GROUP, UNIT, VALUE, require_columns
from measures.jackknife import LEAST_EFFECTIVE, LEAST_UNITS, effective_number
from measures.outcome import Undefined
from measures.patterns import Floats, Ints, Patterns
from measures.rounding import IN_SUMS
from measures.rubric import Level

POOL = 1500
"""A larger trial is too slow to jackknife again and again: each draw takes whole groups of about so many items."""
LEAST_GROUPS = 40
"""The fewest groups of a draw from such a trial, however large they are: few would tell little of how groups differ."""
WIDEST = 2.0
"""A wider interval leaves open whether alpha is near -1 or near 1. The size is left out, as if it had no interval."""
_NEIGHBOURS = 20
"""A score given by few annotators (rare, or on a slider) borrows pairs of scores near it, up to this many pairs."""
_OWN_NEIGHBOURS = 8
"""The same among the pairs of one group, which are fewer."""
_LEAST_OWN = 4
"""A group of fewer items borrows pairs of the whole trial."""
_TRIES = 5
"""Pairs drawn of a group before one of the whole trial is taken, where each is one of the item itself."""


@dataclass(frozen=True, kw_only=True)
class PlannedWidth:
    """The expected precision of a study of one size.

    Attributes
    ----------
    n_judgments : int
        Judgments per item.
    n_units : int
        Items.
    width : float
        Width of the confidence interval of alpha.
    alpha : float
        Alpha with so many judgments per item, on which the width depends.
    """

    n_judgments: int
    n_units: int
    width: float
    alpha: float


@dataclass(frozen=True, kw_only=True)
class AlphaPlan:
    """The precision to expect of studies that follow a trial.

    Attributes
    ----------
    trial : Agreement
        Alpha of the trial, with its counts.
    fewest_judgments, most_judgments : int
        The fewest and the most judgments that an item of the trial has. Up to the fewest, all ratings are drawn from
        the trial; beyond the most, the plan relies on the model for every item.
    judgments : tuple of int
        The numbers of judgments per item that were asked for, sorted.
    widths : tuple of PlannedWidth
        Sorted by judgments per item, then items. Sizes without an interval, or with one that says nothing, are left
        out.
    n_draws : int
        Draws of ratings for each number of judgments.
    by_group : bool
        Whether intervals are over groups.
    n_groups : int
        The groups of the trial that have a unit with two ratings, or these units where intervals are over units.
    n_effective : float
        As how many of one size they count.
    """

    trial: Agreement
    fewest_judgments: int
    most_judgments: int
    judgments: tuple[int, ...]
    widths: tuple[PlannedWidth, ...]
    n_draws: int
    by_group: bool
    n_groups: int
    n_effective: float


def plan_alpha(
    frame: pd.DataFrame,
    *,
    level: Level | str,
    judgments: Iterable[int],
    units: Iterable[int],
    rng: np.random.Generator,
    n_draws: int = 20,
    confidence: float = 0.95,
    by_group: bool = False,
) -> AlphaPlan | Undefined:
    """Estimate from the data of a trial how wide the jackknife interval of alpha will be in larger studies.

    Parameters
    ----------
    frame : pandas.DataFrame
        A long frame of one criterion with `unit` and `value`, and `group` if `by_group`. Rows without a value and
        units with one rating are left out.
    level : Level or str
        The level of measurement.
    judgments : iterable of int
        Numbers of judgments per item; each 2 or more.
    units : iterable of int
        Numbers of items; each 2 or more.
    rng : numpy.random.Generator
        The source of randomness.
    n_draws : int
        Draws of ratings for each number of judgments.
    confidence : float
        Nominal coverage of the intervals, between 0 and 1.
    by_group : bool
        Intervals over whole groups (passages) instead of units, because units of one group are not independent.

    Returns
    -------
    AlphaPlan or Undefined
        Undefined if alpha of the trial is, and if no draw has an interval, for the reason of the last one: fewer than
        three units (or groups), one group that outweighs all others together, or perfect agreement.

    Raises
    ------
    ValueError
        A number is out of range, or a column is missing.

    Notes
    -----
    Each draw gives every item of the trial the number of judgments in question. If an item has enough ratings, a random
    subset of them is taken without replacement; this assumes only that annotators are exchangeable. Drawing ratings
    with replacement would repeat judgments as if two people agreed, and would overestimate alpha. If an item has too
    few ratings, the rest are added one by one to its `j` ratings: with probability ``(j - 1) a / (1 + (j - 1) a)``,
    where `a` is alpha of the trial, a copy of one of them, otherwise the score that another annotator gave to an item
    of the trial on which somebody gave the score of one of them. Such an answer differs from the other ratings by
    ``(1 + a)`` times the mean difference of a pair, and the Spearman-Brown weight of the copies makes up for it: alpha
    stays that of the trial. In groups of four items or more the other item is one of the same group, as groups may be
    easy or hard to agree on.

    With ``D`` the mean over draws of 1 - alpha, and ``V`` that of ``G (1 - alpha)^2 se^2``, where ``se`` is the
    jackknife's standard error of log(1 - alpha) over the `G` groups of a draw, a study of ``G'`` groups has the
    standard error ``sqrt(V / G') / D`` on that scale, and Student's t has the effective number of its groups less one
    degrees of freedom, as in `measures.jackknife.jackknife_interval`.

    Studies drawn with replacement from the trial, whose alphas were compared before, are as much alike as groups that
    occur again and again: in simulations their spread was up to a third too small where few groups had most of the
    items. The jackknife is also what real studies are shown with. How close the widths come:
    ``python -m benchmarks.planning``. The plan does not account for what the trial did not include: other items, other
    annotators, changed instructions.

    References
    ----------
    B. Efron and C. Stein (1981), The jackknife estimate of variance, Annals of Statistics 9(3): the variance for
    another sample size follows from its order 1/n.

    Examples
    --------
    >>> rng = np.random.default_rng(1)
    >>> values = np.clip(np.repeat(rng.integers(1, 6, 60), 3) + rng.integers(-1, 2, 180), 1, 5)
    >>> frame = pd.DataFrame({"unit": np.repeat(range(60), 3), "value": values.astype(float)})
    >>> plan = plan_alpha(frame, level="ordinal", judgments=[2, 3], units=[50, 200], rng=rng)
    >>> [(each.n_judgments, each.n_units) for each in plan.widths]
    [(2, 50), (2, 200), (3, 50), (3, 200)]
    >>> plan.widths[0].width > plan.widths[1].width
    True
    """
    judgments, sizes = sorted(set(judgments)), sorted(set(units))
    if n_draws < 1 or not 0 < confidence < 1 or min([2, *judgments, *sizes]) < 2:
        raise ValueError("n_draws must be 1 or more, items and judgments 2 or more, and confidence between 0 and 1.")
    require_columns(frame, UNIT, VALUE, *([GROUP] if by_group else []))
    # Groups are dropped unless they are drawn: a unit in two groups is an error only then.
    trial = krippendorff_alpha(frame.drop(columns=[] if by_group else [GROUP], errors="ignore"), level=level)
    if isinstance(trial, Undefined):
        return trial
    observed = _Trial.of(frame, trial.alpha, by_group=by_group)
    widths: list[PlannedWidth] = []
    reason = ""
    for n_judgments in judgments:
        found = _Precision.of(observed, n_judgments, Level(level), rng, n_draws=n_draws, by_group=by_group)
        if isinstance(found, Undefined):
            reason = found.reason
            continue
        for n_units in sizes:
            width = found.expect_width(n_units, confidence)
            if width is not None:
                alpha = 1 - found.disagreement
                widths.append(PlannedWidth(n_judgments=n_judgments, n_units=n_units, width=width, alpha=alpha))
    if reason and not widths:
        return Undefined(reason=reason)
    return AlphaPlan(
        trial=trial,
        fewest_judgments=int(observed.counts.min()),
        most_judgments=int(observed.counts.max()),
        judgments=tuple(judgments),
        widths=tuple(widths),
        n_draws=n_draws,
        by_group=by_group,
        n_groups=observed.n_groups,
        n_effective=effective_number(np.bincount(observed.groups)),
    )


def units_for_width(widths: Sequence[PlannedWidth], width: float) -> int | Undefined:
    """Interpolate how many items are needed for an interval of a given width.

    Parameters
    ----------
    widths : sequence of PlannedWidth
        Studies with the same number of judgments per item, and different numbers of items.
    width : float
        The width wanted, above 0, in units of alpha.

    Returns
    -------
    int or Undefined
        Interpolated linearly between the logarithms of the two nearest studies, because the width shrinks with the
        square root of the number of items. The smallest number of items if its width is small enough; undefined if
        the largest study is too wide, and without studies.

    Raises
    ------
    ValueError
        `width` is not above 0.

    Examples
    --------
    >>> widths = [PlannedWidth(n_judgments=3, n_units=n, width=w, alpha=0.8) for n, w in [(100, 0.2), (400, 0.1)]]
    >>> units_for_width(widths, 0.1), units_for_width(widths, 0.2**0.5 * 0.1**0.5)
    (400, 200)
    >>> units_for_width(widths, 0.05).reason
    'more than 400 candidates'
    """
    if not width > 0:
        raise ValueError("The width must be above 0.")
    widths = sorted(widths, key=lambda each: each.n_units)
    if not widths:
        return Undefined(reason="no planned size has an interval of alpha that says anything")
    before = None
    for each in widths:
        if each.width <= width:
            if before is None:
                return each.n_units
            # Two studies of equal width would divide by zero, and rounding keeps 200.0000001 from becoming 201.
            share = np.log(before.width / width) / np.log(before.width / max(each.width, 1e-12))
            return int(np.ceil(round(before.n_units * (each.n_units / before.n_units) ** share, 6)))
        before = each
    return Undefined(reason=f"more than {widths[-1].n_units:,} candidates")


@dataclass(frozen=True)
class _Trial:
    """Units with at least two ratings: their values unit by unit, and every ordered pair of ratings within a unit."""

    values: Floats
    starts: Ints
    counts: Ints
    groups: Ints
    n_groups: int
    pairs: "_Pairs"
    own_pairs: "_Pairs | None"
    """The pairs by group, if groups are drawn: some passages are harder to agree on than others."""
    lends_own: npt.NDArray[np.bool_]
    """Whether a group has enough items for pairs of its own."""
    likeness: float
    """Alpha, at least 0: how alike ratings of one item are."""

    @classmethod
    def of(cls, frame: pd.DataFrame, alpha: float, *, by_group: bool) -> "_Trial":
        frame = frame[frame[VALUE].notna()]
        units = pd.factorize(frame[UNIT])[0]
        order = np.argsort(units, kind="stable")
        units, values = units[order], frame[VALUE].to_numpy(np.float64)[order]
        is_kept = np.bincount(units)[units] >= 2
        units, values = np.unique(units[is_kept], return_inverse=True)[1], values[is_kept]
        counts = np.bincount(units)
        starts = np.cumsum(counts) - counts
        rows = frame[GROUP].to_numpy()[order][is_kept][starts] if by_group else np.arange(len(counts))
        groups = pd.factorize(rows)[0].astype(np.int64)
        return cls(
            values=values, starts=starts, counts=counts, groups=groups, n_groups=int(groups.max()) + 1,
            pairs=_Pairs.of(units, values, np.zeros_like(groups)),
            own_pairs=_Pairs.of(units, values, groups) if by_group else None,
            lends_own=np.bincount(groups) >= _LEAST_OWN, likeness=max(alpha, 0.0),
        )  # fmt: skip


@dataclass(frozen=True)
class _Pairs:
    """Every ordered pair of scores that two annotators gave to one unit, sorted by group and the first score."""

    values: Floats
    """The distinct scores, ascending."""
    keys: Ints
    """The group and the first score of each pair, as one number."""
    other: Floats
    units: Ints
    bounds: Ints
    """Where the pairs of each group begin, and the end."""

    @classmethod
    def of(cls, units: Ints, values: Floats, groups: Ints) -> "_Pairs":
        parts = [np.zeros((3, 0))]
        low, lag = np.arange(len(units)), 0
        while low.size:
            lag += 1
            low = low[low + lag < len(units)]
            low = low[units[low] == units[low + lag]]
            one, another, unit = values[low], values[low + lag], units[low]
            parts += [np.stack([one, another, unit]), np.stack([another, one, unit])]
        given, other, unit = np.concatenate(parts, axis=1)
        distinct = np.unique(values)
        pair_units = unit.astype(np.int64)
        keys = groups[pair_units] * len(distinct) + np.searchsorted(distinct, given)
        order = np.argsort(keys, kind="stable")
        bounds = np.searchsorted(keys[order], np.arange(int(groups.max()) + 2) * len(distinct))
        return cls(distinct, keys[order], other[order], pair_units[order], bounds)

    def draw(self, given: Floats, groups: Ints, neighbours: int, rng: np.random.Generator) -> Ints:
        """Draw, for each score, a pair of its group whose first score is this one, or one close to it."""
        keys = groups * len(self.values) + np.searchsorted(self.values, given)
        low, high = (np.searchsorted(self.keys, keys, side) for side in ("left", "right"))
        beyond = np.maximum(0, (neighbours - (high - low) + 1) // 2)
        low, high = np.maximum(self.bounds[groups], low - beyond), np.minimum(self.bounds[groups + 1], high + beyond)
        drawn: Ints = rng.integers(low, high)
        return drawn


@dataclass(frozen=True)
class _Precision:
    """What the jackknife says of studies with one number of judgments: 1 - alpha, and its variance per group."""

    disagreement: float
    variance: float
    group_size: float
    effective_share: float
    """The effective number of groups, by group."""

    @classmethod
    def of(
        cls, trial: _Trial, n_judgments: int, level: Level, rng: np.random.Generator, *, n_draws: int, by_group: bool
    ) -> "_Precision | Undefined":
        sizes = np.bincount(trial.groups)
        disagreements, variances, reason = [], [], ""
        for _ in range(n_draws):
            patterns = _draw(trial, sizes, n_judgments, rng)
            alpha = krippendorff_alpha(patterns, level=level)
            interval = jackknife_alphas(patterns, levels=[level], by_group=by_group)[level]
            if isinstance(alpha, Undefined) or isinstance(interval, Undefined):
                reason = interval.reason if isinstance(interval, Undefined) else ""
                continue
            disagreements.append(1 - alpha.alpha)
            # Not of log(1 - alpha): draws of a small trial that agree nearly perfectly would decide.
            variances.append(patterns.n_groups * ((1 - alpha.alpha) * interval.se) ** 2)
        if not disagreements:
            return Undefined(reason=reason)
        share = effective_number(sizes) / len(sizes)
        return cls(float(np.mean(disagreements)), float(np.mean(variances)), float(sizes.mean()), share)

    def expect_width(self, n_units: int, confidence: float) -> float | None:
        """Return the width of the interval of a study of about `n_units` units; None without one that says anything."""
        n_groups = n_units / self.group_size
        n_effective = n_groups * self.effective_share
        if n_groups < LEAST_UNITS or n_effective < LEAST_EFFECTIVE - IN_SUMS:
            return None
        reach = float(stdtrit(n_effective - 1, (1 + confidence) / 2)) * np.sqrt(self.variance / n_groups)
        # The ends are 1 - D exp(-reach) and 1 - D exp(reach).
        width = float(2 * self.disagreement * np.sinh(reach / self.disagreement))
        return width if width <= WIDEST else None


def _draw(trial: _Trial, sizes: Ints, n_judgments: int, rng: np.random.Generator) -> Patterns:
    """Return the groups of a trial, or some of a large one, with so many ratings of each unit."""
    drawn = rng.permutation(trial.n_groups)
    drawn = drawn[: max(LEAST_GROUPS, int(np.searchsorted(np.cumsum(sizes[drawn]), POOL)) + 1)]
    by_group, ends = np.argsort(trial.groups, kind="stable"), np.cumsum(sizes)
    members = np.concatenate([by_group[ends[group] - sizes[group] : ends[group]] for group in drawn])
    ratings = _simulate(trial, members, n_judgments, rng)
    frame = pd.DataFrame(
        {UNIT: np.repeat(np.arange(len(members)), n_judgments), VALUE: ratings.ravel(),
         GROUP: np.repeat(trial.groups[members], n_judgments)}
    )  # fmt: skip
    return Patterns.from_frame(frame)


def _simulate(trial: _Trial, members: Ints, n_judgments: int, rng: np.random.Generator) -> Floats:
    """Return ratings of each member, shape (members, judgments): its own in random order, then simulated ones."""
    counts, starts = trial.counts[members], trial.starts[members]
    widest = int(counts.max())
    places = np.arange(widest)
    # Sorting random keys shuffles each member's ratings; keys of 2 sort positions without a rating to the end.
    keys = np.where(places < counts[:, np.newaxis], rng.random((len(members), widest)), 2.0)
    order = np.argsort(keys, axis=1)
    ratings = np.empty((len(members), n_judgments))
    everyone = np.arange(len(members))
    for place in range(n_judgments):
        has_own = place < counts
        if place < widest:
            ratings[has_own, place] = trial.values[starts[has_own] + order[has_own, place]]
        if not has_own.all():
            given = ratings[everyone, rng.integers(place, size=len(members))]
            is_new = rng.random(len(members)) < 1 / (1 + (place - 1) * trial.likeness)
            added = np.where(is_new, _answer(trial, members, given, rng), given)
            ratings[~has_own, place] = added[~has_own]
    return ratings


def _answer(trial: _Trial, members: Ints, given: Floats, rng: np.random.Generator) -> Floats:
    """Draw a score that another annotator gave to a unit with this score, of the same group where it has enough."""
    answers: Floats = trial.pairs.other[trial.pairs.draw(given, np.zeros_like(members), _NEIGHBOURS, rng)]
    if (own := trial.own_pairs) is None:
        return answers
    left = np.flatnonzero(trial.lends_own[trial.groups[members]])
    # The pairs of the unit itself would repeat its judgments as if more people agreed.
    for _ in range(_TRIES):
        drawn = own.draw(given[left], trial.groups[members[left]], _OWN_NEIGHBOURS, rng)
        is_other = own.units[drawn] != members[left]
        answers[left[is_other]] = own.other[drawn[is_other]]
        left = left[~is_other]
    return answers
