"""Check every stored rule; exit with 1 and list the rows if one is broken."""

from dataclasses import asdict
from typing import Any

from django.core.management.base import CommandError, CommandParser

from annotate.integrity import daily_counts, verifying
from projects.commands import ReportingCommand


class Command(ReportingCommand):
    help = "Recompute every invariant of assignments and judgments. Exits with 1 and lists the rows if one is broken."

    def add_arguments(self, parser: CommandParser) -> None:
        super().add_arguments(parser)
        parser.add_argument("--no-count", action="store_true", help="don't store today's number of judgments")

    def handle(self, *args: Any, **options: Any) -> None:
        breaches = verifying.verify()
        if not options["no_count"]:
            daily_counts.count_day()
        n_rules = len(verifying.RULES)
        self.answer(
            {
                "rules": n_rules,
                "breaches": [asdict(breach) for breach in breaches],
            },
            text=f"{n_rules - len(breaches)} of {n_rules} rules hold.",
        )
        if breaches:
            lines = [
                f"{breach.rule}: {breach.sentence} Broken by {breach.n:,}: {breach.of} {', '.join(breach.ids)}"
                for breach in breaches
            ]
            raise CommandError("\n".join(lines), returncode=1)
