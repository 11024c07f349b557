"""Rating patterns: the values that a unit received, how often each, and how many units share exactly these.

Agreement needs nothing else, because it does not depend on who gave a rating. Three annotators on a five-point scale
give at most 35 patterns, whatever the number of candidates.
"""

from array import array
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from measures.columns import ANNOTATOR, GROUP, UNIT, VALUE, require_columns

if TYPE_CHECKING:
    import pandas as pd

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]
Numbers = npt.NDArray[np.int32] | npt.NDArray[np.int64]
"""Whole numbers of four or of eight bytes."""


@dataclass(frozen=True, kw_only=True, eq=False)
class Patterns:
    """Distinct rating patterns of units with at least two ratings, in sparse form, and how many units have each.

    Entry `i`: pattern `pattern[i]` contains value number `value[i]` exactly `count[i]` times. Entries are sorted by
    pattern, then value. Cell `j`: group `cell_group[j]` has `cell_units[j]` units of pattern `cell_pattern[j]`. Without
    groups, every unit is in group 0.

    Attributes
    ----------
    values : ndarray of float64, shape (V,)
        The distinct values, ascending.
    pattern, value, count : ndarray of int64, shape (E,)
        The entries.
    sizes : ndarray of int64, shape (P,)
        Ratings in a unit of each pattern; at least 2.
    cell_pattern, cell_group, cell_units : ndarray of int64, shape (C,)
        How many units of a group have a pattern.
    n_groups : int
        Groups with at least one such unit.
    n_single : int
        Units with one rating; they have no pair and do not enter alpha.
    n_annotators : int or None
        Annotators who rated units with at least two ratings; None where annotators are unknown.
    n_annotators_all : int or None
        Annotators of all ratings, including those of units with one.
    """

    values: Floats
    pattern: Ints
    value: Ints
    count: Ints
    sizes: Ints
    cell_pattern: Ints
    cell_group: Ints
    cell_units: Ints
    n_groups: int
    n_single: int
    n_annotators: int | None
    n_annotators_all: int | None

    @property
    def units(self) -> Ints:
        """The number of units of each pattern, shape (P,)."""
        units: Ints = np.bincount(self.cell_pattern, self.cell_units, minlength=len(self.sizes)).astype(np.int64)
        return units

    @property
    def n_units(self) -> int:
        """The number of units with at least two ratings."""
        return int(self.cell_units.sum())

    @property
    def n_ratings(self) -> int:
        """The number of ratings in units with at least two."""
        return int((self.units * self.sizes).sum())

    @property
    def same_share(self) -> float | None:
        """The share of the pairs of ratings of a unit that are equal, as a mean over these units; None without any.

        It is the observed agreement of J. L. Fleiss (1971), Measuring nominal scale agreement among many raters,
        Psychological Bulletin 76(5).
        """
        if not self.n_units:
            return None
        n_equal = np.bincount(self.pattern, self.count * (self.count - 1), minlength=len(self.sizes))
        return float((n_equal / (self.sizes * (self.sizes - 1))) @ self.units / self.n_units)

    @property
    def n_off_mode(self) -> int:
        """The number of these units with a rating other than the most frequent one; of several, the lowest."""
        if not len(self.values):
            return 0
        mode = int(np.bincount(self.value, self.count * self.units[self.pattern]).argmax())
        n_others = np.bincount(self.pattern, self.value != mode, minlength=len(self.sizes))
        return int(self.units[n_others > 0].sum())

    @cached_property
    def pairs(self) -> tuple[Ints, Ints, Ints, Floats]:
        """The pairs of unequal ratings within a unit of each pattern: pattern, lower value, higher value, weight.

        The weight is the number of such pairs divided by the unit's ratings less one, as in the formula of alpha.
        """
        # Entries of a pattern are neighbours, sorted by value: all that are `lag` apart are compared in one step, until
        # no pattern has that many distinct values.
        parts = []
        low = np.arange(len(self.pattern))
        lag = 0
        while low.size:
            lag += 1
            low = low[low + lag < len(self.pattern)]
            low = low[self.pattern[low] == self.pattern[low + lag]]
            parts.append((low, low + lag))
        first = np.concatenate([np.zeros(0, np.int64), *(part[0] for part in parts)])
        second = np.concatenate([np.zeros(0, np.int64), *(part[1] for part in parts)])
        pattern = self.pattern[first]
        weight = self.count[first] * self.count[second] / (self.sizes[pattern] - 1)
        return pattern, self.value[first], self.value[second], weight

    def with_annotators(self, n_annotators: int | None, n_annotators_all: int | None = None) -> "Patterns":
        """Return the same patterns with the number of annotators, which patterns alone do not give."""
        everyone = n_annotators if n_annotators_all is None else n_annotators_all
        return replace(self, n_annotators=n_annotators, n_annotators_all=everyone)

    @classmethod
    def from_frame(cls, frame: "pd.DataFrame") -> "Patterns":
        """Count the patterns of a long frame of one criterion.

        Parameters
        ----------
        frame : pandas.DataFrame
            One row per judgment with `unit` and `value`; `annotator` and `group` if known. Rows without a value are
            left out. If one annotator is missing, the number of annotators is unknown.

        Returns
        -------
        Patterns

        Raises
        ------
        ValueError
            A column is missing, a value is infinite, a unit is in two groups, or an annotator rated a unit twice
            (as in a frame that mixes criteria).

        Examples
        --------
        >>> import pandas as pd
        >>> frame = pd.DataFrame({"unit": ["a", "a", "b"], "annotator": ["x", "y", "x"], "value": [4, 5, 1]})
        >>> patterns = Patterns.from_frame(frame)
        >>> patterns.n_units, patterns.n_ratings, patterns.n_single, patterns.n_annotators
        (1, 2, 1, 2)
        """
        import pandas as pd

        require_columns(frame, UNIT, VALUE)
        if frame[VALUE].hasnans:
            frame = frame[frame[VALUE].notna()]
        # Four bytes are enough for a number of each row: of a million ratings each array takes 4 MB and not 8.
        units = pd.factorize(frame[UNIT])[0].astype(np.int32)
        ratings: Floats = frame[VALUE].to_numpy(dtype=np.float64)
        if GROUP in frame:
            groups = pd.factorize(frame[GROUP], sort=True)[0].astype(np.int32)
        else:
            groups = np.zeros(len(frame), np.int32)
        patterns = _count(units, ratings, groups)
        if ANNOTATOR not in frame:
            return patterns
        return patterns.with_annotators(*_count_annotators(frame, units))

    @classmethod
    def from_rows(cls, rows: Iterable[tuple[Iterable[float], int | Sequence[int]]]) -> "Patterns":
        """Build patterns from counts made elsewhere, such as by GROUP BY in SQL.

        Parameters
        ----------
        rows : iterable of (ratings, n_units) or (ratings, groups)
            The ratings of a unit, in any order, and how many units have exactly these; or, for each of these units,
            the number of its group.

        Returns
        -------
        Patterns
            The number of annotators is None: see `with_annotators`.

        Examples
        --------
        >>> patterns = Patterns.from_rows([([4, 5], 10), ([5, 5], 20), ([1], 3)])
        >>> patterns.n_units, patterns.n_ratings, patterns.n_single
        (30, 60, 3)
        >>> Patterns.from_rows([([4, 5], [7, 7, 8]), ([5, 5], [8])]).n_groups
        2
        """
        ratings, sizes, weights, groups = array("d"), array("q"), array("q"), array("q")
        for unit, units in rows:
            before, (numbers, weight) = len(ratings), ([0], units) if isinstance(units, int) else (units, 1)
            ratings.extend(unit)
            sizes.extend([len(ratings) - before, len(numbers)])
            groups.extend(numbers)
            weights.append(weight)
        return _count(*_one_a_row(ratings, np.array(sizes, np.int64).reshape(-1, 2), groups, weights))

    @classmethod
    def from_counts(
        cls, counts: npt.ArrayLike, values: npt.ArrayLike, n_units: npt.ArrayLike | None = None
    ) -> "Patterns":
        """Build patterns from a matrix of value counts, units by values.

        Parameters
        ----------
        counts : array_like of int, shape (U, V)
            How many annotators gave unit `u` the value `v`.
        values : array_like of float, shape (V,)
            The value of each column; all distinct.
        n_units : array_like of int, shape (U,), optional
            How many units each row represents; one by default.

        Returns
        -------
        Patterns

        Raises
        ------
        ValueError
            The shapes do not match, a count is negative, or a value occurs twice.

        Examples
        --------
        >>> Patterns.from_counts([[2, 0], [1, 1], [0, 1]], [0, 1]).n_ratings
        4
        """
        matrix = np.asarray(counts, dtype=np.int64)
        columns = np.asarray(values, dtype=np.float64)
        if matrix.ndim != 2 or columns.shape != (matrix.shape[1],):
            raise ValueError(f"Counts of shape {matrix.shape} do not match {columns.size} values.")
        if (matrix < 0).any() or len(np.unique(columns)) != columns.size:
            raise ValueError("Counts must not be negative, and each value may occur only once.")
        weights = np.ones(len(matrix), np.int64) if n_units is None else np.asarray(n_units, dtype=np.int64)
        row, column = np.nonzero(matrix)
        times = matrix[row, column]
        units, ratings = np.repeat(row, times), np.repeat(columns[column], times)
        return _count(units, ratings, np.zeros_like(units), weights)


def _one_a_row(
    ratings: Sequence[float], sizes: Ints, groups: Sequence[int], weights: Sequence[int]
) -> tuple[Ints, Floats, Ints, Ints]:
    """Expand units listed together, because they have the same ratings, to one row per unit and rating."""
    n_ratings, n_units = sizes.T
    starts = np.repeat(np.cumsum(n_ratings) - n_ratings, n_units)
    length = np.repeat(n_ratings, n_units)
    unit = np.repeat(np.arange(len(length)), length)
    place = np.arange(len(unit)) - np.repeat(np.cumsum(length) - length, length)
    given = np.array(ratings, np.float64)[np.repeat(starts, length) + place]
    return unit, given, np.array(groups, np.int64)[unit], np.repeat(np.array(weights, np.int64), n_units)


def _count(units: Numbers, ratings: Floats, groups: Numbers, weights: Ints | None = None) -> Patterns:
    """Count patterns of ratings, given one per row; `weights` is how many units each unit number represents."""
    if not np.isfinite(ratings).all():
        raise ValueError("A rating is infinite.")
    n_ratings = np.bincount(units, minlength=0 if weights is None else len(weights))
    weights = np.ones(len(n_ratings), np.int64) if weights is None else weights
    if (weights < 0).any():
        raise ValueError("A pattern has a negative number of units.")
    n_single = int(weights[n_ratings == 1].sum())
    # Units with one rating have no pair, and may not even add a value: alpha depends on the values in pairs only.
    paired = ((n_ratings >= 2) & (weights > 0))[units]
    if not paired.all():
        units, ratings, groups = units[paired], ratings[paired], groups[paired]
    group_of_unit = _group_of_units(units, groups)
    # Unit and value in one number, sorted in place, and of four bytes where it fits: of a million ratings each array of
    # eight takes 8 MB.
    values = np.unique(ratings)
    n_entries = len(group_of_unit) * max(len(values), 1)
    number = np.dtype(np.int32 if n_entries <= np.iinfo(np.int32).max else np.int64)
    entries: Numbers = np.searchsorted(values, ratings).astype(number)
    entries += units.astype(number, copy=False) * len(values)
    entries.sort()
    units = entries // max(len(values), 1)
    entries -= units * len(values)
    is_first = np.ones(len(units), np.bool_)
    is_first[1:] = units[1:] != units[:-1]
    unit_ids = units[is_first]
    unit: Numbers = np.cumsum(is_first, dtype=number)
    unit -= 1
    group_of_unit = np.unique(group_of_unit[unit_ids], return_inverse=True)[1]
    del units, is_first
    pattern_of_unit, pattern, value, count, sizes = _distinct(unit, entries, len(values))
    n_groups = len(np.unique(group_of_unit))
    # Pattern and group in one number, because sorting single numbers is faster than sorting rows.
    cells, cell = np.unique(pattern_of_unit * max(n_groups, 1) + group_of_unit, return_inverse=True)
    return Patterns(
        values=values,
        pattern=pattern,
        value=value,
        count=count,
        sizes=sizes,
        cell_pattern=cells // max(n_groups, 1),
        cell_group=cells % max(n_groups, 1),
        cell_units=np.bincount(cell, weights[unit_ids], minlength=len(cells)).astype(np.int64),
        n_groups=n_groups,
        n_single=n_single,
        n_annotators=None,
        n_annotators_all=None,
    )


def _distinct(unit: Numbers, value: Numbers, n_values: int) -> tuple[Ints, Ints, Ints, Ints, Ints]:
    """Number the patterns of ratings sorted by unit and value, and list each pattern's entries.

    Units with the same number of ratings are read rank by rank: two of them share a code as long as their ratings so
    far are equal. That takes one sort of small integers per rank, several times faster than sorting rows.
    """
    sizes = np.bincount(unit)
    starts = np.cumsum(sizes) - sizes
    pattern_of_unit = np.zeros(len(sizes), np.int64)
    firsts = [np.zeros(0, np.int64)]
    n_patterns = 0
    for size in np.unique(sizes):
        members = np.flatnonzero(sizes == size)
        code, first = np.zeros(len(members), np.int64), np.zeros(0, np.int64)
        for rank in range(size):
            _, first, code = np.unique(
                code * n_values + value[starts[members] + rank], return_index=True, return_inverse=True
            )
        pattern_of_unit[members] = code + n_patterns
        firsts.append(members[first])
        n_patterns += len(first)
    # One unit per pattern is enough to list what the pattern contains.
    first_units = np.concatenate(firsts)
    ratings = np.repeat(np.arange(n_patterns), sizes[first_units])
    places = np.arange(len(ratings)) - np.repeat(np.cumsum(sizes[first_units]) - sizes[first_units], sizes[first_units])
    entries = ratings * n_values + value[np.repeat(starts[first_units], sizes[first_units]) + places]
    entries, count = np.unique(entries, return_counts=True)
    width = max(n_values, 1)
    return pattern_of_unit, entries // width, entries % width, count.astype(np.int64), sizes[first_units]


def _group_of_units(units: Numbers, groups: Numbers) -> Ints:
    """Return the group of each unit number that occurs."""
    group_of_unit = np.zeros(units.max() + 1 if len(units) else 0, np.int64)
    group_of_unit[units] = groups
    if (group_of_unit[units] != groups).any():
        raise ValueError("A unit is in two groups.")
    return group_of_unit


def _count_annotators(frame: "pd.DataFrame", units: Numbers) -> tuple[int | None, int | None]:
    """Count the annotators of units with at least two ratings, and all annotators; None if one is missing."""
    import pandas as pd

    annotators, names = pd.factorize(frame[ANNOTATOR])
    if (annotators < 0).any():
        return None, None
    # A repeated pair means that two ratings of one person would count as agreement between people.
    pairs = units.astype(np.int64)
    pairs *= max(len(names), 1)
    pairs += annotators
    pairs.sort()
    if (pairs[1:] == pairs[:-1]).any():
        raise ValueError("An annotator rated a unit twice. Pass one criterion at a time, without repeated items.")
    del pairs
    paired = (np.bincount(units) >= 2)[units] if len(units) else np.zeros(0, bool)
    has_pairs = np.zeros(len(names), np.bool_)
    has_pairs[annotators[paired]] = True
    return int(has_pairs.sum()), len(names)
