"""Findings: what in an annotator's figures a person should look at, by tests with few false alarms.

A plain cut-off would flag the unlucky where n is small, and average annotators where n is large.
"""

from collections.abc import Callable
from dataclasses import dataclass, field
from math import atanh, sqrt
from typing import Any

import numpy as np
from scipy.special import betainc, betaincc, ndtr

from measures.outcome import Undefined
from measures.quality.crowd import Crowd
from measures.quality.degraded import Verdict
from measures.quality.figures import Figures
from measures.quality.thresholds import Thresholds

_LARGEST_R = 0.999
"""Fisher's z of a correlation of 1 is infinite, so correlations are cut off here."""
_LARGEST_PLACE = 0.1
"""Weak signs count together if their weighted mean is at most this far above the poor level (0), on the way to the good
one (1): together they must be about as bad as a single poor figure, and not only surely below the good level."""


@dataclass(frozen=True, kw_only=True)
class Found:
    """One finding with its evidence.

    Attributes
    ----------
    kind : str
        Such as ``known_answers_low``.
    is_serious : bool
        Whether it indicates poor work; the others are hints.
    message : str
        The evidence as a sentence.
    p : float or None
        p-value, where a test was made.
    n : int
        Number of items (or HITs) behind the figure.
    evidence : dict
        Further details for storage.
    """

    kind: str
    is_serious: bool
    message: str
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
    message: str

    @property
    def weight(self) -> float:
        return (self.good - self.poor) / self.error


def find(figures: Figures, crowd: Crowd, thresholds: Thresholds) -> list[Found]:
    """Find what a person should look at in an annotator's figures.

    Parameters
    ----------
    figures : Figures
        Those of the annotator.
    crowd : Crowd
        The typical figures of the others.
    thresholds : Thresholds
        The good and poor levels.

    Returns
    -------
    list of Found
        The serious ones first. A figure that is undefined, or based on too few items, gives no finding.

    Notes
    -----
    Each serious kind is a one-sided test against the good level. The four that measure attention (known answers,
    degraded texts, agreement with the others, words shared with references) are also combined as a weighted sum of
    normal deviates, each weighted by how well it separates the good level from the poor one, so that several weak
    signs count together. The false alarm probability is divided by the number of serious tests made (Bonferroni).

    References
    ----------
    S. Stouffer et al. (1949), The American Soldier, vol. 1, Princeton (sums of normal deviates).

    Examples
    --------
    >>> from measures.quality.shares import compute_share
    >>> figures = Figures(known_answers=compute_share(2, 10, nothing=""))
    >>> [found.kind for found in find(figures, Crowd(), Thresholds())]
    ['known_answers_low']
    """
    deficits = [
        deficit
        for deficit in (each(figures, crowd, thresholds) for each in (_known, _degraded, _agreement, _overlap))
        if deficit is not None
    ]
    others = [
        result
        for result in (each(figures, crowd, thresholds) for each in (_length, _same, _reviewed))
        if result is not None
    ]
    # Counted are the tests that can be made with these figures, and one more for the combination.
    n_tests = len(deficits) + len(others) + (len(deficits) > 1)
    level = thresholds.chance / max(1, n_tests)
    found = [_found(each) for each in deficits if each.p < level and each.value < each.poor]
    together = _together(deficits)
    if together is not None and together.p is not None and together.p < level:
        found.append(together)
    found += [each for each, is_beyond in others if is_beyond and each.p is not None and each.p < level]
    return found + [hint for make in _HINTS if (hint := make(figures, crowd, thresholds)) is not None]


def _found(deficit: _Deficit) -> Found:
    return Found(kind=deficit.kind, is_serious=True, message=deficit.message, p=deficit.p, n=deficit.n)


def _together(deficits: list[_Deficit]) -> Found | None:
    """Combine several signs, if their weighted mean is near the poor level or beyond it."""
    # Two correlations beyond the cut-off of Fisher's z are the same, and nothing lies between them.
    deficits = [each for each in deficits if each.good > each.poor]
    if len(deficits) < 2:
        return None
    weights = np.array([each.weight for each in deficits])
    deviates = np.array([(each.value - each.good) / each.error for each in deficits])
    places = np.array([(each.value - each.poor) / (each.good - each.poor) for each in deficits])
    total = float(np.sqrt((weights**2).sum()))
    place = float((weights**2 * places).sum() / total**2)
    if place > _LARGEST_PLACE:
        return None
    p = float(ndtr(float((weights * deviates).sum()) / total))
    return Found(
        kind="weak_together",
        is_serious=True,
        message="Several weak indicators together: " + " ".join(each.message for each in deficits),
        p=p,
        n=sum(each.n for each in deficits),
        evidence={"signs": [each.kind for each in deficits]},
    )


def _known(figures: Figures, crowd: Crowd, limits: Thresholds) -> _Deficit | None:
    known = figures.known_answers
    if isinstance(known, Undefined):
        return None
    good, poor = _lowered(limits.known_good, limits.known_poor, crowd.known)
    message = f"{known.n_yes} of {known.n} known answers were correct ({_name_good(limits.known_good, crowd.known)})."
    return _share_deficit("known_answers_low", known.n_yes, known.n, good, poor, message)


def _degraded(figures: Figures, crowd: Crowd, limits: Thresholds) -> _Deficit | None:
    degraded = figures.degraded
    if isinstance(degraded, Undefined) or degraded.verdict is Verdict.PASSED:
        return None
    good, poor = _lowered(limits.degraded_good, limits.degraded_poor, crowd.degraded)
    lower = f"{degraded.n_lower} of {degraded.n} degraded answers were scored below their originals"
    message = f"{lower} ({_name_good(limits.degraded_good, crowd.degraded)})."
    return _share_deficit("degraded_not_lower", degraded.n_lower, degraded.n, good, poor, message)


def _agreement(figures: Figures, crowd: Crowd, limits: Thresholds) -> _Deficit | None:
    others = figures.others
    if isinstance(others, Undefined) or isinstance(others.r_trusted, Undefined) or crowd.r is None:
        return None
    if _is_weak(others.n, crowd.r, limits):
        return None
    r = others.r_trusted
    typical = f"median of others: {_number(crowd.r)}"
    message = f"Correlation with the others’ scores: {_number(r)} ({typical}), over {others.n} items."
    parts = (limits.agreement_good, limits.agreement_poor)
    return _r_deficit("disagrees_with_others", r, others.n, crowd.r, parts, message)


def _overlap(figures: Figures, crowd: Crowd, limits: Thresholds) -> _Deficit | None:
    overlap = figures.overlap
    if isinstance(overlap, Undefined) or crowd.overlap is None:
        return None
    if _is_weak(overlap.n, crowd.overlap, limits):
        return None
    message = (
        f"Correlation of scores with the words shared with a reference: {_number(overlap.rho)} "
        f"(median of others: {_number(crowd.overlap)}), over {overlap.n} items."
    )
    parts = (limits.overlap_good, limits.overlap_poor)
    return _r_deficit("ignores_references", overlap.rho, overlap.n, crowd.overlap, parts, message)


def _share_deficit(kind: str, n_yes: int, n: int, good: float, poor: float, message: str) -> _Deficit:
    p = _at_most(n_yes, n, good)
    # A share of 1 has no standard error, and the combined signs divide by it: that of half a miss takes its place.
    share = good if good < 1 else 1 - 1 / (2 * n)
    error = sqrt(share * (1 - share) / n)
    return _Deficit(kind, n_yes / n, good, poor, error, p, n, message)


def _r_deficit(kind: str, r: float, n: int, typical: float, parts: tuple[float, float], message: str) -> _Deficit:
    value, good, poor = (_fisher(each) for each in (r, typical * parts[0], typical * parts[1]))
    error = 1 / sqrt(n - 3)  # the standard error of Fisher's z
    return _Deficit(kind, value, good, poor, error, float(ndtr((value - good) / error)), n, message)


def _is_weak(n: int, typical: float | None, limits: Thresholds) -> bool:
    """Return whether there are too few items, or the others' correlation is too weak, for a comparison."""
    return n < limits.least_items or typical is None or typical < limits.typical_least


def _length(figures: Figures, crowd: Crowd, limits: Thresholds) -> tuple[Found, bool] | None:
    length = figures.length
    if isinstance(length, Undefined) or length.n < limits.least_items:
        return None
    # Long answers may be better ones, so the good level rises with the median of the others.
    good = max(limits.length_poor - 0.2, (crowd.length or 0.0) + limits.length_above)
    # Four times, because the figure is the strongest of four correlations (Bonferroni).
    p = 4 * float(ndtr((_fisher(good) - _fisher(length.rho)) * sqrt(length.n - 3)))
    typical = "" if crowd.length is None else f" (median of others: {_number(crowd.length)})"
    message = f"Correlation of scores with answer length: {_number(length.rho)}{typical}, over {length.n} items."
    found = Found(kind="follows_length", is_serious=True, message=message, p=min(1.0, p), n=length.n)
    return found, length.rho >= limits.length_poor


def _same(figures: Figures, crowd: Crowd, limits: Thresholds) -> tuple[Found, bool] | None:
    scale = figures.scale
    if isinstance(scale, Undefined) or scale.n < limits.least_items:
        return None
    has_others = scale.most_used < len(crowd.value_shares)
    usual = crowd.value_shares[scale.most_used] if has_others else 1 / len(scale.counts)
    good = usual + (1 - usual) * limits.same_above
    p = _at_least(max(scale.counts), scale.n, good)
    message = (
        f"{_percent(scale.most_used_share)} of {scale.n} scores are the same "
        f"({'others' if has_others else 'with even use of the scale'}: {_percent(usual)}); "
        f"the longest run of equal scores is {scale.longest_run}."
    )
    # A long run of one score is as suspicious as its share; the smaller p counts.
    p = min(p, _run_p(scale.longest_run, scale.n, good))
    found = Found(kind="straight_line", is_serious=True, message=message, p=p, n=scale.n)
    return found, scale.most_used_share >= limits.same_share or scale.longest_run >= 2 * limits.least_items


def _run_p(run: int, n: int, share: float) -> float:
    """Return an upper bound of the probability of such a run, if each of n items has the value with this share."""
    return min(1.0, float((1 + (n - run) * (1 - share)) * share**run)) if share < 1 else 1.0


def _reviewed(figures: Figures, crowd: Crowd, limits: Thresholds) -> tuple[Found, bool] | None:
    poor = figures.poor
    if isinstance(poor, Undefined):
        return None
    p = _at_least(poor.n_yes, poor.n, limits.poor_good)
    good = f"good: {_percent(limits.poor_good)} or fewer"
    message = f"Reviewers rejected {poor.n_yes} of {poor.n} judgments in spot checks ({good})."
    found = Found(kind="reviewed_poor", is_serious=True, message=message, p=p, n=poor.n)
    return found, poor.share >= limits.poor_poor


def _repeats(figures: Figures, crowd: Crowd, limits: Thresholds) -> Found | None:
    repeats = figures.repeats
    if isinstance(repeats, Undefined):
        return None
    p = _at_most(repeats.n_within_one, repeats.n, limits.repeats_good)
    if p >= limits.chance or repeats.within_one_share >= limits.repeats_poor:
        return None
    message = f"{repeats.n_within_one} of {repeats.n} repeated items were rated within one point of the first rating."
    return Found(kind="repeats_inconsistent", is_serious=False, message=message, p=p, n=repeats.n)


def _biased(figures: Figures, crowd: Crowd, limits: Thresholds) -> Found | None:
    others = figures.others
    if isinstance(others, Undefined) or others.n < limits.least_items:
        return None
    most = limits.bias_part * crowd.span
    if not (others.bias_low > most or others.bias_high < -most):
        return None
    way = "higher" if others.bias > 0 else "lower"
    message = f"Rates {_number(abs(others.bias))} points {way} than the others on average, over {others.n} items."
    return Found(kind="biased", is_serious=False, message=message, p=None, n=others.n)


def _too_fast(figures: Figures, crowd: Crowd, limits: Thresholds) -> Found | None:
    pace = figures.pace
    if isinstance(pace, Undefined) or pace.n < limits.least_items:
        return None
    is_unread = _at_least(pace.n_fast, pace.n, limits.fast_share) < limits.chance
    typical = crowd.seconds_per_word
    is_fast = typical is not None and pace.seconds_per_word < limits.pace_part * typical
    if not (is_unread or is_fast):
        return None
    message = f"{pace.seconds_per_item:.1f} s per item; {pace.n_fast} of {pace.n} items faster than reading speed."
    if is_fast and typical:
        message += f" Time per word: {_percent(pace.seconds_per_word / typical)} of the others’."
    return Found(kind="too_fast", is_serious=False, message=message, p=None, n=pace.n)


def _returns(figures: Figures, crowd: Crowd, limits: Thresholds) -> Found | None:
    returned = figures.returned
    if isinstance(returned, Undefined):
        return None
    p = _at_least(returned.n_yes, returned.n, limits.returned_share)
    if p >= limits.chance:
        return None
    message = f"Returned {returned.n_yes} of {returned.n} HITs."
    return Found(kind="returns_many", is_serious=False, message=message, p=p, n=returned.n)


def _at_least(k: int, n: int, share: float) -> float:
    """Return the binomial probability of k or more of n."""
    return float(betainc(k, n - k + 1, share)) if k > 0 else 1.0


def _at_most(k: int, n: int, share: float) -> float:
    """Return the binomial probability of k or fewer of n."""
    return float(betaincc(k + 1, n - k, share)) if k < n else 1.0


_Hint = Callable[[Figures, Crowd, Thresholds], Found | None]
_HINTS: tuple[_Hint, ...] = (_repeats, _biased, _too_fast, _returns)


def _lowered(good: float, poor: float, typical: float | None) -> tuple[float, float]:
    """Return the good and the poor level, both lowered in proportion if even the others are below the good one."""
    if typical is None or typical >= good:
        return good, poor
    lowered = max(0.05, typical)  # A good level of 0 has no standard error, and the test divides by it.
    return lowered, lowered * poor / good


def _name_good(threshold: float, typical: float | None) -> str:
    """Return what the share is compared with: the threshold, or the others where they are below it."""
    named = f"good threshold: {_percent(threshold)}"
    return named if typical is None or typical >= threshold else f"{named}; others: {_percent(typical)}"


def _percent(share: float) -> str:
    return f"{share * 100:.0f} %"


def _number(value: float) -> str:
    return f"{value:.2f}".replace("-", "−")


def _fisher(r: float) -> float:
    return atanh(max(-_LARGEST_R, min(_LARGEST_R, r)))
