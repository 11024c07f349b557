"""The reader of Parquet. The file is read in small steps, and its unpacked size is counted, not believed."""

import math
from collections.abc import Iterator
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from projects.importing.check_report import Broken
from projects.importing.readers.base import Reader, Record, checked_header
from projects.language.names import shorten_error, shorten_name

MOST_ROWS = 64
"""Rows per step: few, because a single cell may be a megabyte."""
STEP_BYTES = 4 << 20
"""The size of a step by what the file says of itself; what is not true is found by the memory that the step takes."""
OTHER = "supported are text, numbers, booleans, and lists and structs of these"


class ParquetReader(Reader):
    """Reads text, whole numbers, floats, booleans, dictionaries, and lists, structs and maps of these."""

    def open(self) -> None:
        try:
            # A small buffer: otherwise the library reads a whole column of a row group into memory.
            self._file = pq.ParquetFile(self.path, buffer_size=1 << 16, pre_buffer=False)
            schema = self._file.schema_arrow
            about = self._file.metadata
            self._n_rows = about.num_rows
            n_bytes = sum(about.row_group(n).total_byte_size for n in range(about.num_row_groups))
        except MemoryError:
            raise
        except (pa.ArrowException, OSError, ValueError, TypeError) as error:
            raise Broken(f"the Parquet file cannot be read: {shorten_error(error)}") from error
        # Refused at once by what the file says; a file that says less is counted while it is read.
        self._refuse_large(n_bytes, None)
        self._step = max(1, min(MOST_ROWS, STEP_BYTES * max(1, self._n_rows) // max(1, n_bytes)))
        self.columns = checked_header(list(schema.names), self.limits, self.notes, None)
        for name, kind in zip(self.columns, schema.types, strict=True):
            if self.options.mapping.get(name) not in ("", "ignore") and not _is_taken(kind):
                raise Broken(f"unsupported column type {shorten_name(str(kind))}; {OTHER}", column=name)
        self._row = 0

    def records(self) -> Iterator[Record]:
        columns, decoded = self.columns, 0
        skipped = {name for name in columns if self.options.mapping.get(name) in ("", "ignore")}
        for batch in self._batches():
            # Counted after dictionaries are decoded: a dictionary repeats the same long text in a few bytes.
            arrays = [_plain(array) for array in batch.columns]
            decoded += sum(array.nbytes for array in arrays)
            self._refuse_large(decoded, self._row + 1)
            lists = [
                [None] * batch.num_rows if name in skipped else self._values(name, array)
                for name, array in zip(columns, arrays, strict=True)
            ]
            for row in zip(*lists, strict=True):
                self._row += 1
                yield self._row, dict(zip(columns, row, strict=True))

    def position(self) -> int:
        return min(self.size, self.size * self._row // self._n_rows) if self._n_rows > 0 else 0

    def close(self) -> None:
        self._file.close()

    def _refuse_large(self, n_bytes: int, line: int | None) -> None:
        if n_bytes > self.limits.decoded_bytes:
            limit = self.limits.decoded_bytes // 2**20
            raise Broken(f"the decompressed file is larger than {limit:,} MB; split it", line=line)

    def _batches(self) -> Iterator[pa.RecordBatch]:
        try:
            yield from self._file.iter_batches(batch_size=self._step, use_threads=False)
        except MemoryError:
            raise
        except (pa.ArrowException, OSError, ValueError, TypeError) as error:
            raise Broken(
                f"the Parquet file cannot be read further: {shorten_error(error)}", line=self._row + 1
            ) from error

    def _values(self, name: str, array: pa.Array) -> list[Any]:
        try:
            values: list[Any] = array.to_pylist(maps_as_pydicts="strict")
        except MemoryError:
            raise
        except (pa.ArrowException, UnicodeDecodeError, ValueError, KeyError) as error:
            raise Broken(f"a value cannot be read: {shorten_error(error)}", line=self._row + 1, column=name) from error
        if not (pa.types.is_string(array.type) or pa.types.is_large_string(array.type)):
            for place, value in enumerate(values, start=1):
                if not _is_finite(value):
                    raise Broken("NaN and infinity are not supported", line=self._row + place, column=name)
        return values


def _is_taken(kind: pa.DataType) -> bool:
    types = pa.types
    if types.is_dictionary(kind):
        return _is_taken(kind.value_type)
    if types.is_list(kind) or types.is_large_list(kind):
        return _is_taken(kind.value_type)
    if types.is_struct(kind):
        return all(_is_taken(kind.field(place).type) for place in range(kind.num_fields))
    if types.is_map(kind):
        return types.is_string(kind.key_type) and _is_taken(kind.item_type)
    plain = (
        types.is_string,
        types.is_large_string,
        types.is_integer,
        types.is_floating,
        types.is_boolean,
        types.is_null,
    )
    return any(test(kind) for test in plain)


def _plain(array: pa.Array) -> pa.Array:
    return array.dictionary_decode() if pa.types.is_dictionary(array.type) else array


def _is_finite(value: Any) -> bool:
    if isinstance(value, float):
        return math.isfinite(value)
    if isinstance(value, list):
        return all(map(_is_finite, value))
    if isinstance(value, dict):
        return all(map(_is_finite, value.values()))
    return True
