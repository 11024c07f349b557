"""Bootstrap intervals over resampled units or passages."""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from measures.agreement import alphas, krippendorff_alpha
from measures.outcome import Undefined
from measures.patterns import Floats, Patterns
from measures.rubric import Level

_CELLS_AT_A_TIME = 2_000_000
"""Draws are made in blocks of about this many numbers, so that memory stays bounded; blocks change no result."""


@dataclass(frozen=True, kw_only=True)
class Interval:
    """A percentile interval.

    Attributes
    ----------
    low, high : float
        The ends.
    confidence : float
        The share of defined resamples between them.
    n_resamples : int
        Resamples drawn.
    undefined_share : float
        The share of resamples in which the number was not defined; they are left out.
    resampled : str
        ``units`` or ``groups``.
    """

    low: float
    high: float
    confidence: float
    n_resamples: int
    undefined_share: float
    resampled: str


def alpha_interval(
    patterns: Patterns,
    *,
    level: Level | str,
    rng: np.random.Generator,
    n_resamples: int = 1000,
    confidence: float = 0.95,
    by_group: bool = False,
) -> Interval | Undefined:
    """Compute a percentile bootstrap interval of Krippendorff's alpha.

    Units with at least two ratings are drawn with replacement, each with all its ratings. Units of one pattern are
    alike, so a draw is one multinomial sample over the distinct patterns.

    Parameters
    ----------
    patterns : Patterns
        The ratings.
    level : Level or str
        The level of measurement.
    rng : numpy.random.Generator
        The source of randomness; the same seed gives the same interval.
    n_resamples : int
        Resamples; 1,000 by default.
    confidence : float
        The share between the ends, 0.95 by default.
    by_group : bool
        Draw whole groups (passages) instead of units, for units of one passage are not independent.

    Returns
    -------
    Interval or Undefined
        Undefined where alpha is, where there is one unit (or group) only, and where it is in every resample.

    Raises
    ------
    ValueError
        `n_resamples` or `confidence` is out of range.

    References
    ----------
    B. Efron and R. Tibshirani (1993), An Introduction to the Bootstrap, chapter 13.

    Examples
    --------
    >>> patterns = Patterns.from_rows([([1, 1], 40), ([5, 5], 40), ([4, 5], 20)])
    >>> interval = alpha_interval(patterns, level="ordinal", rng=np.random.default_rng(1))
    >>> interval.low < krippendorff_alpha(patterns, level="ordinal").alpha < interval.high
    True
    """
    if n_resamples < 1 or not 0 < confidence < 1:
        raise ValueError("There must be a resample, and the confidence must lie between 0 and 1.")
    level = Level(level)
    whole = krippendorff_alpha(patterns, level=level)
    if isinstance(whole, Undefined):
        return Undefined(reason=whole.reason)
    resampled = "groups" if by_group else "units"
    if (patterns.n_groups if by_group else patterns.n_units) < 2:
        return Undefined(reason=f"one {resampled[:-1]} only, so there is nothing to resample")
    blocks = [alphas(patterns, draws, level) for draws in _draw(patterns, rng, n_resamples, by_group=by_group)]
    values = np.concatenate(blocks)
    defined = values[~np.isnan(values)]
    if not defined.size:
        return Undefined(reason="every resample is undefined")
    low, high = np.quantile(defined, [(1 - confidence) / 2, (1 + confidence) / 2])
    return Interval(
        low=float(low),
        high=float(high),
        confidence=confidence,
        n_resamples=n_resamples,
        undefined_share=1 - defined.size / n_resamples,
        resampled=resampled,
    )


def _draw(patterns: Patterns, rng: np.random.Generator, n_resamples: int, *, by_group: bool) -> Iterator[Floats]:
    """Yield blocks of draws: how many units of each pattern each resample holds."""
    n_patterns = len(patterns.sizes)
    widest = max(n_patterns, len(patterns.values), len(patterns.pattern), patterns.n_groups if by_group else 0, 1)
    block = max(1, min(n_resamples, _CELLS_AT_A_TIME // widest))
    for start in range(0, n_resamples, block):
        size = min(block, n_resamples - start)
        if not by_group:
            yield _draw_units(patterns, rng, size)
            continue
        drawn = rng.multinomial(patterns.n_groups, np.full(patterns.n_groups, 1 / patterns.n_groups), size)
        weights = drawn[:, patterns.cell_group] * patterns.cell_units
        yield np.array(
            [np.bincount(patterns.cell_pattern, row, minlength=n_patterns) for row in weights], dtype=np.float64
        )


def _draw_units(patterns: Patterns, rng: np.random.Generator, size: int) -> Floats:
    """Draw units `size` times: by pattern where units share patterns, one by one where hardly any two do."""
    n_units, n_patterns = patterns.n_units, len(patterns.sizes)
    if n_patterns * 4 <= n_units:
        return rng.multinomial(n_units, patterns.units / n_units, size).astype(np.float64)
    pattern_of_unit = np.repeat(np.arange(n_patterns), patterns.units)
    draws = np.empty((size, n_patterns))
    for draw in draws:
        draw[:] = np.bincount(pattern_of_unit[rng.integers(n_units, size=n_units)], minlength=n_patterns)
    return draws
