"""Krippendorff's alpha of a project's judgments."""

from typing import Any

from django.core.management.base import CommandParser

from annotate.frames import BREAKDOWNS, Scope
from annotate.stages import Stage, default_stage
from annotate.trials import trials_of
from measures.agreement import Agreement
from measures.rubric import Level
from projects.commands import Once, ProjectCommand
from results.agreeing import RESAMPLES, SEED, Measured, measure_agreement
from results.scoping import choose_criterion_to_measure, find_batch


class Command(ProjectCommand):
    help = "Krippendorff's alpha over all counted judgments of a criterion, with its bootstrap interval."

    def add_arguments(self, parser: CommandParser) -> None:
        super().add_arguments(parser)
        parser.add_argument("--criterion", default="", metavar="KEY", help="needed where batches ask several")
        parser.add_argument(
            "--level",
            choices=[level.value for level in Level],
            help="by default the criterion's own: ordinal for points, unless its rubric says otherwise",
        )
        parser.add_argument("--by", choices=BREAKDOWNS, default="", help="alpha per dataset, split or source too")
        which = parser.add_mutually_exclusive_group()
        which.add_argument("--batch", type=int, action=Once, metavar="NUMBER", help="one batch only")
        which.add_argument(
            "--stage",
            choices=[stage.value for stage in Stage],
            help="by default full: what is imported, full batches, and trials that these count",
        )

    def handle(self, *args: Any, **options: Any) -> None:
        project = self.project(options)
        batch = None if options["batch"] is None else find_batch(project, options["batch"])
        criterion = choose_criterion_to_measure(project, key=options["criterion"], batch=batch)
        level = Level(options["level"] or criterion.level)
        stage = Stage(options["stage"]) if options["stage"] else default_stage(project)
        scope = Scope(project=project, criterion=criterion, stage=stage, batch=batch)
        report = measure_agreement(scope, level=level, by=options["by"])
        result: dict[str, Any] = {"project": project.slug, "criterion": criterion.key}
        if batch:
            result["batch"] = batch.number
        elif trials_of(project).exists():
            result["stage"] = stage.value
        result |= _as_dict(report.main)
        if report.has_unknown_annotators:
            result["annotators"] = "unknown: scores were imported without names"
        if report.has_simulated_annotators:
            result["simulated"] = True
        if report.by:
            result["by"] = report.by
            result["groups"] = [{report.by: group.name, **_as_dict(group.measured)} for group in report.groups]
        self.answer(result)


def _as_dict(measured: Measured) -> dict[str, Any]:
    outcome = measured.outcome
    counts = {
        "level": outcome.level.value,
        "n_units": outcome.n_units,
        "n_annotators": outcome.n_annotators,
        "n_ratings": outcome.n_ratings,
        "n_single": outcome.n_single,
    }
    if not isinstance(outcome, Agreement):
        return {"alpha": None, "undefined": outcome.reason, **counts}
    result: dict[str, Any] = {"alpha": outcome.alpha, **counts}
    if outcome.interval:
        result |= {
            "low": outcome.low,
            "high": outcome.high,
            "confidence": outcome.interval.confidence,
            "n_resamples": RESAMPLES,
            "seed": SEED,
            "undefined_share": outcome.interval.undefined_share,
        }
    return result
