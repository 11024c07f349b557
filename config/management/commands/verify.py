"""Check every stored rule and every stored file; exit with 1 and list the rows and files at fault."""

from dataclasses import asdict
from typing import Any

from django.core.management.base import CommandError, CommandParser

from annotate.integrity import daily_counts, verifying
from config.backups import losses
from projects.commands import ReportingCommand


class Command(ReportingCommand):
    help = (
        "Recompute every invariant of assignments and judgments, and check that the stored files exist. Exits "
        "with 1 and lists the rows and files at fault."
    )

    def add_arguments(self, parser: CommandParser) -> None:
        super().add_arguments(parser)
        parser.add_argument("--no-count", action="store_true", help="don't store today's number of judgments")

    def handle(self, *args: Any, **options: Any) -> None:
        breaches = verifying.verify()
        if not options["no_count"]:
            daily_counts.count_day()
        n_rules, files = len(verifying.RULES), losses.find_unaccepted()
        self.answer(
            {
                "rules": n_rules,
                "breaches": [asdict(breach) for breach in breaches],
                "files": files,
            },
            text=f"{n_rules - len(breaches)} of {n_rules} rules hold.",
        )
        if breaches or files:
            lines = [
                f"{breach.rule}: {breach.sentence} Broken by {breach.n:,}: {breach.of} {', '.join(breach.ids)}"
                for breach in breaches
            ]
            raise CommandError("\n".join([*lines, *files]), returncode=1)
