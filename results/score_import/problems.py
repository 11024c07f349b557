"""What is wrong with a file of scores: every problem in a file, counts, and the first ones for the page."""

import json
from collections import Counter
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from projects.database.csv import guard_text, write_row
from projects.importing.check_report import Notes
from projects.importing.limits import Limits
from projects.language.names import shorten_name

KINDS = ("unreadable", "unknown", "ambiguous", "withdrawn", "duplicate", "not a number", "missing")
COLUMNS = ("column", "kind", "dataset", "candidate_id", "value", "what_is_wrong")
SHOWN = 100
"""Problems of each kind that the report lists; the file has all."""
VALUE_LENGTH = 200


class Problems(Notes):
    """Replaces an import's notes: a wrong row is listed and skipped, and reading goes on."""

    def __init__(self, path: Path | None, limits: Limits) -> None:
        super().__init__(limits)
        self.counts: Counter[str] = Counter()
        self.listed: dict[str, list[dict[str, Any]]] = {}
        self._path = path

    def __enter__(self) -> Self:
        self._file = self._path.open("wb") if self._path else None
        self._has_header = False
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._file:
            self._write_header()
            self._file.close()
            if kind is not None and self._path:
                self._path.unlink(missing_ok=True)

    def problem(self, line: int | None, column: str, reason: str, *, contradicts: int | None = None) -> None:
        """List a row that the reader itself cannot parse."""
        self.add("unreadable", line, column, "", "", "", reason)

    def add(
        self, kind: str, line: int | None, column: str, dataset: str, name: str, value: object, reason: str
    ) -> None:
        self.counts[kind] += 1
        listed = self.listed.setdefault(kind, [])
        # A dry run writes no file, so beyond the listed ones a count is enough.
        if self._file is None and len(listed) >= SHOWN:
            return
        value_text = format_value(value)
        if len(listed) < SHOWN:
            position = {
                "line": line,
                "column": shorten_name(column),
                "dataset": shorten_name(dataset),
                "id": shorten_name(name),
            }
            listed.append({**position, "value": value_text, "reason": reason})
        if self._file:
            self._write_header()
            texts = (column, kind, dataset, name, value_text, reason)
            write_row(self._file, [line, *(guard_text(_make_encodable(text)) for text in texts)])

    def _write_header(self) -> None:
        # Only the reader knows what the places of its file count, once it has read the beginning.
        if self._file and not self._has_header:
            write_row(self._file, [self.unit, *COLUMNS])
            self._has_header = True


def format_value(value: object) -> str:
    """Return a value of a file as people read it, not longer than a line."""
    if value is None:
        return ""
    return shorten_name(
        value if isinstance(value, str) else json.dumps(value, ensure_ascii=False, default=str), VALUE_LENGTH
    )


def _make_encodable(text: str) -> str:
    return text.replace("\0", "").encode("utf-8", "replace").decode()
