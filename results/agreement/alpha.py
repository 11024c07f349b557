"""Agreement of a scope: alpha at each level of measurement with its intervals, by part, and over time."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from importlib.metadata import version
from typing import Any

import numpy as np
import pandas as pd

from annotate.frames.criteria_in_use import CriterionInUse, Scope, criteria_in_use
from annotate.frames.judgments_frame import fetch_judgments
from annotate.frames.rating_patterns import BY_COLLECTION, Ratings, fetch_rating_patterns
from measures.agreement import Agreement, UndefinedAgreement, krippendorff_alpha, package_alpha
from measures.alpha_intervals import jackknife_alphas
from measures.bootstrap import JACKKNIFE, PERCENTILE, Interval, bootstrap_alphas
from measures.ceiling import Ceiling, Design, compute_ceiling
from measures.columns import GROUP, UNIT
from measures.courses import alpha_course
from measures.jackknife import effective_number
from measures.one_against_others import one_against_others
from measures.outcome import Undefined
from measures.patterns import Patterns
from measures.rubric import NO_ORDER, Level
from projects.models import Membership, Project
from results.scope.equal_ratings import warn_of_equal_ratings, warn_of_equal_ratings_in_parts
from results.scope.excluded import count_inclusion
from results.scope.gold_settings import CONFIDENCE, CRITERION, ITEMS, PASSAGES, SEED
from results.scope.passage_counts import are_few, warn_of_few_in_parts, warn_of_few_passages
from results.scope.scopes import SEVERAL_SCALES, explain_several_scales, read_scope

# There are few distinct patterns of ratings on a scale of points. A slider gives nearly every item a pattern of its
# own; then only the requested level gets intervals, in place of all four.
MOST_PATTERNS = 500
UNNAMED = "unspecified"
"""What a part without a name is called, such as candidates without a split."""
PACKAGE, CLOSED_FORM = f"krippendorff {version('krippendorff')}", "closed form"
"""What computed alpha. Both agree to 12 digits; the package needs a matrix that may not fit into memory."""


@dataclass(frozen=True)
class AlphaInterval:
    """A confidence interval, or the reason why there is none."""

    low: float | None = None
    high: float | None = None
    undefined_share: float = 0.0
    undefined: str = ""
    n_parts: int | None = None
    """The items or passages that a jackknife left out."""
    n_effective: float | None = None
    """As how many of one size they count."""


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
    n_off_mode: int | None = None
    """Candidates with a rating other than the most frequent one; reports of earlier versions have none."""
    same_share: float | None = None
    """Exact agreement, which these lack too."""
    by_unit: AlphaInterval | None = None
    by_passage: AlphaInterval | None = None
    unit: str = ITEMS
    """Which of the two is shown; reports of earlier versions show both."""

    @property
    def interval(self) -> AlphaInterval | None:
        return self.by_passage if self.unit == PASSAGES else self.by_unit


@dataclass(frozen=True)
class PartAgreement:
    """Agreement within one part of a scope."""

    name: str
    line: AlphaLine


@dataclass(frozen=True)
class AgreementReport:
    """Agreement on one criterion in a scope, the requested level first."""

    level: Level
    levels: tuple[AlphaLine, ...]
    by: str
    groups: tuple[PartAgreement, ...]
    n_resamples: int | None
    """None for the jackknife, which draws nothing; the seed alike."""
    seed: int | None
    has_unknown_annotators: bool
    has_simulated_annotators: bool
    method: str
    """How intervals were computed; reports of earlier versions have none, and are percentile bootstraps."""
    unit: str
    n_passages: int
    is_narrowed: bool
    """Whether items were chosen as the unit although several share a passage, so that intervals are too narrow."""
    has_few_passages: bool
    n_effective: float = 0.0
    """The effective number of passages, which is lower where some weigh more than others."""

    @property
    def main(self) -> AlphaLine:
        return self.levels[0]


@dataclass(frozen=True)
class Intervals:
    """How intervals are computed: by the jackknife, or from a number of resamples."""

    unit: str = ""
    """Items or passages; by default passages wherever several items share one."""
    n_resamples: int | None = None
    seed: int = SEED

    def choose_unit(self, patterns: Patterns) -> str:
        return self.unit or (PASSAGES if patterns.n_groups < patterns.n_units else ITEMS)


def agreement_figures(project: Project, settings: Mapping[str, Any]) -> dict[str, Any]:
    """Return what the agreement page shows: the report, the included judgments, and the reliability of the means.

    One person against the others is under `ceiling`, as it was before there was a ceiling.
    """
    scope = read_scope(project, settings)
    report = measure_agreement(
        scope,
        level=Level(settings["level"]),
        by=settings["by"],
        other_levels=True,
        intervals=Intervals(unit=settings.get("unit", "")),
    )
    if not scope.criterion.has_order:
        no_means = Undefined(reason=NO_ORDER)
        return {
            "report": report,
            "entering": count_inclusion(scope).as_dict(),
            "ceiling": no_means,
            "reliability": no_means,
        }
    # Both need every judgment by itself, which patterns of ratings no longer tell.
    frame = fetch_judgments(scope)
    return {
        "report": report,
        "entering": count_inclusion(scope).as_dict(),
        "ceiling": one_against_others(frame, rng=np.random.default_rng(SEED))
        if scope.criterion.has_one_scale
        else SEVERAL_SCALES,
        "reliability": measure_ceiling(scope, frame, Design(settings.get("design", Design.ONE_WAY))),
    }


def warn_of_few(report: Mapping[str, Any]) -> str:
    """Return the warning about the passages of a stored report, or nothing."""
    if not report.get("has_few_passages"):
        return ""
    return warn_of_few_passages(report["n_passages"], report.get("n_effective"), covering="These judgments cover")


def warn_of_few_by_part(report: Mapping[str, Any]) -> str:
    """Return the warning about the parts of a stored report that have few passages, or nothing.

    Where all judgments cover few, so does each part, and `warn_of_few` says it.
    """
    if report.get("method") != JACKKNIFE or report["unit"] != PASSAGES or report["has_few_passages"]:
        return ""
    intervals = ((group["name"] or UNNAMED, group["line"]["by_passage"] or {}) for group in report["groups"])
    parts = ((name, each.get("n_parts") or 0, each.get("n_effective")) for name, each in intervals)
    return warn_of_few_in_parts(parts, noun="Parts")


def warn_of_equal(report: Mapping[str, Any]) -> str:
    """Return the warning where nearly all ratings of a stored report are equal, or nothing."""
    main = report["levels"][0]
    return warn_of_equal_ratings(main["n_off_mode"], main["n_units"]) if _has_counted_interval(main) else ""


def warn_of_equal_by_part(report: Mapping[str, Any]) -> str:
    """Return the warning about the parts of a stored report in which nearly all ratings are equal, or nothing.

    Where nearly all of all judgments are, `warn_of_equal` says it.
    """
    if warn_of_equal(report):
        return ""
    lines = ((group["name"] or UNNAMED, group["line"]) for group in report["groups"])
    parts = ((name, line["n_off_mode"], line["n_units"]) for name, line in lines if _has_counted_interval(line))
    return warn_of_equal_ratings_in_parts(parts, noun="Parts")


def warn_of_few_by_period(figures: Mapping[str, Any]) -> str:
    """Return the warning about the periods of stored figures that have few passages, or nothing."""
    if figures.get("method") != JACKKNIFE or figures["unit"] != PASSAGES:
        return ""
    intervals = ((period["name"], period["interval"]) for period in _list_shown_periods(figures))
    parts = ((name, each.get("n_parts") or 0, each.get("n_effective")) for name, each in intervals)
    return warn_of_few_in_parts(parts, noun="Periods")


def warn_of_equal_by_period(figures: Mapping[str, Any]) -> str:
    """Return the warning about the periods of stored figures in which nearly all ratings are equal, or nothing.

    Those of earlier versions do not count the candidates with another rating.
    """
    outcomes = ((period["name"], period["outcome"]) for period in _list_shown_periods(figures))
    parts = ((name, each["n_off_mode"], each["n_units"]) for name, each in outcomes if "n_off_mode" in each)
    return warn_of_equal_ratings_in_parts(parts, noun="Periods")


def _list_shown_periods(figures: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    """Return the periods that have an interval."""
    periods = figures["periods"]
    return [each for each in periods if "low" in (each["interval"] or {})] if isinstance(periods, list) else []


def _has_counted_interval(line: Mapping[str, Any]) -> bool:
    """Return whether a stored line has an interval, and the number of candidates with another rating.

    Those of earlier versions have no such number.
    """
    interval = line["by_passage" if line.get("unit") == PASSAGES else "by_unit"] or {}
    return line.get("n_off_mode") is not None and interval.get("low") is not None


def list_warnings(report: Mapping[str, Any]) -> list[str]:
    """Return why the intervals of a stored report may mislead, in sentences."""
    found = [
        warn_of_few(report),
        warn_of_few_by_part(report),
        warn_of_equal(report),
        warn_of_equal_by_part(report),
    ]
    if report.get("is_narrowed"):
        found.insert(0, "Candidates share passages, so the interval over candidates is too narrow.")
    return [each for each in found if each]


def measure_ceiling(scope: Scope, frame: pd.DataFrame, design: Design) -> Ceiling | Undefined:
    """Return the reliability of the mean ratings of a scope, and the highest correlation that it allows."""
    # Means over several scales are no gold scores.
    if not scope.criterion.has_one_scale:
        return SEVERAL_SCALES
    return compute_ceiling(frame, design=design)


def measure_agreement(
    scope: Scope,
    *,
    level: Level,
    by: str = "",
    other_levels: bool = False,
    intervals: Intervals | None = None,
) -> AgreementReport:
    """Compute agreement in a scope, by default with jackknife intervals over passages that several items share."""
    intervals = intervals or Intervals()
    ratings = fetch_rating_patterns(scope, by_passage=True)
    # Alpha depends only on how many items have which ratings. A million judgments on five points make a few hundred
    # such patterns, so everything below is fast.
    patterns = ratings.patterns()
    # One unit for all parts, so that their intervals can be compared.
    shares, intervals = patterns.n_groups < patterns.n_units, replace(intervals, unit=intervals.choose_unit(patterns))
    # By ratings, as the interval counts its passages.
    n_ratings = np.bincount(patterns.cell_group, patterns.cell_units * patterns.sizes[patterns.cell_pattern])
    n_effective = effective_number(n_ratings) if n_ratings.any() else 0.0
    levels = [level, *(each for each in Level if each is not level and other_levels)]
    is_large = len(patterns.sizes) > MOST_PATTERNS
    return AgreementReport(
        level=level,
        levels=tuple(_make_lines(scope, patterns, levels, intervals, only=level if is_large else None)),
        by=by,
        groups=tuple(
            PartAgreement(name, *_make_lines(part_scope, part, [level], intervals))
            for name, part_scope, part in _fetch_parts(scope, ratings, by)
        ),
        n_resamples=intervals.n_resamples,
        seed=None if intervals.n_resamples is None else intervals.seed,
        has_unknown_annotators=ratings.has_unknown_annotators,
        has_simulated_annotators=Membership.Kind.SIMULATED in ratings.kinds,
        method=JACKKNIFE if intervals.n_resamples is None else PERCENTILE,
        unit=intervals.unit,
        n_passages=patterns.n_groups,
        is_narrowed=shares and intervals.unit == ITEMS,
        has_few_passages=shares and intervals.unit == PASSAGES and are_few(patterns.n_groups, n_effective),
        n_effective=n_effective,
    )


def _fetch_parts(scope: Scope, ratings: Ratings, by: str) -> Iterator[tuple[str, Scope, Patterns]]:
    """Yield each part of a scope with its name, its scope and its patterns of ratings."""
    # Ratings of one criterion do not tell the other criteria, the stage or the batch apart: these are fetched again.
    if by == CRITERION:
        for criterion in criteria_in_use(scope.project, scope.batch, stage=scope.stage):
            part = replace(scope, criterion=criterion)
            yield criterion.name, part, fetch_rating_patterns(part, by_passage=True).patterns()
    elif by:
        if by in BY_COLLECTION:
            ratings = fetch_rating_patterns(scope, by_passage=True, by=by)
        for name, patterns in ratings.patterns_by(by).items():
            yield name, scope, patterns


def _make_lines(
    scope: Scope, patterns: Patterns, levels: list[Level], intervals: Intervals, only: Level | None = None
) -> list[AlphaLine]:
    if not scope.criterion.has_one_scale:
        return [
            _make_line(patterns, _refuse_several_scales(scope.criterion, patterns, level), intervals.unit)
            for level in levels
        ]
    # One call for all levels: they share what is left out, or drawn.
    with_intervals = [level for level in levels if only in (None, level)]
    by_unit, by_passage = (
        _compute_intervals(patterns, with_intervals, intervals, by_group=by_group) for by_group in (False, True)
    )
    return [
        _make_line(
            patterns,
            krippendorff_alpha(patterns, level=level),
            intervals.unit,
            by_unit.get(level),
            by_passage.get(level),
        )
        for level in levels
    ]


def _compute_intervals(
    patterns: Patterns, levels: list[Level], intervals: Intervals, *, by_group: bool
) -> Mapping[Level, Interval | Undefined]:
    if intervals.n_resamples is None:
        found = jackknife_alphas(patterns, levels=levels, by_group=by_group, confidence=CONFIDENCE)
        return {level: Interval.from_jackknife(each, by_group=by_group) for level, each in found.items()}
    # Resamples take long, so only the unit that was asked for is drawn.
    if by_group != (intervals.unit == PASSAGES):
        return {}
    return bootstrap_alphas(
        patterns,
        levels=levels,
        rng=np.random.default_rng(intervals.seed),
        n_resamples=intervals.n_resamples,
        confidence=CONFIDENCE,
        by_group=by_group,
    )


def _make_line(
    patterns: Patterns,
    outcome: Agreement | UndefinedAgreement,
    unit: str,
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
        n_off_mode=outcome.n_off_mode,
        same_share=outcome.same_share,
        by_unit=_read_interval(by_unit),
        by_passage=_read_interval(by_passage),
        unit=unit,
    )


def _read_interval(interval: Interval | Undefined | None) -> AlphaInterval | None:
    if interval is None:
        return None
    if isinstance(interval, Undefined):
        return AlphaInterval(undefined=interval.reason)
    return AlphaInterval(
        low=interval.low, high=interval.high, undefined_share=interval.undefined_share, n_parts=interval.n_parts,
        n_effective=interval.n_effective,
    )  # fmt: skip


def _refuse_several_scales(criterion: CriterionInUse, patterns: Patterns, level: Level) -> UndefinedAgreement:
    reason = "“{criterion}” was asked on several scales ({scales}); choose one batch".format(
        criterion=criterion.name,
        scales="; ".join(criterion.scales),
    )
    # A 5 of one scale and a 5 of another are not the same rating.
    return replace(UndefinedAgreement.count(patterns, level=level, reason=reason), same_share=None)


def time_figures(project: Project, settings: Mapping[str, Any]) -> dict[str, Any]:
    """Return what the page of agreement over time shows; a criterion on several scales is refused."""
    scope = read_scope(project, settings)
    if not scope.criterion.has_one_scale:
        return {"refusal": explain_several_scales(scope.criterion)}
    frame = fetch_judgments(scope)
    shares = does_share_passages(frame)
    unit = settings.get("unit") or (PASSAGES if shares else ITEMS)
    return {
        "level": settings["level"],
        "periods": alpha_course(frame, level=settings["level"], by_group=unit == PASSAGES),
        "method": JACKKNIFE,
        "unit": unit,
        "is_narrowed": shares and unit == ITEMS,
        "n_undated": int(frame["day"].isna().sum()),
        "entering": count_inclusion(scope).as_dict(),
    }


def does_share_passages(frame: pd.DataFrame) -> bool:
    """Return whether several items of a frame are about one passage."""
    return bool(frame[GROUP].nunique() < frame[UNIT].nunique())
