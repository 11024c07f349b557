"""The long file as Parquet, for pandas, DuckDB and `datasets`."""

from collections.abc import Callable
from pathlib import Path

import pyarrow as pa
import pyarrow.json as pj
import pyarrow.parquet as pq

from results.sets.canonical import LONG_JSONL
from results.sets.codebook import Kind, long_columns
from results.sets.settings import Settings

PARQUET = "judgments.parquet"
BLOCK_BYTES = 8 * 1024 * 1024
"""Longer than any line: a comment ends long before."""
GROUP_ROWS = 100_000

_TYPES = {
    Kind.TEXT: pa.string(),
    Kind.NUMBER: pa.float64(),
    Kind.WHOLE: pa.int64(),
    Kind.TRUTH: pa.bool_(),
    Kind.TIME: pa.timestamp("us", tz="UTC"),
}


def write_parquet(folder: Path, settings: Settings, on_rows: Callable[[int], None]) -> None:
    """Read JSON lines in blocks and write them as row groups, so that memory stays bounded."""
    schema = pa.schema([(column.name, _TYPES[column.kind]) for column in long_columns(settings)])
    n_done = 0
    pending: list[pa.RecordBatch] = []
    n_pending = 0
    with pq.ParquetWriter(folder / PARQUET, schema, compression="zstd") as writer:
        for block in pj.open_json(
            folder / LONG_JSONL,
            read_options=pj.ReadOptions(use_threads=False, block_size=BLOCK_BYTES),
            parse_options=pj.ParseOptions(explicit_schema=schema, unexpected_field_behavior="error"),
        ):
            pending.append(block)
            n_pending += block.num_rows
            if n_pending >= GROUP_ROWS:
                writer.write_table(pa.Table.from_batches(pending, schema))
                n_done, n_pending, pending = n_done + n_pending, 0, []
                on_rows(n_done)
        if pending:
            writer.write_table(pa.Table.from_batches(pending, schema))
