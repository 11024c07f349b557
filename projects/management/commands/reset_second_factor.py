"""Remove the second factors of a user who has lost them."""

from typing import Any

from django.core.management.base import CommandParser

from projects.accounts import second_factors
from projects.commands import ReportingCommand
from projects.errors import Refused
from projects.models import User


class Command(ReportingCommand):
    help = (
        "Remove the authenticator app, the passkeys and the recovery codes of a user who has lost them, and end their "
        "sessions. The password stays. Make sure first that the request comes from that person: afterwards, the "
        "password alone opens the account."
    )

    def add_arguments(self, parser: CommandParser) -> None:
        super().add_arguments(parser)
        parser.add_argument("username")

    def handle(self, *args: Any, **options: Any) -> None:
        user = User.objects.filter(username=options["username"]).first()
        if user is None:
            raise Refused(f"No user “{options['username']}”.")
        n = second_factors.reset(user=user)
        factors = "1 second factor" if n == 1 else f"{n} second factors"
        self.answer({"username": user.username, "removed": n}, text=f"Removed {factors} of “{user.username}”.")
