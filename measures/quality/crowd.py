"""Typical figures of a project's other annotators, with whom one annotator is compared."""

from collections.abc import Iterable
from dataclasses import dataclass
from itertools import zip_longest

import numpy as np

from measures.outcome import Undefined
from measures.quality.figures import Figures

LEAST_OTHERS = 3
"""A median of fewer annotators is no typical value: with two it lies halfway between them, whoever is careless."""


@dataclass(frozen=True, kw_only=True)
class Crowd:
    """Medians over a project's other annotators; None where fewer than three of them have the figure.

    Attributes
    ----------
    r, overlap, length, known, degraded, seconds_per_word : float or None
        Medians of the correlation with others, of the correlations with shared words and with length, of the shares of
        correct known answers and of degraded texts scored lower, and of the seconds per word.
    value_shares : tuple of float
        The share of each point of the scale in all their scores; empty without scores.
    span : float
        The highest point of the scale minus the lowest, in points.
    """

    r: float | None = None
    overlap: float | None = None
    length: float | None = None
    known: float | None = None
    degraded: float | None = None
    seconds_per_word: float | None = None
    value_shares: tuple[float, ...] = ()
    span: float = 4.0


def summarise_crowd(figures: Iterable[Figures], *, span: float) -> Crowd:
    """Compute the typical figures of other annotators.

    Parameters
    ----------
    figures : iterable of Figures
        Those of everybody except the annotator to be compared.
    span : float
        The highest point of the scale minus the lowest, in points.

    Returns
    -------
    Crowd
        With None for a figure that is defined for fewer than three of them.

    Examples
    --------
    >>> summarise_crowd([], span=4).r is None
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
