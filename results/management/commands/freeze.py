"""Freeze a judgment set in this process."""

from typing import Any

from django.core.management.base import CommandError, CommandParser

from annotate.frames.stages import Stage
from measures.bootstrap import JACKKNIFE, PERCENTILE
from measures.gold_rules import GoldRule
from projects.commands import ProjectCommand
from results.sets import freezing
from results.sets.licences import LICENCES
from results.sets.settings import Settings


class Command(ProjectCommand):
    help = (
        "Freeze the present judgments as a numbered set of files that never changes. Without filters, all are included."
    )

    def add_arguments(self, parser: CommandParser) -> None:
        super().add_arguments(parser)
        defaults = Settings()
        parser.add_argument("--name", required=True, help="name of the set, as a paper would cite it")
        which = parser.add_mutually_exclusive_group()
        which.add_argument(
            "--stage",
            choices=[stage.value for stage in Stage],
            help="default full, or trial while there is nothing else",
        )
        which.add_argument("--batch", type=int, nargs="+", action="extend", default=[], metavar="NUMBER")
        for name in ("criterion", "dataset", "split", "source"):
            parser.add_argument(f"--{name}", nargs="+", action="extend", default=[], metavar=name.upper())
        parser.add_argument("--blind", action="store_true", help="exclude judgments by people who can see the sources")
        parser.add_argument(
            "--no-texts",
            action="store_true",
            help="leave out the texts of passages, questions, references and candidates, and the MOCHA files",
        )
        parser.add_argument(
            "--comments", action="store_true", help="include annotators' comments, which may contain personal data"
        )
        parser.add_argument(
            "--surveys", action="store_true", help="include answers to surveys whose annotators allowed to publish them"
        )
        parser.add_argument("--gold", choices=[rule.value for rule in GoldRule], help="default: the project's rule")
        parser.add_argument(
            "--no-controls", action="store_true", help="exclude control ratings from z-score normalisation"
        )
        parser.add_argument(
            "--study",
            type=int,
            nargs="+",
            action="extend",
            default=[],
            metavar="NUMBER",
            help="include these metric evaluations, with their tables and metric scores",
        )
        parser.add_argument(
            "--author",
            action="append",
            metavar="NAME",
            help="“Family, Given”, or an organisation in braces; once for each author (default: of the newest set)",
        )
        parser.add_argument("--licence", choices=list(LICENCES), help="default: that of the newest set")
        parser.add_argument("--language", nargs="+", action="extend", metavar="CODE", help="of the texts, such as en")
        parser.add_argument("--seed", type=int, default=defaults.seed, help="seed of the bootstrap")
        parser.add_argument(
            "--bootstrap",
            type=int,
            metavar="N",
            help="intervals by a percentile bootstrap with N resamples instead of the jackknife",
        )

    def handle(self, *args: Any, **options: Any) -> None:
        project = self.project(options)
        bootstrap = options["bootstrap"]
        if not 0 <= options["seed"] < 2**31 or (bootstrap is not None and not 1 <= bootstrap <= 100_000):
            raise CommandError("--seed must be 0 or more, and --bootstrap from 1 to 100,000.", returncode=2)
        defaults = freezing.default_settings(project)
        settings = Settings(
            criteria=tuple(options["criterion"]),
            # What is not given is as on the page: the project's stage and gold rule.
            stage=Stage(options["stage"] or defaults.stage),
            batches=tuple(dict.fromkeys(options["batch"])),
            datasets=tuple(options["dataset"]),
            splits=tuple(options["split"]),
            sources=tuple(options["source"]),
            is_blind_only=options["blind"],
            with_texts=not options["no_texts"],
            with_comments=options["comments"],
            with_surveys=options["surveys"],
            gold=GoldRule(options["gold"] or defaults.gold),
            controls_in_z=defaults.controls_in_z and not options["no_controls"],
            seed=options["seed"],
            studies=tuple(sorted(set(options["study"]))),
            n_resamples=bootstrap or defaults.n_resamples,
            intervals=PERCENTILE if bootstrap else JACKKNIFE,
            authors=defaults.authors if options["author"] is None else tuple(options["author"]),
            licence=options["licence"] or defaults.licence,
            languages=defaults.languages if options["language"] is None else tuple(options["language"]),
        )
        judgment_set = freezing.freeze_now(project=project, name=options["name"], settings=settings)
        facts = judgment_set.facts
        result = {
            "project": project.slug,
            "set": judgment_set.number,
            "name": judgment_set.name,
            "n_included": facts["n_included"],
            "n_excluded": facts["n_total"] - facts["n_included"],
            "n_total": facts["n_total"],
            "n_rows": facts["n_rows"],
            "n_bytes": judgment_set.n_bytes,
            "sha256": judgment_set.sha256,
            "agreement": facts["criteria"],
        }
        self.answer(
            result,
            f"Judgment set {judgment_set.number} is frozen: {facts['n_included']:,} judgments, {judgment_set.sha256}",
        )
