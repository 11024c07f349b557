"""Import candidates from a file."""

from typing import Any

from django.core.management.base import CommandParser

from annotate.imports.command_arguments import add_reading_arguments, import_file
from projects.commands import ProjectCommand
from projects.importing import Kind, Options
from projects.importing.fields import FIELDS


class Command(ProjectCommand):
    help = "Import passages, questions, references and candidates, and with --with-scores their judgments."

    def add_arguments(self, parser: CommandParser) -> None:
        super().add_arguments(parser)
        add_reading_arguments(parser, FIELDS)
        parser.add_argument("--split", default="", metavar="NAME", help="split of passages that the file gives none")
        parser.add_argument("--dataset-kind", default="", choices=["generative", "span", "question_generation"])
        parser.add_argument("--with-scores", action="store_true", help="import MOCHA's scores as judgments too")
        parser.add_argument(
            "--drop-equal",
            default="",
            choices=["exact", "normalised"],
            help="leave out candidates equal to a reference",
        )
        parser.add_argument(
            "--drop-numbers",
            action="append",
            default=[],
            metavar="DATASET",
            help="leave out a candidate of this dataset where it and a reference are numbers; * is every dataset",
        )
        parser.add_argument(
            "--second-reference-below",
            type=float,
            metavar="SHARE",
            help="further references that overlap less with the first become candidates",
        )
        parser.add_argument("--multiple-choice", action="store_true", help="take the right choice as the reference")

    def handle(self, *args: Any, **options: Any) -> None:
        project = self.project(options)
        wanted = Options(
            format=options["format"],
            encoding=options["encoding"],
            delimiter=options["delimiter"],
            mapping=dict(options["map"]),
            dataset=options["dataset"],
            dataset_kind=options["dataset_kind"],
            split=options["split"],
            with_scores=options["with_scores"],
            drop_equal=options["drop_equal"],
            drop_numbers=tuple(options["drop_numbers"]),
            second_reference_below=options["second_reference_below"],
            multiple_choice=options["multiple_choice"],
        )
        import_file(self, project, options, wanted, Kind.CANDIDATES)
