"""Import judgments of existing candidates."""

from typing import Any

from django.core.management.base import CommandParser

from annotate.imports.command_arguments import add_reading_arguments, import_file
from projects.commands import ProjectCommand, reader
from projects.importing import CriterionColumn, Kind, Options
from projects.importing.fields import JUDGMENT_FIELDS


class Command(ProjectCommand):
    help = "Import judgments from a file in long format (candidate, annotator, criterion, value) or wide format."

    def add_arguments(self, parser: CommandParser) -> None:
        super().add_arguments(parser)
        add_reading_arguments(parser, JUDGMENT_FIELDS)
        parser.add_argument(
            "--criterion",
            action="append",
            default=[],
            type=reader(CriterionColumn.parse),
            metavar="COLUMN=KEY:LOW-HIGH",
            help="a column of judgments and its scale; KEY:LOW-HIGH if the rows give the criterion",
        )

    def handle(self, *args: Any, **options: Any) -> None:
        project = self.project(options)
        wanted = Options(
            format=options["format"],
            encoding=options["encoding"],
            delimiter=options["delimiter"],
            mapping=dict(options["map"]),
            dataset=options["dataset"],
            criteria=tuple(options["criterion"]),
        )
        import_file(self, project, options, wanted, Kind.JUDGMENTS)
