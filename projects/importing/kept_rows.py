"""Rows of a file as its reader gave them, kept in a file of JSON lines: written by one process, read by others.

The first lines say how the file was read. A list is a record with its line; an object is what the reader noted between
records, so that whoever reads the rows gets the same problems and warnings, in the same order.
"""

import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import IO, Any

import orjson

from projects.importing.check_report import Broken, Notes
from projects.importing.import_options import Options
from projects.importing.limits import Limits
from projects.importing.opening import explain_encoding
from projects.importing.readers import Reader, Record, open_reader

STEP = 1_000
"""Rows between two reports of the progress."""
_OTHER = b"!"
"""Before a line that only Python's own JSON can read: NaN, or half of a surrogate pair."""


class _WrittenNotes(Notes):
    """Writes down what a reader notes, in place of collecting it."""

    def __init__(self, limits: Limits, file: IO[bytes]) -> None:
        super().__init__(limits)
        self._file = file
        self._n_written: dict[str, int] = {}
        self._unwritten: dict[str, int] = {}

    @property
    def unit(self) -> str:
        return super().unit

    @unit.setter
    def unit(self, unit: str) -> None:
        Notes.unit.fset(self, unit)  # type: ignore[attr-defined]
        self._write(unit=unit)

    def problem(self, line: int | None, column: str, reason: str, *, contradicts: int | None = None) -> None:
        self._write(problem=[line, column, reason, contradicts])

    def warn(self, reason: str, line: int | None = None, n: int = 1) -> None:
        # Only the first lines are shown; of the others their number is enough.
        n_written = self._n_written.get(reason, 0)
        if n_written < self.limits.lines_shown:
            self._n_written[reason] = n_written + 1
            self._write(warn=[reason, line, n])
        else:
            self._unwritten[reason] = self._unwritten.get(reason, 0) + n

    def broken(self, error: Broken) -> None:
        problem = error.problem
        offers = {name: list(offered) for name, offered in error.offers.items()}
        self._write(broken=[problem.reason, problem.line, problem.column, offers])

    def finish(self) -> None:
        """Write the numbers of the warnings that were not written one by one."""
        for reason, n in self._unwritten.items():
            self._write(warn=[reason, None, n])

    def _write(self, **event: Any) -> None:
        self._file.write(_dump(event))


def write_rows(
    *,
    path: Path,
    name: str,
    options: Options,
    limits: Limits,
    target: Path,
    key: str,
    on_progress: Callable[[int, int], None],
) -> None:
    """Read a file and write its rows to `target`, one more than the limit of rows at most.

    What is wrong with the file is written too, for whoever reads the rows.
    """
    with target.open("wb", buffering=1 << 18) as file:
        notes = _WrittenNotes(limits, file)
        file.write(_dump({"key": key}))
        reader = None
        try:
            reader = open_reader(path, name, options, limits, notes)
            file.write(_dump({"reader": _describe(reader)}))
            for n, record in enumerate(reader.records(), start=1):
                file.write(_dump(record))
                if n > limits.rows:
                    break
                if n % STEP == 0:
                    on_progress(min(reader.position(), reader.size), reader.size)
        except Broken as error:
            notes.broken(error)
        except UnicodeError as error:
            notes.broken(explain_encoding(error, path, reader))
        finally:
            if reader is not None:
                reader.close()
        notes.finish()
        file.write(_dump({"end": True}))


def is_kept(target: Path, key: str) -> bool:
    """Return whether rows with this key were written."""
    try:
        with target.open("rb") as file:
            return bool(_load(file.readline(1 << 16)) == {"key": key})
    except (FileNotFoundError, ValueError):
        return False


class KeptReader(Reader):
    """Reads kept rows as the reader of the file did, which it stands for."""

    def __init__(self, target: Path, size: int, notes: Notes) -> None:
        self.notes = notes
        self.size = size
        self._file = target.open("rb", buffering=1 << 18)
        self._size = max(1, target.stat().st_size)
        try:
            self._open()
        except BaseException:
            self._file.close()
            raise

    def records(self) -> Iterator[Record]:
        for line in self._file:
            found = _load(line)
            if type(found) is list:
                yield found[0], found[1]
            else:
                self._note(found)

    def position(self) -> int:
        return self.size * self._file.tell() // self._size

    def close(self) -> None:
        self._file.close()

    def hint(self) -> tuple[str, dict[str, tuple[str, ...]]]:
        text, offers = self._hint
        return text, {name: tuple(offered) for name, offered in offers.items()}

    def _open(self) -> None:
        self._file.readline()  # the key
        while "reader" not in (found := _load(self._file.readline())):
            self._note(found)
        described = found["reader"]
        self.format, self.encoding = described["format"], described["encoding"]
        self.delimiter, self.decimal = described["delimiter"], described["decimal"]
        self.columns, self.is_ragged = described["columns"], described["is_ragged"]
        self._hint = described["hint"]

    def _note(self, event: dict[str, Any]) -> None:
        """Repeat what the reader noted. Raises Broken where it did."""
        notes = self.notes
        if "unit" in event:
            notes.unit = event["unit"]
        elif "problem" in event:
            line, column, reason, contradicts = event["problem"]
            notes.problem(line, column, reason, contradicts=contradicts)
        elif "warn" in event:
            notes.warn(*event["warn"])
        elif "broken" in event:
            reason, line, column, offers = event["broken"]
            offers = {name: tuple(offered) for name, offered in offers.items()}
            raise Broken(reason, line=line, column=column, offers=offers)


def _describe(reader: Reader) -> dict[str, Any]:
    names = ("format", "encoding", "delimiter", "decimal", "columns", "is_ragged")
    return {name: getattr(reader, name) for name in names} | {"hint": reader.hint()}


def _dump(value: Any) -> bytes:
    try:
        text = orjson.dumps(value)
    except (TypeError, ValueError):
        return _OTHER + json.dumps(value).encode() + b"\n"
    # NaN becomes null without an error.
    if b"null" in text and _has_nan(value):
        return _OTHER + json.dumps(value).encode() + b"\n"
    return text + b"\n"


def _has_nan(value: Any) -> bool:
    waiting = [value]
    while waiting:
        each = waiting.pop()
        if isinstance(each, float):
            if each != each or each in (float("inf"), float("-inf")):  # noqa: PLR0124 - NaN differs from itself
                return True
        elif isinstance(each, dict):
            waiting += each.values()
        elif isinstance(each, list | tuple):
            waiting += each
    return False


def _load(line: bytes) -> Any:
    return json.loads(line[1:]) if line.startswith(_OTHER) else orjson.loads(line)
