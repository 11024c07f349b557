"""What is wrong with a file of scores: every row of it in a file, counts, and the first ones for the page."""

import json
from collections import Counter
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from projects.database.csv import guard_text, write_row
from projects.importing.limits import Limits
from projects.importing.report import Notes
from projects.language.names import shorten_name

KINDS = ("unreadable", "unknown", "ambiguous", "withdrawn", "duplicate", "not a number", "missing")
COLUMNS = ("line", "column", "kind", "dataset", "candidate_id", "value", "what_is_wrong")
SHOWN = 100
"""So many of each kind stand in the report; the file has all."""
VALUE_LENGTH = 200


class Problems(Notes):
    """Takes the place of an import's notes: a wrong row is named and left out, and the file is read on."""

    def __init__(self, path: Path | None, limits: Limits) -> None:
        super().__init__(limits)
        self.counts: Counter[str] = Counter()
        self.listed: dict[str, list[dict[str, Any]]] = {}
        self._path = path

    def __enter__(self) -> Self:
        self._file = self._path.open("wb") if self._path else None
        if self._file:
            write_row(self._file, COLUMNS)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._file:
            self._file.close()
            if kind is not None and self._path:
                self._path.unlink(missing_ok=True)

    def problem(self, line: int | None, column: str, reason: str) -> None:
        """A row that the reader itself cannot take apart."""
        self.add("unreadable", line, column, "", "", "", reason)

    def add(
        self, kind: str, line: int | None, column: str, dataset: str, name: str, value: object, reason: str
    ) -> None:
        self.counts[kind] += 1
        listed = self.listed.setdefault(kind, [])
        if self._file is None and len(listed) >= SHOWN:
            return
        said = describe_problem(value)
        if len(listed) < SHOWN:
            place = {
                "line": line,
                "column": shorten_name(column),
                "dataset": shorten_name(dataset),
                "id": shorten_name(name),
            }
            listed.append({**place, "value": said, "reason": reason})
        if self._file:
            texts = (column, kind, dataset, name, said, reason)
            write_row(self._file, [line, *(guard_text(_clean(text)) for text in texts)])


def describe_problem(value: object) -> str:
    """A value of a file as a person reads it, not longer than a line."""
    if value is None:
        return ""
    return shorten_name(
        value if isinstance(value, str) else json.dumps(value, ensure_ascii=False, default=str), VALUE_LENGTH
    )


def _clean(text: str) -> str:
    return text.replace("\0", "").encode("utf-8", "replace").decode()
