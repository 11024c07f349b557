"""Agreement of a scope: alpha at each level, its intervals, and the same per dataset, source, stage and so on."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from importlib.metadata import version
from typing import Any

import numpy as np

from annotate.frames.criteria_in_use import CriterionInUse, Scope, criteria_in_use
from annotate.frames.judgments_frame import fetch_judgments
from annotate.frames.rating_patterns import BY_COLLECTION, Ratings, fetch_ratings
from measures.agreement import Agreement, UndefinedAgreement, krippendorff_alpha, package_alpha
from measures.bootstrap import Interval, alpha_intervals
from measures.ceiling import human_ceiling
from measures.courses import alpha_course
from measures.outcome import Undefined
from measures.patterns import Patterns
from measures.rubric import Level
from projects.models import Membership, Project
from results.scope.excluded import count_inclusion
from results.scope.gold_settings import CONFIDENCE, CRITERION, RESAMPLES, SEED
from results.scope.scopes import read_scope

MOST_PATTERNS = 500
"""With more distinct patterns than this a resample takes long: only the level that was asked for has intervals."""
PACKAGE, CLOSED_FORM = f"krippendorff {version('krippendorff')}", "closed form"
"""What gave the point value. Both are equal to 12 digits; the package needs a matrix that may not fit."""


@dataclass(frozen=True)
class Ends:
    """A percentile interval, or why there is none."""

    low: float | None = None
    high: float | None = None
    undefined_share: float = 0.0
    undefined: str = ""


@dataclass(frozen=True, kw_only=True)
class AlphaLine:
    """Alpha at a level, or why there is none; its intervals by candidate and by passage, where they were asked for."""

    level: Level
    alpha: float | None
    undefined: str
    method: str
    n_units: int
    n_annotators: int | None
    n_ratings: int
    n_single: int
    by_unit: Ends | None = None
    by_passage: Ends | None = None


@dataclass(frozen=True)
class Group:
    """Agreement within one part of a scope."""

    name: str
    line: AlphaLine


@dataclass(frozen=True)
class AgreementReport:
    """Agreement of one criterion in a scope, the asked level first."""

    level: Level
    levels: tuple[AlphaLine, ...]
    by: str
    groups: tuple[Group, ...]
    n_resamples: int
    seed: int
    has_unknown_annotators: bool
    has_simulated_annotators: bool

    @property
    def main(self) -> AlphaLine:
        return self.levels[0]


@dataclass(frozen=True)
class Resampling:
    """How intervals are made: how many resamples, from which seed, of candidates, of whole passages, or both."""

    n: int = RESAMPLES
    seed: int = SEED
    units: bool = True
    passages: bool = False


def agreement_figures(project: Project, settings: Mapping[str, Any]) -> dict[str, Any]:
    """What the agreement page shows: the report, what enters it, and the human ceiling."""
    scope = read_scope(project, settings)
    resampling = Resampling(passages=True)
    level = Level(settings["level"])
    report = measure_agreement(scope, level=level, by=settings["by"], other_levels=True, resampling=resampling)
    ceiling = human_ceiling(fetch_judgments(scope), rng=np.random.default_rng(SEED))
    return {"report": report, "entering": count_inclusion(scope).as_dict(), "ceiling": ceiling}


def measure_agreement(
    scope: Scope,
    *,
    level: Level,
    by: str = "",
    other_levels: bool = False,
    resampling: Resampling | None = None,
) -> AgreementReport:
    """Compute agreement in a scope; by default with intervals over candidates."""
    resampling = resampling or Resampling()
    ratings = fetch_ratings(scope, by_passage=resampling.passages)
    patterns = ratings.patterns()
    levels = [level, *(each for each in Level if each is not level and other_levels)]
    is_large = len(patterns.sizes) > MOST_PATTERNS
    return AgreementReport(
        level=level,
        levels=tuple(_lines(scope, patterns, levels, resampling, only=level if is_large else None)),
        by=by,
        groups=tuple(
            Group(name, *_lines(part_scope, part, [level], resampling))
            for name, part_scope, part in _parts(scope, ratings, by, resampling)
        ),
        n_resamples=resampling.n,
        seed=resampling.seed,
        has_unknown_annotators=ratings.has_unknown_annotators,
        has_simulated_annotators=Membership.Kind.SIMULATED in ratings.kinds,
    )


def _parts(scope: Scope, ratings: Ratings, by: str, resampling: Resampling) -> Iterator[tuple[str, Scope, Patterns]]:
    """The parts of a scope by name; what ratings of one criterion cannot tell is fetched."""
    if by == CRITERION:
        for criterion in criteria_in_use(scope.project, scope.batch):
            part = replace(scope, criterion=criterion)
            yield criterion.name, part, fetch_ratings(part, by_passage=resampling.passages).patterns()
    elif by:
        if by in BY_COLLECTION:
            ratings = fetch_ratings(scope, by_passage=resampling.passages, by=by)
        for name, patterns in ratings.patterns_by(by).items():
            yield name, scope, patterns


def _lines(
    scope: Scope, patterns: Patterns, levels: list[Level], resampling: Resampling, only: Level | None = None
) -> list[AlphaLine]:
    if not scope.criterion.has_one_scale:
        return [_line(patterns, _on_several_scales(scope.criterion, patterns, level)) for level in levels]
    with_intervals = [level for level in levels if only in (None, level)]
    by_unit, by_passage = (
        alpha_intervals(
            patterns,
            levels=with_intervals if is_asked else [],
            rng=np.random.default_rng(resampling.seed),
            n_resamples=resampling.n,
            confidence=CONFIDENCE,
            by_group=by_group,
        )
        for by_group, is_asked in ((False, resampling.units), (True, resampling.passages))
    )
    return [
        _line(patterns, krippendorff_alpha(patterns, level=level), by_unit.get(level), by_passage.get(level))
        for level in levels
    ]


def _line(
    patterns: Patterns,
    outcome: Agreement | UndefinedAgreement,
    by_unit: Interval | Undefined | None = None,
    by_passage: Interval | Undefined | None = None,
) -> AlphaLine:
    alpha, method = None, ""
    if isinstance(outcome, Agreement):
        alpha, method = package_alpha(patterns, level=outcome.level), PACKAGE
        if alpha is None:
            alpha, method = outcome.alpha, CLOSED_FORM
    return AlphaLine(
        level=outcome.level,
        alpha=alpha,
        undefined=outcome.reason if isinstance(outcome, UndefinedAgreement) else "",
        method=method,
        n_units=outcome.n_units,
        n_annotators=outcome.n_annotators,
        n_ratings=outcome.n_ratings,
        n_single=outcome.n_single,
        by_unit=_ends(by_unit),
        by_passage=_ends(by_passage),
    )


def _ends(interval: Interval | Undefined | None) -> Ends | None:
    if interval is None:
        return None
    if isinstance(interval, Undefined):
        return Ends(undefined=interval.reason)
    return Ends(low=interval.low, high=interval.high, undefined_share=interval.undefined_share)


def _on_several_scales(criterion: CriterionInUse, patterns: Patterns, level: Level) -> UndefinedAgreement:
    reason = "“{criterion}” was asked on several scales ({scales}): choose one batch".format(
        criterion=criterion.key,
        scales="; ".join(criterion.scales),
    )
    return UndefinedAgreement(
        reason=reason,
        level=level,
        n_units=patterns.n_units,
        n_annotators=patterns.n_annotators,
        n_ratings=patterns.n_ratings,
        n_single=patterns.n_single,
    )


def time_figures(project: Project, settings: Mapping[str, Any]) -> dict[str, Any]:
    """What the page of agreement over time shows."""
    scope = read_scope(project, settings)
    frame = fetch_judgments(scope)
    return {
        "level": settings["level"],
        "periods": alpha_course(frame, level=settings["level"], seed=SEED, n_resamples=RESAMPLES),
        "n_undated": int(frame["day"].isna().sum()),
        "entering": count_inclusion(scope).as_dict(),
    }
