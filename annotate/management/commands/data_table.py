"""Show the numbers of a project's data."""

from typing import Any

from annotate.data.table import Counts, data_table
from projects.commands import ProjectCommand

HEAD = ("dataset", "split", "passages", "questions", "references", "candidates", "judgments", "sources")


class Command(ProjectCommand):
    help = "Show passages, questions, references, candidates and judgments of each dataset and split."

    def handle(self, *args: Any, **options: Any) -> None:
        table = data_table(self.project(options))
        lines = [
            (line.dataset, line.split or "none", *_numbers(line), ", ".join(line.sources) or "none")
            for line in table.lines
        ]
        self.answer(table.as_dict(), _align([HEAD, *lines, ("total", "", *_numbers(table.total), "")]))


def _numbers(counts: Counts) -> list[str]:
    return [f"{getattr(counts, name):,}" for name in HEAD[2:7]]


def _align(rows: list[tuple[str, ...]]) -> str:
    widths = [max(len(row[column]) for row in rows) for column in range(len(HEAD))]
    lines = []
    for row in rows:
        cells = [
            cell.rjust(width) if 2 <= column < 7 else cell.ljust(width)
            for column, (cell, width) in enumerate(zip(row, widths, strict=True))
        ]
        lines.append("  ".join(cells).rstrip())
    return "\n".join(lines)
