"""Import judgments of candidates that are in the project."""

from typing import Any

from django.core.management.base import CommandParser

from annotate.management.importing import add_reading_arguments, import_file, mapping_of
from projects.commands import ProjectCommand
from projects.importing import CriterionColumn, Kind, Options


class Command(ProjectCommand):
    help = "Import judgments from a long file (candidate, annotator, criterion, value) or a wide one."

    def add_arguments(self, parser: CommandParser) -> None:
        super().add_arguments(parser)
        add_reading_arguments(parser)
        parser.add_argument(
            "--criterion",
            action="append",
            default=[],
            metavar="COLUMN=KEY:LOW-HIGH",
            help="a column of judgments and its scale; KEY:LOW-HIGH for a criterion that the rows name",
        )

    def handle(self, *args: Any, **options: Any) -> None:
        project = self.project(options)
        wanted = Options(
            format=options["format"],
            encoding=options["encoding"],
            delimiter=options["delimiter"],
            mapping=mapping_of(options["map"]),
            dataset=options["dataset"],
            criteria=tuple(map(CriterionColumn.parse, options["criterion"])),
        )
        import_file(self, project, options, wanted, Kind.JUDGMENTS)
