"""Krippendorff's alpha in closed form from rating patterns, at four levels of measurement."""

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from measures.disagreement import map_to_scores, sum_expected, sum_observed, sum_values
from measures.outcome import Undefined
from measures.patterns import Floats, Patterns
from measures.rubric import Level

if TYPE_CHECKING:
    import pandas as pd


LEAST_PAIRABLE = 2
"""Units with at least two ratings that alpha needs: of one, it would be 0 whatever its ratings are."""
_MOST_CELLS = 20_000_000
"""The package allocates units × values × values numbers of 8 bytes; above 160 MB it is not called."""


@dataclass(frozen=True, kw_only=True)
class Agreement:
    """Krippendorff's alpha and the data behind it.

    Attributes
    ----------
    alpha : float
        1 is perfect agreement, 0 agreement by chance, below 0 systematic disagreement.
    level : Level
        The level of measurement, which sets the distance function.
    n_units, n_ratings : int
        Units with at least two ratings, and the ratings in them.
    n_annotators : int or None
        Annotators who gave those ratings; None where annotators are unknown.
    n_single : int
        Units with one rating, which do not enter alpha.
    n_off_mode : int
        Units with at least two ratings of which one is not the most frequent of all; where these are few, intervals
        are too narrow (`measures.alpha_intervals.are_nearly_equal`).
    same_share : float or None
        Exact agreement: the share of the pairs of ratings of a unit that are equal, as a mean over units. It is not
        corrected for chance, and defined where alpha is not because all ratings are equal. None without a pair.
    """

    alpha: float
    level: Level
    n_units: int
    n_annotators: int | None
    n_ratings: int
    n_single: int
    n_off_mode: int
    same_share: float | None


@dataclass(frozen=True, kw_only=True)
class UndefinedAgreement(Undefined):
    """Why alpha is undefined, with the counts of `Agreement`."""

    level: Level
    n_units: int
    n_annotators: int | None
    n_ratings: int
    n_single: int
    n_off_mode: int
    same_share: float | None

    @classmethod
    def count(cls, patterns: Patterns, *, level: Level, reason: str) -> "UndefinedAgreement":
        """Return the outcome for these ratings.

        Parameters
        ----------
        patterns : Patterns
            The ratings whose counts are given.
        level : Level
            The level of measurement that was asked for.
        reason : str
            Why alpha is undefined.

        Returns
        -------
        UndefinedAgreement
            The reason, with the counts of the ratings.
        """
        return cls(
            reason=reason,
            level=level,
            n_units=patterns.n_units,
            n_annotators=patterns.n_annotators,
            n_ratings=patterns.n_ratings,
            n_single=patterns.n_single,
            n_off_mode=patterns.n_off_mode,
            same_share=patterns.same_share,
        )


def krippendorff_alpha(ratings: "Patterns | pd.DataFrame", *, level: Level | str) -> Agreement | UndefinedAgreement:
    """Compute Krippendorff's alpha.

    Parameters
    ----------
    ratings : Patterns or pandas.DataFrame
        Rating patterns, or a long frame of one criterion (see `Patterns.from_frame`), with reversed scores already
        inverted. Missing ratings are absent; nothing is imputed.
    level : Level or str
        ``nominal`` (equal or not), ``ordinal`` (ranks between), ``interval`` (difference) or ``ratio`` (difference over
        sum). There is no default, because alpha differs between levels.

    Returns
    -------
    Agreement or UndefinedAgreement
        Undefined without judgments, with fewer than two units that have two ratings, if all paired ratings are equal,
        and at ratio level with negative ratings. At ratio level the difference of two zeros is 0.

    Notes
    -----
    ``alpha = 1 - (n - 1) * sum_u sum_{c<k} n_uc n_uk d(c, k) / (m_u - 1) / sum_{c<k} n_c n_k d(c, k)`` with ``n_uc``
    the number of ratings `c` of unit `u`, ``m_u`` the number of its ratings, ``n_c`` the number of ratings `c` in all
    units with at least two, ``n`` their sum and `d` the squared difference. The sum in the denominator has a closed
    form in ``n_c``.

    References
    ----------
    K. Krippendorff (2011), Computing Krippendorff's Alpha-Reliability, University of Pennsylvania,
    https://repository.upenn.edu/asc_papers/43.

    Examples
    --------
    >>> patterns = Patterns.from_rows([([1, 1], 4), ([5, 5], 4), ([4, 5], 2)])
    >>> round(krippendorff_alpha(patterns, level="ordinal").alpha, 4)
    0.8733
    >>> krippendorff_alpha(Patterns.from_rows([([3, 3], 2)]), level="nominal").reason
    'all ratings are equal'
    """
    patterns = ratings if isinstance(ratings, Patterns) else Patterns.from_frame(ratings)
    level = Level(level)
    reason = _why_undefined(patterns, level)
    if reason:
        return UndefinedAgreement.count(patterns, level=level, reason=reason)
    alpha = float(alphas(patterns, patterns.units[np.newaxis].astype(np.float64), level)[0])
    return Agreement(
        alpha=alpha,
        level=level,
        n_units=patterns.n_units,
        n_annotators=patterns.n_annotators,
        n_ratings=patterns.n_ratings,
        n_single=patterns.n_single,
        n_off_mode=patterns.n_off_mode,
        same_share=patterns.same_share,
    )


def package_alpha(patterns: Patterns, *, level: Level | str) -> float | None:
    """Compute alpha with the package `krippendorff`, as an independent check of the closed form.

    Parameters
    ----------
    patterns : Patterns
        Ratings for which `krippendorff_alpha` is defined.
    level : Level or str
        The level of measurement.

    Returns
    -------
    float or None
        Equal to `krippendorff_alpha` to 12 digits; None where the arrays of the package, units by values by values,
        would exceed 160 MB.

    References
    ----------
    S. Castro (2017), Fast Krippendorff, https://github.com/pln-fing-udelar/fast-krippendorff.

    Examples
    --------
    >>> patterns = Patterns.from_rows([([1, 1], 4), ([5, 5], 4), ([4, 5], 2)])
    >>> round(package_alpha(patterns, level="ordinal"), 4)
    0.8733
    """
    import krippendorff

    if patterns.n_units * len(patterns.values) ** 2 > _MOST_CELLS:
        return None
    # The package needs `value_domain`: without it values are taken as 0, 1, 2 …, which changes alpha at ratio level.
    counts = np.zeros((len(patterns.sizes), len(patterns.values)), np.int64)
    counts[patterns.pattern, patterns.value] = patterns.count
    return float(
        krippendorff.alpha(
            value_counts=np.repeat(counts, patterns.units, axis=0),
            value_domain=patterns.values,
            level_of_measurement=Level(level).value,
        )
    )


def alphas(patterns: Patterns, draws: Floats, level: Level) -> Floats:
    """Compute alpha for each of several draws of units.

    Parameters
    ----------
    patterns : Patterns
        The patterns that draws are made of.
    draws : ndarray of float64, shape (B, P)
        How many units of each pattern each draw holds.
    level : Level
        The level of measurement.

    Returns
    -------
    ndarray of float64, shape (B,)
        NaN where the ratings of a draw do not vary, so that alpha is undefined.

    Examples
    --------
    >>> patterns = Patterns.from_rows([([1, 1], 4), ([5, 5], 4), ([4, 5], 2)])
    >>> alphas(patterns, np.array([[4.0, 2, 4], [10, 0, 0]]), Level.NOMINAL).round(4)
    array([0.6724,    nan])
    """
    totals = sum_values(patterns, draws)
    scores = map_to_scores(patterns.values, totals, level)
    observed = sum_observed(patterns, draws, scores, level)
    expected = sum_expected(scores, totals, level)
    # Without two different values the expected disagreement is 0, and alpha would be 0 / 0.
    varied = (totals > 0).sum(axis=1) > 1
    result = np.full(len(draws), np.nan)
    result[varied] = 1 - (totals[varied].sum(axis=1) - 1) * observed[varied] / expected[varied]
    return result


def _why_undefined(patterns: Patterns, level: Level) -> str:
    if not patterns.n_units:
        if not patterns.n_single:
            return "no judgments"
        if patterns.n_annotators_all == 1:
            return "one annotator only: agreement needs two ratings of the same candidate"
        return "no candidate has two ratings"
    if level is Level.RATIO and patterns.values[0] < 0:
        return "the ratio level needs a scale without negative values"
    if len(patterns.values) == 1:
        return "all ratings are equal"
    if patterns.n_units < LEAST_PAIRABLE:
        return "one unit only, for which alpha is always 0"
    return ""
