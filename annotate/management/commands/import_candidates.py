"""Import candidates from a file."""

from typing import Any

from django.core.management.base import CommandParser

from annotate.imports.command_arguments import add_rating_arguments, add_reading_arguments, import_file, read_options
from projects.commands import ProjectCommand
from projects.importing import Kind, Options
from projects.importing.fields import FIELDS


class Command(ProjectCommand):
    help = "Import passages, questions, references and candidates; with --with-scores also their judgments."

    def add_arguments(self, parser: CommandParser) -> None:
        super().add_arguments(parser)
        add_reading_arguments(parser, FIELDS)
        parser.add_argument("--split", default="", metavar="NAME", help="split for passages without one")
        parser.add_argument("--dataset-kind", default="", choices=["generative", "span", "question_generation"])
        parser.add_argument("--with-scores", action="store_true", help="also import scores as judgments")
        parser.add_argument(
            "--drop-equal",
            default="",
            choices=["exact", "normalised"],
            help="exclude candidates equal to a reference",
        )
        parser.add_argument(
            "--drop-numbers",
            action="append",
            default=[],
            metavar="DATASET",
            help="in this dataset, exclude candidates that are numbers where a reference is one too; * for all "
            "datasets",
        )
        parser.add_argument(
            "--second-reference-below",
            type=float,
            metavar="SHARE",
            help="turn further references with a token F1 below this into candidates",
        )
        parser.add_argument("--multiple-choice", action="store_true", help="convert multiple choice to generative")
        add_rating_arguments(parser)

    def handle(self, *args: Any, **options: Any) -> None:
        project = self.project(options)
        wanted = Options(
            **read_options(options),
            dataset_kind=options["dataset_kind"],
            split=options["split"],
            with_scores=options["with_scores"],
            drop_equal=options["drop_equal"],
            drop_numbers=tuple(options["drop_numbers"]),
            second_reference_below=options["second_reference_below"],
            multiple_choice=options["multiple_choice"],
        )
        import_file(self, project, options, wanted, Kind.CANDIDATES)
