"""Resamples as weights of items, and the exact correlations of columns in each resample.

A resample is the number of times that each item was drawn; 0 where it is left out. Columns are sorted once; in each
resample, ranks and concordant pairs follow from running totals of the weights in sorted order, with the ties of the
resample itself.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TypeVar

import numpy as np
import numpy.typing as npt

from measures.patterns import Floats, Ints
from measures.rounding import differ, merge_sorted, scale_to_one

Numbers = TypeVar("Numbers", Ints, Floats)

_CELLS_AT_A_TIME = 250_000
"""Resamples are made in blocks of about this many weights (2 MB), which bounds memory and changes no result."""
_INNER_PAIRS = 100
"""Parts with more inner pairs per item than this are left out by weights."""
_FLAT = 1e-12
"""A variance below this share of the second moment is a rounding error, and the column counts as constant."""


def draw_resamples(n: int, *, n_resamples: int, rng: np.random.Generator, groups: Ints | None = None) -> Iterator[Ints]:
    """Draw items, or whole groups of them, with replacement.

    Parameters
    ----------
    n : int
        Number of items.
    n_resamples : int
        Number of resamples.
    rng : numpy.random.Generator
        The source of randomness; each resample takes one ``rng.integers(k, size=k)`` of the k items or groups.
    groups : ndarray of int64, shape (n,), optional
        The group of each item, numbered from 0 without gaps. If given, groups are drawn instead of items.

    Yields
    ------
    ndarray of int64, shape (b, n)
        How often each item was drawn in each resample of a block.

    Raises
    ------
    ValueError
        `n` or `n_resamples` is below 1.

    Examples
    --------
    >>> block = next(draw_resamples(4, n_resamples=3, rng=np.random.default_rng(1), groups=np.array([0, 0, 1, 1])))
    >>> block.shape, block.sum(axis=1).tolist()
    ((3, 4), [4, 4, 4])
    """
    if n < 1 or n_resamples < 1:
        raise ValueError("n and n_resamples must be 1 or more.")
    k = n if groups is None else int(groups.max()) + 1
    block = max(1, min(n_resamples, _CELLS_AT_A_TIME // n))
    for start in range(0, n_resamples, block):
        drawn = np.empty((min(block, n_resamples - start), k), np.int64)
        for row in drawn:
            row[:] = np.bincount(rng.integers(k, size=k), minlength=k)
        yield drawn if groups is None else np.take(drawn, groups, axis=1)


def leave_out_each(parts: Ints) -> Iterator[Ints]:
    """Leave out each part of the items in turn.

    Parameters
    ----------
    parts : ndarray of int64, shape (n,)
        The part of each item, numbered from 0 without gaps.

    Yields
    ------
    ndarray of int64, shape (b, n)
        1 for each item that is kept, 0 for those of the part that is left out, for each part of a block.

    Examples
    --------
    >>> next(leave_out_each(np.array([0, 1, 0]))).tolist()
    [[0, 1, 0], [1, 0, 1]]
    """
    n_parts = int(parts.max()) + 1
    block = max(1, _CELLS_AT_A_TIME // len(parts))
    for start in range(0, n_parts, block):
        left_out = np.arange(start, min(start + block, n_parts))
        yield (parts != left_out[:, np.newaxis]).astype(np.int64)


def merge_at_random(parts: Ints, n_blocks: int, rng: np.random.Generator) -> Ints:
    """Put parts into blocks of as equal a number of parts as possible.

    Parameters
    ----------
    parts : ndarray of int64, shape (n,)
        The part of each item, numbered from 0 without gaps.
    n_blocks : int
        The number of blocks; at most that of parts.
    rng : numpy.random.Generator
        The source of randomness.

    Returns
    -------
    ndarray of int64, shape (n,)
        The block of each item; items of one part are in one block.

    Examples
    --------
    >>> blocks = merge_at_random(np.array([0, 0, 1, 2, 3]), 2, np.random.default_rng(1))
    >>> bool(blocks[0] == blocks[1]), sorted(np.bincount(blocks[1:]).tolist())
    (True, [2, 2])
    """
    n_parts = int(parts.max()) + 1
    return (rng.permutation(n_parts) * n_blocks // n_parts)[parts]


@dataclass(frozen=True, kw_only=True, eq=False)
class SortedColumn:
    """A column of scores with its sorted order.

    Attributes
    ----------
    values : ndarray of float64, shape (n,)
        The scores; all finite. Scores that only rounding parts are the same.
    order : ndarray of int64, shape (n,)
        The items by ascending score.
    codes : ndarray of int64, shape (n,)
        The rank of each item's score among the distinct scores, from 0.
    starts : ndarray of int64, shape (k,)
        Where in `order` each distinct score begins.
    """

    values: Floats
    order: Ints
    codes: Ints
    starts: Ints

    @classmethod
    def of(cls, values: Floats, *, within: float = 0.0) -> "SortedColumn":
        """Sort a column, with ties up to rounding as in `measures.rounding.merge_ties`.

        Raises ValueError where a score is missing or infinite.
        """
        values = np.asarray(values, np.float64)
        if not np.isfinite(values).all():
            raise ValueError("A score is missing or infinite. Leave its item out, or give it a score.")
        order = np.argsort(values, kind="stable")
        apart = differ(values[order], within=within)
        is_new = np.append(True, apart)[: len(values)]
        codes = np.empty(len(values), np.int64)
        codes[order] = np.cumsum(is_new) - 1
        merged = merge_sorted(values, order, apart)
        return cls(values=merged, order=order, codes=codes, starts=np.flatnonzero(is_new))

    @cached_property
    def centred(self) -> Floats:
        """The scores about their mean, on a scale on which squares neither overflow nor vanish."""
        values = scale_to_one(self.values)
        centred: Floats = values - values.mean()
        return centred

    def totals(self, weights: Numbers) -> Numbers:
        """Sum the weights of the items of each distinct score, in ascending order: shape (b, n) to (b, k)."""
        by_score: Numbers = np.take(weights, self.order, axis=1)
        if len(self.starts) == len(self.order):
            return by_score
        return np.asarray(np.add.reduceat(by_score, self.starts, axis=1), by_score.dtype)


@dataclass(frozen=True, eq=False)
class Moments:
    """Pearson's correlations of metrics with the human scores, from weighted sums of moments."""

    human: SortedColumn
    metrics: Sequence[SortedColumn]

    @cached_property
    def _moments(self) -> Floats:
        one = self.human.centred[:, None]
        others = np.stack([metric.centred for metric in self.metrics], axis=1)
        return np.hstack([np.ones_like(one), one, one * one, others, others * others, others * one]).T.copy()

    def pearsons(self, weights: Ints) -> Floats:
        """Return Pearson's correlation of each metric in each resample, (b, n) to (b, m), NaN if a side is constant."""
        # Not a matrix product: the threads of BLAS would compete with those of other workers, and sum in an order of
        # their own, so that the last digits would depend on the machine.
        return self._correlate(np.einsum("bi,ki->bk", weights.astype(np.float64), self._moments))

    def pearsons_without(self, parts: Ints) -> Floats:
        """Return Pearson's correlation of each metric without each part, (n,) to (G, m), NaN if a side is constant."""
        of_parts = np.stack([np.bincount(parts, moment) for moment in self._moments], axis=1)
        return self._correlate(self._moments.sum(axis=1) - of_parts)

    def _correlate(self, sums: Floats) -> Floats:
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

    human: SortedColumn
    metrics: Sequence[SortedColumn]

    def spearmans(self, weights: Ints) -> Floats:
        """Return Spearman's correlation of each metric in each resample, (b, n) to (b, m), or NaN."""
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
    """Return twice the distance of each distinct score's mean rank from the middle, which is a whole number."""
    ranks = np.cumsum(totals, axis=1)
    ranks *= 2
    ranks -= totals
    ranks -= n
    return ranks


def _spread(totals: Ints, n: Ints, power: int) -> Floats:
    """Return ``n^p`` minus the sum of ``t^p`` over ties; exactly 0 if all scores of a resample are equal."""
    exact = totals.astype(np.float64)
    # einsum with repeated operands sums powers without an array of them.
    spread: Floats = n[:, 0].astype(np.float64) ** power - np.einsum(",".join(["bk"] * power) + "->b", *[exact] * power)
    return spread


def _ratio(above: Floats, below: Floats) -> Floats:
    """Divide, and limit the result to -1 to 1; NaN where `below` is 0."""
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.where(below > 0, np.clip(above / below, -1, 1), np.nan)


@dataclass(frozen=True, kw_only=True, eq=False)
class _Level:
    """One level of the tree of pairs: each node is a range of first scores, split in the middle.

    `left` and `right` are the items of the two halves, sorted by node and second score. For each item of `right`,
    `below` items of `left` come before scores equal to its own, and `upto` before higher scores; `upto` is None if no
    second scores are tied across the halves, so that both are the same.
    """

    left: Ints
    right: Ints
    below: Ints
    upto: Ints | None
    left_ends: Ints
    right_ends: Ints


class Pairs:
    """The concordant and discordant pairs of two columns, for Kendall's correlation in each resample.

    In a binary tree over the distinct first scores, each pair of different scores is separated at exactly one node,
    where the items of one half are compared with those of the other. The tree is built once; each resample then costs
    ``n log2 k`` additions, where k is the smaller number of distinct scores of the two columns.
    """

    def __init__(self, first: SortedColumn, second: SortedColumn) -> None:
        if len(second.starts) < len(first.starts):
            first, second = second, first
        self.first, self.second = first, second
        self._levels = [_level(first, second, bit) for bit in range(int(len(first.starts) - 1).bit_length())]

    def kendalls(self, weights: Ints) -> Floats:
        """Return Kendall's tau-b in each resample, shape (b, n) to (b,); NaN where a side is constant."""
        n = weights.sum(axis=1, keepdims=True)
        lead = np.zeros(len(weights))
        for level in self._levels:
            lead += _lead(level, weights)
        spreads = [_spread(column.totals(weights), n, 2) for column in (self.first, self.second)]
        return _ratio(2 * lead, np.sqrt(spreads[0] * spreads[1]))

    def kendalls_without(self, parts: Ints) -> Floats:
        """Return Kendall's tau-b without each part, (n,) to (G,); NaN where a side is constant.

        The lead of concordant over discordant pairs loses those with an item of the part; the pairs within the part
        are lost once, not twice.
        """
        sizes = np.bincount(parts)
        # With few large parts, their inner pairs would be more work than all the rest.
        if (sizes**2).sum() > _INNER_PAIRS * len(parts):
            return np.concatenate([self.kendalls(weights) for weights in leave_out_each(parts)])
        leads = _count_leads(self.first, self.second)
        inner = np.zeros(len(sizes), np.int64)
        order = np.argsort(parts, kind="stable")
        low, lag = np.arange(len(order)), 0
        # Items of a part are neighbours in this order: those `lag` apart are paired in one step.
        while low.size:
            lag += 1
            low = low[low + lag < len(order)]
            low = low[parts[order[low]] == parts[order[low + lag]]]
            one, other = order[low], order[low + lag]
            signs = np.sign(self.first.codes[one] - self.first.codes[other])
            signs *= np.sign(self.second.codes[one] - self.second.codes[other])
            np.add.at(inner, parts[one], signs)
        lost = np.zeros(len(sizes), np.int64)
        np.add.at(lost, parts, leads)
        lead = leads.sum() // 2 - lost + inner
        spreads = [_spread_without(column, parts, len(parts) - sizes) for column in (self.first, self.second)]
        return _ratio(2.0 * lead, np.sqrt(spreads[0] * spreads[1]))


def _spread_without(column: SortedColumn, parts: Ints, n: Ints) -> Floats:
    """Return ``n^2`` minus the sum of ``t^2`` over ties without each part, of which `n` items are left."""
    n_scores = len(column.starts)
    totals = np.bincount(column.codes, minlength=n_scores)
    cells, counts = np.unique(parts * n_scores + column.codes, return_counts=True)
    lost = np.zeros(len(n), np.int64)
    np.add.at(lost, cells // n_scores, counts * (2 * totals[cells % n_scores] - counts))
    return np.asarray(n**2 - ((totals**2).sum() - lost), np.float64)


def _count_leads(first: SortedColumn, second: SortedColumn) -> Ints:
    """Return for each item its concordant minus its discordant pairs with all others."""
    leads = np.zeros(len(first.codes), np.int64)
    for bit in range(int(len(first.starts) - 1).bit_length()):
        order, is_left, node, starts, run = _split(first, second, bit)
        bounds = np.append(np.flatnonzero(np.diff(node, prepend=-1)), len(order))
        n_left = np.concatenate([[0], np.cumsum(is_left)])
        n_right = np.arange(len(order) + 1) - n_left
        # An item of the right half has the higher first score, so lower second scores on the left are concordant.
        for is_own, n_others, sign in ((~is_left, n_left, 1), (is_left, n_right, -1)):
            its_node, its_run = node[is_own], run[is_own]
            below = n_others[starts[its_run]] - n_others[bounds[its_node]]
            above = n_others[bounds[its_node + 1]] - n_others[starts[its_run + 1]]
            leads[order[is_own]] += sign * (below - above)
    return leads


def _split(first: SortedColumn, second: SortedColumn, bit: int) -> tuple[Ints, npt.NDArray[np.bool_], Ints, Ints, Ints]:
    """Return the items of a level by node and second score.

    Which are in the left half, the number of each one's node, where each run of equal second scores within a node
    begins, and the number of each one's run.
    """
    nodes = (first.codes >> (bit + 1))[second.order]
    by_node = np.argsort(nodes, kind="stable")
    order, nodes = second.order[by_node], nodes[by_node]
    is_left = (first.codes[order] >> bit) & 1 == 0
    is_new_node = np.append(True, np.diff(nodes) != 0)
    # Ties count neither as concordant nor as discordant.
    is_new = is_new_node | np.append(True, np.diff(second.codes[order]) != 0)
    starts = np.append(np.flatnonzero(is_new), len(order))
    return order, is_left, np.cumsum(is_new_node) - 1, starts, np.cumsum(is_new) - 1


def _level(first: SortedColumn, second: SortedColumn, bit: int) -> _Level:
    order, is_left, node, starts, runs = _split(first, second, bit)
    n_left = np.concatenate([[0], np.cumsum(is_left)])
    n_right = np.arange(len(order) + 1) - n_left
    node_ends = np.append(np.flatnonzero(np.diff(node)) + 1, len(order))
    run = runs[~is_left]
    below, upto = n_left[starts[run]], n_left[starts[run + 1]]
    return _Level(
        left=order[is_left], right=order[~is_left], below=below, upto=None if np.array_equal(below, upto) else upto,
        left_ends=np.append(0, n_left[node_ends]), right_ends=np.append(0, n_right[node_ends]),
    )  # fmt: skip


def _lead(level: _Level, weights: Ints) -> Floats:
    """Count the concordant minus the discordant pairs of one level."""
    of_right: Ints = np.take(weights, level.right, axis=1)
    left, right = _running(np.take(weights, level.left, axis=1)), _running(of_right)
    # For each item of the right half: items of the left half below it, and with ties counted half; times two, so that
    # everything stays an integer.
    before: Ints = np.take(left, level.below, axis=1)
    passed = 2 * before if level.upto is None else before + np.take(left, level.upto, axis=1)
    node_left: Ints = np.take(left, level.left_ends, axis=1)
    node_right: Ints = np.take(right, level.right_ends, axis=1)
    lead = np.einsum("bi,bi->b", of_right, passed)
    lead -= np.einsum("bi,bi->b", node_right[:, 1:] - node_right[:, :-1], node_left[:, 1:] + node_left[:, :-1])
    return np.asarray(lead, np.float64)


def _running(weights: Ints) -> Ints:
    """Return running totals that begin with 0."""
    totals = np.zeros((len(weights), weights.shape[1] + 1), np.int64)
    np.cumsum(weights, axis=1, out=totals[:, 1:])
    return totals
