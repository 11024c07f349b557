"""Planning a study of agreement: how wide the interval of alpha would be with so many items and judgments of each."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd
from scipy.sparse import csr_matrix

from measures.agreement import Agreement, alphas, krippendorff_alpha
from measures.columns import GROUP, UNIT, VALUE, require_columns
from measures.outcome import Undefined
from measures.patterns import Floats, Ints, Patterns
from measures.rubric import Level

POOL = 1500
"""So many items are simulated for each number of judgments; studies draw from them."""
_NEIGHBOURS = 20
"""Where hardly anybody gave just this score, so many pairs of scores around it stand in."""


@dataclass(frozen=True, kw_only=True)
class PlannedWidth:
    """A study that might be run.

    Attributes
    ----------
    n_judgments : int
        Judgments of each item.
    n_units : int
        Items.
    width : float
        Between the ends of the interval that alpha falls into in 95 (or as asked) of 100 simulated studies.
    alpha : float
        The median of alpha in them.
    """

    n_judgments: int
    n_units: int
    width: float
    alpha: float


@dataclass(frozen=True, kw_only=True)
class AlphaPlan:
    """What a trial says of the studies that might follow.

    Attributes
    ----------
    trial : Agreement
        Alpha of the trial, and the data behind it.
    most_judgments : int
        The most judgments that an item of the trial has; studies with more rest on the model alone.
    widths : tuple of PlannedWidth
        By judgments, then items.
    n_studies : int
        Studies simulated for each.
    """

    trial: Agreement
    most_judgments: int
    widths: tuple[PlannedWidth, ...]
    n_studies: int


def plan_alpha(
    frame: pd.DataFrame,
    *,
    level: Level | str,
    judgments: Iterable[int],
    units: Iterable[int],
    rng: np.random.Generator,
    n_studies: int = 300,
    confidence: float = 0.95,
    by_group: bool = False,
) -> AlphaPlan | Undefined:
    """Simulate studies after a trial, and measure how far their alpha varies.

    Parameters
    ----------
    frame : pandas.DataFrame
        A long frame of one criterion with `unit` and `value`, and `group` if groups are to be drawn. Rows without a
        value, and units with one rating, are left out.
    level : Level or str
        The level of measurement.
    judgments : iterable of int
        Judgments of each item to try; each 2 or more.
    units : iterable of int
        Numbers of items to try; each 2 or more.
    rng : numpy.random.Generator
        The source of randomness.
    n_studies : int
        Studies simulated for each pair of numbers.
    confidence : float
        The share of studies between the ends.
    by_group : bool
        Draw whole groups (passages) of the trial's sizes instead of units, for units of one group are not independent.

    Returns
    -------
    AlphaPlan or Undefined
        Undefined where the trial's alpha is, and where it has one unit (or group) only.

    Raises
    ------
    ValueError
        A number is out of range, or a column is missing.

    Notes
    -----
    Items of the trial are drawn with replacement. An item with at least as many ratings as wanted gives a random part
    of them, without replacement: that needs no assumption but that annotators are exchangeable. Drawing them with
    replacement would repeat judgments as if two people agreed, and alpha would come out too high. What is wanted
    beyond an item's own `j` ratings is added one by one: with probability ``(j - 1) / j`` a copy of one of them, else
    what somebody said of an item of the trial on which somebody else gave the score of one of them. So the mean
    difference of two ratings of an item stays about that of the trial, and their differences are of the trial's kind.
    Against known truths the widths come out right to about 5 per cent within the trial's own number of ratings, and to
    about 15 beyond it, too wide more often than too narrow. The plan cannot know what the trial does not show: other
    items, other annotators, instructions that have changed.

    References
    ----------
    B. Efron and R. Tibshirani (1993), An Introduction to the Bootstrap, chapter 6: simulation from what was observed.

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
    if n_studies < 1 or not 0 < confidence < 1 or min([2, *judgments, *sizes]) < 2:
        raise ValueError("There must be a study of two items with two judgments at least, and a share within 0 and 1.")
    require_columns(frame, UNIT, VALUE, *([GROUP] if by_group else []))
    trial = krippendorff_alpha(frame.drop(columns=[] if by_group else [GROUP], errors="ignore"), level=level)
    if isinstance(trial, Undefined):
        return trial
    observed = _Trial.of(frame, by_group=by_group)
    if observed.n_groups < 2:
        return Undefined(reason=f"one {'group' if by_group else 'unit'} only, so there is nothing to resample")
    widths: list[PlannedWidth] = []
    for n_judgments in judgments:
        pool = _Pool.of(observed, n_judgments, rng)
        for n_units in sizes:
            found = pool.study(n_units, Level(level), rng, n_studies)
            if len(found):
                low, middle, high = np.quantile(found, [(1 - confidence) / 2, 0.5, (1 + confidence) / 2])
                widths.append(
                    PlannedWidth(n_judgments=n_judgments, n_units=n_units, width=float(high - low), alpha=float(middle))
                )
    return AlphaPlan(trial=trial, most_judgments=int(observed.counts.max()), widths=tuple(widths), n_studies=n_studies)


def units_for_width(widths: Sequence[PlannedWidth], width: float) -> int | Undefined:
    """Read off how many items an interval of a width needs.

    Parameters
    ----------
    widths : sequence of PlannedWidth
        Studies with one number of judgments and several numbers of items.
    width : float
        The width wanted, above 0.

    Returns
    -------
    int or Undefined
        Read between the two simulated studies around it, on a straight line of the logarithms, for a width shrinks
        with the root of the number of items. Undefined where the largest study is still too wide; the smallest
        number tried where that is narrow enough.

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
    'more than 400 items'
    """
    if not width > 0:
        raise ValueError("The width must lie above 0.")
    widths = sorted(widths, key=lambda each: each.n_units)
    if not widths:
        return Undefined(reason="no study is defined")
    before = None
    for each in widths:
        if each.width <= width:
            if before is None:
                return each.n_units
            share = np.log(before.width / width) / np.log(before.width / max(each.width, 1e-12))
            return int(np.ceil(round(before.n_units * (each.n_units / before.n_units) ** share, 6)))
        before = each
    return Undefined(reason=f"more than {widths[-1].n_units} items")


@dataclass(frozen=True)
class _Trial:
    """Units with two ratings or more: their values unit by unit, and every ordered pair of ratings within one."""

    values: Floats
    starts: Ints
    counts: Ints
    groups: Ints
    n_groups: int
    pair_given: Floats
    pair_other: Floats

    @classmethod
    def of(cls, frame: pd.DataFrame, *, by_group: bool) -> "_Trial":
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
        given, other = _pairs(units, values)
        return cls(values, starts, counts, groups, int(groups.max()) + 1, given, other)


def _pairs(units: Ints, values: Floats) -> tuple[Floats, Floats]:
    """What one annotator gave and what another gave to the same unit, both ways, in order of the first."""
    parts = [np.zeros((2, 0))]
    low, lag = np.arange(len(units)), 0
    while low.size:
        lag += 1
        low = low[low + lag < len(units)]
        low = low[units[low] == units[low + lag]]
        parts += [np.stack([values[low], values[low + lag]]), np.stack([values[low + lag], values[low]])]
    pairs = np.concatenate(parts, axis=1)
    pairs = pairs[:, np.argsort(pairs[0], kind="stable")]
    return pairs[0], pairs[1]


@dataclass(frozen=True)
class _Pool:
    """Simulated units with one number of ratings each, in groups, as patterns that studies draw from."""

    patterns: Patterns
    units_of: csr_matrix
    group_size: float

    @classmethod
    def of(cls, trial: _Trial, n_judgments: int, rng: np.random.Generator) -> "_Pool":
        n_drawn = max(2, round(POOL * trial.n_groups / len(trial.counts)))
        drawn = rng.integers(trial.n_groups, size=n_drawn)
        by_group = np.argsort(trial.groups, kind="stable")
        sizes = np.bincount(trial.groups)
        ends = np.cumsum(sizes)
        members = np.concatenate([by_group[ends[group] - sizes[group] : ends[group]] for group in drawn])
        groups = np.repeat(np.arange(n_drawn), sizes[drawn])
        ratings = _simulate(trial, members, n_judgments, rng)
        frame = pd.DataFrame(
            {UNIT: np.repeat(np.arange(len(members)), n_judgments), VALUE: ratings.ravel(),
             GROUP: np.repeat(groups, n_judgments)}
        )  # fmt: skip
        patterns = Patterns.from_frame(frame)
        cells = (patterns.cell_units.astype(np.float64), (patterns.cell_pattern, patterns.cell_group))
        units_of = csr_matrix(cells, shape=(len(patterns.sizes), n_drawn))
        return cls(patterns, units_of, len(members) / n_drawn)

    def study(self, n_units: int, level: Level, rng: np.random.Generator, n_studies: int) -> Floats:
        """Alpha of so many studies of about so many units; those without variation are left out."""
        n_groups = self.units_of.shape[1]
        if self.group_size == 1:
            shares = self.patterns.units / self.patterns.n_units
            draws = rng.multinomial(n_units, shares, n_studies).astype(np.float64)
        else:
            n_drawn = max(2, round(n_units / self.group_size))
            groups = rng.multinomial(n_drawn, np.full(n_groups, 1 / n_groups), n_studies)
            draws = np.asarray((self.units_of @ groups.T).T, np.float64)
        found = alphas(self.patterns, draws, level)
        defined: Floats = found[~np.isnan(found)]
        return defined


def _simulate(trial: _Trial, members: Ints, n_judgments: int, rng: np.random.Generator) -> Floats:
    """Ratings of each member, shape (members, judgments): its own in random order, then modelled ones."""
    counts, starts = trial.counts[members], trial.starts[members]
    widest = int(counts.max())
    places = np.arange(widest)
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
            is_new = rng.random(len(members)) < 1 / place
            added = np.where(is_new, _answer(trial, given, rng), given)
            ratings[~has_own, place] = added[~has_own]
    return ratings


def _answer(trial: _Trial, given: Floats, rng: np.random.Generator) -> Floats:
    """What another annotator said where one gave this score, or one close to it."""
    low, high = (np.searchsorted(trial.pair_given, given, side) for side in ("left", "right"))
    beyond = np.maximum(0, (_NEIGHBOURS - (high - low) + 1) // 2)
    low, high = np.maximum(0, low - beyond), np.minimum(len(trial.pair_given), high + beyond)
    answers: Floats = trial.pair_other[rng.integers(low, high)]
    return answers
