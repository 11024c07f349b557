"""The tables of a set as Parquet, with the types of the codebook, for pandas, DuckDB, datasets and the Hub."""

import csv
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import islice
from pathlib import Path
from typing import IO, Any

import orjson
import pyarrow as pa
import pyarrow.parquet as pq

from projects.database.csv import unguard_text
from results.sets.canonical import ANNOTATORS, CANDIDATES, LONG_JSONL, PASSAGES
from results.sets.codebook import Column, Kind, columns_by_file, is_identifier, long_columns, metric_columns
from results.sets.scores import Line
from results.sets.settings import Settings
from results.sets.studies import METRIC_SCORES, list_metrics
from results.sets.tables import AGGREGATED

PARQUET = "judgments.parquet"
# Rows are Python objects until they are a portion, so portions are small; row groups are larger, as readers fetch and
# compress them whole.
ROWS_AT_ONCE = 2_500
GROUP_BATCHES = 4
"""Portions in a row group."""

_TYPES = {
    Kind.TEXT: pa.string(),
    Kind.NUMBER: pa.float64(),
    Kind.WHOLE: pa.int64(),
    Kind.TRUTH: pa.bool_(),
    Kind.TIME: pa.timestamp("us", tz="UTC"),
    # An object may have any keys, which a column of Parquet cannot: it is a text of JSON.
    Kind.OBJECT: pa.string(),
}
_TEXT = pa.string()
_LISTS = {
    "entities": pa.list_(_TEXT),
    "references": pa.list_(pa.struct({"text": _TEXT, "opinion": _TEXT})),
    "documents": pa.list_(pa.struct({"title": _TEXT, "text": _TEXT})),
    "adjudicated": pa.list_(
        pa.struct(
            {
                "criterion": _TEXT,
                "scale_kind": _TEXT,
                "scale_low": pa.int64(),
                "scale_high": pa.int64(),
                "score": pa.float64(),
            }
        )
    ),
}


def write_parquet(folder: Path, settings: Settings, on_rows: Callable[[int], None]) -> None:
    """Write the long file as Parquet, and each other table under the name of its text.

    Rows are read in portions and written as row groups, so that memory stays bounded.
    """
    _write(folder / PARQUET, folder / LONG_JSONL, long_columns(settings), _read_lines, on_rows)
    write_tables(folder, settings)


def write_tables(folder: Path, settings: Settings) -> None:
    """Write every table but that of the judgments."""
    for source, columns in list_tables(folder, settings):
        read = _read_lines if source.suffix == ".jsonl" else _read_cells
        _write(source.with_suffix(".parquet"), source, columns, read, lambda _: None)


def name_tables(folder: Path, settings: Settings) -> list[tuple[str, str, tuple[Column, ...]]]:
    """Return each Parquet table of a set: its name, file and columns; that of the judgments first."""
    others = [(source.stem, f"{source.stem}.parquet", columns) for source, columns in list_tables(folder, settings)]
    return [(Path(PARQUET).stem, PARQUET, long_columns(settings)), *others]


def list_tables(folder: Path, settings: Settings) -> list[tuple[Path, tuple[Column, ...]]]:
    """Return the other tables of a set that are Parquet files as well, with their columns."""
    known = {
        **columns_by_file(settings),
        METRIC_SCORES: metric_columns(list_metrics(folder)),
    }
    tables = (AGGREGATED, ANNOTATORS, CANDIDATES, PASSAGES, METRIC_SCORES)
    return [(folder / name, known[name]) for name in tables if (folder / name).exists()]


def _write(
    path: Path,
    source: Path,
    columns: Sequence[Column],
    read: Callable[[IO[bytes], Sequence[Column]], Iterator[Line]],
    on_rows: Callable[[int], None],
) -> None:
    schema = pa.schema([(column.name, _find_type(column)) for column in columns])
    n_done = 0
    with source.open("rb") as file, pq.ParquetWriter(path, schema, compression="zstd") as writer:
        portions = _read_portions(read(file, columns), columns, schema)
        while group := list(islice(portions, GROUP_BATCHES)):
            writer.write_table(pa.Table.from_batches(group, schema))
            n_done += sum(portion.num_rows for portion in group)
            on_rows(n_done)


def _read_lines(file: IO[bytes], columns: Sequence[Column]) -> Iterator[Line]:
    return map(orjson.loads, file)


def _read_cells(file: IO[bytes], columns: Sequence[Column]) -> Iterator[Line]:
    """Yield the rows of a CSV file with typed values; its guard against formulas is taken off."""
    readers: dict[Kind, Callable[[str], Any]] = {Kind.NUMBER: float, Kind.WHOLE: int, Kind.TEXT: unguard_text}
    # The module csv reads texts, and ends lines by itself.
    rows = csv.reader((line.decode() for line in file), strict=True)
    next(rows)
    for row in rows:
        yield {
            column.name: readers[column.kind](cell) if cell or is_identifier(column) else None
            for column, cell in zip(columns, row, strict=True)
        }


def _read_portions(rows: Iterable[Line], columns: Sequence[Column], schema: pa.Schema) -> Iterator[pa.RecordBatch]:
    rows = iter(rows)
    while portion := list(islice(rows, ROWS_AT_ONCE)):
        arrays = [_make_array(column, [row[column.name] for row in portion]) for column in columns]
        yield pa.RecordBatch.from_arrays(arrays, schema=schema)


def _make_array(column: Column, values: list[object]) -> pa.Array:
    # Times are ISO texts in the long file, which Arrow parses itself.
    if column.kind is Kind.TIME:
        return pa.array(values, pa.string()).cast(_TYPES[column.kind])
    if column.kind is Kind.OBJECT:
        values = [None if value is None else orjson.dumps(value).decode() for value in values]
    return pa.array(values, _find_type(column))


def _find_type(column: Column) -> pa.DataType:
    return _LISTS[column.name] if column.kind is Kind.LIST else _TYPES[column.kind]
