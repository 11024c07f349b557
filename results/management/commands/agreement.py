"""Print Krippendorff's alpha of a project's judgments."""

from dataclasses import asdict
from typing import Any

from django.core.management.base import CommandParser

from annotate.batches.trials import list_trials
from annotate.frames.criteria_in_use import Scope
from annotate.frames.judgments_frame import fetch_judgments
from annotate.frames.stages import Stage, default_stage
from measures.annotator_pairs import QUADRATIC, UNWEIGHTED, pair_agreements
from measures.ceiling import Design
from measures.outcome import Undefined
from measures.rubric import Level
from projects.commands import Once, ProjectCommand
from projects.errors import Refused
from projects.options import reader, whole_number
from results.agreement.alpha import (
    AgreementReport,
    AlphaLine,
    Intervals,
    list_warnings,
    measure_agreement,
    measure_ceiling,
)
from results.scope.gold_settings import CONFIDENCE, ITEMS, PARTS, PASSAGES, SEED
from results.scope.scopes import SEVERAL_SCALES, choose_criterion_to_measure, find_batch, warn_of_no_order

# More than a page allows, as nobody waits for a command in front of a browser.
MOST_RESAMPLES = 100_000
UNITS = {None: "", "item": ITEMS, "passage": PASSAGES}


class Command(ProjectCommand):
    help = "Krippendorff's alpha over all counted judgments of a criterion, with its jackknife interval."

    def add_arguments(self, parser: CommandParser) -> None:
        super().add_arguments(parser)
        parser.add_argument("--criterion", default="", metavar="KEY", help="required if batches ask several criteria")
        parser.add_argument(
            "--level",
            choices=[level.value for level in Level],
            help="level of measurement (default: the criterion's own)",
        )
        parser.add_argument("--by", choices=PARTS, default="", help="also print alpha by part")
        parser.add_argument(
            "--unit",
            choices=("item", "passage"),
            help="what the interval leaves out one at a time (default: passages wherever candidates share one)",
        )
        parser.add_argument(
            "--bootstrap",
            type=reader(_read_resamples),
            metavar="N",
            help="a percentile bootstrap with N resamples instead of the jackknife",
        )
        seed = whole_number(least=0)
        parser.add_argument("--seed", type=seed, default=SEED, help=f"seed of the bootstrap (default {SEED})")
        parser.add_argument(
            "--pairs", action="store_true", help="also print each pair of annotators on the candidates that both rated"
        )
        parser.add_argument(
            "--ceiling",
            action="store_true",
            help="also print the reliability of the mean ratings and the highest Pearson's r that a metric can reach",
        )
        parser.add_argument(
            "--raters",
            choices=[design.value for design in Design],
            default=Design.ONE_WAY.value,
            help="for the ceiling: raters differ between candidates (one_way, the default), are the same for all "
            "(crossed), or whichever holds (auto)",
        )
        which = parser.add_mutually_exclusive_group()
        which.add_argument("--batch", type=int, action=Once, metavar="NUMBER", help="one batch only")
        which.add_argument(
            "--stage",
            choices=[stage.value for stage in Stage],
            help="default full: imported judgments, full batches, and trials that these count",
        )

    def handle(self, *args: Any, **options: Any) -> None:
        project = self.project(options)
        batch = None if options["batch"] is None else find_batch(project, options["batch"])
        stage = Stage(options["stage"]) if options["stage"] else default_stage(project)
        criterion = choose_criterion_to_measure(project, key=options["criterion"], batch=batch, stage=stage)
        level = Level(options["level"] or criterion.level)
        scope = Scope(project=project, criterion=criterion, stage=stage, batch=batch)
        report = measure_agreement(
            scope,
            level=level,
            by=options["by"],
            intervals=Intervals(unit=UNITS[options["unit"]], n_resamples=options["bootstrap"], seed=options["seed"]),
        )
        result: dict[str, Any] = {"project": project.slug, "criterion": criterion.key}
        if batch:
            result["batch"] = batch.number
        # Without a trial there is only one stage to name.
        elif list_trials(project).exists():
            result["stage"] = stage.value
        result |= _as_dict(report.main, report)
        if report.has_unknown_annotators:
            result["annotators"] = "unknown: scores were imported without names"
        if report.has_simulated_annotators:
            result["simulated"] = True
        warnings = list_warnings(asdict(report))
        if options["ceiling"] and (warning := warn_of_no_order(criterion)):
            warnings.append(warning)
        if warnings:
            result["warnings"] = warnings
        if report.by:
            result["by"] = report.by
            result["groups"] = [{report.by: group.name, **_as_dict(group.line, report)} for group in report.groups]
        if options["pairs"]:
            result |= _compute_pairs(scope)
        if options["ceiling"]:
            result |= _compute_ceiling(scope, Design(options["raters"]))
        self.answer(result)


def _as_dict(line: AlphaLine, report: AgreementReport) -> dict[str, Any]:
    counts = {
        "level": line.level.value,
        "n_units": line.n_units,
        "n_annotators": line.n_annotators,
        "n_ratings": line.n_ratings,
        "n_single": line.n_single,
        "same_share": line.same_share,
    }
    if line.alpha is None:
        return {"alpha": None, "undefined": line.undefined, **counts}
    ends = line.interval
    if ends is None:
        return {"alpha": line.alpha, **counts}
    if ends.undefined:
        return {"alpha": line.alpha, **counts, "undefined_interval": ends.undefined}
    return {
        "alpha": line.alpha,
        **counts,
        "low": ends.low,
        "high": ends.high,
        "confidence": CONFIDENCE,
        "method": report.method,
        "resampled": line.unit,
        "n_resampled": ends.n_parts,
        "n_resamples": report.n_resamples,
        "seed": report.seed,
        "undefined_share": ends.undefined_share,
    }


def _compute_pairs(scope: Scope) -> dict[str, Any]:
    criterion = scope.criterion
    pairs = (
        pair_agreements(fetch_judgments(scope), has_order=criterion.has_order)
        if criterion.has_one_scale
        else SEVERAL_SCALES
    )
    if isinstance(pairs, Undefined):
        return {"pairs": None, "undefined_pairs": pairs.reason}
    kappa = QUADRATIC if criterion.has_order else UNWEIGHTED
    return {
        "kappa": kappa,
        "n_pairs": pairs.n_pairs,
        "pairs": [_write_undefined(asdict(pair)) for pair in pairs.computed],
    }


def _compute_ceiling(scope: Scope, design: Design) -> dict[str, Any]:
    found = measure_ceiling(scope, fetch_judgments(scope), design)
    if isinstance(found, Undefined):
        return {"ceiling": None, "undefined_ceiling": found.reason}
    plain = _write_undefined(asdict(found))
    ends = plain.pop("interval") or {}
    return {
        **{name: plain.get(name) for name in ("ceiling", "undefined_ceiling") if name in plain},
        "ceiling_low": ends.get("low"),
        "ceiling_high": ends.get("high"),
        "reliability": plain["reliability"],
        "reliability_of_one": plain["single"],
        "raters": found.design.value,
        "ceiling_by_judgments": {str(each.n_judgments): each.ceiling for each in found.predictions},
    }


def _write_undefined(pair: dict[str, Any]) -> dict[str, Any]:
    """Return the pair with null for each undefined value, and the reason beside it."""
    plain: dict[str, Any] = {}
    for name, value in pair.items():
        is_undefined = isinstance(value, dict) and "reason" in value
        plain[name] = None if is_undefined else value
        if is_undefined:
            plain[f"undefined_{name}"] = value["reason"]
    return plain


def _read_resamples(text: str) -> int:
    if not text.isdecimal() or not 1 <= int(text) <= MOST_RESAMPLES:
        raise Refused(f"The number of resamples is a whole number from 1 to {MOST_RESAMPLES:,}.")
    return int(text)
