"""The spool: checked rows on disk, one text file per table in the format of PostgreSQL's COPY.

Rows refer to each other by local keys that count from 0. A spool is a folder with the files of `TABLES` and
`manifest.json`. It lets the check run without the database, and the write be one quick transaction.
"""

import shutil
from collections.abc import Iterator, Sequence
from pathlib import Path
from types import TracebackType
from typing import Any, BinaryIO, Self

import orjson

FLUSH_CHARACTERS = 1 << 17
"""Characters held in memory before they are written: few writes, and little memory."""

TABLES: dict[str, tuple[str, ...]] = {
    "passages": ("key", "dataset", "line", "has_id", "is_given", "external_id", "title", "text", "split", "documents"),
    "splits": ("passage", "split"),
    "questions": ("key", "passage", "line", "has_id", "external_id", "text", "type", "span", "entities"),
    "references": ("question", "position", "line", "text", "opinion"),
    "candidates": (
        "key",
        "question",
        "line",
        "has_id",
        "rank",
        "confidence",
        "external_id",
        "text",
        "source",
        "opinion",
        "metadata",
    ),
    "pairs": ("question", "candidate_1", "candidate_2", "score_1", "score_2", "phenomenon"),
    "scores": ("candidate", "line", "value", "slot", "annotator", "criterion"),
    "judgments": ("line", "value", "slot", "judged_at", "dataset", "external_id", "annotator", "criterion"),
}
"""The columns of each file in order.

`documents` and `metadata` are JSON (`documents` may be empty), `entities` is an array, `has_id` and `is_given` are `t`
or `f`, and a missing number is `\\N`. `slot` is 0 if an annotator is named, else the position among the candidate's
judgments.
"""


class Spool:
    """A folder of COPY files. Use it as a context manager to write it; an error inside deletes the folder."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._files: dict[str, BinaryIO] = {}
        self._lines: dict[str, list[str]] = {table: [] for table in TABLES}
        self._held = 0

    def __enter__(self) -> Self:
        self.folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        self._files = {table: self.file(table).open("wb") for table in TABLES}
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        try:
            if kind is None:
                self.flush()
        finally:
            for file in self._files.values():
                file.close()
            self._files = {}
            if kind is not None:
                self.discard()

    def file(self, table: str) -> Path:
        return self.folder / f"{table}.copy"

    def add(self, table: str, numbers: str, texts: Sequence[str]) -> None:
        """Add a row: columns that need no escaping, separated by tabs, then texts. No text may contain a NUL.

        The texts are joined by NUL and escaped together: one pass over a row is faster than one over each text.
        """
        line = (
            "\0".join(texts)
            .replace("\\", "\\\\")
            .replace("\n", "\\n")
            .replace("\r", "\\r")
            .replace("\t", "\\t")
            .replace("\0", "\t")
        )
        self._lines[table].append(f"{numbers}\t{line}\n")
        self._held += len(line)
        if self._held > FLUSH_CHARACTERS:
            self.flush()

    def flush(self) -> None:
        for table, lines in self._lines.items():
            if lines:
                self._files[table].write("".join(lines).encode("utf-8"))
                lines.clear()
                self._files[table].flush()
        self._held = 0

    def is_empty(self, table: str) -> bool:
        return not self.file(table).exists() or self.file(table).stat().st_size == 0

    def discard(self) -> None:
        shutil.rmtree(self.folder, ignore_errors=True)

    def write_manifest(self, manifest: dict[str, Any]) -> None:
        (self.folder / "manifest.json").write_bytes(orjson.dumps(manifest))

    def manifest(self) -> dict[str, Any]:
        loaded: dict[str, Any] = orjson.loads((self.folder / "manifest.json").read_bytes())
        return loaded

    def rows(self, table: str) -> Iterator[dict[str, str]]:
        """Read the rows back as texts."""
        with self.file(table).open(encoding="utf-8", newline="\n") as file:
            for line in file:
                values = (_unescaped(value) for value in line.removesuffix("\n").split("\t"))
                yield dict(zip(TABLES[table], values, strict=True))


def _unescaped(value: str) -> str:
    if "\\" not in value or value == "\\N":
        return value
    parts = value.split("\\\\")
    plain = [part.replace("\\t", "\t").replace("\\r", "\r").replace("\\n", "\n") for part in parts]
    return "\\".join(plain)


def array_text(values: Sequence[str]) -> str:
    """Return a PostgreSQL array literal.

    >>> print(array_text(['a', 'say "b"']))
    {"a","say \\"b\\""}
    """
    return "{" + ",".join('"' + value.replace("\\", "\\\\").replace('"', '\\"') + '"' for value in values) + "}"
