"""A judgment set, frozen now."""

from typing import Any

from django.core.management.base import CommandError, CommandParser

from annotate.frames.stages import Stage
from measures.gold_rules import GoldRule
from projects.commands import ProjectCommand
from results.sets import freezing
from results.sets.settings import Settings


class Command(ProjectCommand):
    help = (
        "Freeze the judgments as they stand as a numbered set of files that never changes. Nothing named: everything."
    )

    def add_arguments(self, parser: CommandParser) -> None:
        super().add_arguments(parser)
        defaults = Settings()
        parser.add_argument("--name", required=True, help="as a paper would call it")
        which = parser.add_mutually_exclusive_group()
        which.add_argument(
            "--stage", choices=[stage.value for stage in Stage], help="by default full, or the trial alone"
        )
        which.add_argument("--batch", type=int, nargs="+", action="extend", default=[], metavar="NUMBER")
        for name in ("criterion", "dataset", "split", "source"):
            parser.add_argument(f"--{name}", nargs="+", action="extend", default=[], metavar=name.upper())
        parser.add_argument("--blind", action="store_true", help="leave out judgments by people who see the sources")
        parser.add_argument("--no-texts", action="store_true", help="ids only; there are no MOCHA files then")
        parser.add_argument("--comments", action="store_true", help="what annotators wrote; it may hold personal data")
        parser.add_argument("--gold", choices=[rule.value for rule in GoldRule], help="by default the project's rule")
        parser.add_argument("--no-controls", action="store_true", help="keep controls out of the means that z rests on")
        parser.add_argument(
            "--study",
            type=int,
            nargs="+",
            action="extend",
            default=[],
            metavar="NUMBER",
            help="hold these studies too, with their tables and the scores of their metrics",
        )
        parser.add_argument("--seed", type=int, default=defaults.seed)
        parser.add_argument("--bootstrap", type=int, default=defaults.n_resamples, metavar="N", help="resamples")

    def handle(self, *args: Any, **options: Any) -> None:
        project = self.project(options)
        if not 0 <= options["seed"] < 2**31 or not 1 <= options["bootstrap"] <= 100_000:
            raise CommandError("--seed is 0 or more, and --bootstrap between 1 and 100,000.", returncode=2)
        by_itself = freezing.default_settings(project)
        settings = Settings(
            criteria=tuple(options["criterion"]),
            stage=Stage(options["stage"] or by_itself.stage),
            batches=tuple(dict.fromkeys(options["batch"])),
            datasets=tuple(options["dataset"]),
            splits=tuple(options["split"]),
            sources=tuple(options["source"]),
            is_blind_only=options["blind"],
            with_texts=not options["no_texts"],
            with_comments=options["comments"],
            gold=GoldRule(options["gold"] or by_itself.gold),
            controls_in_z=by_itself.controls_in_z and not options["no_controls"],
            seed=options["seed"],
            studies=tuple(sorted(set(options["study"]))),
            n_resamples=options["bootstrap"],
        )
        made = freezing.freeze_now(project=project, name=options["name"], settings=settings)
        facts = made.facts
        result = {
            "project": project.slug,
            "set": made.number,
            "name": made.name,
            "n_included": facts["n_included"],
            "n_excluded": facts["n_total"] - facts["n_included"],
            "n_total": facts["n_total"],
            "n_rows": facts["n_rows"],
            "n_bytes": made.n_bytes,
            "sha256": made.sha256,
            "agreement": facts["criteria"],
        }
        self.answer(result, f"Judgment set {made.number} is frozen: {facts['n_included']:,} judgments, {made.sha256}")
