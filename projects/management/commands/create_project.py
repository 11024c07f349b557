"""Create a project, and its owner's account if that is new."""

from typing import Any

from django.conf import settings
from django.core.management.base import CommandParser
from django.db import transaction

from measures.rubric_presets import DEFAULT_PRESET, PRESETS
from projects.accounts import users
from projects.commands import ReportingCommand
from projects.settings import lifecycle


class Command(ReportingCommand):
    help = "Create a project with the rubric and instructions of a preset. A new owner account has no password yet."

    def add_arguments(self, parser: CommandParser) -> None:
        super().add_arguments(parser)
        parser.add_argument("slug", metavar="SLUG", help="short name of the project in URLs")
        parser.add_argument("--owner", required=True, metavar="NAME", help="the owner's username")
        parser.add_argument("--name", default="", help="name of the project (default: derived from the short name)")
        parser.add_argument(
            "--language",
            default=settings.LANGUAGE_CODE,
            metavar="CODE",
            help="language of the annotators' pages, the scale, the instructions and the examples: "
            + ", ".join(code for code, _name in settings.LANGUAGES)
            + f" (default: {settings.LANGUAGE_CODE})",
        )

        parser.add_argument(
            "--preset",
            choices=[*PRESETS, "blank"],
            default=DEFAULT_PRESET,
            help=f"rubric and instructions to start with (default: {DEFAULT_PRESET})",
        )

    @transaction.atomic  # a refused project leaves no new account behind
    def handle(self, *args: Any, **options: Any) -> None:
        slug = options["slug"]
        owner, is_new = users.ensure_user(options["owner"])
        name = options["name"] or slug.replace("-", " ").capitalize()
        preset = "" if options["preset"] == "blank" else options["preset"]
        project = lifecycle.create_project(
            slug=slug, name=name, owner=owner, language=options["language"], preset=preset
        )
        result = {"project": project.slug, "name": project.name, "owner": owner.username, "is_new_user": is_new}
        text = f"Project “{project.name}” created. Owner: {owner.username}"
        if is_new:
            text += f"\nThe account is new and has no password yet. Run: manage.py reset_link {owner.username}"
        self.answer(result, text=text)
