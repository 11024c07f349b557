"""Approve submitted work and its pay."""

from typing import Any

from django.core.management.base import CommandParser

from annotate.moderation import decisions
from projects.commands import ProjectCommand
from projects.errors import Refused

MOST_DAYS = 36_500
"""A hundred years; much greater numbers would overflow a date."""


class Command(ProjectCommand):
    help = (
        "Approve a project's submitted assignments, or only those older than a number of days. The work of suspended "
        "and removed annotators is left for a decision, unless you include it."
    )

    def add_arguments(self, parser: CommandParser) -> None:
        super().add_arguments(parser)
        parser.add_argument(
            "--older-than", type=int, metavar="DAYS", help="only assignments submitted at least this long ago"
        )
        parser.add_argument(
            "--include-inactive", action="store_true", help="also approve the work of suspended and removed annotators"
        )
        parser.add_argument("--dry-run", action="store_true", help="show the number without approving")

    def handle(self, *args: Any, **options: Any) -> None:
        project, days = self.project(options), options["older_than"] or 0
        if not 0 <= days <= MOST_DAYS:
            raise Refused("Give a number of days from 0 to 36,500.")
        with_absent = options["include_inactive"]
        due = decisions.choose_overdue(project, after_days=days, with_absent=True)
        if options["dry_run"]:
            plan = decisions.plan_approval(due, with_absent=with_absent)
            answer: dict[str, Any] = {"assignments_waiting": plan.n_assignments, "cents": plan.cents}
        else:
            n = decisions.approve_overdue(project, after_days=days, with_absent=with_absent)
            answer = {"assignments_approved": n}
        if not with_absent and (n_absent := sum(absent.n_assignments for absent in decisions.count_absent(due))):
            answer |= {"left_out_of_inactive_annotators": n_absent, "included_by": "--include-inactive"}
        self.answer(answer)
