"""Previewing a file: its first rows, what its columns seem to mean, and warnings."""

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from projects.importing.check_report import Notes, Warned
from projects.importing.fields import ColumnPlan
from projects.importing.import_options import Options, normal_label
from projects.importing.limits import DEFAULT_LIMITS, Limits
from projects.importing.opening import Kind, OpenReader, plan_file, reading
from projects.importing.readers import Reader, open_reader
from projects.importing.values import PLAIN_NUMBER

PREVIEW_ROWS = 5
PREVIEW_READS = 1_000
"""Rows that a preview reads: enough for warnings and for the columns of JSON, and quick for any file."""
CELL_SHOWN = 300
MOST_WORDS = 12
LONGEST_LABEL = 60
"""A column with at most so many texts, each of at most this length, may have labels of a scale."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Preview:
    """The beginning of a file. `mapping` maps columns to fields; `rows` are texts, shortened for a table.

    `n_rows` is exact if `is_whole`; otherwise it is the number of rows read for the preview.
    """

    format: str
    encoding: str
    delimiter: str
    decimal: str
    columns: tuple[str, ...]
    mapping: dict[str, str]
    fields: Mapping[str, str]
    rows: tuple[tuple[str, ...], ...]
    n_rows: int
    is_whole: bool
    warnings: tuple[Warned, ...]
    has_scores: bool
    words: Mapping[str, tuple[str, ...]]
    """The texts that are no numbers in each column with few different ones: labels, if it has ratings."""


class PreviewNotes(Notes):
    """Turns the errors of single rows into warnings: the columns can be mapped all the same."""

    def problem(self, line: int | None, column: str, reason: str, *, contradicts: int | None = None) -> None:
        if line is None:
            super().problem(line, column, reason)
        else:
            self.warn(f"{reason[:1].upper()}{reason[1:]}.", line)


def preview(
    *,
    path: Path,
    name: str,
    options: Options | None = None,
    kind: Kind = Kind.CANDIDATES,
    limits: Limits = DEFAULT_LIMITS,
    make_plan: Callable[[Reader], ColumnPlan] | None = None,
    opens: OpenReader = open_reader,
) -> Preview:
    """Return the beginning of a file, without rows that can't be read. Raises FileRefused.

    `make_plan` maps the columns of a file that is no import of candidates or judgments.
    """
    options = options or Options()
    notes = PreviewNotes(limits)
    with reading(path, name, options, limits, notes, opens) as reader:
        plan = make_plan(reader) if make_plan else plan_file(reader, options, kind)
        reader.texts = plan.list_texts()
        if hint := reader.hint()[0]:
            notes.warn(f"The table has one column{hint}.")
        rows: list[tuple[str, ...]] = []
        words: dict[str, dict[str, None]] = {column: {} for column in reader.columns}
        n_rows, is_whole = 0, True
        for _, record in reader.records():
            n_rows += 1
            _add_words(words, record)
            if n_rows <= PREVIEW_ROWS:
                rows.append(tuple(_write_cell(record.get(column)) for column in reader.columns))
            if n_rows >= PREVIEW_READS:
                is_whole = False
                break
    return Preview(
        format=reader.format,
        encoding=reader.encoding.removesuffix("-sig"),
        delimiter=reader.delimiter,
        decimal=options.decimal or reader.decimal,
        columns=tuple(reader.columns),
        mapping=dict(plan.meanings),
        fields=plan.fields,
        rows=tuple(rows),
        n_rows=n_rows,
        is_whole=is_whole,
        warnings=notes.warnings,
        has_scores=bool(plan.raters) or not plan.by_field.keys().isdisjoint(("scores", "scores_1", "scores_2")),
        words={column: tuple(found) for column, found in words.items() if 0 < len(found) <= MOST_WORDS},
    )


def _add_words(words: dict[str, dict[str, None]], record: Mapping[str, Any]) -> None:
    for column, found in words.items():
        value = record.get(column)
        if type(value) is str and len(found) <= MOST_WORDS and len(value) <= LONGEST_LABEL:
            label = normal_label(value)
            if label and not PLAIN_NUMBER.fullmatch(label.replace(",", ".", 1)):
                found[label] = None


def _write_cell(value: Any) -> str:
    if value is None:
        return ""
    text = value if type(value) is str else json.dumps(value, ensure_ascii=False, default=str)
    text = text if len(text) <= CELL_SHOWN else text[:CELL_SHOWN] + "…"
    return text.encode("utf-8", "backslashreplace").decode()
