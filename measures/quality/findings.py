"""What in an annotator's figures a person should look at: tests with few false alarms, no cut-offs on small n."""

from collections.abc import Callable
from dataclasses import dataclass, field
from math import atanh, sqrt
from typing import Any

import numpy as np
from scipy.stats import binom, norm

from measures.outcome import Undefined
from measures.quality.crowd import Crowd, crowd_of
from measures.quality.degraded import Verdict
from measures.quality.figures import Figures
from measures.quality.thresholds import Thresholds

__all__ = ["Crowd", "Found", "Thresholds", "crowd_of", "find"]

_LARGEST_R = 0.999


@dataclass(frozen=True, kw_only=True)
class Found:
    """One thing found, with its evidence.

    Attributes
    ----------
    kind : str
        Such as ``known_answers_low``.
    is_serious : bool
        Whether it indicates poor work; the rest are hints to talk about.
    says : str
        The evidence as a sentence.
    p : float or None
        How probable this is by chance alone, where a test was made.
    n : int
        What the figure rests on.
    evidence : dict
        The numbers.
    """

    kind: str
    is_serious: bool
    says: str
    p: float | None
    n: int
    evidence: dict[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class _Deficit:
    """How far a figure is below the good level, on a scale where its standard error is known."""

    kind: str
    value: float
    good: float
    poor: float
    error: float
    p: float
    n: int
    says: str

    @property
    def weight(self) -> float:
        return (self.good - self.poor) / self.error


def find(figures: Figures, crowd: Crowd, thresholds: Thresholds) -> list[Found]:
    """Find what a person should look at in an annotator's figures.

    Parameters
    ----------
    figures : Figures
        The annotator's.
    crowd : Crowd
        What is typical of the others.
    thresholds : Thresholds
        The levels.

    Returns
    -------
    list of Found
        The serious ones first. A figure that is undefined, or rests on too little, finds nothing.

    Notes
    -----
    Each serious kind is one one-sided test against the good level. Those of attention (known answers, degraded texts,
    agreement with the others, words shared with references) are also added up, each weighted by how well it can tell
    the good level from the poor one, so that several weak signs count together; the chance allowed is divided by the
    number of serious tests made.

    References
    ----------
    S. Stouffer et al. (1949), The American Soldier, vol. 1, Princeton (sums of normal deviates).

    Examples
    --------
    >>> from measures.quality.shares import share_of
    >>> figures = Figures(known_answers=share_of(2, 10, nothing=""))
    >>> [found.kind for found in find(figures, Crowd(), Thresholds())]
    ['known_answers_low']
    """
    deficits = [
        deficit
        for deficit in (each(figures, crowd, thresholds) for each in (_known, _degraded, _agreement, _overlap))
        if deficit is not None
    ]
    others = [
        made for made in (each(figures, crowd, thresholds) for each in (_length, _same, _reviewed)) if made is not None
    ]
    n_tests = len(deficits) + len(others) + (len(deficits) > 1)
    level = thresholds.chance / max(1, n_tests)
    found = [_found(each) for each in deficits if each.p < level and each.value < each.poor]
    together = _together(deficits)
    if together is not None and together.p is not None and together.p < level:
        found.append(together)
    found += [each for each, is_beyond in others if is_beyond and each.p is not None and each.p < level]
    return found + [hint for make in _HINTS if (hint := make(figures, crowd, thresholds)) is not None]


def _found(deficit: _Deficit) -> Found:
    return Found(kind=deficit.kind, is_serious=True, says=deficit.says, p=deficit.p, n=deficit.n)


def _together(deficits: list[_Deficit]) -> Found | None:
    """Several signs added up, where on the whole they lie near or beyond the poor level."""
    if len(deficits) < 2:
        return None
    weights = np.array([each.weight for each in deficits])
    deviates = np.array([(each.value - each.good) / each.error for each in deficits])
    places = np.array([(each.value - each.poor) / (each.good - each.poor) for each in deficits])
    norm_of = float(np.sqrt((weights**2).sum()))
    place = float((weights**2 * places).sum() / norm_of**2)
    if place > _LARGEST_PLACE:
        return None
    p = float(norm.cdf(float((weights * deviates).sum()) / norm_of))
    return Found(
        kind="weak_together",
        is_serious=True,
        says="Several signs point the same way: " + " ".join(each.says for each in deficits),
        p=p,
        n=sum(each.n for each in deficits),
        evidence={"signs": [each.kind for each in deficits]},
    )


_LARGEST_PLACE = 0.1
"""Signs together count where their weighted mean lies so near the poor level (0), seen from the good one (1)."""


def _known(figures: Figures, crowd: Crowd, limits: Thresholds) -> _Deficit | None:
    known = figures.known_answers
    if isinstance(known, Undefined):
        return None
    good, poor = _lowered(limits.known_good, limits.known_poor, crowd.known)
    says = f"{known.n_yes} of {known.n} known answers were right; {_percent(good)} would be good."
    return _share_deficit("known_answers_low", known.n_yes, known.n, good, poor, says)


def _degraded(figures: Figures, crowd: Crowd, limits: Thresholds) -> _Deficit | None:
    degraded = figures.degraded
    if isinstance(degraded, Undefined) or degraded.verdict is Verdict.PASSED:
        return None
    good, poor = _lowered(limits.degraded_good, limits.degraded_poor, crowd.degraded)
    lower = f"{degraded.n_lower} of {degraded.n} degraded answers scored below their source"
    says = f"{lower}; {_percent(good)} would be good."
    return _share_deficit("degraded_not_lower", degraded.n_lower, degraded.n, good, poor, says)


def _agreement(figures: Figures, crowd: Crowd, limits: Thresholds) -> _Deficit | None:
    others = figures.others
    if isinstance(others, Undefined) or isinstance(others.r_trusted, Undefined) or crowd.r is None:
        return None
    if _is_weak(others.n, crowd.r, limits):
        return None
    r = others.r_trusted
    says = f"Scores correlate {_number(r)} with the others’, who are at {_number(crowd.r)}, over {others.n} items."
    parts = (limits.agreement_good, limits.agreement_poor)
    return _r_deficit("disagrees_with_others", r, others.n, crowd.r, parts, says)


def _overlap(figures: Figures, crowd: Crowd, limits: Thresholds) -> _Deficit | None:
    overlap = figures.overlap
    if isinstance(overlap, Undefined) or crowd.overlap is None:
        return None
    if _is_weak(overlap.n, crowd.overlap, limits):
        return None
    says = (
        f"Scores correlate {_number(overlap.rho)} with the words shared with a reference, "
        f"where the others are at {_number(crowd.overlap)}, over {overlap.n} items."
    )
    parts = (limits.overlap_good, limits.overlap_poor)
    return _r_deficit("ignores_references", overlap.rho, overlap.n, crowd.overlap, parts, says)


def _share_deficit(kind: str, n_yes: int, n: int, good: float, poor: float, says: str) -> _Deficit:
    p = float(binom.cdf(n_yes, n, good))
    return _Deficit(kind, n_yes / n, good, poor, sqrt(good * (1 - good) / n), p, n, says)


def _r_deficit(kind: str, r: float, n: int, typical: float, parts: tuple[float, float], says: str) -> _Deficit | None:
    value, good, poor = (_fisher(each) for each in (r, typical * parts[0], typical * parts[1]))
    error = 1 / sqrt(n - 3)
    return _Deficit(kind, value, good, poor, error, float(norm.cdf((value - good) / error)), n, says)


def _is_weak(n: int, typical: float | None, limits: Thresholds) -> bool:
    """Whether there is too little to compare a correlation with."""
    return n < limits.least_items or typical is None or typical < limits.typical_least


def _length(figures: Figures, crowd: Crowd, limits: Thresholds) -> tuple[Found, bool] | None:
    length = figures.length
    if isinstance(length, Undefined) or length.n < limits.least_items:
        return None
    good = max(limits.length_poor - 0.2, (crowd.length or 0.0) + limits.length_above)
    p = 4 * float(norm.sf((_fisher(length.rho) - _fisher(good)) * sqrt(length.n - 3)))
    typical = "" if crowd.length is None else f", where the others are at {_number(crowd.length)}"
    says = f"Scores correlate {_number(length.rho)} with how long the answer is{typical}, over {length.n} items."
    found = Found(kind="follows_length", is_serious=True, says=says, p=min(1.0, p), n=length.n)
    return found, length.rho >= limits.length_poor


def _same(figures: Figures, crowd: Crowd, limits: Thresholds) -> tuple[Found, bool] | None:
    scale = figures.scale
    if isinstance(scale, Undefined) or scale.n < limits.least_items:
        return None
    theirs = crowd.value_shares[scale.most_used] if scale.most_used < len(crowd.value_shares) else 1 / len(scale.counts)
    good = theirs + (1 - theirs) * limits.same_above
    p = float(binom.sf(max(scale.counts) - 1, scale.n, good))
    says = (
        f"{_percent(scale.most_used_share)} of {scale.n} scores are the same, where the others give it to "
        f"{_percent(theirs)}; the longest run of equal scores is {scale.longest_run}."
    )
    p = min(p, _run_p(scale.longest_run, scale.n, good))
    found = Found(kind="straight_line", is_serious=True, says=says, p=p, n=scale.n)
    return found, scale.most_used_share >= limits.same_share or scale.longest_run >= 2 * limits.least_items


def _run_p(run: int, n: int, share: float) -> float:
    """At most how probable a run of so many is, where each of n items has the value with this probability."""
    return min(1.0, float((1 + (n - run) * (1 - share)) * share**run)) if share < 1 else 1.0


def _reviewed(figures: Figures, crowd: Crowd, limits: Thresholds) -> tuple[Found, bool] | None:
    poor = figures.poor
    if isinstance(poor, Undefined):
        return None
    p = float(binom.sf(poor.n_yes - 1, poor.n, limits.poor_good))
    says = f"Reviewers marked {poor.n_yes} of {poor.n} judgments poor; {_percent(limits.poor_good)} would be good."
    found = Found(kind="reviewed_poor", is_serious=True, says=says, p=p, n=poor.n)
    return found, poor.share >= limits.poor_poor


def _repeats(figures: Figures, crowd: Crowd, limits: Thresholds) -> Found | None:
    repeats = figures.repeats
    if isinstance(repeats, Undefined):
        return None
    p = float(binom.cdf(repeats.n_within_one, repeats.n, limits.repeats_good))
    if p >= limits.chance or repeats.within_one_share >= limits.repeats_poor:
        return None
    says = f"{repeats.n_within_one} of {repeats.n} repeated items came out within one point of the first time."
    return Found(kind="repeats_inconsistent", is_serious=False, says=says, p=p, n=repeats.n)


def _biased(figures: Figures, crowd: Crowd, limits: Thresholds) -> Found | None:
    others = figures.others
    if isinstance(others, Undefined) or others.n < limits.least_items:
        return None
    most = limits.bias_part * crowd.span
    if not (others.bias_low > most or others.bias_high < -most):
        return None
    way = "higher" if others.bias > 0 else "lower"
    says = f"Rates {_number(abs(others.bias))} points {way} than the others on average, over {others.n} items."
    return Found(kind="biased", is_serious=False, says=says, p=None, n=others.n)


def _too_fast(figures: Figures, crowd: Crowd, limits: Thresholds) -> Found | None:
    pace = figures.pace
    if isinstance(pace, Undefined) or pace.n < limits.least_items:
        return None
    is_unread = binom.sf(pace.n_fast - 1, pace.n, limits.fast_share) < limits.chance
    typical = crowd.seconds_per_word
    is_fast = typical is not None and pace.seconds_per_word < limits.pace_part * typical
    if not (is_unread or is_fast):
        return None
    says = f"{pace.seconds_per_item:.1f} s an item; {pace.n_fast} of {pace.n} items faster than they can be read."
    if is_fast and typical:
        says += f" Per word to read {_percent(pace.seconds_per_word / typical)} of the time that others take."
    return Found(kind="too_fast", is_serious=False, says=says, p=None, n=pace.n)


def _returns(figures: Figures, crowd: Crowd, limits: Thresholds) -> Found | None:
    returned = figures.returned
    if isinstance(returned, Undefined):
        return None
    p = float(binom.sf(returned.n_yes - 1, returned.n, limits.returned_share))
    if p >= limits.chance:
        return None
    says = f"Gave back {returned.n_yes} of {returned.n} HITs."
    return Found(kind="returns_many", is_serious=False, says=says, p=p, n=returned.n)


_Hint = Callable[[Figures, Crowd, Thresholds], Found | None]
_HINTS: tuple[_Hint, ...] = (_repeats, _biased, _too_fast, _returns)


def _lowered(good: float, poor: float, typical: float | None) -> tuple[float, float]:
    """The two levels, moved down together where even the others are below the good one."""
    if typical is None or typical >= good:
        return good, poor
    lowered = max(0.05, typical)
    return lowered, lowered * poor / good


def _percent(share: float) -> str:
    return f"{share * 100:.0f} %"


def _number(value: float) -> str:
    return f"{value:.2f}".replace("-", "−")


def _fisher(r: float) -> float:
    return atanh(max(-_LARGEST_R, min(_LARGEST_R, r)))
