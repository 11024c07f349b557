"""Approve submitted work and its pay."""

from datetime import timedelta
from typing import Any

from django.core.management.base import CommandParser
from django.utils import timezone

from annotate.moderation import decisions
from annotate.moderation.work_filter import WorkFilter
from projects.commands import ProjectCommand
from projects.errors import Refused

MOST_DAYS = 36_500
"""A hundred years; much greater numbers would overflow a date."""


class Command(ProjectCommand):
    help = "Approve a project's submitted assignments, or only those older than a number of days."

    def add_arguments(self, parser: CommandParser) -> None:
        super().add_arguments(parser)
        parser.add_argument(
            "--older-than", type=int, metavar="DAYS", help="only assignments submitted at least this long ago"
        )
        parser.add_argument("--dry-run", action="store_true", help="show the number without approving")

    def handle(self, *args: Any, **options: Any) -> None:
        project, days = self.project(options), options["older_than"] or 0
        if not 0 <= days <= MOST_DAYS:
            raise Refused("Give a number of days from 0 to 36,500.")
        if options["dry_run"]:
            until = timezone.now() - timedelta(days=days)
            plan = decisions.plan_approval(WorkFilter(until=until).select_from(project))
            self.answer({"assignments_waiting": plan.n_assignments, "cents": plan.cents})
            return
        self.answer({"assignments_approved": decisions.approve_overdue(project, after_days=days)})
