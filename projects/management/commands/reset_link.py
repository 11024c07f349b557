"""Create a link with which a user chooses a new password."""

from typing import Any

from django.core.management.base import CommandParser

from projects.accounts import passwords
from projects.commands import ReportingCommand
from projects.errors import Refused
from projects.models import User
from projects.web.links import absolute_url


class Command(ReportingCommand):
    help = "Print a password reset link for a user. It works once and expires after one hour."

    def add_arguments(self, parser: CommandParser) -> None:
        super().add_arguments(parser)
        parser.add_argument("username")

    def handle(self, *args: Any, **options: Any) -> None:
        user = User.objects.filter(username=options["username"], is_active=True).first()
        if user is None:
            raise Refused(f"No active user “{options['username']}”.")
        link = absolute_url(passwords.issue_link_as_operator(user=user))
        note = "" if link.startswith("http") else " (prepend the address of the site, or set SITE_URL)"
        self.answer({"username": user.username, "link": link}, text=f"{link}{note}")
