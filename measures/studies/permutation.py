"""Permutation tests of two metrics (PERM), and bootstrap intervals, over systems, over inputs, or over both."""

from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass
from enum import StrEnum
from functools import cached_property
from itertools import combinations

import numpy as np
import numpy.typing as npt

from measures.correlation import LEAST_PAIRS
from measures.outcome import Undefined
from measures.patterns import Floats, Ints
from measures.rounding import ON_SCALE, is_constant, scale_to_one
from measures.studies.grids import Grid

MOST_ENUMERATED = 4_096
"""Up to this many patterns all are tried; of more, random ones."""
_SAME = 1e-9
"""A smaller difference of correlations is a rounding error."""
_FLAT = 1e-12
"""A sum of squares about the mean below this share of that about 0 is one too."""
_CELLS_AT_A_TIME = 500_000
"""Patterns are made in blocks of about this many numbers (4 MB) a metric, which bounds memory and changes no result."""


class Swap(StrEnum):
    """What is swapped between two metrics, by the toss of a coin.

    ``systems``: all scores of a system; ``inputs``: all scores on a passage; ``both``: a cell is swapped where the coin
    of its system differs from that of its passage; ``cells``: single cells.
    """

    INPUTS = "inputs"
    SYSTEMS = "systems"
    BOTH = "both"
    CELLS = "cells"


class CorrelationLevel(StrEnum):
    """What is correlated: all cells, the cells of each question (the mean over questions), or means of systems."""

    NONE = "none"
    QUESTION = "question"
    SYSTEM = "system"


@dataclass(frozen=True, kw_only=True)
class Permuted:
    """The permutation test of two metrics.

    Attributes
    ----------
    difference : float
        The correlation of the first metric minus that of the second.
    p_first, p_second : float
        One-sided: that the first is better, and that the second is.
    """

    difference: float
    p_first: float
    p_second: float


@dataclass(frozen=True, kw_only=True)
class Permutations:
    """The permutation tests of all pairs of metrics, from the same patterns.

    Attributes
    ----------
    values : dict of str to float or Undefined
        The correlation of each metric at the level.
    pairs : dict of tuple of str to Permuted or Undefined
        By the two metrics of each unordered pair, in the order given.
    n_patterns : int
        The patterns tried.
    is_exact : bool
        Whether these are all there are; p is then their share, otherwise (k + 1) / (B + 1).
    least_p : float
        The smallest p that a pair can have.
    """

    values: dict[str, float | Undefined]
    pairs: dict[tuple[str, str], Permuted | Undefined]
    n_patterns: int
    is_exact: bool
    least_p: float


def permute(
    grid: Grid,
    *,
    rng: np.random.Generator,
    swap: Swap | str = Swap.INPUTS,
    level: CorrelationLevel | str = CorrelationLevel.NONE,
    n_patterns: int = 1_000,
    only: Collection[tuple[str, str]] | None = None,
) -> Permutations:
    """Test by swapping scores whether one metric correlates better with human scores than another.

    Each metric is standardised over the whole grid. Under the null hypothesis that two metrics are equally good their
    scores can be swapped; p is the share of patterns in which the difference of the correlations is at least the
    observed one.

    Parameters
    ----------
    grid : Grid
        The scores; `units` of the grid are the inputs.
    rng : numpy.random.Generator
        The source of randomness, where there are more than 4,096 patterns.
    swap : Swap or str
        What is swapped.
    level : CorrelationLevel or str
        What is correlated.
    n_patterns : int
        The number of random patterns.
    only : collection of tuple of str, optional
        The pairs to test, in the order of the metrics; all by default. Which pairs are tested changes no p.

    Returns
    -------
    Permutations
        A pair is undefined where the scores of one of its metrics, or the human scores, are all equal, where no
        question has a correlation, and with fewer than three systems for ``systems`` and ``both`` and at the levels of
        questions and systems. Questions in which a side is constant are left out for all metrics.

    Raises
    ------
    ValueError
        `n_patterns` is below 1.

    References
    ----------
    D. Deutsch, R. Dror and D. Roth (2021), A Statistical Analysis of Summarization Evaluation Metrics using Resampling
    Methods, TACL 9, section 4.

    Examples
    --------
    >>> names = {"systems": list("aaabbbcccddd"), "questions": list("xyz" * 4), "units": list("xyz" * 4)}
    >>> human = np.array([5.0, 4, 2, 3, 4, 1, 3, 2, 2, 1, 2, 1])
    >>> grid = Grid.of(human, {"m": np.array([80.0, 60, 40, 70, 30, 35, 50, 45, 10, 20, 40, 30]),
    ...                        "n": np.array([40.0, 60, 70, 70, 50, 35, 30, 45, 20, 20, 30, 60])}, **names)
    >>> [permute(grid, swap=swap, rng=np.random.default_rng(1)).pairs["m", "n"].p_first
    ...  for swap in ("systems", "inputs", "both")]
    [0.1875, 0.25, 0.125]
    """
    if n_patterns < 1:
        raise ValueError("n_patterns must be 1 or more.")
    swap, level = Swap(swap), CorrelationLevel(level)
    moments = {name: _Moments(grid.human, scores, grid.units, level) for name, scores in grid.metrics.items()}
    reason = _why_undefined(grid, swap, level)
    is_used = _choose_questions(grid, moments)
    values = {name: _find_value(each, is_used, reason) for name, each in moments.items()}
    n_coins = {Swap.INPUTS: grid.n_units, Swap.SYSTEMS: len(grid.systems), Swap.BOTH: grid.n_units + len(grid.systems),
               Swap.CELLS: int((~np.isnan(grid.human)).sum())}[swap]  # fmt: skip
    is_exact = 2**n_coins <= MOST_ENUMERATED
    defined = {name: each for name, each in values.items() if not isinstance(each, Undefined)}
    n = 2**n_coins if is_exact else n_patterns
    chosen = [pair for pair in combinations(values, 2) if only is None or pair in only]
    reached = {pair: np.zeros(2, np.int64) for pair in chosen if set(pair) <= defined.keys()}
    if reached:
        size = _size_of_pattern(grid, level, n_metrics=len(defined), has_cells=swap is Swap.CELLS)
        for coins in _toss(n_coins, n, size=size, is_exact=is_exact, rng=rng):
            masked = {name: moments[name].mask(coins, swap) for name in {each for pair in reached for each in pair}}
            for (first, second), count in reached.items():
                swapped = _difference(moments[first], moments[second], masked[first], masked[second], is_used)
                difference = defined[first] - defined[second]
                count += [(swapped >= difference - _SAME).sum(), (-swapped >= -difference - _SAME).sum()]
    pairs: dict[tuple[str, str], Permuted | Undefined] = {}
    for first, second in chosen:
        lacking = [each for each in (values[first], values[second]) if isinstance(each, Undefined)]
        if lacking:
            pairs[first, second] = lacking[0]
            continue
        counts = reached[first, second] / n if is_exact else (reached[first, second] + 1) / (n + 1)
        pairs[first, second] = Permuted(
            difference=defined[first] - defined[second], p_first=float(counts[0]), p_second=float(counts[1])
        )
    # With both coins each pattern has a twin: all coins turned round.
    least = (2 if swap is Swap.BOTH else 1) / n if is_exact else 1 / (n + 1)
    return Permutations(values=values, pairs=pairs, n_patterns=n, is_exact=is_exact, least_p=least)


def bootstrap_correlations(
    grid: Grid,
    *,
    rng: np.random.Generator,
    resample: Swap | str = Swap.BOTH,
    level: CorrelationLevel | str = CorrelationLevel.NONE,
    n_resamples: int = 1_000,
    confidence: float = 0.95,
) -> dict[str, tuple[float, float] | Undefined]:
    """Compute the percentile interval of each metric's correlation over drawn systems, inputs or both (BOOT).

    Parameters
    ----------
    grid : Grid
        The scores.
    rng : numpy.random.Generator
        The source of randomness; all metrics use the same resamples.
    resample : Swap or str
        What is drawn with replacement: ``systems``, ``inputs`` (passages) or ``both``, systems first.
    level : CorrelationLevel or str
        What is correlated.
    n_resamples : int
        Number of resamples; those in which a correlation is undefined are left out.
    confidence : float
        Nominal coverage, between 0 and 1.

    Returns
    -------
    dict of str to tuple of float, or Undefined
        Over both it is for conclusions about new systems and new inputs, and wide by nature.

    Raises
    ------
    ValueError
        `resample` is ``cells``, `n_resamples` is below 1, or `confidence` is not between 0 and 1.

    References
    ----------
    D. Deutsch, R. Dror and D. Roth (2021), as in `permute`, section 3.

    Examples
    --------
    >>> grid = Grid.of(np.arange(12.0), {"m": np.arange(12.0) ** 2}, systems=list("aaabbbcccddd"),
    ...                questions=list("xyz" * 4), units=list("xyz" * 4))
    >>> low, high = bootstrap_correlations(grid, rng=np.random.default_rng(1))["m"]
    >>> 0.8 < low < high <= 1
    True
    """
    resample, level = Swap(resample), CorrelationLevel(level)
    if resample is Swap.CELLS or n_resamples < 1 or not 0 < confidence < 1:
        raise ValueError("Resample systems, inputs or both, at least once, with a confidence between 0 and 1.")
    moments = {name: _Moments(grid.human, scores, grid.units, level) for name, scores in grid.metrics.items()}
    reason, is_used = _why_undefined(grid, resample, level), _choose_questions(grid, moments)
    values = {name: _find_value(each, is_used, reason) for name, each in moments.items()}
    n_systems, n_units = len(grid.systems), grid.n_units
    drawn: dict[str, list[Floats]] = {name: [] for name in values}
    block = max(1, _CELLS_AT_A_TIME // max(1, _size_of_pattern(grid, level)))
    for start in range(0, n_resamples, block):
        size = min(block, n_resamples - start)
        rows, columns = (
            _draw_counts(n, size, rng) if resample in (which, Swap.BOTH) else np.ones((size, n))
            for n, which in ((n_systems, Swap.SYSTEMS), (n_units, Swap.INPUTS))
        )
        for name, each in moments.items():
            if not isinstance(values[name], Undefined):
                drawn[name].append(each.resample(rows, columns, is_used))
    found: dict[str, tuple[float, float] | Undefined] = {}
    for name, value in values.items():
        if isinstance(value, Undefined):
            found[name] = value
            continue
        every = np.concatenate(drawn[name])
        every = every[~np.isnan(every)]
        if not every.size:
            found[name] = Undefined(reason="every resample is undefined")
            continue
        low, high = np.quantile(every, [(1 - confidence) / 2, (1 + confidence) / 2])
        found[name] = float(low), float(high)
    return found


class _Moments:
    """The sums from which a metric's correlation follows, and those sums over the swapped cells of each pattern.

    All are sums over cells, so a pattern costs a product of its coins with sums over systems or passages, not a pass
    over the cells.
    """

    def __init__(self, human: Floats, metric: Floats, units: Ints, level: CorrelationLevel) -> None:
        self.level, self.units = level, units
        self.is_there = ~np.isnan(human) & ~np.isnan(metric)
        self.is_constant = not self.is_there.any() or is_constant(metric[self.is_there])
        self.has_equal_humans = not self.is_there.any() or is_constant(human[self.is_there], within=ON_SCALE)
        there = self.is_there.astype(np.float64)
        h, m = _standardise(human, self.is_there), _standardise(metric, self.is_there)
        self._fixed = np.stack([there, h, h * h])
        self._own = np.stack([m, m * m, m * h])
        self._counts = _add(there, 1)
        self._own_by_unit = np.stack([_sum_by_unit(each, units) for each in self._own])
        self._fixed_by_unit = np.stack([_sum_by_unit(each, units) for each in self._fixed])
        self._by_row, self._by_column = _add(self._own, 2), _add(self._own_by_unit, 1)

    @cached_property
    def total(self) -> Floats:
        """The own sums at the level: shape (3, 1, 1), (3, 1, Q) or (1, 1, S)."""
        if self.level is CorrelationLevel.SYSTEM:
            return self._by_row[:1, None, :]
        return _add(self._own, (1, 2) if self.level is CorrelationLevel.NONE else 1).reshape(3, 1, -1)

    @cached_property
    def fixed(self) -> Floats:
        """The sums of n, h and h²."""
        return _add(self._fixed, (1, 2) if self.level is CorrelationLevel.NONE else 1).reshape(3, 1, -1)

    def mask(self, coins: Floats, swap: Swap) -> Floats:
        """Return the own sums over the cells that a pattern swaps; shape (3 or 1, patterns, 1, Q or S)."""
        n_systems = len(self._counts)
        if swap is Swap.CELLS:
            return self._mask_cells(coins)
        if swap is Swap.BOTH:
            rows, columns = coins[:, :n_systems], coins[:, n_systems:]
        elif swap is Swap.SYSTEMS:
            rows, columns = coins, np.zeros((len(coins), int(self.units.max()) + 1))
        else:
            rows, columns = np.zeros((len(coins), n_systems)), coins
        # A cell is swapped where its two coins differ: r + c - 2 r c.
        if self.level is CorrelationLevel.NONE:
            found = _einsum("bi,ki->kb", rows, self._by_row) + _einsum("bi,ki->kb", columns, self._by_column)
            if swap is Swap.BOTH:
                found -= 2 * _einsum("kbg,bg->kb", _einsum("bs,ksg->kbg", rows, self._own_by_unit), columns)
            return found[:, :, None]
        if self.level is CorrelationLevel.QUESTION:
            of_rows = _einsum("bs,ksq->kbq", rows, self._own)
            # Where the coin of the passage fell, the cells whose system's coin did not are swapped.
            return np.where(columns[:, self.units] > 0, self.total - of_rows, of_rows)
        of_columns = _einsum("bg,sg->bs", columns, self._own_by_unit[0])
        return np.where(rows > 0, self._by_row[0] - of_columns, of_columns)[None]

    def _mask_cells(self, coins: Floats) -> Floats:
        masks = np.zeros((len(coins), *self.is_there.shape))
        masks[:, self.is_there] = coins
        if self.level is CorrelationLevel.SYSTEM:
            return _einsum("bsq,sq->bs", masks, self._own[0])[None]
        if self.level is CorrelationLevel.QUESTION:
            return _einsum("bsq,ksq->kbq", masks, self._own)
        return _einsum("bsq,ksq->kb", masks, self._own)[:, :, None]

    def correlate(self, own: Floats, is_used: npt.NDArray[np.bool_] | None = None) -> Floats:
        """Return the correlation from own sums, shape (k, patterns, ...) to (patterns, questions or 1)."""
        if self.level is CorrelationLevel.SYSTEM:
            return _correlate_means(self._human_means, own[0] / self._counts, np.ones(own[0].shape))[:, None]
        found = _correlate_sums(self.fixed, own)
        return found if is_used is None else found[:, is_used]

    def resample(self, rows: Floats, columns: Floats, is_used: npt.NDArray[np.bool_]) -> Floats:
        """Return the correlation in each resample of systems and units, NaN where undefined."""
        if self.level is CorrelationLevel.SYSTEM:
            counts = _einsum("bg,sg->bs", columns, self._fixed_by_unit[0])
            with np.errstate(divide="ignore", invalid="ignore"):
                human = _einsum("bg,sg->bs", columns, self._fixed_by_unit[1]) / counts
                metric = _einsum("bg,sg->bs", columns, self._own_by_unit[0]) / counts
            # A system without a drawn answer has no mean; it is left out of the resample.
            is_there = counts > 0
            weights = np.where(is_there, rows, 0.0)
            return _correlate_means(np.where(is_there, human, 0.0), np.where(is_there, metric, 0.0), weights)
        if self.level is CorrelationLevel.NONE:
            sums = [
                _einsum("kbg,bg->kb", _einsum("bs,ksg->kbg", rows, each), columns)
                for each in (self._fixed_by_unit, self._own_by_unit)
            ]
            return _correlate_sums(*sums)
        each_question = _correlate_sums(*(_einsum("bs,ksq->kbq", rows, each) for each in (self._fixed, self._own)))
        weights = np.where(np.isnan(each_question) | ~is_used, 0.0, columns[:, self.units])
        total = _add(weights, 1)
        with np.errstate(divide="ignore", invalid="ignore"):
            return np.asarray(_add(np.nan_to_num(each_question) * weights, 1) / np.where(total > 0, total, np.nan))

    @cached_property
    def _human_means(self) -> Floats:
        return np.asarray(_add(self._fixed[1], 1) / self._counts)[None]


def _standardise(values: Floats, is_there: npt.NDArray[np.bool_]) -> Floats:
    """Return z-scores over the cells that are there, and 0 in the others."""
    there = scale_to_one(values[is_there])
    spread = there.std() if there.size else 0.0
    z = np.zeros(values.shape)
    if spread > 0:
        z[is_there] = (there - there.mean()) / spread
    return z


def _sum_by_unit(values: Floats, units: Ints) -> Floats:
    """Sum columns of one unit, shape (S, Q) to (S, G)."""
    return np.stack([np.bincount(units, row) for row in values])


def _einsum(subscripts: str, *operands: Floats) -> Floats:
    # Not a matrix product of BLAS, as in `resampling`.
    found: Floats = np.einsum(subscripts, *operands)
    return found


def _add(values: Floats, axis: int | tuple[int, ...]) -> Floats:
    added: Floats = values.sum(axis=axis)
    return added


def _correlate_sums(fixed: Floats, own: Floats) -> Floats:
    """Return the correlation from the sums of n, h, h² and of m, m², m·h."""
    (n, h, hh), (m, mm, mh) = fixed, own
    with np.errstate(divide="ignore", invalid="ignore"):
        return _ratio(mh - m * h / n, _spread(n, h, hh) * _spread(n, m, mm))


def _spread(n: Floats, total: Floats, squares: Floats) -> Floats:
    """Return the sum of squares about the mean; 0 where it is only the rounding error of equal scores.

    The error grows with the squares: scores far from the mean of all would otherwise seem to vary.
    """
    spread = squares - total * total / n
    return np.where(spread > _FLAT * squares, spread, 0.0)


def _ratio(above: Floats, below: Floats) -> Floats:
    """Return above / sqrt(below), limited to -1 to 1; NaN where `below` is 0."""
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.where(below > 0, np.clip(above / np.sqrt(np.abs(below)), -1, 1), np.nan)


def _correlate_means(human: Floats, metric: Floats, weights: Floats) -> Floats:
    """Return the weighted correlation of each row of means."""
    n = weights.sum(axis=1, keepdims=True)
    with np.errstate(divide="ignore", invalid="ignore"):
        x = human - (weights * human).sum(axis=1, keepdims=True) / n
        y = metric - (weights * metric).sum(axis=1, keepdims=True) / n
    xx, yy, xy = ((weights * each).sum(axis=1) for each in (x * x, y * y, x * y))
    # Of means about their mean, so that what equal ones leave is far smaller than this.
    return _ratio(xy, np.where(xx * yy > 1e-15, xx * yy, 0.0))


def _why_undefined(grid: Grid, swap: Swap, level: CorrelationLevel) -> str:
    is_of_systems = swap in (Swap.SYSTEMS, Swap.BOTH) or level is not CorrelationLevel.NONE
    if is_of_systems and len(grid.systems) < LEAST_PAIRS:
        return "fewer than three systems"
    return ""


def _choose_questions(grid: Grid, moments: Mapping[str, _Moments]) -> npt.NDArray[np.bool_]:
    """Return in which questions every metric that varies at all has a correlation."""
    is_used: npt.NDArray[np.bool_] = (~np.isnan(grid.human)).sum(axis=0) >= LEAST_PAIRS
    for each in moments.values():
        if each.level is CorrelationLevel.QUESTION and not each.is_constant:
            is_used &= ~np.isnan(each.correlate(each.total)[0])
    return is_used


def _find_value(moments: _Moments, is_used: npt.NDArray[np.bool_], reason: str) -> float | Undefined:
    if reason:
        return Undefined(reason=reason)
    if moments.has_equal_humans:
        return Undefined(reason="all human scores are equal")
    if moments.is_constant:
        return Undefined(reason="all scores are equal")
    if moments.level is CorrelationLevel.QUESTION and not is_used.any():
        return Undefined(reason="defined in no question")
    if moments.level is CorrelationLevel.NONE and moments.fixed[0].item() < LEAST_PAIRS:
        return Undefined(reason="fewer than three candidates")
    value = float(moments.correlate(moments.total, _of_questions(moments, is_used)).mean())
    return Undefined(reason="all means of the systems are equal") if np.isnan(value) else value


def _of_questions(moments: _Moments, is_used: npt.NDArray[np.bool_]) -> npt.NDArray[np.bool_] | None:
    return is_used if moments.level is CorrelationLevel.QUESTION else None


def _difference(
    first: _Moments, second: _Moments, masked: Floats, other: Floats, is_used: npt.NDArray[np.bool_]
) -> Floats:
    """Return the difference of the correlations in each pattern; 0 where it is undefined."""
    used = _of_questions(first, is_used)
    one = first.correlate(first.total - masked + other, used)
    two = first.correlate(second.total - other + masked, used)
    # A question in which a swapped metric is constant tells nothing of which is better.
    each = np.nan_to_num(one - two)
    return np.asarray(each.mean(axis=1), np.float64)


def _size_of_pattern(grid: Grid, level: CorrelationLevel, *, n_metrics: int = 1, has_cells: bool = False) -> int:
    """Return about how many numbers a pattern takes: those of one metric while it is masked, and the sums of all."""
    n_systems, n_questions = grid.human.shape
    n_sums = {
        CorrelationLevel.NONE: 3,
        CorrelationLevel.QUESTION: 3 * n_questions,
        CorrelationLevel.SYSTEM: n_systems,
    }
    return int((n_systems * n_questions if has_cells else 3 * grid.n_units) + n_sums[level] * n_metrics)


def _toss(n_coins: int, n: int, *, size: int, is_exact: bool, rng: np.random.Generator) -> Iterator[Floats]:
    block = max(1, min(n, _CELLS_AT_A_TIME // max(1, size, n_coins)))
    for start in range(0, n, block):
        here = min(block, n - start)
        if is_exact:
            yield ((np.arange(start, start + here)[:, None] >> np.arange(n_coins)) & 1).astype(np.float64)
        else:
            yield rng.integers(2, size=(here, n_coins)).astype(np.float64)


def _draw_counts(n: int, size: int, rng: np.random.Generator) -> Floats:
    """Return how often each of n is drawn in each resample."""
    return rng.multinomial(n, np.full(n, 1 / n), size).astype(np.float64)
