"""Tables of figures as CSV, LaTeX and Markdown."""

import re
from collections.abc import Callable

from projects.database.csv import format_row, guard_text
from results.studies.tables import Column, Estimate, Missing, Table, Value, format_cell, format_interval

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

    An estimate takes three columns, and undefined figures have a column for their reasons.
    """
    missing = {place for row in table.rows for place, value in enumerate(row) if isinstance(value, Missing)}
    heads: list[str | None] = []
    for place, column in enumerate(table.columns):
        heads.append(guard_text(column.title))
        if column.kind == "estimate":
            heads += [f"{column.title} low", f"{column.title} high"]
        if place in missing:
            heads.append(f"{column.title} undefined")
    lines = [format_row(heads, line_end=_CSV_LINE_END)]
    for row in table.rows:
        cells: list[str | None] = []
        for place, (column, value) in enumerate(zip(table.columns, row, strict=True)):
            cells += _make_csv_cells(column, value)
            if place in missing:
                cells.append(value.reason if isinstance(value, Missing) else "")
        lines.append(format_row(cells, line_end=_CSV_LINE_END))
    return "".join(lines)


def _make_csv_cells(column: Column, value: Value) -> list[str | None]:
    if isinstance(value, Estimate):
        return [_format_csv_number(each) for each in (value.value, value.low, value.high)]
    if value is None or isinstance(value, Missing):
        cell = None
    else:
        cell = guard_text(value) if isinstance(value, str) else _format_csv_number(value)
    return [cell] if column.kind != "estimate" else [cell, None, None]


def _format_csv_number(number: float | None) -> str | None:
    """Return a number with its point (85.0): frozen sets hold these tables, so their bytes stay as they are."""
    return None if number is None else str(number)


def _as_latex(table: Table) -> str:
    """Return a table of the booktabs package, with the reasons of undefined figures in its caption."""
    notes = _Notes()
    rows = []
    for row in table.rows:
        cells = [_format_latex_cell(column, value, notes) for column, value in zip(table.columns, row, strict=True)]
        # A row that begins with a bracket would be read as the optional argument of the \\ before it.
        rows.append("    {}" + " & ".join(cells) + r" \\")
    align = "".join("r" if column.is_number else "l" for column in table.columns)
    heads = " & ".join(escape_latex(column.title) for column in table.columns)
    lines = [
        r"\begin{table}",
        r"  \centering",
        rf"  \caption{{{escape_latex(_make_caption(table, notes))}}}",
        rf"  \label{{tab:{re.sub('[^a-z0-9]+', '-', table.name.lower())}}}",
        rf"  \begin{{tabular}}{{{align}}}",
        r"    \toprule",
        f"    {heads} " + r"\\",
        r"    \midrule",
        *rows,
        r"    \bottomrule",
        r"  \end{tabular}",
        r"\end{table}",
    ]
    written = "\n".join(lines) + "\n"
    # Said in a comment, as a table is pasted into a paper that has a preamble of its own.
    needed = "% \\usepackage{booktabs}\n"
    # Latin letters, dashes and the minus sign are what pdfLaTeX sets without further packages.
    if re.search(r"[^\u0000-\u024f\u2010-\u2026\u2212]", written):
        needed += "% Some names are in scripts that pdfLaTeX does not set: use XeLaTeX or LuaLaTeX.\n"
    return needed + written


def _format_latex_cell(column: Column, value: Value, notes: "_Notes") -> str:
    if isinstance(value, Missing):
        return rf"--\textsuperscript{{{notes.mark(value.reason)}}}"
    words = escape_latex(format_cell(value, column))
    if column.is_number:
        words = re.sub("^-", "$-$", words)
    ends = re.sub(r"(?<=[\[ ])-", "$-$", format_interval(value, column))
    return f"{words} {ends}" if ends else words


def _as_markdown(table: Table) -> str:
    notes = _Notes()
    heads = [escape_markdown(column.title) for column in table.columns]
    rules = ["---:" if column.is_number else "---" for column in table.columns]
    rows = [
        [_format_markdown_cell(column, value, notes) for column, value in zip(table.columns, row, strict=True)]
        for row in table.rows
    ]
    lines = [f"| {' | '.join(row)} |" for row in [heads, rules, *rows]]
    caption = escape_markdown(_make_caption(table, notes))
    return "\n".join([*([caption, ""] if caption else []), *lines]) + "\n"


def _format_markdown_cell(column: Column, value: Value, notes: "_Notes") -> str:
    if isinstance(value, Missing):
        return f"– ({notes.mark(value.reason)})"
    words, ends = escape_markdown(format_cell(value, column)), escape_markdown(format_interval(value, column))
    return f"{words} {ends}" if ends else words


class _Notes:
    """Reasons of undefined figures, each with the letter by which cells refer to it."""

    def __init__(self) -> None:
        self._reasons: dict[str, str] = {}

    def mark(self, reason: str) -> str:
        return self._reasons.setdefault(reason, _make_letter(len(self._reasons)))

    def __str__(self) -> str:
        return " ".join(f"({mark}) {reason}." for reason, mark in self._reasons.items())


def _make_letter(number: int) -> str:
    letters = "abcdefghijklmnopqrstuvwxyz"
    return letters[number % 26] * (1 + number // 26)


def _make_caption(table: Table, notes: _Notes) -> str:
    why = str(notes)
    return " ".join(filter(None, [table.caption or table.title, f"Undefined: {why}" if why else ""]))


_LATEX = {
    "\\": r"\textbackslash{}",
    "{": r"\{",
    "}": r"\}",
    "&": r"\&",
    "%": r"\%",
    "$": r"\$",
    "#": r"\#",
    "_": r"\_",
    "~": r"\textasciitilde{}",
    "^": r"\textasciicircum{}",
    "<": r"\textless{}",
    ">": r"\textgreater{}",
    # A line may break after it, as signatures of metrics have no spaces.
    "|": r"\textbar\allowbreak{}",
    "\u2212": "$-$",
    "\u2013": "--",
}
_CONTROLS = re.compile(r"[\x00-\x1f\x7f-\x9f\u2028\u2029]+")


def escape_latex(text: str) -> str:
    """Return a text that LaTeX sets as it is, on one line."""
    return "".join(_LATEX.get(each, each) for each in _CONTROLS.sub(" ", text))


def escape_markdown(text: str) -> str:
    """Return a text that Markdown shows as it is, on one line and in one cell."""
    return re.sub(r"([\\|*_`<>\[\]#~])", r"\\\1", _CONTROLS.sub(" ", text))


_WRITERS: dict[str, Callable[[Table], str]] = {"csv": _as_csv, "tex": _as_latex, "md": _as_markdown}
