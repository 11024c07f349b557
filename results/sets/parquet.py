"""The long file as Parquet, for pandas, DuckDB and datasets."""

from collections.abc import Callable, Iterator
from itertools import islice
from pathlib import Path

import orjson
import pyarrow as pa
import pyarrow.parquet as pq

from results.sets.canonical import LONG_JSONL
from results.sets.codebook import Column, Kind, long_columns
from results.sets.scores import Line
from results.sets.settings import Settings

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
}


def write_parquet(folder: Path, settings: Settings, on_rows: Callable[[int], None]) -> None:
    """Read JSON lines in portions and write them as row groups, so that memory stays bounded."""
    columns = long_columns(settings)
    schema = pa.schema([(column.name, _TYPES[column.kind]) for column in columns])
    n_done = 0
    with (
        (folder / LONG_JSONL).open("rb") as lines,
        pq.ParquetWriter(folder / PARQUET, schema, compression="zstd") as writer,
    ):
        portions = _read_portions(map(orjson.loads, lines), columns, schema)
        while group := list(islice(portions, GROUP_BATCHES)):
            writer.write_table(pa.Table.from_batches(group, schema))
            n_done += sum(portion.num_rows for portion in group)
            on_rows(n_done)


def _read_portions(rows: Iterator[Line], columns: tuple[Column, ...], schema: pa.Schema) -> Iterator[pa.RecordBatch]:
    while portion := list(islice(rows, ROWS_AT_ONCE)):
        arrays = [_make_array(column, [row[column.name] for row in portion]) for column in columns]
        yield pa.RecordBatch.from_arrays(arrays, schema=schema)


def _make_array(column: Column, values: list[object]) -> pa.Array:
    # Times are ISO texts in the long file, which Arrow parses itself.
    if column.kind is Kind.TIME:
        return pa.array(values, pa.string()).cast(_TYPES[column.kind])
    return pa.array(values, _TYPES[column.kind])
