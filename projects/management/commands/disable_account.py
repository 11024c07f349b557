"""Disable an account, or enable it again."""

from typing import Any

from django.core.management.base import CommandParser

from projects.accounts import users
from projects.commands import ReportingCommand


class Command(ReportingCommand):
    help = (
        "Disable an account: nobody can sign in to it, its sessions end with their next request, and its API tokens "
        "are refused. Its work stays. With --enable, the person can sign in again, and the tokens work again."
    )

    def add_arguments(self, parser: CommandParser) -> None:
        super().add_arguments(parser)
        parser.add_argument("account", metavar="USERNAME_OR_EMAIL")
        parser.add_argument("--enable", action="store_true", help="enable a disabled account")

    def handle(self, *args: Any, **options: Any) -> None:
        user, is_active = users.find_user(options["account"]), options["enable"]
        has_changed = users.set_active(user=user, is_active=is_active)
        state = "enabled" if is_active else "disabled"
        text = (
            f"Account “{user.username}” {state}." if has_changed else f"Account “{user.username}” is already {state}."
        )
        ownerless = [] if is_active else [project.slug for project in users.list_ownerless_projects(user)]
        if ownerless:
            text += f"\nNo owner can act any more in: {', '.join(ownerless)}."
        self.answer(
            {
                "username": user.username,
                "is_active": is_active,
                "has_changed": has_changed,
                "projects_without_owner": ownerless,
            },
            text=text,
        )
