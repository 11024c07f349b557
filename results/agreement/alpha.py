"""Agreement of a scope: alpha at each level of measurement with its intervals, by part, and over time."""

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

# A resample weighs each distinct pattern of ratings, and there are few on a scale of points. A slider gives nearly
# every item a pattern of its own; then only the requested level gets intervals, in place of all four.
MOST_PATTERNS = 500
PACKAGE, CLOSED_FORM = f"krippendorff {version('krippendorff')}", "closed form"
"""What computed alpha. Both agree to 12 digits; the package needs a matrix that may not fit into memory."""


@dataclass(frozen=True)
class AlphaInterval:
    """A percentile interval, or the reason why there is none."""

    low: float | None = None
    high: float | None = None
    undefined_share: float = 0.0
    undefined: str = ""


@dataclass(frozen=True, kw_only=True)
class AlphaLine:
    """Alpha at a level, or the reason why it is undefined, with its intervals over candidates and over passages."""

    level: Level
    alpha: float | None
    undefined: str
    method: str
    n_units: int
    n_annotators: int | None
    n_ratings: int
    n_single: int
    by_unit: AlphaInterval | None = None
    by_passage: AlphaInterval | None = None


@dataclass(frozen=True)
class Group:
    """Agreement within one part of a scope."""

    name: str
    line: AlphaLine


@dataclass(frozen=True)
class AgreementReport:
    """Agreement on one criterion in a scope, the requested level first."""

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
    """How intervals are computed: number of resamples, seed, and whether candidates or whole passages are drawn."""

    n: int = RESAMPLES
    seed: int = SEED
    units: bool = True
    passages: bool = False


def agreement_figures(project: Project, settings: Mapping[str, Any]) -> dict[str, Any]:
    """Return what the agreement page shows: the report, the included judgments, and the human ceiling."""
    scope = read_scope(project, settings)
    resampling = Resampling(passages=True)
    level = Level(settings["level"])
    report = measure_agreement(scope, level=level, by=settings["by"], other_levels=True, resampling=resampling)
    # The ceiling needs every judgment by itself, which patterns of ratings no longer tell.
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
    # Alpha depends only on how many items have which ratings. A million judgments on five points make a few hundred
    # such patterns, so everything below is fast.
    patterns = ratings.patterns()
    levels = [level, *(each for each in Level if each is not level and other_levels)]
    is_large = len(patterns.sizes) > MOST_PATTERNS
    return AgreementReport(
        level=level,
        levels=tuple(_make_lines(scope, patterns, levels, resampling, only=level if is_large else None)),
        by=by,
        groups=tuple(
            Group(name, *_make_lines(part_scope, part, [level], resampling))
            for name, part_scope, part in _fetch_parts(scope, ratings, by, resampling)
        ),
        n_resamples=resampling.n,
        seed=resampling.seed,
        has_unknown_annotators=ratings.has_unknown_annotators,
        has_simulated_annotators=Membership.Kind.SIMULATED in ratings.kinds,
    )


def _fetch_parts(
    scope: Scope, ratings: Ratings, by: str, resampling: Resampling
) -> Iterator[tuple[str, Scope, Patterns]]:
    """Yield each part of a scope with its name, its scope and its patterns of ratings."""
    # Ratings of one criterion do not tell the other criteria, the stage or the batch apart: these are fetched again.
    if by == CRITERION:
        for criterion in criteria_in_use(scope.project, scope.batch):
            part = replace(scope, criterion=criterion)
            yield criterion.name, part, fetch_ratings(part, by_passage=resampling.passages).patterns()
    elif by:
        if by in BY_COLLECTION:
            ratings = fetch_ratings(scope, by_passage=resampling.passages, by=by)
        for name, patterns in ratings.patterns_by(by).items():
            yield name, scope, patterns


def _make_lines(
    scope: Scope, patterns: Patterns, levels: list[Level], resampling: Resampling, only: Level | None = None
) -> list[AlphaLine]:
    if not scope.criterion.has_one_scale:
        return [_make_line(patterns, _refuse_several_scales(scope.criterion, patterns, level)) for level in levels]
    # One call for all levels: they share the resamples, and so the drawing.
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
        _make_line(patterns, krippendorff_alpha(patterns, level=level), by_unit.get(level), by_passage.get(level))
        for level in levels
    ]


def _make_line(
    patterns: Patterns,
    outcome: Agreement | UndefinedAgreement,
    by_unit: Interval | Undefined | None = None,
    by_passage: Interval | Undefined | None = None,
) -> AlphaLine:
    alpha, method = None, ""
    if isinstance(outcome, Agreement):
        # The package is the published reference; the closed form from counts stands in where its matrix does not fit.
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
        by_unit=_read_interval(by_unit),
        by_passage=_read_interval(by_passage),
    )


def _read_interval(interval: Interval | Undefined | None) -> AlphaInterval | None:
    if interval is None:
        return None
    if isinstance(interval, Undefined):
        return AlphaInterval(undefined=interval.reason)
    return AlphaInterval(low=interval.low, high=interval.high, undefined_share=interval.undefined_share)


def _refuse_several_scales(criterion: CriterionInUse, patterns: Patterns, level: Level) -> UndefinedAgreement:
    reason = "“{criterion}” was asked on several scales ({scales}); choose one batch".format(
        criterion=criterion.key,
        scales="; ".join(criterion.scales),
    )
    return UndefinedAgreement.count(patterns, level=level, reason=reason)


def time_figures(project: Project, settings: Mapping[str, Any]) -> dict[str, Any]:
    """Return what the page of agreement over time shows."""
    scope = read_scope(project, settings)
    frame = fetch_judgments(scope)
    return {
        "level": settings["level"],
        "periods": alpha_course(frame, level=settings["level"], seed=SEED, n_resamples=RESAMPLES),
        "n_undated": int(frame["day"].isna().sum()),
        "entering": count_inclusion(scope).as_dict(),
    }
