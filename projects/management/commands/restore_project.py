"""Restore a deleted project."""

from typing import Any

from django.core.management.base import CommandParser

from projects.commands import ReportingCommand
from projects.settings import lifecycle


class Command(ReportingCommand):
    help = "Restore a deleted project with all its data."

    def add_arguments(self, parser: CommandParser) -> None:
        super().add_arguments(parser)
        parser.add_argument("slug", metavar="SLUG")

    def handle(self, *args: Any, **options: Any) -> None:
        project = lifecycle.restore_project(slug=options["slug"])
        self.answer({"project": project.slug}, text=f"Project “{project.name}” restored.")
