"""The tables of a set as Parquet, with the types of the codebook, for pandas, DuckDB, datasets and the Hub."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import islice
from pathlib import Path
from typing import IO

import orjson
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.csv
import pyarrow.json
import pyarrow.parquet as pq

from projects.database.csv import unguard_text
from results.sets.canonical import ANNOTATORS, CANDIDATES, LONG_JSONL, PASSAGES
from results.sets.codebook import Column, Kind, columns_by_file, is_identifier, long_columns, metric_columns
from results.sets.settings import Settings
from results.sets.studies import METRIC_SCORES, list_metrics
from results.sets.tables import AGGREGATED

# Memory from the system goes back to it at once, where Arrow's own pool keeps 50 MB. For the whole process: jobs are
# threads of it.
pa.set_memory_pool(pa.system_memory_pool())

PARQUET = "judgments.parquet"
# Portions are small, as their rows are in memory as text beside the columns; row groups are larger, as readers fetch
# and compress them whole. Both numbers are part of the bytes of a set.
ROWS_AT_ONCE = 2_500
GROUP_BATCHES = 4
"""Portions in a row group."""
# Arrow reads 32 blocks of a CSV file ahead. A row has to fit into one: a candidate with ten thousand judgments does.
BLOCK_BYTES = 256 * 1024
Columns = Sequence[Column]

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


def release_memory() -> None:
    """Give memory that is free back to the system, which otherwise is kept for later."""
    pa.default_memory_pool().release_unused()


def write_judgments(folder: Path, settings: Settings, on_rows: Callable[[int], None]) -> None:
    """Write the long file as Parquet.

    Rows are read in portions and written as row groups, so that memory stays bounded.
    """
    _write(folder / PARQUET, folder / LONG_JSONL, long_columns(settings), _read_lines, on_rows)


def write_tables(folder: Path, settings: Settings) -> None:
    """Write every table but that of the judgments, under the name of its text."""
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
    columns: Columns,
    read: Callable[[IO[bytes], Columns], Iterator[pa.RecordBatch]],
    on_rows: Callable[[int], None],
) -> None:
    schema = _make_schema(columns)
    n_done = 0
    with source.open("rb") as file, pq.ParquetWriter(path, schema, compression="zstd") as writer:
        portions = read(file, columns)
        while group := list(islice(portions, GROUP_BATCHES)):
            writer.write_table(pa.Table.from_batches(group, schema))
            n_done += sum(portion.num_rows for portion in group)
            on_rows(n_done)


def _read_lines(file: IO[bytes], columns: Columns) -> Iterator[pa.RecordBatch]:
    """Yield the rows of a file of JSON lines in portions, parsed by Arrow, which makes no Python objects of them."""
    # An object may have any keys, and Arrow would want to know them.
    objects = [column for column in columns if column.kind is Kind.OBJECT]
    known = [column for column in columns if column.kind is not Kind.OBJECT]
    # Times are ISO texts in the file, which Arrow casts.
    texts = pa.schema([(column.name, _TEXT if column.kind is Kind.TIME else _find_type(column)) for column in known])
    parsing = pyarrow.json.ParseOptions(explicit_schema=texts, unexpected_field_behavior="ignore")
    while lines := list(islice(file, ROWS_AT_ONCE)):
        text = b"".join(lines)
        # One block holds the whole portion, as no row may reach beyond its block.
        reading = pyarrow.json.ReadOptions(use_threads=False, block_size=len(text) + 1)
        table = pyarrow.json.read_json(pa.BufferReader(text), reading, parsing)
        for name, texts in _read_objects(objects, lines).items():
            table = table.append_column(name, pa.array(texts, _TEXT))
        yield _make_portion(table, columns)


def _read_objects(columns: Columns, lines: Iterable[bytes]) -> dict[str, list[str | None]]:
    """Return the objects of each column as texts of JSON; each line is parsed once for all of them."""
    found: dict[str, list[str | None]] = {column.name: [] for column in columns}
    for row in map(orjson.loads, lines if found else ()):
        for name, texts in found.items():
            texts.append(None if row[name] is None else orjson.dumps(row[name]).decode())
    return found


def _read_cells(file: IO[bytes], columns: Columns) -> Iterator[pa.RecordBatch]:
    """Yield the rows of a CSV file in portions with typed values; its guard against formulas is taken off."""
    reader = pyarrow.csv.open_csv(
        file,
        pyarrow.csv.ReadOptions(use_threads=False, block_size=BLOCK_BYTES),
        pyarrow.csv.ParseOptions(newlines_in_values=True),
        pyarrow.csv.ConvertOptions(
            column_types=_make_schema(columns), include_columns=[column.name for column in columns], null_values=[""]
        ),
    )
    waiting: list[pa.RecordBatch] = []
    for batch in reader:
        waiting.append(batch)
        if sum(each.num_rows for each in waiting) >= ROWS_AT_ONCE:
            table = pa.Table.from_batches(waiting)
            n_whole = table.num_rows - table.num_rows % ROWS_AT_ONCE
            yield from _cut(table.slice(0, n_whole), columns)
            waiting = table.slice(n_whole).to_batches()
    if waiting:
        yield from _cut(pa.Table.from_batches(waiting), columns)


def _cut(table: pa.Table, columns: Columns) -> Iterator[pa.RecordBatch]:
    for column in columns:
        if column.kind is Kind.TEXT:
            at = table.schema.get_field_index(column.name)
            table = table.set_column(at, table.schema.field(at), _clean_texts(table.column(at), column))
    for start in range(0, table.num_rows, ROWS_AT_ONCE):
        yield _make_portion(table.slice(start, ROWS_AT_ONCE), columns)


def _clean_texts(texts: pa.ChunkedArray, column: Column) -> pa.ChunkedArray:
    """Return the texts of a CSV file without its guard; empty ones are names in identifiers, and missing elsewhere."""
    if pc.any(pc.starts_with(texts, "'")).as_py():
        texts = pa.chunked_array([[unguard_text(text) for text in texts.to_pylist()]], _TEXT)
    return texts if is_identifier(column) else pc.if_else(pc.equal(texts, ""), None, texts)


def _make_portion(table: pa.Table, columns: Columns) -> pa.RecordBatch:
    schema = _make_schema(columns)
    table = table.select(schema.names).combine_chunks().cast(schema)
    return table.to_batches()[0]


def _make_schema(columns: Columns) -> pa.Schema:
    return pa.schema([(column.name, _find_type(column)) for column in columns])


def _find_type(column: Column) -> pa.DataType:
    return _LISTS[column.name] if column.kind is Kind.LIST else _TYPES[column.kind]
