"""The figures of a set: included judgments and agreement, computed from its own files."""

from dataclasses import asdict
from typing import Any

import numpy as np
import pandas as pd

from measures.agreement import Agreement, UndefinedAgreement, krippendorff_alpha
from measures.alpha_intervals import jackknife_alphas
from measures.bootstrap import JACKKNIFE, Interval, bootstrap_alphas
from measures.ceiling import compute_ceiling
from measures.columns import ANNOTATOR, UNIT, VALUE
from measures.gold_rules import GoldRule
from measures.outcome import Undefined
from measures.patterns import Patterns
from measures.rubric import NO_ORDER, Level, has_order
from results.scope.gold_settings import CONFIDENCE, ITEMS, PASSAGES
from results.sets.scores import FACETS, Judgments
from results.sets.selecting import ScaledCriterion
from results.sets.settings import Settings

Figures = dict[str, Any]
_RATED = [UNIT, ANNOTATOR, VALUE]
"""The columns that alpha rests on; its intervals need the passages as well."""


def measure(judgments: Judgments, settings: Settings, levels: dict[ScaledCriterion, Level]) -> list[Figures]:
    """Return counts and agreement of each criterion on each scale."""
    return [_measure_criterion(judgments, criterion, settings, levels[criterion]) for criterion in judgments.parts]


def _measure_criterion(judgments: Judgments, criterion: ScaledCriterion, settings: Settings, own: Level) -> Figures:
    part, frame = judgments.parts[criterion], judgments.frame(criterion)
    patterns = Patterns.from_frame(frame)
    # Alpha at every level goes into figures.json; intervals only at the criterion's own, as they take long.
    outcomes = {level: krippendorff_alpha(patterns, level=level) for level in Level}
    return {
        "criterion": criterion.key,
        "scale_kind": criterion.kind,
        "scale_low": criterion.low,
        "scale_high": criterion.high,
        "scale": criterion.scale,
        "level": own.value,
        "n_judgments": len(part.values),
        "n_candidates": len(np.unique(np.frombuffer(part.units, np.int32))),
        "n_annotators": patterns.n_annotators_all,
        "left_out": dict(sorted(part.left_out.items())),
        "agreement": _as_dict(outcomes[own]),
        "interval_over_candidates": _compute_interval(patterns, own, settings, by_group=False),
        "interval_over_passages": _compute_interval(patterns, own, settings, by_group=True),
        # Which of the two to report: candidates of one passage are not independent.
        "interval_unit": PASSAGES if patterns.n_groups < patterns.n_units else ITEMS,
        "reliability": _compute_reliability(frame, settings)
        if has_order(own, criterion.low, criterion.high)
        else {"ceiling": None, "undefined": NO_ORDER},
        "alpha_by_level": {level.value: _store_alpha(outcome) for level, outcome in outcomes.items()},
        "by": {
            name: [
                # The rows of the only label are the frame itself, of which a million take long to count again.
                {
                    "name": label,
                    **_as_dict(
                        outcomes[own]
                        if rows.all()
                        else krippendorff_alpha(Patterns.from_frame(frame.loc[rows, _RATED]), level=own)
                    ),
                }
                for label, rows in judgments.rows_by(criterion, name)
            ]
            for name in FACETS
        },
    }


def _compute_interval(patterns: Patterns, level: Level, settings: Settings, *, by_group: bool) -> Figures:
    if settings.intervals == JACKKNIFE:
        jackknifed = jackknife_alphas(patterns, levels=[level], by_group=by_group, confidence=CONFIDENCE)[level]
        method: Figures = {"confidence": CONFIDENCE, "n_resamples": None, "seed": None, "method": JACKKNIFE}
        if isinstance(jackknifed, Undefined):
            return {"low": None, "high": None, "undefined": jackknifed.reason, **method}
        n_parts = {"n_resampled": jackknifed.n_units, "n_effective": jackknifed.n_effective}
        return {"low": jackknifed.low, "high": jackknifed.high, "undefined_share": 0.0, **method, **n_parts}
    found = bootstrap_alphas(
        patterns,
        levels=[level],
        # A generator for each interval, so that the same seed gives the same ends whatever else is computed.
        rng=np.random.default_rng(settings.seed),
        n_resamples=settings.n_resamples,
        confidence=CONFIDENCE,
        by_group=by_group,
    )[level]
    method = {"confidence": CONFIDENCE, "n_resamples": settings.n_resamples, "seed": settings.seed}
    # What is undefined has a reason in figures.json, and never a zero.
    if isinstance(found, Undefined):
        return {"low": None, "high": None, "undefined": found.reason, **method}
    assert isinstance(found, Interval)
    return {"low": found.low, "high": found.high, "undefined_share": found.undefined_share, **method}


def _compute_reliability(frame: pd.DataFrame, settings: Settings) -> Figures:
    """Return the reliability of the gold scores, and the highest Pearson correlation that a metric can reach."""
    if settings.gold is not GoldRule.MEAN or settings.does_adjudication_win:
        return {"ceiling": None, "undefined": "given only where the gold score is the mean of the judgments"}
    found = compute_ceiling(frame, confidence=CONFIDENCE)
    if isinstance(found, Undefined):
        return {"ceiling": None, "undefined": found.reason}
    plain = asdict(found)
    for name in ("ceiling", "interval"):
        if isinstance(reason := getattr(found, name), Undefined):
            plain |= {name: None, f"undefined_{name}" if name == "interval" else "undefined": reason.reason}
    return plain


def _as_dict(outcome: Agreement | UndefinedAgreement) -> Figures:
    return {
        **_store_alpha(outcome),
        "n_units": outcome.n_units,
        "n_annotators": outcome.n_annotators,
        "n_ratings": outcome.n_ratings,
        "n_single": outcome.n_single,
        "n_off_mode": outcome.n_off_mode,
        "same_share": outcome.same_share,
    }


def _store_alpha(outcome: Agreement | UndefinedAgreement) -> Figures:
    if isinstance(outcome, Agreement):
        return {"alpha": outcome.alpha}
    return {"alpha": None, "undefined": outcome.reason}
