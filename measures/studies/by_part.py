"""Unweighted means of correlations over parts, such as datasets."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt

from measures.jackknife import LEAST_UNITS
from measures.outcome import Undefined
from measures.patterns import Floats
from measures.studies.correlating import Correlations
from measures.studies.items import COEFFICIENTS, Items, number_groups


@dataclass(frozen=True, kw_only=True)
class ByPart:
    """The unweighted mean of the parts' correlations.

    Attributes
    ----------
    means : dict of str to Correlations
        By metric: the mean over `averaged`.
    averaged : tuple of str
        The parts in which every metric is defined, so that the means of all metrics are over the same parts.
    left_out : dict of str to str
        The other parts, each with the reason.
    """

    means: dict[str, Correlations]
    averaged: tuple[str, ...]
    left_out: dict[str, str]


def correlate_by_part(
    human: Floats,
    metrics: Mapping[str, Floats],
    parts: Sequence[str] | npt.NDArray[np.generic],
    *,
    rng: np.random.Generator,
    groups: Sequence[object] | npt.NDArray[np.generic] | None = None,
    n_resamples: int = 1000,
    confidence: float = 0.95,
    by_group: bool = False,
) -> ByPart:
    """Correlate metrics with the human scores within each part, such as a dataset, and average over the parts.

    Every part has the same weight in the mean, however many items it has. The interval of the mean is a percentile
    bootstrap: resamples are drawn within each part, and the mean is computed in each resample. In simulations of two
    and four parts, a nominal 95 % cover the true mean in 77 to 81 % with two groups in each part, in 87 to 89 % with
    three, and in 88 to 95 % with four to twenty.

    Parameters
    ----------
    human, metrics, rng, groups, n_resamples, confidence, by_group
        As in `correlate_all`.
    parts : sequence of str, shape (n,)
        The part of each item.

    Returns
    -------
    ByPart
        A part in which any metric is undefined enters no mean; a mean over no part is undefined. A resample in which a
        part is undefined is left out of the interval of the mean, and there is none where a part has fewer than three
        groups, as correlations of a part have none.

    Raises
    ------
    ValueError
        As `correlate`, or there is not one part for each item.

    References
    ----------
    A. Chen et al. (2020), MOCHA, EMNLP, table 4.

    Examples
    --------
    >>> found = correlate_by_part(np.array([1.0, 2, 3, 3, 2, 1, 1]), {"a": np.array([1.0, 2, 3, 1, 2, 3, 1])},
    ...                           list("xxxyyyz"), rng=np.random.default_rng(1))
    >>> found.averaged, found.means["a"].pearson.value, found.left_out
    (('x', 'y'), 0.0, {'z': 'fewer than three pairs'})
    """
    human, names = np.asarray(human, np.float64), np.asarray([str(part) for part in parts])
    if len(names) != len(human):
        raise ValueError("Each item needs one part.")
    all_groups = None if groups is None else number_groups(groups)
    own = {
        str(name): Items(
            human[rows], {key: np.asarray(column)[rows] for key, column in metrics.items()},
            None if all_groups is None else all_groups[rows], by_group=by_group,
        )
        for name in np.unique(names) for rows in [np.flatnonzero(names == name)]
    }  # fmt: skip
    wholes = {name: part.whole() for name, part in own.items()}
    draws = {name: part.resample(n_resamples, rng) for name, part in own.items()}
    left_out = {name: reason for name, whole in wholes.items() if (reason := _why_undefined(whole))}
    averaged = tuple(name for name in own if name not in left_out)
    means = {
        key: _average(
            [wholes[name][key] for name in averaged],
            [draws[name][key] for name in averaged],
            n=sum(own[name].n for name in averaged),
            n_groups=sum(own[name].n_groups for name in averaged),
            confidence=confidence,
            why_no_resamples=_why_no_resamples(own, averaged),
        )
        for key in metrics
    }
    return ByPart(means=means, averaged=averaged, left_out=left_out)


def _average(
    wholes: Sequence[tuple[float | Undefined, ...]],
    draws: Sequence[Floats],
    *,
    n: int,
    n_groups: int,
    confidence: float,
    why_no_resamples: str,
) -> Correlations:
    values: list[float | Undefined] = [Undefined(reason="defined in no part")] * len(COEFFICIENTS)
    drawn = np.full((len(COEFFICIENTS), 1), np.nan)
    # Only parts in which everything is defined are averaged.
    if wholes:
        values = [float(each) for each in np.mean(np.array(wholes, np.float64), axis=0)]
        drawn = np.mean(draws, axis=0)
    if why_no_resamples:
        drawn = np.full_like(drawn, np.nan)
    found = Correlations.of(values, drawn, n=n, n_groups=n_groups, confidence=confidence)
    if not why_no_resamples:
        return found
    each = {name: replace(getattr(found, name), why_no_interval=why_no_resamples) for name in COEFFICIENTS}
    return replace(found, **each)


def _why_no_resamples(parts: Mapping[str, Items], averaged: Sequence[str]) -> str:
    """Return which parts have too few passages to resample; empty if none has."""
    few = [f"“{name}”" if name else "the unspecified part" for name in averaged if parts[name].n_drawn < LEAST_UNITS]
    has = "has" if len(few) == 1 else "have"
    return f"{', '.join(few)} {has} fewer than three passages, too few to resample" if few else ""


def _why_undefined(whole: Mapping[str, tuple[float | Undefined, ...]]) -> str:
    """Return why a metric has no correlation in a part; empty if all have one."""
    for name, values in whole.items():
        for value in values:
            if isinstance(value, Undefined):
                # What items or human scores lack concerns all metrics; only other reasons need the name of the metric.
                is_of_all = "fewer" in value.reason or "human" in value.reason or len(whole) == 1
                return value.reason if is_of_all else f"{value.reason} ({name})"
    return ""
