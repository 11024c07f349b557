"""Jackknife intervals of Krippendorff's alpha, over units or over groups of them.

Alpha without a unit follows from sums over all units less the part of that unit, so that leaving out each of thousands
of units costs little more than computing alpha once.
"""

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np
from scipy.sparse import coo_matrix, csr_matrix

from measures.agreement import krippendorff_alpha
from measures.disagreement import map_to_scores, square_difference, sum_expected, sum_values
from measures.jackknife import LEAST_UNITS, JackknifeInterval, Scale, jackknife_interval
from measures.outcome import Undefined
from measures.patterns import Floats, Ints, Patterns
from measures.rubric import Level

_CELLS_AT_A_TIME = 2_000_000
"""Parts are left out in blocks of about this many numbers (16 MB), which bounds memory and does not change results."""
FEW_OFF_MODE = 30
"""With fewer units whose ratings are not all the most frequent one, intervals of alpha are too narrow."""
_NO_RATING = 0.5
"""Counts are whole numbers, so that less than this is none."""


def jackknife_alphas(
    patterns: Patterns, *, levels: Iterable[Level | str], by_group: bool, confidence: float = 0.95
) -> dict[Level, JackknifeInterval | Undefined]:
    """Compute intervals of alpha at several levels of measurement by leaving out each unit, or each group.

    Parameters
    ----------
    patterns : Patterns
        The ratings.
    levels : iterable of Level or str
        The levels of measurement.
    by_group : bool
        Leave out whole groups (passages) instead of units, because units of one passage are not independent.
    confidence : float
        Nominal coverage, between 0 and 1.

    Returns
    -------
    dict of Level to JackknifeInterval or Undefined
        On the scale of log(1 - alpha). Undefined if alpha is, with or without one unit (or group), if it is 1, and
        with fewer than three units (or groups).

    Raises
    ------
    ValueError
        `confidence` is not between 0 and 1.

    References
    ----------
    As in `measures.jackknife.jackknife_interval`.

    Examples
    --------
    >>> patterns = Patterns.from_rows([([1, 1], 40), ([5, 5], 40), ([4, 5], 20)])
    >>> found = jackknife_alphas(patterns, levels=["ordinal"], by_group=False)[Level.ORDINAL]
    >>> found.n_units, found.low < krippendorff_alpha(patterns, level="ordinal").alpha < found.high
    (100, True)
    """
    unit = "passage" if by_group else "candidate"
    found: dict[Level, JackknifeInterval | Undefined] = {}
    parts = _Parts.by_group(patterns) if by_group else _Parts.by_unit(patterns)
    n_ratings = np.repeat(np.bincount(parts.part, parts.n_units * patterns.sizes[parts.pattern]), parts.times)
    for level in map(Level, levels):
        outcome = krippendorff_alpha(patterns, level=level)
        if isinstance(outcome, Undefined):
            found[level] = Undefined(reason=outcome.reason)
            continue
        n_parts = int(parts.times.sum())
        # Without the only part nothing is left.
        is_enough = n_parts >= LEAST_UNITS
        left_out = np.repeat(_leave_out(patterns, parts, level), parts.times) if is_enough else np.full(n_parts, np.nan)
        found[level] = jackknife_interval(
            outcome.alpha, left_out, scale=Scale.LOG_ONE_MINUS, sizes=n_ratings, confidence=confidence, unit=unit
        )
    return found


def are_nearly_equal(n_off_mode: int, n_units: int) -> bool:
    """Tell whether so many ratings are equal that the intervals of alpha are too narrow.

    Parameters
    ----------
    n_off_mode : int
        Units with a rating other than the most frequent one; see `measures.agreement.Agreement`.
    n_units : int
        All units with at least two ratings.

    Returns
    -------
    bool
        Whether these are fewer than 30, and less than a quarter of the units. Alpha then hinges on a few ratings, of
        which two annotators may share none: both alpha and its standard error come out too small. In simulated studies
        of 100 to 1,000 units with two ratings, 95 % intervals cover the true value in 90 to 96 % where more than 25
        units have another rating, in 73 to 92 % with 16 to 19, in 63 to 72 % with 9 to 11, and in 33 to 42 % with 5 or
        6 (``python -m benchmarks.coverage``).

    Examples
    --------
    >>> are_nearly_equal(7, 200), are_nearly_equal(30, 1000), are_nearly_equal(7, 20)
    (True, False, False)
    """
    return n_off_mode < FEW_OFF_MODE and 4 * n_off_mode < n_units


@dataclass(frozen=True, kw_only=True, eq=False)
class _Parts:
    """What is left out: cell `j` says that part `part[j]` has `n_units[j]` units of pattern `pattern[j]`.

    Units of one pattern are interchangeable: one part stands for all of them, `times` says for how many.
    """

    part: Ints
    pattern: Ints
    n_units: Ints
    times: Ints

    @classmethod
    def by_unit(cls, patterns: Patterns) -> "_Parts":
        each = np.arange(len(patterns.sizes))
        return cls(part=each, pattern=each, n_units=np.ones_like(each), times=patterns.units)

    @classmethod
    def by_group(cls, patterns: Patterns) -> "_Parts":
        return cls(
            part=patterns.cell_group, pattern=patterns.cell_pattern, n_units=patterns.cell_units,
            times=np.ones(patterns.n_groups, np.int64),
        )  # fmt: skip


def _leave_out(patterns: Patterns, parts: _Parts, level: Level) -> Floats:
    """Return alpha without each part, NaN where it is undefined."""
    n_patterns, n_values = len(patterns.sizes), len(patterns.values)
    cells = (parts.n_units.astype(np.float64), (parts.part, parts.pattern))
    units = csr_matrix(cells, shape=(len(parts.times), n_patterns))
    entries = (patterns.count.astype(np.float64), (patterns.pattern, patterns.value))
    ratings = units @ csr_matrix(entries, shape=(n_patterns, n_values))
    whole = sum_values(patterns, patterns.units[np.newaxis].astype(np.float64))
    # The pairs of all units by their two values: on a scale of points these are few.
    pattern, low, high, weight = patterns.pairs
    every = coo_matrix(csr_matrix((patterns.units[pattern] * weight, (low, high)), shape=(n_values, n_values)))
    found = np.full(len(parts.times), np.nan)
    block = max(1, _CELLS_AT_A_TIME // max(n_values, every.nnz))
    for start in range(0, len(found), block):
        here = slice(start, start + block)
        totals = whole - ratings[here].toarray()
        scores = map_to_scores(patterns.values, totals, level)
        observed = square_difference(scores[:, every.row], scores[:, every.col], level) @ every.data
        observed = observed - _observe(units[here], patterns.pairs, scores, level)
        varied = (totals > _NO_RATING).sum(axis=1) > 1
        expected = sum_expected(scores, totals, level)
        found[here][varied] = (1 - (totals.sum(axis=1) - 1) * observed / np.where(varied, expected, 1.0))[varied]
    return found


def _observe(units: csr_matrix, pairs: tuple[Ints, Ints, Ints, Floats], scores: Floats, level: Level) -> Floats:
    """Return the observed disagreement of each part itself, with the scores of the other parts' ratings."""
    pattern, low, high, weight = pairs
    n_patterns = units.shape[1]
    if level is not Level.ORDINAL:
        each = weight * square_difference(scores[0, low], scores[0, high], level)
        return np.asarray(units @ np.bincount(pattern, each, minlength=n_patterns))
    # One row for each pair of values of each pattern that a part has.
    order = np.argsort(pattern, kind="stable")
    starts = np.searchsorted(pattern[order], np.arange(n_patterns + 1))
    cells = units.tocoo()
    n_pairs = starts[cells.col + 1] - starts[cells.col]
    within = np.arange(n_pairs.sum()) - np.repeat(np.cumsum(n_pairs) - n_pairs, n_pairs)
    chosen = order[np.repeat(starts[cells.col], n_pairs) + within]
    part = np.repeat(cells.row, n_pairs)
    gaps = square_difference(scores[part, low[chosen]], scores[part, high[chosen]], level)
    observed = np.zeros(units.shape[0])
    np.add.at(observed, part, np.repeat(cells.data, n_pairs) * weight[chosen] * gaps)
    return observed
