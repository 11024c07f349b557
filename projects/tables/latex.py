"""Tables of figures as LaTeX: booktabs for the rules, and siunitx to align numbers at their points."""

import re
import unicodedata
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import chain

from projects.tables.notes import Notes, flatten_text
from projects.tables.tables import Column, Missing, Table, Value, format_cell, format_interval, read_note

LONG_TEXT = 40
"""A column with a longer text than this breaks its lines; LaTeX would otherwise set it beyond the margin."""
LONG_HEADING = 24
"""A heading longer than this is set on several lines."""
LONG_WORD, LETTERS_TOGETHER = 16, 8
"""A word longer than the first may be broken in such a column, after so many letters at most."""
MOST_IN_ONE_COLUMN = 6
"""A table with more columns than this spans both columns of a page that has two."""
ONE_COLUMN, BOTH_COLUMNS = 210, 440
"""The room that a page with two columns has, in points, by the narrowest of the usual styles."""
MOST_ROWS = 45
"""About as many rows as a page holds; LaTeX breaks no table over pages."""
_LETTER, _GAP = 5.3, 12
"""The mean width of a letter of 10 points, and the room between two columns, in points."""
_PARAGRAPH = r">{\raggedright\arraybackslash}p{0.25\linewidth}"
_FITS_LINE = r"\resizebox{\ifdim\width>\linewidth\linewidth\else\width\fi}{!}{%"

# What pdfLaTeX sets with the fonts that every installation has.
_SET_BY_PDFLATEX = re.compile(r"[\x00-\x7f\u00a0-\u017f]")


@dataclass(frozen=True)
class _LatexColumn:
    """A column of the LaTeX table: how it is aligned, its heading, and its cells, already escaped."""

    align: str
    head: str
    cells: Sequence[str]

    def estimate_width(self) -> float:
        """Return about how wide it is set, in points; a paragraph has its share of the line."""
        if self.align == _PARAGRAPH:
            return 0.25 * BOTH_COLUMNS + _GAP
        is_folded = "parbox" in self.head
        letters = max(map(_count_letters, self.cells if is_folded else [self.head, *self.cells]), default=0)
        return max(_LETTER * letters, 0.15 * BOTH_COLUMNS if is_folded else 0) + _GAP


def write_latex(table: Table) -> str:
    """Return the table with its caption, and with its notes below; every text in it is set as it is.

    One that is wider than the line is made smaller where it is set.
    """
    rows = table.all_rows
    # Marked row by row, as a reader meets them; the columns below are made one by one.
    notes = Notes()
    for value in chain.from_iterable(rows):
        if note := read_note(value):
            notes.mark(note)
    columns = [
        made
        for place, column in enumerate(table.columns)
        for made in _make_columns(column, [row[place] for row in rows], notes)
    ]
    # A row that begins with a bracket would be read as the optional argument of the \\ before it.
    lines = ["    {}" + " & ".join(cells) + r" \\" for cells in zip(*(column.cells for column in columns), strict=True)]
    n_body = len(table.rows)
    # A table* spans both columns of a page; where there is only one it is a table.
    width = sum(column.estimate_width() for column in columns)
    is_wide = len(columns) > MOST_IN_ONE_COLUMN or width > ONE_COLUMN or any(c.align == _PARAGRAPH for c in columns)
    frame = "table*" if is_wide else "table"
    is_too_wide = width > BOTH_COLUMNS
    below = notes.list_sentences(table.notes)
    written = "\n".join(
        [
            rf"\begin{{{frame}}}",
            r"  \centering",
            rf"  \caption{{{escape_latex(table.caption or table.title)}}}",
            rf"  \label{{tab:{re.sub('[^a-z0-9]+', '-', (table.label or table.name).lower())}}}",
            *([r"  \setlength{\tabcolsep}{3pt}", f"  {_FITS_LINE}"] if is_too_wide else []),
            rf"  \begin{{tabular}}{{{''.join(column.align for column in columns)}}}",
            r"    \toprule",
            f"    {' & '.join(column.head for column in columns)} " + r"\\",
            r"    \midrule",
            *lines[:n_body],
            *([r"    \midrule", *lines[n_body:]] if table.foot and n_body else lines[n_body:]),
            r"    \bottomrule",
            r"  \end{tabular}" + ("}" if is_too_wide else ""),
            *([r"  \par\smallskip", *_set_notes(below)] if below else []),
            rf"\end{{{frame}}}",
        ]
    )
    needs = [*_list_needs(written), *_warn_of_size(table, width)]
    return "".join(f"% {line}\n" for line in needs) + written + "\n"


def escape_latex(text: str, *, breaks_words: bool = False) -> str:
    """Return a text that LaTeX sets as it is, on one line; `breaks_words` lets it break long words."""
    # Accents that follow their letter are unknown to pdfLaTeX, which knows the letters with accents.
    plain = unicodedata.normalize("NFC", flatten_text(text))
    if breaks_words:
        return " ".join(_escape_word(word) for word in plain.split(" "))
    return _escape_signs(plain)


def _escape_word(word: str) -> str:
    # The letters of an Arabic word are joined, so it is broken nowhere.
    if len(word) <= LONG_WORD or any(unicodedata.bidirectional(each) == "AL" for each in word):
        return escape_latex(word)
    # After signs such as _ and /, and every eight letters where there are none.
    parts = re.findall(rf"[^\W_]{{1,{LETTERS_TOGETHER}}}[\W_]?|[\W_]", word)
    return r"\allowbreak{}".join(_escape_signs(part) for part in parts)


def _escape_signs(text: str) -> str:
    # Two hyphens would become a dash. A dash of the text is one already.
    return "".join(_LATEX.get(each, each) for each in re.sub("-(?=-)", "-\0", text)).replace("\0", "{}")


def _set_notes(sentences: Sequence[str]) -> list[str]:
    text = escape_latex(" ".join(sentences), breaks_words=True)
    return [r"  \begin{minipage}{\linewidth}\footnotesize", f"    {text}", r"  \end{minipage}"]


def _make_columns(column: Column, values: Sequence[Value], notes: Notes) -> Iterator[_LatexColumn]:
    """Yield the column, and for estimates that have intervals a second one with these."""
    head = _set_heading(column.title)
    if not column.is_number:
        texts = [format_cell(value, column) for value in values]
        is_long = max(map(len, texts), default=0) > LONG_TEXT
        align = _PARAGRAPH if is_long else "l"
        cells = [
            _mark(value, notes) or escape_latex(text, breaks_words=is_long)
            for value, text in zip(values, texts, strict=True)
        ]
        yield _LatexColumn(align, head, cells)
        return
    if column.kind != "interval":
        numbers = [_format_number(value, column) for value in values]
        cells = [
            _mark(value, notes) or (_protect(value, number) if isinstance(value, str) else number)
            for value, number in zip(values, numbers, strict=True)
        ]
        figures = [number for value, number in zip(values, numbers, strict=True) if not isinstance(value, str)]
        yield _LatexColumn(f"S[table-format={_make_format(figures)}]", f"{{{head}}}", cells)
    ends = [_set_interval(value, column, notes) for value in values]
    if column.kind == "interval" or any(ends):
        yield _LatexColumn("r", head if column.kind == "interval" else _set_heading(column.interval), ends)


def _set_heading(title: str) -> str:
    """Return a heading, on several lines if it is long."""
    if len(title) <= LONG_HEADING:
        return escape_latex(title)
    return rf"\parbox[b]{{0.15\linewidth}}{{\raggedright {escape_latex(title, breaks_words=True)}}}"


def _mark(value: Value, notes: Notes) -> str:
    """Return a dash that refers to the reason of an undefined figure; empty for one that is defined."""
    if not isinstance(value, Missing):
        return ""
    # In braces, siunitx takes it for a text and sets it in the middle of the column.
    return rf"{{---\textsuperscript{{{notes.mark(value.reason)}}}}}"


def _protect(value: Value, text: str) -> str:
    return f"{{{escape_latex(str(value))}}}" if text else ""


def _format_number(value: Value, column: Column) -> str:
    """Return the figure as siunitx reads it: with a hyphen for a minus and without separators."""
    text = format_cell(value, column)
    return text if isinstance(value, str) else text.replace(",", "")


def _make_format(numbers: Sequence[str]) -> str:
    """Return the format by which siunitx keeps room for the figures of a column: sign, digits, and decimals."""
    found = [re.fullmatch(r"(<?) ?(-?)(\d+)(?:\.(\d+))?", number) for number in numbers]
    parts = [match.groups(default="") for match in found if match]
    relation, sign = ("".join(sorted({part[place] for part in parts})) for place in (0, 1))
    digits, decimals = (max((len(part[place]) for part in parts), default=1) for place in (2, 3))
    return f"{relation}{sign}{digits}.{decimals}"


def _set_interval(value: Value, column: Column, notes: Notes) -> str:
    if column.kind == "interval" and isinstance(value, Missing):
        return _mark(value, notes)
    note = "" if isinstance(value, Missing) else read_note(value)
    ends = re.sub(r"(?<=[\[ ])-", "$-$", format_interval(value, column))
    # An interval in braces, as one at the start of a row would be read as an argument.
    return (f"{{{ends}}}" if ends else "") + (rf"\textsuperscript{{{notes.mark(note)}}}" if note else "")


def _count_letters(cell: str) -> int:
    """Return as how many Latin letters it is wide; Chinese, Japanese and Korean characters take the room of two."""
    shown = re.sub(r"\\[A-Za-z]+(?:\{\})?|[{}$\\]", "", cell)
    return len(shown) + sum(unicodedata.east_asian_width(each) in "WF" for each in shown)


def _warn_of_size(table: Table, width: float) -> Iterator[str]:
    """Yield what a person has to do with a table that no page holds."""
    title = flatten_text(table.title)
    if (n := len(table.all_rows)) > MOST_ROWS:
        yield f"“{title}” has {n:,} rows, more than a page holds: keep those that you need."
    if width > 2 * BOTH_COLUMNS:
        yield f"“{title}” is too wide to be read in print: keep the columns that you need."


def _list_needs(written: str) -> Iterator[str]:
    """Yield what the preamble of a document needs for this table; a table has no preamble of its own."""
    yield r"\usepackage{booktabs}"
    if "S[" in written:
        yield r"\usepackage{siunitx} % version 3"
    if "arraybackslash" in written:
        yield r"\usepackage{array}"
    if _FITS_LINE in written:
        yield r"\usepackage{graphicx}"
    if not written.isascii():
        yield r"\usepackage[T1]{fontenc}"
    if _SET_BY_PDFLATEX.sub("", written):
        yield "Some names need XeLaTeX or LuaLaTeX, and a font that has their scripts."


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
    "|": r"\textbar{}",
    # Packages for some languages give the straight quotation mark and the backtick meanings of their own.
    '"': r"\symbol{34}",
    "`": r"\textasciigrave{}",
    "\u2018": "`",
    "\u2019": "'",
    "\u201c": "``",
    "\u201d": "''",
    "\u2026": r"\ldots{}",
    "\u2212": "$-$",
    "\u00d7": r"$\times$",
    "\u2013": "--",
    "\u2014": "---",
}
