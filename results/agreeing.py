"""Agreement of a scope: alpha at each level, its interval, and the same per dataset, split or source."""

from dataclasses import dataclass

import numpy as np
from django.utils.translation import gettext as _

from annotate.frames import CriterionInUse, Scope, fetch_ratings
from measures.agreement import Agreement, UndefinedAgreement, krippendorff_alpha
from measures.bootstrap import Interval, alpha_intervals
from measures.outcome import Undefined
from measures.patterns import Patterns
from measures.rubric import Level
from projects.models import Membership

SEED = 1000
RESAMPLES = 1000
CONFIDENCE = 0.95
MOST_PATTERNS = 2000
"""Intervals over more distinct patterns than this take seconds: they are computed only when asked for."""

Outcome = Agreement | UndefinedAgreement


@dataclass(frozen=True)
class Measured:
    """Alpha, or why there is none, and its interval, or why there is none."""

    outcome: Outcome
    interval: Interval | Undefined | None = None

    @property
    def agreement(self) -> Agreement | None:
        return self.outcome if isinstance(self.outcome, Agreement) else None

    @property
    def undefined(self) -> str:
        return self.outcome.reason if isinstance(self.outcome, UndefinedAgreement) else ""

    @property
    def no_interval(self) -> str:
        return self.interval.reason if isinstance(self.interval, Undefined) else ""


@dataclass(frozen=True)
class Group:
    """Agreement within one dataset, split or source."""

    name: str
    measured: Measured


@dataclass(frozen=True)
class AgreementReport:
    """Agreement of one criterion in a scope, the asked level first."""

    scope: Scope
    level: Level
    levels: tuple[Measured, ...]
    by: str
    groups: tuple[Group, ...]
    is_by_passage: bool
    has_too_many_patterns: bool
    has_unknown_annotators: bool
    has_simulated_annotators: bool

    @property
    def main(self) -> Measured:
        return self.levels[0]


def measure_agreement(
    scope: Scope,
    *,
    level: Level,
    by: str = "",
    is_by_passage: bool = False,
    other_levels: bool = False,
    ask_intervals: bool = False,
) -> AgreementReport:
    """Compute agreement in a scope.

    Intervals are left out where there are very many distinct patterns, unless `ask_intervals` is set; then they are
    computed at the level asked for only.
    """
    ratings = fetch_ratings(scope, by_passage=is_by_passage)
    patterns = ratings.patterns()
    is_large = len(patterns.sizes) > MOST_PATTERNS
    levels = [level, *(each for each in Level if each is not level and other_levels)]
    with_interval = ([level] if ask_intervals else []) if is_large else levels

    def measured(patterns: Patterns, levels: list[Level]) -> tuple[Measured, ...]:
        return _measure(scope, patterns, levels, with_interval=with_interval, is_by_passage=is_by_passage)

    parts = ratings.patterns_by(by) if by else {}
    return AgreementReport(
        scope=scope,
        level=level,
        levels=measured(patterns, levels),
        by=by,
        groups=tuple(Group(name, *measured(part, [level])) for name, part in parts.items()),
        is_by_passage=is_by_passage,
        has_too_many_patterns=is_large and not ask_intervals,
        has_unknown_annotators=ratings.has_unknown_annotators,
        has_simulated_annotators=Membership.Kind.SIMULATED in ratings.kinds,
    )


def _measure(
    scope: Scope, patterns: Patterns, levels: list[Level], *, with_interval: list[Level], is_by_passage: bool
) -> tuple[Measured, ...]:
    if not scope.criterion.has_one_scale:
        return tuple(Measured(_on_several_scales(scope.criterion, patterns, level)) for level in levels)
    intervals = alpha_intervals(
        patterns,
        levels=[level for level in levels if level in with_interval],
        rng=np.random.default_rng(SEED),
        n_resamples=RESAMPLES,
        confidence=CONFIDENCE,
        by_group=is_by_passage,
    )
    measured = []
    for level in levels:
        outcome = krippendorff_alpha(patterns, level=level)
        interval = intervals.get(level)
        if isinstance(outcome, Agreement) and interval is not None:
            outcome = outcome.with_interval(interval)
        measured.append(Measured(outcome, interval))
    return tuple(measured)


def _on_several_scales(criterion: CriterionInUse, patterns: Patterns, level: Level) -> UndefinedAgreement:
    return UndefinedAgreement(
        reason=_("“%(key)s” was asked on several scales (%(scales)s): choose one batch")
        % {"key": criterion.key, "scales": "; ".join(criterion.scales)},
        level=level,
        n_units=patterns.n_units,
        n_annotators=patterns.n_annotators,
        n_ratings=patterns.n_ratings,
        n_single=patterns.n_single,
    )
