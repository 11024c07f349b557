"""Intervals as results hold them, and bootstrap intervals over resampled units or passages."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

import numpy as np
from scipy.sparse import csr_matrix

from measures.agreement import alphas, krippendorff_alpha
from measures.jackknife import JackknifeInterval
from measures.outcome import Undefined
from measures.patterns import Floats, Patterns
from measures.rubric import Level

PERCENTILE, JACKKNIFE = "percentile", "jackknife"
"""The methods of intervals."""
_CELLS_AT_A_TIME = 2_000_000
"""Draws are made in blocks of about this many numbers (16 MB), which bounds memory and does not change the result."""


@dataclass(frozen=True, kw_only=True)
class Interval:
    """A confidence interval, and how it was computed.

    Attributes
    ----------
    low, high : float
        The ends.
    confidence : float
        Nominal coverage; of a percentile interval, the share of the defined resamples that lie between the ends.
    n_resamples : int or None
        Resamples drawn; None for a jackknife, which draws none.
    undefined_share : float
        The share of resamples in which the statistic was undefined; they are left out.
    resampled : str
        ``units`` or ``groups``: what was resampled, or left out one at a time.
    method : str
        ``percentile`` or ``jackknife``.
    n_parts : int or None
        The units or groups that a jackknife left out.
    n_effective : float or None
        As how many units or groups of one size they count.
    """

    low: float
    high: float
    confidence: float
    n_resamples: int | None
    undefined_share: float
    resampled: str
    method: str = PERCENTILE
    n_parts: int | None = None
    n_effective: float | None = None

    @classmethod
    def from_jackknife(cls, found: JackknifeInterval | Undefined, *, by_group: bool) -> "Interval | Undefined":
        """Return a jackknife interval in this form, or why it is undefined.

        Parameters
        ----------
        found : JackknifeInterval or Undefined
            The interval.
        by_group : bool
            Whether groups were left out, not units.

        Returns
        -------
        Interval or Undefined
        """
        if isinstance(found, Undefined):
            return found
        return cls(
            low=found.low, high=found.high, confidence=found.confidence, n_resamples=None, undefined_share=0.0,
            resampled="groups" if by_group else "units", method=JACKKNIFE, n_parts=found.n_units,
            n_effective=found.n_effective,
        )  # fmt: skip


def bootstrap_alphas(
    patterns: Patterns,
    *,
    levels: Iterable[Level | str],
    rng: np.random.Generator,
    n_resamples: int = 1000,
    confidence: float = 0.95,
    by_group: bool = False,
) -> dict[Level, Interval | Undefined]:
    """Compute a percentile bootstrap interval of Krippendorff's alpha at each level, all from the same resamples.

    Units with at least two ratings are drawn with replacement, each with all its ratings. Units of one pattern are
    interchangeable, so a resample is one multinomial draw over the distinct patterns.

    Parameters
    ----------
    patterns : Patterns
        The ratings.
    levels : iterable of Level or str
        The levels of measurement.
    rng : numpy.random.Generator
        The source of randomness; the same seed gives the same interval, whatever the other levels are.
    n_resamples : int
        Number of resamples.
    confidence : float
        Nominal coverage of the interval, between 0 and 1.
    by_group : bool
        Resample whole groups (passages) instead of units, because units of one passage are not independent.

    Returns
    -------
    dict of Level to Interval or Undefined
        Undefined if alpha is, if there is only one unit (or group), and if alpha is undefined in every resample.

    Raises
    ------
    ValueError
        `n_resamples` is below 1, or `confidence` is not between 0 and 1.

    References
    ----------
    B. Efron and R. Tibshirani (1993), An Introduction to the Bootstrap, chapter 13.

    Examples
    --------
    >>> patterns = Patterns.from_rows([([1, 1], 40), ([5, 5], 40), ([4, 5], 20)])
    >>> found = bootstrap_alphas(patterns, levels=["nominal", "ordinal"], rng=np.random.default_rng(1))
    >>> found[Level.ORDINAL].low < krippendorff_alpha(patterns, level="ordinal").alpha < found[Level.ORDINAL].high
    True
    >>> bootstrap_alphas(patterns, levels=["ordinal"], rng=np.random.default_rng(1))[Level.ORDINAL] == found["ordinal"]
    True
    """
    if n_resamples < 1 or not 0 < confidence < 1:
        raise ValueError("n_resamples must be 1 or more, and confidence must be between 0 and 1.")
    resampled = "groups" if by_group else "units"
    found: dict[Level, Interval | Undefined] = {}
    values: dict[Level, list[Floats]] = {}
    for level in map(Level, levels):
        whole = krippendorff_alpha(patterns, level=level)
        if isinstance(whole, Undefined):
            found[level] = Undefined(reason=whole.reason)
        elif (patterns.n_groups if by_group else patterns.n_units) < 2:
            found[level] = Undefined(reason=f"one {resampled[:-1]} only, so there is nothing to resample")
        else:
            values[level] = []
    # All levels use the same draws, so that their intervals can be compared.
    for draws in _draw(patterns, rng, n_resamples, by_group=by_group) if values else ():
        for level, parts in values.items():
            parts.append(alphas(patterns, draws, level))
    for level, parts in values.items():
        found[level] = _percentiles(np.concatenate(parts), confidence, resampled)
    return found


def _percentiles(values: Floats, confidence: float, resampled: str) -> Interval | Undefined:
    defined = values[~np.isnan(values)]
    if not defined.size:
        return Undefined(reason="every resample is undefined")
    low, high = np.quantile(defined, [(1 - confidence) / 2, (1 + confidence) / 2])
    return Interval(
        low=float(low),
        high=float(high),
        confidence=confidence,
        n_resamples=len(values),
        undefined_share=1 - defined.size / len(values),
        resampled=resampled,
    )


def _draw(patterns: Patterns, rng: np.random.Generator, n_resamples: int, *, by_group: bool) -> Iterator[Floats]:
    """Yield blocks of draws: how many units of each pattern each resample holds."""
    widest = max(len(patterns.sizes), len(patterns.values), len(patterns.pattern), patterns.n_groups if by_group else 0)
    block = max(1, min(n_resamples, _CELLS_AT_A_TIME // widest))
    draw = _draw_groups if by_group else _draw_units
    for start in range(0, n_resamples, block):
        yield draw(patterns, rng, min(block, n_resamples - start))


def _draw_units(patterns: Patterns, rng: np.random.Generator, size: int) -> Floats:
    """Draw units `size` times, by pattern or one by one, whichever is faster."""
    n_units, n_patterns = patterns.n_units, len(patterns.sizes)
    # A multinomial draw costs several times more per pattern than a single draw costs per unit. The bound decides which
    # random numbers a seed gives, so changing it changes intervals that were computed before.
    if n_patterns * 4 <= n_units:
        return rng.multinomial(n_units, patterns.units / n_units, size).astype(np.float64)
    pattern_of_unit = np.repeat(np.arange(n_patterns), patterns.units)
    draws = np.empty((size, n_patterns))
    for draw in draws:
        draw[:] = np.bincount(pattern_of_unit[rng.integers(n_units, size=n_units)], minlength=n_patterns)
    return draws


def _draw_groups(patterns: Patterns, rng: np.random.Generator, size: int) -> Floats:
    """Draw groups `size` times, and count the patterns of the units in them."""
    n_groups = patterns.n_groups
    cells = (patterns.cell_units.astype(np.float64), (patterns.cell_pattern, patterns.cell_group))
    units = csr_matrix(cells, shape=(len(patterns.sizes), n_groups))
    drawn = np.empty((n_groups, size))
    for column in range(size):
        drawn[:, column] = np.bincount(rng.integers(n_groups, size=n_groups), minlength=n_groups)
    draws: Floats = np.asarray(units @ drawn).T
    return draws
