"""Import judgments of existing candidates."""

from typing import Any

from django.core.management.base import CommandParser

from annotate.imports.command_arguments import add_rating_arguments, add_reading_arguments, import_file, read_options
from projects.commands import ProjectCommand
from projects.importing import Kind, Options
from projects.importing.fields import JUDGMENT_FIELDS


class Command(ProjectCommand):
    help = (
        "Import judgments from a file in long format (candidate, annotator, criterion, value), in wide format, or with "
        "a column for each annotator."
    )

    def add_arguments(self, parser: CommandParser) -> None:
        super().add_arguments(parser)
        add_reading_arguments(parser, JUDGMENT_FIELDS)
        add_rating_arguments(parser)

    def handle(self, *args: Any, **options: Any) -> None:
        project = self.project(options)
        import_file(self, project, options, Options(**read_options(options)), Kind.JUDGMENTS)
