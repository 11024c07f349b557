"""What is typical of a project's other annotators, against whom one is compared."""

from collections.abc import Iterable
from dataclasses import dataclass
from itertools import zip_longest

import numpy as np

from measures.outcome import Undefined
from measures.quality.figures import Figures

LEAST_OTHERS = 3
"""So many others make a typical value."""


@dataclass(frozen=True, kw_only=True)
class Crowd:
    """What is typical of a project's other annotators: medians, None where fewer than three have the figure.

    Attributes
    ----------
    r, overlap, length, known, degraded, seconds_per_word : float or None
        Medians of the figures.
    value_shares : tuple of float
        The share of each point of the scale in all their scores; empty without scores.
    span : float
        The highest point of the scale less the lowest, in which differences are measured.
    """

    r: float | None = None
    overlap: float | None = None
    length: float | None = None
    known: float | None = None
    degraded: float | None = None
    seconds_per_word: float | None = None
    value_shares: tuple[float, ...] = ()
    span: float = 4.0


def crowd_of(figures: Iterable[Figures], *, span: float) -> Crowd:
    """Take what is typical of other annotators.

    Parameters
    ----------
    figures : iterable of Figures
        Everybody's but the one to be compared.
    span : float
        The highest point of the scale less the lowest.

    Returns
    -------
    Crowd

    Examples
    --------
    >>> crowd_of([], span=4).r is None
    True
    """
    everyone = list(figures)
    counts = [each.scale.counts for each in everyone if not isinstance(each.scale, Undefined)]
    totals = [sum(each) for each in zip_longest(*counts, fillvalue=0)]
    return Crowd(
        r=_median(_correlation(each) for each in everyone),
        overlap=_median(None if isinstance(each.overlap, Undefined) else each.overlap.rho for each in everyone),
        length=_median(None if isinstance(each.length, Undefined) else each.length.rho for each in everyone),
        known=_median(
            None if isinstance(each.known_answers, Undefined) else each.known_answers.share for each in everyone
        ),
        degraded=_median(
            None if isinstance(each.degraded, Undefined) else each.degraded.n_lower / each.degraded.n
            for each in everyone
        ),
        seconds_per_word=_median(
            None if isinstance(each.pace, Undefined) else each.pace.seconds_per_word for each in everyone
        ),
        value_shares=tuple(each / sum(totals) for each in totals) if sum(totals) else (),
        span=span,
    )


def _correlation(figures: Figures) -> float | None:
    if isinstance(figures.others, Undefined) or isinstance(figures.others.r_trusted, Undefined):
        return None
    return figures.others.r_trusted


def _median(values: Iterable[float | None]) -> float | None:
    known = [value for value in values if value is not None]
    return float(np.median(known)) if len(known) >= LEAST_OTHERS else None
