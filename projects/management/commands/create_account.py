"""Create an account, or change whether an account may create projects."""

from typing import Any

from django.core.management.base import CommandParser

from projects.accounts import users
from projects.commands import ReportingCommand
from projects.models import User


class Command(ReportingCommand):
    help = "Create an account without a password (see reset_link), or change whether an account may create projects."

    def add_arguments(self, parser: CommandParser) -> None:
        super().add_arguments(parser)
        parser.add_argument("username")
        parser.add_argument("--email", help="address of a new account, for single sign-on with OIDC_MATCH_EMAIL")
        rights = parser.add_mutually_exclusive_group()
        rights.add_argument("--creates-projects", action="store_true", default=None, dest="creates")
        rights.add_argument("--creates-no-projects", action="store_false", dest="creates")

    def handle(self, *args: Any, **options: Any) -> None:
        user, is_new = users.ensure_user(options["username"], email=options["email"] or "")
        if options["creates"] is not None:
            user.can_create_projects = options["creates"]
            user.save(update_fields=["can_create_projects"])
        result = {"username": user.username, "is_new": is_new, "can_create_projects": user.can_create_projects}
        self.answer(result, text=_describe(user, is_new=is_new))


def _describe(user: User, *, is_new: bool) -> str:
    """Return what was done, what the account may do now, and what to do next."""
    name = user.username
    lines = [f"Account “{name}” created." if is_new else f"Account “{name}” already existed."]
    if user.can_create_projects:
        lines.append("It may create projects, which it then owns.")
    else:
        lines.append(
            "It may not create projects, and sees none until it is invited to one. To let it create projects, run: "
            f"manage.py create_account {name} --creates-projects"
        )
    if not user.has_usable_password():
        lines.append(f"It has no password yet. To print a link for choosing one, run: manage.py reset_link {name}")
    return "\n".join(lines)
