"""Bring the catalogues of the interface's sentences up to date, or say whether they are."""

from typing import Any

from django.core.management.base import BaseCommand, CommandError, CommandParser

from config import translating


class Command(BaseCommand):
    help = "Reads every sentence of the interface, merges it into locale/*/LC_MESSAGES/django.po and compiles that."
    requires_system_checks = ()

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("--check", action="store_true", help="Write nothing; exit 1 where a file is out of date.")

    def handle(self, *args: Any, **options: Any) -> None:
        sources = translating.read_sources()
        behind = []
        for language in translating.translated_languages():
            if options["check"]:
                behind += [] if translating.is_up_to_date(language, sources) else [language]
                continue
            catalog = translating.merged(language, sources)
            translating.write(language, catalog)
            n_missing = len(translating.missing(catalog))
            self.stdout.write(f"{language}: {len(catalog)} sentences, {n_missing} for annotators without a translation")
        if behind:
            raise CommandError(f"Out of date: {', '.join(behind)}. Run manage.py translations.")
