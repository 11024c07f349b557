"""Bootstrap resamples as weights of items, and the correlations of columns under each of them, computed exactly.

A resample says how often each item was drawn. Sorting is done once; under each resample ranks and concordant pairs
come from running totals of the weights in the sorted order, so that ties are those of the resample itself.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TypeVar

import numpy as np

from measures.patterns import Floats, Ints

Numbers = TypeVar("Numbers", Ints, Floats)

_CELLS_AT_A_TIME = 250_000
"""Resamples are made in blocks of about this many weights, so that memory stays bounded; blocks change no result."""
_FLAT = 1e-12
"""A variance below this share of the second moment is rounding."""


def draw_resamples(n: int, *, n_resamples: int, rng: np.random.Generator, groups: Ints | None = None) -> Iterator[Ints]:
    """Draw items, or whole groups of them, with replacement.

    Parameters
    ----------
    n : int
        Items.
    n_resamples : int
        Resamples.
    rng : numpy.random.Generator
        The source of randomness; each resample takes one ``rng.integers(k, size=k)`` of the k items or groups.
    groups : ndarray of int64, shape (n,), optional
        The group of each item, from 0 without gaps; groups are drawn instead of items where it is given.

    Yields
    ------
    ndarray of int64, shape (b, n)
        How often each resample of a block holds each item.

    Raises
    ------
    ValueError
        There is no item, or no resample is asked for.

    Examples
    --------
    >>> block = next(draw_resamples(4, n_resamples=3, rng=np.random.default_rng(1), groups=np.array([0, 0, 1, 1])))
    >>> block.shape, block.sum(axis=1).tolist()
    ((3, 4), [4, 4, 4])
    """
    if n < 1 or n_resamples < 1:
        raise ValueError("There must be an item and a resample.")
    k = n if groups is None else int(groups.max()) + 1
    block = max(1, min(n_resamples, _CELLS_AT_A_TIME // n))
    for start in range(0, n_resamples, block):
        drawn = np.empty((min(block, n_resamples - start), k), np.int64)
        for row in drawn:
            row[:] = np.bincount(rng.integers(k, size=k), minlength=k)
        yield drawn if groups is None else np.take(drawn, groups, axis=1)


@dataclass(frozen=True, kw_only=True, eq=False)
class Column:
    """A column of scores in sorted order.

    Attributes
    ----------
    values : ndarray of float64, shape (n,)
        The scores; all finite.
    order : ndarray of int64, shape (n,)
        The items by rising score.
    codes : ndarray of int64, shape (n,)
        The place of each item's score among the distinct scores, from 0.
    starts : ndarray of int64, shape (k,)
        Where in `order` each distinct score begins.
    """

    values: Floats
    order: Ints
    codes: Ints
    starts: Ints

    @classmethod
    def of(cls, values: Floats) -> "Column":
        """Sort a column; raises ValueError where a score is missing or infinite."""
        values = np.asarray(values, np.float64)
        if not np.isfinite(values).all():
            raise ValueError("A score is missing or infinite; leave its item out or decide what it counts as.")
        order = np.argsort(values, kind="stable")
        is_new = np.diff(values[order], prepend=np.nan) != 0
        codes = np.empty(len(values), np.int64)
        codes[order] = np.cumsum(is_new) - 1
        return cls(values=values, order=order, codes=codes, starts=np.flatnonzero(is_new))

    @cached_property
    def centred(self) -> Floats:
        centred: Floats = self.values - self.values.mean()
        return centred

    def totals(self, weights: Numbers) -> Numbers:
        """The sums over the items of each distinct score, rising: shape (b, n) to (b, k)."""
        by_score: Numbers = np.take(weights, self.order, axis=1)
        if len(self.starts) == len(self.order):
            return by_score
        return np.asarray(np.add.reduceat(by_score, self.starts, axis=1), by_score.dtype)


@dataclass(frozen=True, eq=False)
class Moments:
    """What Pearson's correlations of metrics with the human scores need of each item."""

    human: Column
    metrics: Sequence[Column]

    @cached_property
    def _moments(self) -> Floats:
        one = self.human.centred[:, None]
        others = np.stack([metric.centred for metric in self.metrics], axis=1)
        return np.hstack([np.ones_like(one), one, one * one, others, others * others, others * one]).T.copy()

    def pearsons(self, weights: Ints) -> Floats:
        """Pearson's correlation of each metric in each resample, shape (b, n) to (b, m); NaN where a side is flat."""
        # not a product of matrices: threads of BLAS would wait for one another, and sum in an order of their own
        sums = np.einsum("bi,ki->bk", weights.astype(np.float64), self._moments)
        n, x, xx = sums[:, :1], sums[:, 1:2], sums[:, 2:3]
        y, yy, xy = np.split(sums[:, 3:], 3, axis=1)
        spread_x, spread_y = xx - x * x / n, yy - y * y / n
        varies = (spread_x > _FLAT * xx) & (spread_y > _FLAT * yy)
        return _ratio(xy - x * y / n, np.sqrt(np.where(varies, spread_x * spread_y, 0)))


@dataclass(frozen=True, eq=False)
class Ranks:
    """Spearman's correlations of metrics with the human scores.

    Ranks are those of the resample: ties, also those between copies of one item, share their mean rank.
    """

    human: Column
    metrics: Sequence[Column]

    def spearmans(self, weights: Ints) -> Floats:
        """Spearman's correlation of each metric in each resample, shape (b, n) to (b, m); NaN where a side is flat."""
        n = weights.sum(axis=1, keepdims=True)
        totals = self.human.totals(weights)
        ranks = (np.take(_ranks(totals, n), self.human.codes, axis=1) * weights).astype(np.float64)
        spread = _spread(totals, n, 3)
        found = np.empty((len(weights), len(self.metrics)))
        for at, metric in enumerate(self.metrics):
            totals = metric.totals(weights)
            together = np.einsum("bk,bk->b", metric.totals(ranks), _ranks(totals, n).astype(np.float64))
            found[:, at] = _ratio(3 * together, np.sqrt(spread * _spread(totals, n, 3)))
        return found


def _ranks(totals: Ints, n: Ints) -> Ints:
    """Twice the distance of each distinct score's mean rank from the middle."""
    ranks = np.cumsum(totals, axis=1)
    ranks *= 2
    ranks -= totals
    ranks -= n
    return ranks


def _spread(totals: Ints, n: Ints, power: int) -> Floats:
    """``n^p`` less the sum of ``t^p`` over ties; exactly 0 where all scores of a resample are equal."""
    exact = totals.astype(np.float64)
    spread: Floats = n[:, 0].astype(np.float64) ** power - np.einsum(",".join(["bk"] * power) + "->b", *[exact] * power)
    return spread


def _ratio(above: Floats, below: Floats) -> Floats:
    """The quotient, kept within -1 and 1; NaN where `below` is 0."""
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.where(below > 0, np.clip(above / below, -1, 1), np.nan)


@dataclass(frozen=True, kw_only=True, eq=False)
class _Level:
    """One level of the tree of pairs: nodes are runs of first scores, split in the middle.

    `left` and `right` hold the items of the halves, sorted by node and second score. For each item of `right`, `below`
    items of `left` come before the scores equal to its own, and `upto` before the higher ones; None where the same.
    """

    left: Ints
    right: Ints
    below: Ints
    upto: Ints | None
    left_ends: Ints
    right_ends: Ints


class Pairs:
    """The concordant and discordant pairs of two columns, for Kendall's correlation in each resample.

    All pairs of distinct first scores meet once in a binary tree over these scores, in which one half of a node is
    compared with the other. The tree is made once; a resample then costs ``n log2 k`` additions, with k the distinct
    scores of the side that has fewer.
    """

    def __init__(self, first: Column, second: Column) -> None:
        if len(second.starts) < len(first.starts):
            first, second = second, first
        self.first, self.second = first, second
        self._levels = [_level(first, second, bit) for bit in range(int(len(first.starts) - 1).bit_length())]

    def kendalls(self, weights: Ints) -> Floats:
        """Kendall's tau-b in each resample, shape (b, n) to (b,); NaN where a side does not vary."""
        n = weights.sum(axis=1, keepdims=True)
        lead = np.zeros(len(weights))
        for level in self._levels:
            lead += _lead(level, weights)
        spreads = [_spread(column.totals(weights), n, 2) for column in (self.first, self.second)]
        return _ratio(2 * lead, np.sqrt(spreads[0] * spreads[1]))


def _level(first: Column, second: Column, bit: int) -> _Level:
    nodes = (first.codes >> (bit + 1))[second.order]
    by_node = np.argsort(nodes, kind="stable")
    order, nodes = second.order[by_node], nodes[by_node]
    is_left = (first.codes[order] >> bit) & 1 == 0
    n_left = np.concatenate([[0], np.cumsum(is_left)])
    n_right = np.arange(len(order) + 1) - n_left
    node_ends = np.append(np.flatnonzero(np.diff(nodes)) + 1, len(order))
    scores = second.codes[order]
    is_new = np.append(True, (np.diff(nodes) != 0) | (np.diff(scores) != 0))
    starts = np.append(np.flatnonzero(is_new), len(order))
    run = (np.cumsum(is_new) - 1)[~is_left]
    below, upto = n_left[starts[run]], n_left[starts[run + 1]]
    return _Level(
        left=order[is_left], right=order[~is_left], below=below, upto=None if np.array_equal(below, upto) else upto,
        left_ends=np.append(0, n_left[node_ends]), right_ends=np.append(0, n_right[node_ends]),
    )  # fmt: skip


def _lead(level: _Level, weights: Ints) -> Floats:
    """Concordant less discordant pairs of one level."""
    of_right: Ints = np.take(weights, level.right, axis=1)
    left, right = _running(np.take(weights, level.left, axis=1)), _running(of_right)
    before: Ints = np.take(left, level.below, axis=1)
    passed = 2 * before if level.upto is None else before + np.take(left, level.upto, axis=1)
    node_left: Ints = np.take(left, level.left_ends, axis=1)
    node_right: Ints = np.take(right, level.right_ends, axis=1)
    lead = np.einsum("bi,bi->b", of_right, passed)
    lead -= np.einsum("bi,bi->b", node_right[:, 1:] - node_right[:, :-1], node_left[:, 1:] + node_left[:, :-1])
    return np.asarray(lead, np.float64)


def _running(weights: Ints) -> Ints:
    """Running totals that begin with 0."""
    totals = np.zeros((len(weights), weights.shape[1] + 1), np.int64)
    np.cumsum(weights, axis=1, out=totals[:, 1:])
    return totals
