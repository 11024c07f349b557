"""Show the numbers of a project's data."""

from typing import Any

from django.core.management.base import CommandParser

from annotate.data.lengths import TEXTS, UNITS, fetch_lengths
from annotate.data.table import Counts, data_table
from projects.commands import ProjectCommand
from projects.models import Project

HEAD = ("dataset", "split", "passages", "questions", "references", "candidates", "judgments", "sources")


class Command(ProjectCommand):
    help = "Show passages, questions, references, candidates and judgments of each dataset and split."

    def add_arguments(self, parser: CommandParser) -> None:
        super().add_arguments(parser)
        parser.add_argument("--lengths", choices=UNITS, help="show the average lengths of the texts instead")

    def handle(self, *args: Any, **options: Any) -> None:
        project = self.project(options)
        if options["lengths"]:
            self._show_lengths(project, options["lengths"])
            return
        table = data_table(project)
        lines = [
            (line.dataset, line.split or "none", *_numbers(line), ", ".join(line.sources) or "none")
            for line in table.lines
        ]
        self.answer(table.as_dict(), _align([HEAD, *lines, ("total", "", *_numbers(table.total), "")]))

    def _show_lengths(self, project: Project, unit: str) -> None:
        lines = fetch_lengths(project)
        head = ("dataset", "split", *TEXTS)
        rows = [
            (
                line.dataset,
                "all" if line.split is None else line.split or "none",
                *("none" if average is None else f"{average:,.1f}" for average in line.averages(unit)),
            )
            for line in lines
        ]
        self.answer({"lengths": [line.as_dict() for line in lines]}, _align([head, *rows]))


def _numbers(counts: Counts) -> list[str]:
    return [f"{getattr(counts, name):,}" for name in HEAD[2:7]]


def _align(rows: list[tuple[str, ...]]) -> str:
    widths = [max(len(row[column]) for row in rows) for column in range(len(rows[0]))]
    lines = []
    for row in rows:
        cells = [
            cell.rjust(width) if 2 <= column < 7 else cell.ljust(width)
            for column, (cell, width) in enumerate(zip(row, widths, strict=True))
        ]
        lines.append("  ".join(cells).rstrip())
    return "\n".join(lines)
