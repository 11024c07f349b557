"""Update the catalogues, compile them, or check whether they are complete."""

from typing import Any

from django.core.management.base import BaseCommand, CommandError, CommandParser

from config import catalogues, translating


class Command(BaseCommand):
    help = (
        "Extract every sentence that annotators read, merge it into locale/*/LC_MESSAGES/django.po, and compile that. "
        "New sentences are left empty for their translation."
    )
    requires_system_checks = ()

    def add_arguments(self, parser: CommandParser) -> None:
        only = parser.add_mutually_exclusive_group()
        only.add_argument(
            "--check",
            action="store_true",
            help="Write nothing; exit with 1 if a catalogue is out of date or lacks a translation.",
        )
        only.add_argument("--compile", action="store_true", help="Only compile catalogues whose django.po has changed.")

    def handle(self, *args: Any, **options: Any) -> None:
        if options["check"]:
            self._check()
            return
        if not options["compile"]:
            self._write()
        catalogues.compile_catalogues()

    def _check(self) -> None:
        sources = translating.read_sources()
        faults = []
        for language in translating.list_languages():
            if not translating.is_up_to_date(language, sources):
                faults.append(f"{language} is out of date: run manage.py translations.")
            missing = translating.list_untranslated(translating.read_catalogue(language))
            faults += [f"{language} lacks a translation: {sentence}" for sentence in missing]
        if faults:
            raise CommandError("\n".join(faults))

    def _write(self) -> None:
        sources = translating.read_sources()
        for language in translating.list_languages():
            catalog = translating.merge(language, sources)
            translating.write(language, catalog)
            n_missing = len(translating.list_untranslated(catalog))
            self.stdout.write(f"{language}: {len(catalog)} sentences, {n_missing} without a translation")
