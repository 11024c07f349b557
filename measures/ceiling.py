"""Ceiling: the highest Pearson correlation that a metric can reach with gold scores, given their reliability."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from enum import StrEnum
from typing import TYPE_CHECKING

import numpy as np

from measures.columns import ANNOTATOR, GROUP, UNIT, VALUE, require_columns
from measures.jackknife import JackknifeInterval, Scale, jackknife_interval
from measures.outcome import Undefined
from measures.patterns import Floats, Ints
from measures.rounding import ON_SCALE, is_constant

if TYPE_CHECKING:
    import pandas as pd

LEAST_UNITS = 3
"""Of two items, one difference is all that tells how gold scores vary."""
LEAST_PAIRED = 2
"""Items with two ratings or more: the variance within one item alone says little about the others."""
NUMBERS = (2, 3, 5, 10)
"""The numbers of judgments for which the ceiling is predicted."""
CHANCE = "people do not agree beyond chance, so no metric can be judged by these gold scores"
_FLAT_SQUARES = 1e-12
"""A sum of squares about the mean below this share of that about 0 is a rounding error."""


class Design(StrEnum):
    """Which raters judged which items.

    ``one_way``: raters differ between items, so a rater's bias is error. ``crossed``: the same raters judged every
    item, so a bias shifts all items alike. ``auto``: crossed where every item has the same raters, else one-way.
    """

    ONE_WAY = "one_way"
    CROSSED = "crossed"
    AUTO = "auto"


@dataclass(frozen=True, kw_only=True)
class Prediction:
    """The reliability of the mean of `n_judgments` judgments by the Spearman-Brown formula, and its ceiling."""

    n_judgments: int
    reliability: float
    ceiling: float


@dataclass(frozen=True, kw_only=True)
class Ceiling:
    """The reliability of gold scores, and the highest correlation that a metric can reach with them.

    Attributes
    ----------
    ceiling : float or Undefined
        The square root of `reliability`; undefined where that is not above 0.
    interval : JackknifeInterval or Undefined
        The interval of `ceiling`; groups (passages) are left out one at a time.
    reliability : float
        The variance of the true scores as a share of the variance of the golds; below 0 where people agree less than
        by chance.
    single : float
        The reliability of a single judgment: ICC(1), or ICC(3,1) in a crossed design.
    design : Design
        ``one_way`` or ``crossed``.
    n_judgments : float
        The harmonic mean of the number of judgments of an item.
    predictions : tuple of Prediction
        The ceiling with other numbers of judgments; empty where `single` is not above 0.
    n_units, n_ratings, n_groups : int
        Items, ratings and groups behind the figures.
    """

    ceiling: float | Undefined
    interval: JackknifeInterval | Undefined
    reliability: float
    single: float
    design: Design
    n_judgments: float
    predictions: tuple[Prediction, ...]
    n_units: int
    n_ratings: int
    n_groups: int


def compute_ceiling(
    frame: "pd.DataFrame", *, design: Design | str = Design.ONE_WAY, confidence: float = 0.95
) -> Ceiling | Undefined:
    """Compute the highest Pearson correlation that a metric can reach with the mean ratings of these items.

    Parameters
    ----------
    frame : pandas.DataFrame
        A long frame of one criterion with `unit`, `group` and `value`; with `annotator` for the designs ``crossed`` and
        ``auto``. Rows without a value are left out. Items with one rating are included.
    design : Design or str
        Which raters judged which items.
    confidence : float
        Nominal coverage of the interval, between 0 and 1.

    Returns
    -------
    Ceiling or Undefined
        Undefined with fewer than three items, with fewer than two items that have two ratings, if all golds are equal,
        and for a crossed design if not all items have the same known raters.

    Raises
    ------
    ValueError
        A column is missing, or `confidence` is not between 0 and 1.

    Notes
    -----
    Model: rating = true score + error, with independent errors. A metric that equals the true scores correlates with
    the golds by ``sqrt(R)``, where ``R = 1 - mean(s_i^2 / k_i) / Var(golds)``, ``s_i^2`` is the variance of the k_i
    ratings of an item, and an item with one rating takes the mean variance of the others. With equal k this is
    ICC(1,k). In a crossed design ``s_i^2`` is the residual mean square, and R is ICC(3,k), Cronbach's alpha.

    The bound holds for Pearson's correlation only. A metric that was trained on these raters, or shares their habits,
    can lie above it, because its errors are not independent of theirs.

    References
    ----------
    C. Spearman (1904), The Proof and Measurement of Association between Two Things, American Journal of Psychology 15;
    P. E. Shrout and J. L. Fleiss (1979), Intraclass Correlations, Psychological Bulletin 86.

    Examples
    --------
    >>> import pandas as pd
    >>> ratings = [[5, 4], [2, 3], [4, 4], [1, 2], [3, 5], [2, 1]]
    >>> rows = [(unit, unit, float(value)) for unit, values in enumerate(ratings) for value in values]
    >>> found = compute_ceiling(pd.DataFrame(rows, columns=["unit", "group", "value"]))
    >>> round(found.single, 4), round(found.reliability, 4), round(found.ceiling, 4)
    (0.6875, 0.8148, 0.9027)
    """
    require_columns(frame, UNIT, GROUP, VALUE)
    frame = frame[frame[VALUE].notna()]
    ratings = _Ratings.read(frame)
    raters = None
    if Design(design) is not Design.ONE_WAY:
        require_columns(frame, ANNOTATOR)
        raters = _read_raters(frame, ratings)
        if raters is None and Design(design) is Design.CROSSED:
            return Undefined(reason="not all candidates were judged by the same annotators")
    if reason := _explain_undefined(ratings):
        return Undefined(reason=reason)
    sums = _sum_one_way(ratings) if raters is None else _sum_crossed(ratings, raters)
    reliability = float(_estimate(sums, is_crossed=raters is not None)[0])
    single = _estimate_single(ratings, reliability, is_crossed=raters is not None)
    ceiling: float | Undefined = float(np.sqrt(reliability)) if reliability > 0 else Undefined(reason=CHANCE)
    return Ceiling(
        ceiling=ceiling,
        interval=_compute_interval(ceiling, reliability, ratings, sums, confidence, is_crossed=raters is not None),
        reliability=reliability,
        single=single,
        design=Design.ONE_WAY if raters is None else Design.CROSSED,
        n_judgments=float(1 / (1 / ratings.counts).mean()),
        predictions=_predict(single) if single > 0 else (),
        n_units=ratings.n_units,
        n_ratings=len(ratings.values),
        n_groups=ratings.n_groups,
    )


def _explain_undefined(ratings: "_Ratings") -> str:
    if ratings.n_units < LEAST_UNITS:
        return "fewer than three candidates with a judgment"
    if int((ratings.counts >= 2).sum()) < LEAST_PAIRED:
        return "fewer than two candidates with two judgments"
    return "all gold scores are equal" if is_constant(ratings.golds, within=ON_SCALE) else ""


def raise_reliability(single: float, n_judgments: float) -> float:
    """Return the reliability of the mean of so many judgments, by the Spearman-Brown formula.

    Parameters
    ----------
    single : float
        The reliability of a single judgment.
    n_judgments : float
        The number of judgments of each item; their harmonic mean where the numbers differ.

    Returns
    -------
    float
        ``k r / (1 + (k - 1) r)``.

    Examples
    --------
    >>> round(raise_reliability(0.6875, 2), 4)
    0.8148
    """
    return n_judgments * single / (1 + (n_judgments - 1) * single)


@dataclass(frozen=True, kw_only=True, eq=False)
class _Ratings:
    """Ratings about their mean, with the numbers of their items; golds, counts and groups of the items."""

    values: Floats
    units: Ints
    counts: Floats
    golds: Floats
    squares: Floats
    """The sum of squares within each item."""
    groups: Ints

    @property
    def n_units(self) -> int:
        return len(self.counts)

    @property
    def n_groups(self) -> int:
        return int(self.groups.max()) + 1 if len(self.groups) else 0

    @classmethod
    def read(cls, frame: "pd.DataFrame") -> "_Ratings":
        import pandas as pd

        units, found = pd.factorize(frame[UNIT])
        values = frame[VALUE].to_numpy(np.float64)
        # About the mean, so that sums of squares lose no digits.
        values = values - values.mean() if len(values) else values
        counts = np.bincount(units, minlength=len(found)).astype(np.float64)
        golds = _sum_by(units, values, len(found)) / counts
        squares = _sum_by(units, (values - golds[units]) ** 2, len(found))
        firsts = np.empty(len(found), np.int64)
        # The last writer wins, so rows are written from the last to the first.
        firsts[units[::-1]] = np.arange(len(units))[::-1]
        groups = np.asarray(pd.factorize(frame[GROUP].iloc[firsts])[0], np.int64)
        return cls(
            values=values, units=np.asarray(units, np.int64), counts=counts, golds=golds, squares=squares, groups=groups
        )


def _read_raters(frame: "pd.DataFrame", ratings: _Ratings) -> Ints | None:
    """Return the number of the rater of each rating, or None where not every item has the same raters."""
    import pandas as pd

    codes, found = pd.factorize(frame[ANNOTATOR])
    k = len(found)
    if k < 2 or (codes < 0).any() or len(codes) != k * ratings.n_units:
        return None
    # As many ratings as cells: the table is complete where none is there twice.
    cells = ratings.units * k + codes
    return np.asarray(codes, np.int64) if len(np.unique(cells)) == len(cells) else None


def _sum_by(places: Ints, values: Floats, n: int) -> Floats:
    return np.bincount(places, values, minlength=n).astype(np.float64)


def _sum_one_way(ratings: _Ratings) -> Mapping[str, Floats]:
    """Return sums over the items of each group, from which the reliability without any group follows."""
    is_single = ratings.counts < 2
    variances = np.where(is_single, 0.0, ratings.squares / np.maximum(ratings.counts - 1, 1))

    def total(values: Floats) -> Floats:
        return _sum_by(ratings.groups, values, ratings.n_groups)

    return {
        "n": total(np.ones(ratings.n_units)),
        "gold": total(ratings.golds),
        "gold_squared": total(ratings.golds**2),
        "error": total(variances / ratings.counts),
        "n_single": total(is_single.astype(np.float64)),
        "variance": total(variances),
    }


def _sum_crossed(ratings: _Ratings, raters: Ints) -> Mapping[str, Floats]:
    """Return such sums for a table of items and raters; those of each rater are columns."""
    k, groups = int(raters.max()) + 1, ratings.groups

    def total(values: Floats) -> Floats:
        return _sum_by(groups, values, ratings.n_groups)

    cells = groups[ratings.units] * k + raters
    return {
        "n": total(np.ones(ratings.n_units)),
        "gold": total(ratings.golds),
        "gold_squared": total(ratings.golds**2),
        "squares": _sum_by(groups[ratings.units], ratings.values**2, ratings.n_groups),
        "raters": _sum_by(cells, ratings.values, ratings.n_groups * k).reshape(-1, k),
    }


def _estimate(sums: Mapping[str, Floats], *, is_crossed: bool) -> Floats:
    """Return the reliability from all groups, and without each one; NaN where undefined."""
    # The first row has all groups, the others one less.
    whole = {name: each.sum(axis=0) for name, each in sums.items()}
    part = {name: np.concatenate([[whole[name]], whole[name] - each]) for name, each in sums.items()}
    n = part["n"]
    with np.errstate(divide="ignore", invalid="ignore"):
        around = part["gold_squared"] - part["gold"] ** 2 / n
        # Gold scores that are all equal without a group leave the rounding error of the squares they are taken from.
        golds = np.where(around > _FLAT_SQUARES * whole["gold_squared"], around / (n - 1), np.nan)
        if is_crossed:
            k = part["raters"].shape[1]
            squares = part["squares"] - k * part["gold_squared"]
            squares = squares - (part["raters"] ** 2).sum(axis=1) / n + k * part["gold"] ** 2 / n
            error = np.maximum(squares, 0) / ((n - 1) * (k - 1)) / k
            is_defined = n >= LEAST_UNITS
        else:
            n_paired = n - part["n_single"]
            error = (part["error"] + part["n_single"] * part["variance"] / n_paired) / n
            is_defined = (n >= LEAST_UNITS) & (n_paired >= LEAST_PAIRED)
        found: Floats = np.where(is_defined, 1 - error / golds, np.nan)
    return found


def _estimate_single(ratings: _Ratings, reliability: float, *, is_crossed: bool) -> float:
    """Return the reliability of one judgment, from the mean squares between and within the items."""
    counts, n = ratings.counts, ratings.n_units
    if is_crossed:
        # R = 1 - MSE / MSB, so ICC(3,1) = (MSB - MSE) / (MSB + (k - 1) MSE) follows from R and k.
        return reliability / (reliability + float(counts[0]) * (1 - reliability))
    total = counts.sum()
    mean = (counts * ratings.golds).sum() / total
    between = float((counts * (ratings.golds - mean) ** 2).sum() / (n - 1))
    within = float(ratings.squares.sum() / (total - n))
    n_average = float((total - (counts**2).sum() / total) / (n - 1))
    return (between - within) / (between + (n_average - 1) * within)


def _compute_interval(
    ceiling: float | Undefined,
    reliability: float,
    ratings: _Ratings,
    sums: Mapping[str, Floats],
    confidence: float,
    *,
    is_crossed: bool,
) -> JackknifeInterval | Undefined:
    if isinstance(ceiling, Undefined):
        return ceiling
    found = jackknife_interval(
        reliability,
        _estimate(sums, is_crossed=is_crossed)[1:],
        scale=Scale.LOG_ONE_MINUS,
        sizes=sums["n"],
        confidence=confidence,
        unit="candidate" if ratings.n_groups == ratings.n_units else "passage",
    )
    if isinstance(found, Undefined):
        return found
    low, high = (float(np.sqrt(max(0.0, end))) for end in (found.low, found.high))
    return replace(found, low=low, high=high)


def _predict(single: float) -> tuple[Prediction, ...]:
    raised = ((n, raise_reliability(single, n)) for n in NUMBERS)
    return tuple(Prediction(n_judgments=n, reliability=each, ceiling=float(np.sqrt(each))) for n, each in raised)
