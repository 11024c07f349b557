"""Delete an account and everything that names its person."""

from typing import Any

from django.core.management.base import CommandParser

from annotate.onboarding import erasing
from projects.commands import ReportingCommand
from projects.errors import Refused
from projects.models import User


class Command(ReportingCommand):
    help = (
        "Delete an account, and everything that names its person. Their judgments stay under random names, or are "
        "removed from the results. This cannot be undone; a restored backup repeats it."
    )

    def add_arguments(self, parser: CommandParser) -> None:
        super().add_arguments(parser)
        parser.add_argument("username")
        parser.add_argument("--remove-work", action="store_true", help="remove their judgments and comments")
        parser.add_argument("--dry-run", action="store_true", help="show what would be deleted, and delete nothing")

    def handle(self, *args: Any, **options: Any) -> None:
        user = User.objects.filter(username=options["username"]).first()
        if user is None:
            raise Refused(f"No user “{options['username']}”.")
        if (project := erasing.find_only_owned(user)) is not None:
            raise Refused(
                f"“{user.get_username()}” is the only owner of {project.name}. Make someone else an owner, or delete "
                "the project first."
            )
        work = erasing.plan_erasure(user)
        answer: dict[str, Any] = {
            "username": user.get_username(),
            "projects": [
                {
                    "project": each.membership.project.slug,
                    "annotator": each.membership.pseudonym,
                    "n_hits": each.n_hits,
                    "n_judgments": each.n_judgments,
                    "unpaid_cents": each.unpaid_cents,
                }
                for each in work
            ],
            "removes_work": options["remove_work"],
            "is_erased": not options["dry_run"],
        }
        if not options["dry_run"]:
            erasing.erase(user=user, removes_work=options["remove_work"])
        self.answer(answer)
