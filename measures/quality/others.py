"""One annotator compared with the others who rated the same items, and their effect on the project's alpha."""

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from scipy.special import stdtrit

from measures.agreement import LEAST_PAIRABLE, alphas, krippendorff_alpha
from measures.columns import ANNOTATOR, UNIT, VALUE, require_columns
from measures.correlation import pearson
from measures.jackknife import Scale, jackknife_interval
from measures.outcome import Undefined
from measures.patterns import Floats, Ints, Patterns
from measures.rounding import ON_SCALE, is_constant
from measures.rubric import Level

if TYPE_CHECKING:
    import pandas as pd

_CELLS_AT_A_TIME = 2_000_000
"""Annotators are processed in blocks of about this many numbers (16 MB), which bounds memory."""
_LEAST_TRUST = 0.05
"""An annotator with a lower correlation has this weight: with 0, units that only they rated would have no mean."""
NOBODY_ELSE = "nobody else has rated the same candidates"


@dataclass(frozen=True, kw_only=True)
class Others:
    """An annotator's scores compared with the mean of the others' scores of the same items.

    Attributes
    ----------
    r : float or Undefined
        Pearson's correlation with the (unweighted) mean of the others.
    r_trusted : float or Undefined
        The same with each of the others weighted by how well they agree themselves (see `others_means`), so that one
        careless annotator does not lower the correlation of careful ones.
    mean_difference : float
        Mean absolute difference from the unweighted mean, in points.
    bias, bias_low, bias_high : float
        Mean signed difference (above 0: rates higher than the others), in points, and its 95 % interval by Student's t;
        by the jackknife where items share groups. NaN where there is none.
    n : int
        Items that somebody else has rated too.
    n_groups : int
        The groups (passages) that the interval leaves out; 0 where it is over items.
    why_no_interval : str
        Why the interval is undefined; empty otherwise.
    """

    r: float | Undefined
    r_trusted: float | Undefined
    mean_difference: float
    bias: float
    bias_low: float
    bias_high: float
    n: int
    n_groups: int = 0
    why_no_interval: str = ""


@dataclass(frozen=True, kw_only=True)
class AlphaEffect:
    """The effect of an annotator on the project's agreement.

    Attributes
    ----------
    with_them, without_them : float
        Krippendorff's alpha over all units, with and without this annotator's ratings.
    difference : float
        Without minus with: above 0, agreement would be better without them.
    n : int
        Units that they and somebody else have rated.
    """

    with_them: float
    without_them: float
    difference: float
    n: int


def others_means(units: Ints, annotators: Ints, scores: Floats) -> tuple[Floats, Floats]:
    """Compute for each score the mean of everybody else's scores of the same unit, unweighted and weighted.

    Parameters
    ----------
    units, annotators : ndarray of int64, shape (n,)
        Numbers from 0; each annotator once per unit.
    scores : ndarray of float64, shape (n,)
        No NaN.

    Returns
    -------
    plain, trusted : ndarray of float64, shape (n,)
        NaN where nobody else scored the unit. In the trusted mean, the weight of each annotator is the square of their
        own correlation with the plain means, and at least 0.0025, also where that correlation is undefined.

    Examples
    --------
    >>> plain, trusted = others_means(np.array([0, 0, 0, 1]), np.array([0, 1, 2, 0]), np.array([1.0, 2, 4, 5]))
    >>> plain.tolist()
    [3.0, 2.5, 1.5, nan]
    """
    plain = _means_without(units, scores, np.ones(len(scores)))
    weights = np.full(int(annotators.max(initial=-1)) + 1, _LEAST_TRUST**2)
    shared = np.flatnonzero(~np.isnan(plain))
    order = shared[np.argsort(annotators[shared], kind="stable")]
    for part in np.split(order, np.flatnonzero(np.diff(annotators[order])) + 1):
        r = pearson(scores[part], plain[part], within=ON_SCALE)
        if not isinstance(r, Undefined):
            weights[annotators[part[0]]] = max(_LEAST_TRUST, r) ** 2
    return plain, _means_without(units, scores, weights[annotators])


def against_others(
    own: Floats, others: Floats, trusted: Floats | None = None, *, groups: Ints | None = None
) -> Others | Undefined:
    """Compare an annotator's scores with the mean of the others'.

    Parameters
    ----------
    own, others : ndarray of float64, shape (n,)
        The annotator's score of each item, and the mean of everybody else's; NaN where missing.
    trusted : ndarray of float64, shape (n,), optional
        The weighted mean of everybody else's scores (see `others_means`); the plain one by default.
    groups : ndarray of int64, shape (n,), optional
        The group of each item, such as its passage. Where several items share one, they are not independent, and the
        interval of the bias leaves out whole groups.

    Returns
    -------
    Others or Undefined
        Undefined if no item was rated by anybody else, as with overlap 1.

    Examples
    --------
    >>> found = against_others(np.array([1.0, 3, 5, 2]), np.array([2.0, 3, 5, np.nan]))
    >>> round(found.r, 4), round(found.mean_difference, 4), round(found.bias, 4), found.n
    (0.982, 0.3333, -0.3333, 3)
    >>> round(found.bias_low, 3), round(found.bias_high, 3)
    (-1.768, 1.101)
    """
    both = ~(np.isnan(own) | np.isnan(others))
    trusted = others if trusted is None else trusted
    own, others, trusted = own[both], others[both], trusted[both]
    n = len(own)
    if not n:
        return Undefined(reason=NOBODY_ELSE)
    difference = own - others
    bias = float(difference.mean())
    groups = None if groups is None else groups[both]
    if groups is not None and len(np.unique(groups)) == n:
        groups = None
    low, high, why = _find_ends(difference, groups)
    return Others(
        r=pearson(own, others, within=ON_SCALE),
        r_trusted=pearson(own, trusted, within=ON_SCALE),
        mean_difference=float(np.abs(difference).mean()),
        bias=bias,
        bias_low=low,
        bias_high=high,
        n=n,
        n_groups=0 if groups is None else len(np.unique(groups)),
        why_no_interval=why,
    )


def _find_ends(difference: Floats, groups: Ints | None) -> tuple[float, float, str]:
    """Return the interval of the mean difference, and why there is none."""
    n, mean = len(difference), float(difference.mean())
    if groups is None:
        if n == 1:
            return np.nan, np.nan, "one item only"
        if is_constant(difference, within=ON_SCALE):
            return np.nan, np.nan, "all differences are equal"
        half = float(stdtrit(n - 1, 0.975) * difference.std(ddof=1) / np.sqrt(n))
        return mean - half, mean + half, ""
    number = np.unique(groups, return_inverse=True)[1]
    counts, sums = np.bincount(number), np.bincount(number, difference)
    if len(counts) == 1:
        return np.nan, np.nan, "one passage only"
    # The mean without each passage, from the sums.
    left_out = (difference.sum() - sums) / (n - counts)
    found = jackknife_interval(mean, left_out, scale=Scale.PLAIN, sizes=counts, unit="passage")
    return (np.nan, np.nan, found.reason) if isinstance(found, Undefined) else (found.low, found.high, "")


def alpha_effects(frame: "pd.DataFrame", *, level: Level | str) -> "dict[object, AlphaEffect | Undefined]":
    """Compute alpha without each annotator, and the change.

    Parameters
    ----------
    frame : pandas.DataFrame
        A long frame of one criterion: `unit`, `annotator`, `value`; each annotator once per unit. Rows without a value
        are left out.
    level : Level or str
        The level of measurement.

    Returns
    -------
    dict
        The effect of each annotator; undefined if alpha is, with or without them, and if they share no unit with
        anybody.

    Raises
    ------
    ValueError
        A column is missing, or `value` does not hold numbers.

    Notes
    -----
    Without an annotator, some units have the rating pattern less one rating. All these patterns are numbered once, so
    that leaving out an annotator is a change of counts over a common set of patterns, and alpha is computed for many
    annotators together.

    Examples
    --------
    >>> import pandas as pd
    >>> rows = [(u, a, u % 5 + 1) for u in range(10) for a in "xyz"] + [(u, "w", 5 - u % 5) for u in range(10)]
    >>> frame = pd.DataFrame(rows, columns=["unit", "annotator", "value"]).astype({"value": "float64"})
    >>> effects = alpha_effects(frame, level="ordinal")
    >>> effects["w"].without_them, effects["w"].difference > 0 > effects["x"].difference
    (1.0, True)
    """
    import pandas as pd

    require_columns(frame, UNIT, ANNOTATOR, VALUE)
    frame = frame[frame[VALUE].notna()]
    level = Level(level)
    annotators, names = pd.factorize(frame[ANNOTATOR])
    units, _ = pd.factorize(frame[UNIT])
    sizes = np.bincount(units)
    paired = sizes[units] >= 2 if len(units) else np.zeros(0, bool)
    base = krippendorff_alpha(frame, level=level)
    n_shared = np.bincount(annotators[paired], minlength=len(names))
    if isinstance(base, Undefined):
        return {name: Undefined(reason=base.reason) for name in names}
    found = _LeaveOneOut.build(units[paired], annotators[paired], frame[VALUE].to_numpy(np.float64)[paired], len(names))
    effects: dict[object, AlphaEffect | Undefined] = {}
    for name, without, n in zip(names, found.alphas(level), n_shared, strict=True):
        if not n:
            effects[name] = Undefined(reason=NOBODY_ELSE)
        elif np.isnan(without):
            effects[name] = Undefined(reason="without this annotator there is no agreement to compute")
        else:
            difference = float(without) - base.alpha
            effects[name] = AlphaEffect(
                with_them=base.alpha, without_them=float(without), difference=difference, n=int(n)
            )
    return effects


def _means_without(units: Ints, scores: Floats, weights: Floats) -> Floats:
    """Return for each score the weighted mean of the other scores of its unit; NaN without others."""
    n_others = np.bincount(units)[units] - 1 if len(units) else np.zeros(0, np.int64)
    left = np.bincount(units, weights)[units] - weights if len(units) else np.zeros(0)
    total = np.bincount(units, weights * scores)[units] - weights * scores if len(units) else np.zeros(0)
    means = np.full(len(scores), np.nan)
    means[n_others > 0] = total[n_others > 0] / left[n_others > 0]
    return means


@dataclass(frozen=True)
class _LeaveOneOut:
    """The patterns of all units, with and without one rating, and which of them each annotator's absence replaces.

    Attributes
    ----------
    patterns : Patterns
        All these patterns with at least two ratings.
    units : ndarray of float64
        Units of each pattern with everybody.
    annotator, taken, put, times : ndarray
        Without `annotator`, `times` units change from pattern `taken` to pattern `put` (-1: fewer than two ratings).
    n_annotators : int
        Annotators.
    """

    patterns: Patterns
    units: Floats
    annotator: Ints
    taken: Ints
    put: Ints
    times: Floats
    n_annotators: int

    @classmethod
    def build(cls, units: Ints, annotators: Ints, values: Floats, n_annotators: int) -> "_LeaveOneOut":
        # With its ratings sorted, a unit's pattern is a tuple; the same tuple is the same pattern.
        order = np.lexsort((values, units))
        units, annotators, values = np.unique(units[order], return_inverse=True)[1], annotators[order], values[order]
        starts = np.flatnonzero(np.diff(units, prepend=-1))
        whole: dict[tuple[float, ...], int] = {}
        numbers = np.array(
            [whole.setdefault(tuple(part), len(whole)) for part in np.split(values, starts[1:])], np.int64
        )
        triples, times = np.unique(np.column_stack([annotators, numbers[units], values]), axis=0, return_counts=True)
        # Patterns with one rating less join the same numbering.
        known = dict(whole)
        ratings = list(whole)
        put = np.array([_less(ratings[int(number)], value, known) for _, number, value in triples], np.int64)
        # `Patterns` numbers them in its own order; patterns of a single rating are not in it, and become -1.
        patterns, number_of = _number([each for each in known if len(each) > 1])
        places = np.array([number_of.get(each, -1) for each in known], np.int64)
        counts = np.zeros(len(patterns.sizes))
        np.add.at(counts, places[numbers], 1)
        return cls(
            patterns=patterns,
            units=counts,
            annotator=triples[:, 0].astype(np.int64),
            taken=places[triples[:, 1].astype(np.int64)],
            put=places[put],
            times=times.astype(np.float64),
            n_annotators=n_annotators,
        )

    def alphas(self, level: Level) -> Floats:
        block = max(1, _CELLS_AT_A_TIME // max(1, len(self.units)))
        found = [
            self._compute(self._draws(start, min(start + block, self.n_annotators)), level)
            for start in range(0, self.n_annotators, block)
        ]
        return np.concatenate(found)

    def _compute(self, draws: Floats, level: Level) -> Floats:
        """Return alpha of each draw; NaN where no unit is left, or only one, of which alpha would be 0."""
        found = np.full(len(draws), np.nan)
        has_units = draws.sum(axis=1) >= LEAST_PAIRABLE
        if has_units.any():
            found[has_units] = alphas(self.patterns, draws[has_units], level)
        return found

    def _draws(self, start: int, stop: int) -> Floats:
        draws = np.tile(self.units, (stop - start, 1))
        here = (self.annotator >= start) & (self.annotator < stop)
        row = self.annotator[here] - start
        np.add.at(draws, (row, self.taken[here]), -self.times[here])
        left = self.put[here] >= 0
        np.add.at(draws, (row[left], self.put[here][left]), self.times[here][left])
        return draws


def _less(ratings: tuple[float, ...], value: float, known: dict[tuple[float, ...], int]) -> int:
    """Return the number of the pattern without one rating; a new pattern gets the next number."""
    place = ratings.index(value)
    return known.setdefault(ratings[:place] + ratings[place + 1 :], len(known))


def _number(ratings: list[tuple[float, ...]]) -> tuple[Patterns, dict[tuple[float, ...], int]]:
    """Return these patterns as `Patterns`, and the number of each in them."""
    patterns = Patterns.from_rows((each, [place]) for place, each in enumerate(ratings))
    number_of = {
        ratings[group]: int(pattern) for group, pattern in zip(patterns.cell_group, patterns.cell_pattern, strict=True)
    }
    return patterns, number_of
