"""Create an account, or change whether an account may create projects."""

from typing import Any

from django.core.management.base import CommandParser

from projects.accounts import users
from projects.commands import ReportingCommand


class Command(ReportingCommand):
    help = "Create an account without a password (see reset_link), or change whether an account may create projects."

    def add_arguments(self, parser: CommandParser) -> None:
        super().add_arguments(parser)
        parser.add_argument("username")
        rights = parser.add_mutually_exclusive_group()
        rights.add_argument("--creates-projects", action="store_true", default=None, dest="creates")
        rights.add_argument("--creates-no-projects", action="store_false", dest="creates")

    def handle(self, *args: Any, **options: Any) -> None:
        user, is_new = users.ensure_user(options["username"])
        if options["creates"] is not None:
            user.can_create_projects = options["creates"]
            user.save(update_fields=["can_create_projects"])
        result = {"username": user.username, "is_new": is_new, "can_create_projects": user.can_create_projects}
        self.answer(result)
