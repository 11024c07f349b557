"""Rows that an import leaves out because of their errors: their reasons, and the list of them as a file."""

import json
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from projects.database.csv import guard_text, write_row
from projects.importing.check_report import LINE, Causes, FileRefused, Problem
from projects.importing.readers.base import Record

MOST_PASSES = 20
"""Readings of a file: without some rows others may become wrong, but seldom more than once."""
SHARED = "the rows with errors cannot be skipped, because line {line} has several rows; correct the file"


class SkippedRows:
    """The lines of the rows to leave out, with what is wrong with each."""

    def __init__(self) -> None:
        self.reasons: dict[int, tuple[str, str]] = {}
        """The column and what is wrong, by line; the first error of each row."""
        self.shared: set[int] = set()
        """Lines with more than one row, in a file whose beginning had none and which is therefore counted by lines."""
        self.n_passes = 0
        self.unit = LINE

    def __contains__(self, line: object) -> bool:
        return line in self.reasons

    def __len__(self) -> int:
        return len(self.reasons)

    @property
    def problems(self) -> tuple[Problem, ...]:
        """The reasons by cause, the first of each row."""
        causes = Causes()
        causes.unit = self.unit
        for line in sorted(self.reasons):
            causes.add(line, *self.reasons[line])
        return tuple(causes)

    def follow(self, records: Iterable[Record]) -> Iterator[Record]:
        """Yield the records, and remember the lines on which more than one starts."""
        last = 0
        for record in records:
            if record[0] == last:
                self.shared.add(last)
            last = record[0]
            yield record

    def take(self, refusal: FileRefused, *, is_wanted: bool) -> None:
        """Add the rows of a refusal, for another reading. Raises the refusal if they are not, or cannot be, skipped.

        A row that only contradicts another wrong row is left for the next reading, which may find it valid.
        """
        self.n_passes += 1
        if shared := self.shared & refusal.rows.keys():
            raise refusal.without_rows(SHARED.format(line=min(shared)) if is_wanted else "")
        found = {
            line: reason
            for line, reason in refusal.rows.items()
            if line not in self.reasons and refusal.contradicted.get(line) not in refusal.rows
        }
        if not is_wanted or not found or self.n_passes > MOST_PASSES:
            raise refusal
        self.reasons |= found


class SkippedFile:
    """Writes the list of skipped rows as CSV: place, reason, and the cells, so that they can be corrected."""

    def __init__(self, path: Path, columns: list[str], skipped: SkippedRows) -> None:
        self._path, self._columns, self._reasons, self._unit = path, columns, skipped.reasons, skipped.unit
        self._lines: Iterator[int] = iter(sorted(skipped.reasons))
        self._next = next(self._lines, None)

    def __enter__(self) -> Self:
        self._file = self._path.open("wb") if self._reasons else None
        if self._file is not None:
            header = (self._unit, "what_is_wrong", *self._columns)
            write_row(self._file, [guard_text(_make_text(name)) for name in header])
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._file is not None:
            if kind is None:
                self._write_before(None)
            self._file.close()

    def add(self, line: int, record: Mapping[str, Any]) -> None:
        """Write a row with its cells; rows that could not be read come before it, without cells."""
        self._write_before(line)
        self._write(line, [record.get(column) for column in self._columns])
        self._next = next(self._lines, None)

    def _write_before(self, line: int | None) -> None:
        while self._next is not None and (line is None or self._next < line):
            self._write(self._next, [])
            self._next = next(self._lines, None)

    def _write(self, line: int, cells: list[Any]) -> None:
        assert self._file is not None
        reason = ": ".join(filter(None, self._reasons[line]))
        write_row(self._file, [line, *map(guard_text, (reason, *map(_make_text, cells)))])


def _make_text(value: Any) -> str:
    if value is None:
        return ""
    text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False, default=str)
    return text.replace("\0", "").encode("utf-8", "replace").decode()
