"""Accept that stored files are lost for good."""

from typing import Any

from django.core.management.base import CommandParser

from config.backups import losses
from projects.commands import ReportingCommand
from projects.language.amounts import plural


class Command(ReportingCommand):
    help = (
        "Accept that stored files are lost, as no backup has them: `backup` and `verify`, which named them, then no "
        "longer do. Rows and pages stay as they are. Put a file back, and nothing has to be undone."
    )

    def add_arguments(self, parser: CommandParser) -> None:
        super().add_arguments(parser)
        parser.add_argument("files", metavar="FILE", nargs="+", help="a file as verify names it, such as imports/3f2a…")

    def handle(self, *args: Any, **options: Any) -> None:
        names = options["files"]
        losses.accept(names)
        self.answer({"accepted": names}, text=f"Accepted: {len(names)} lost {plural(len(names), 'file', 'files')}.")
