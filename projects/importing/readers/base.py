"""The base class of the readers, and checks that several of them share."""

from collections.abc import Collection, Iterator
from pathlib import Path
from typing import Any

from projects.importing.check_report import Broken, Notes
from projects.importing.import_options import Options
from projects.importing.limits import Limits
from projects.language.characters import find_forbidden
from projects.language.names import shorten_name

Record = tuple[int, dict[str, Any]]
"""The physical line on which a record starts, and its values by column."""


class Reader:
    """Reads one file record by record.

    `columns` are those known after `open`; if `is_ragged`, later records may have others. `size` is in bytes. `decimal`
    is the decimal mark of numbers in its texts: point, comma, or either if that isn't known. `texts` are the columns of
    texts and IDs, once they are known.
    """

    is_ragged = False
    texts: Collection[str] = ()
    n_left_out = 0

    def __init__(self, path: Path, kind: str, options: Options, limits: Limits, notes: Notes) -> None:
        self.path = path
        self.format = kind
        self.options = options
        self.limits = limits
        self.notes = notes
        self.encoding = ""
        self.delimiter = ""
        self.decimal = "point"
        self.columns: list[str] = []
        self.size = path.stat().st_size
        self.open()

    def open(self) -> None:
        """Read the beginning of the file, until the columns are known. Raises Broken."""
        raise NotImplementedError

    def hint(self) -> tuple[str, dict[str, tuple[str, ...]]]:
        """Return why a table may have but one column, and what to choose instead by option; nothing if it has more."""
        return "", {}

    def find_decimal(self, chosen: str) -> str:
        """Return the decimal mark of numbers, as chosen or else found: point, comma, either, or both.

        In Excel files a comma is chosen for cells of text. Cells that are numbers have a point whatever is chosen, so
        both are right there.
        """
        if chosen == "comma" and self.format == "xlsx":
            return "both"
        return chosen or self.decimal

    def for_judgments(self) -> None:
        """Read the file as judgments, if its items and its judgments are different rows. Raises Broken."""

    def records(self) -> Iterator[Record]:
        raise NotImplementedError

    def leave_out(self, line: int, n: int = 1) -> None:
        """Count rows that are read but not yielded. Raises Broken for too many."""
        self.n_left_out += n
        if self.n_left_out > self.limits.rows_left_out:
            most = f"{self.limits.rows_left_out:,}"
            raise Broken(f"more than {most} blank lines or rows without a record; remove them", line=line)

    def leave_out_blank(self, line: int, n: int = 1) -> None:
        """Count blank lines from `line` on, with a warning. Raises Broken for too many."""
        n_named = min(n, self.limits.lines_shown)
        for each in range(line, line + n_named):
            self.notes.warn(BLANK, each)
        if n > n_named:
            self.notes.warn(BLANK, None, n - n_named)
        self.leave_out(line, n)

    def position(self) -> int:
        """Return how many of `size` bytes were read."""
        return 0

    def close(self) -> None:
        """Close the file."""

    def head(self) -> bytes:
        with self.path.open("rb") as file:
            return file.read(4096)


BLANK = "Blank lines are skipped."
UNNAMED_AT_END = "Columns without a name at the end of the table are ignored, because they are empty."
IS_TITLE = "; if that is a title, delete it: the first line has to name the columns"
NAMED_HERE = "A column has no name. It is called “{}”."


def checked_header(header: list[str], limits: Limits, notes: Notes, line: int | None = 1) -> list[str]:
    """Return the trimmed column names; one that is missing becomes the column's number.

    Raises Broken for unusable or duplicate names.
    """
    if len(header) > limits.columns:
        raise Broken(f"{len(header):,} columns; the maximum is {limits.columns}", line=line)
    columns = [name.strip() or f"column {place}" for place, name in enumerate(header, start=1)]
    seen: dict[str, str] = {}
    for place, name in enumerate(columns, start=1):
        if not header[place - 1].strip():
            notes.warn(NAMED_HERE.format(name))
        elif name != header[place - 1]:
            notes.warn(f"Spaces around the column name “{shorten_name(name)}” are removed.")
        if found := find_forbidden(name):
            raise Broken(f"the name of column {place} {found.problem}", line=line)
        if len(name) > 200:
            raise Broken(
                f"the name of column {place} is longer than 200 characters", line=line, column=shorten_name(name)
            )
        key = " ".join(name.casefold().split())
        if key in seen:
            twice = f"duplicate column “{shorten_name(name)}”"
            same = seen[key] == name
            differs = (
                f"the columns “{shorten_name(seen[key])}” and “{shorten_name(name)}” differ only in case or spaces"
            )
            raise Broken(twice if same else differs, line=line)
        seen[key] = name
    return columns


def trim_header(header: list[str], notes: Notes) -> list[str]:
    """Return a header without the empty cells at its end, which spreadsheets leave beside a table."""
    n_named = max((place for place, name in enumerate(header, start=1) if name.strip()), default=0)
    if n_named < len(header):
        notes.warn(UNNAMED_AT_END)
    return header[:n_named]


def check_key(name: str, line: int) -> None:
    """Check a key of an object, which is a column name. Raises Broken if it is empty or cannot be stored."""
    if not name.strip():
        raise Broken("a key is empty", line=line)
    if found := find_forbidden(name):
        raise Broken(f"the key “{shorten_name(name)}” {found.problem}", line=line)


def fit_row(values: list[str], columns: list[str]) -> str | None:
    """Cut the empty cells after the last column off a row; return what is wrong with the number of its cells."""
    n_columns = len(columns)
    if len(values) > n_columns:
        filled = next((place for place in range(len(values), n_columns, -1) if values[place - 1].strip()), 0)
        if filled:
            return f"too many cells: {filled} instead of {n_columns}"
        del values[n_columns:]
    if len(values) < n_columns:
        return f"too few cells: {len(values)} instead of {n_columns}"
    return None
