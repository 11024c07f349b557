"""Delete the data of a deleted project for good."""

from typing import Any

from django.core.management.base import CommandParser

from projects.commands import ReportingCommand
from projects.settings import purging


class Command(ReportingCommand):
    help = (
        "Delete the data of a deleted project for good, before its time is over. A backup that is restored here later "
        "does not bring them back. Delete the project on its settings page first."
    )

    def add_arguments(self, parser: CommandParser) -> None:
        super().add_arguments(parser)
        parser.add_argument("slug", metavar="SLUG")
        parser.add_argument("--yes", action="store_true", required=True, help="confirm that you mean it")

    def handle(self, *args: Any, **options: Any) -> None:
        n_rows = purging.purge(slug=options["slug"])
        self.answer({"project": options["slug"], "n_rows": n_rows}, text=f"Deleted {n_rows:,} rows.")
