"""Tables of figures as CSV, LaTeX and Markdown."""

import re
from collections.abc import Callable

from projects.database.csv import format_row, guard_text
from projects.tables.latex import escape_latex, write_latex
from projects.tables.notes import Notes, flatten_text
from projects.tables.tables import (
    Column,
    Estimate,
    Interval,
    Missing,
    Table,
    Value,
    format_cell,
    format_interval,
    read_note,
)

__all__ = ["FORMS", "escape_latex", "escape_markdown", "write"]

FORMS = {
    "csv": "text/csv; charset=utf-8",
    "tex": "text/plain; charset=utf-8",
    "md": "text/markdown; charset=utf-8",
}
"""The media type of each file format, by the file's ending."""

_CSV_LINE_END = "\r\n"
"""Unlike in our other files: frozen sets hold these tables, so their bytes stay as they are."""


def write(table: Table, form: str) -> str:
    """Return the table in one of `FORMS`."""
    return _WRITERS[form](table)


def _as_csv(table: Table) -> str:
    """Return unrounded figures.

    An estimate takes three columns and an interval two; undefined figures have a column for their reasons, and notes
    one of their own.
    """
    rows = table.all_rows
    missing, noted = (
        {place for row in rows for place, value in enumerate(row) if isinstance(value, kind) and read_note(value)}
        for kind in (Missing, Estimate | Interval)
    )
    heads: list[str] = []
    for place, column in enumerate(table.columns):
        heads += [f"{column.title}{ending}" for ending in _CSV_ENDINGS.get(column.kind, ("",))]
        heads += [f"{column.title} undefined"] if place in missing else []
        heads += [f"{column.title} note"] if place in noted else []
    lines = [format_row(map(guard_text, heads), line_end=_CSV_LINE_END)]
    for row in rows:
        cells: list[str | None] = []
        for place, (column, value) in enumerate(zip(table.columns, row, strict=True)):
            cells += _make_csv_cells(column, value)
            cells += [value.reason if isinstance(value, Missing) else ""] if place in missing else []
            cells += ["" if isinstance(value, Missing) else read_note(value)] if place in noted else []
        lines.append(format_row(cells, line_end=_CSV_LINE_END))
    return "".join(lines)


_CSV_ENDINGS = {"estimate": ("", " low", " high"), "interval": (" low", " high")}


def _make_csv_cells(column: Column, value: Value) -> list[str | None]:
    n = len(_CSV_ENDINGS.get(column.kind, ("",)))
    if isinstance(value, Estimate):
        cells = [_format_csv_number(each) for each in (value.value, value.low, value.high)]
    elif isinstance(value, Interval):
        cells = [_format_csv_number(each) for each in (value.low, value.high)]
    elif value is None or isinstance(value, Missing):
        cells = [None]
    else:
        cells = [guard_text(str(value)) if isinstance(value, str) else _format_csv_number(value)]
    return [*cells, *[None] * (n - len(cells))]


def _format_csv_number(number: float | None) -> str | None:
    """Return a number with its point (85.0): frozen sets hold these tables, so their bytes stay as they are."""
    return None if number is None else str(number)


def _as_markdown(table: Table) -> str:
    notes = Notes()
    heads = [escape_markdown(column.title) for column in table.columns]
    rules = ["---:" if column.is_number else "---" for column in table.columns]
    rows = [
        [_format_markdown_cell(column, value, notes) for column, value in zip(table.columns, row, strict=True)]
        for row in table.all_rows
    ]
    lines = [f"| {' | '.join(row)} |" for row in [heads, rules, *rows]]
    parts = [escape_markdown(table.caption or table.title), "\n".join(lines)]
    if below := notes.list_sentences(table.notes):
        parts.append(escape_markdown(" ".join(below)))
    return "\n\n".join(parts) + "\n"


def _format_markdown_cell(column: Column, value: Value, notes: Notes) -> str:
    if isinstance(value, Missing):
        return f"— ({notes.mark(value.reason)})"
    cells = [format_cell(value, column)]
    if column.kind != "interval":
        cells.append(format_interval(value, column))
    words = " ".join(escape_markdown(cell) for cell in cells if cell)
    return f"{words} ({notes.mark(note)})" if (note := read_note(value)) else words


def escape_markdown(text: str) -> str:
    """Return a text that Markdown shows as it is, on one line and in one cell."""
    # An & that begins an entity would be shown as its character.
    escaped = re.sub(r"([\\|*_`<>\[\]#~])", r"\\\1", flatten_text(text))
    return re.sub(r"&(?=#?\w+;)", "&amp;", escaped)


_WRITERS: dict[str, Callable[[Table], str]] = {"csv": _as_csv, "tex": write_latex, "md": _as_markdown}
