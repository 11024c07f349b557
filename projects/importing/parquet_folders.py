"""Folders of Parquet files, as data sets on Hugging Face have them, combined into one file for an import."""

import re
from collections.abc import Iterator, Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from projects.errors import Refused
from projects.importing.limits import DEFAULT_LIMITS, MIB, Limits
from projects.language.names import shorten_error, shorten_name

if TYPE_CHECKING:
    import pyarrow as pa
    import pyarrow.parquet as pq

SPLIT = "split"
STEP = 64
"""Rows read per step: few, because a single cell may be a megabyte."""
MOST_FILES = 100
"""Files combined at most; each stays open until the end."""
ROW_GROUP_BYTES = 16 * MIB
"""Decoded bytes written at a time; the memory that combining needs is about this."""
_NAME = re.compile(r"(?P<split>.+?)(?:-\d{5}-of-\d{5}(?:-[0-9a-f]+)?)?\.parquet")
"""File names such as train-00000-of-00002.parquet or test.parquet."""


class ParquetPart(NamedTuple):
    """One Parquet file and the name that its owner gave it."""

    name: str
    path: Path


_OpenFile = tuple[ParquetPart, "pq.ParquetFile"]


def list_parquet(folder: Path) -> list[ParquetPart]:
    """Return the Parquet files in a folder and the folders in it. Raises Refused if there is none."""
    paths = sorted(folder.rglob("*.parquet"))
    if not paths:
        raise Refused(f"There are no Parquet files in {folder}.")
    return [ParquetPart(path.name, path) for path in paths]


def combine_parquet(parts: Sequence[ParquetPart], target: Path, limits: Limits = DEFAULT_LIMITS) -> None:
    """Write the rows of Parquet files into one file.

    Rows get the split that their file is named for, unless the file has a column `split`. Raises Refused for files that
    can't be read or whose columns don't fit together, for too many of them, and as soon as more is decompressed than
    the limits allow, whatever size the files declare.
    """
    # pyarrow alone is 60 MB, and most commands need none of it.
    import pyarrow as pa
    import pyarrow.parquet as pq

    if len(parts) > MOST_FILES:
        raise Refused(f"These are {len(parts):,} files. At most {MOST_FILES} Parquet files can be combined.")
    schemas: list[pa.Schema] = []
    with ExitStack() as stack:
        files: list[_OpenFile] = []
        for part in parts:
            try:
                file = stack.enter_context(pq.ParquetFile(part.path, buffer_size=1 << 16, pre_buffer=False))
                schemas.append(_describe_columns(file.schema_arrow))
            except MemoryError:
                raise
            except (pa.ArrowException, OSError, ValueError, TypeError) as error:
                raise _cannot_read(part, error) from error
            files.append((part, file))
        try:
            schema = pa.unify_schemas(schemas, promote_options="default")
        except MemoryError:
            raise
        except (pa.ArrowException, ValueError) as error:
            raise Refused(f"The columns of the Parquet files don’t fit together: {shorten_error(error)}") from error
        with pq.ParquetWriter(target, schema) as writer:
            for table in _read_tables(files, schema, limits):
                writer.write_table(table)


def _read_tables(files: Sequence["_OpenFile"], schema: "pa.Schema", limits: Limits) -> Iterator["pa.Table"]:
    """Yield the rows of all files in tables of about `ROW_GROUP_BYTES`, with the columns of `schema`."""
    import pyarrow as pa

    n_bytes = n_waiting = 0
    waiting: list[pa.Table] = []
    for part, file in files:
        for table in _read_file(part, file, schema):
            n_bytes += table.nbytes
            n_waiting += table.nbytes
            if n_bytes > limits.decoded_bytes:
                most = limits.decoded_bytes // MIB
                raise Refused(f"The files are larger than {most:,} MB when decompressed. Import them one by one.")
            waiting.append(table)
            if n_waiting > ROW_GROUP_BYTES:
                yield pa.concat_tables(waiting)
                waiting, n_waiting = [], 0
    if waiting:
        yield pa.concat_tables(waiting)


def _read_file(part: ParquetPart, file: "pq.ParquetFile", schema: "pa.Schema") -> Iterator["pa.Table"]:
    """Yield small tables of one file; columns that it lacks are empty, its split excepted."""
    import pyarrow as pa

    match = _NAME.fullmatch(part.name)
    split = shorten_name(match["split"]) if match else None
    try:
        for batch in file.iter_batches(batch_size=STEP, use_threads=False):
            arrays = dict(zip(batch.schema.names, batch.columns, strict=True))
            if SPLIT not in arrays:
                arrays[SPLIT] = pa.array([split] * batch.num_rows, pa.string())
            columns = [
                arrays[field.name].cast(field.type) if field.name in arrays else pa.nulls(batch.num_rows, field.type)
                for field in schema
            ]
            yield pa.Table.from_arrays(columns, schema=schema)
    except MemoryError:
        raise
    except (pa.ArrowException, OSError, ValueError, TypeError) as error:
        raise _cannot_read(part, error) from error


def _describe_columns(schema: "pa.Schema") -> "pa.Schema":
    """Return the columns of a file without dictionaries, which differ from file to file, and with its split."""
    import pyarrow as pa

    fields = [
        pa.field(field.name, field.type.value_type if pa.types.is_dictionary(field.type) else field.type)
        for field in schema
    ]
    return pa.schema(fields if SPLIT in schema.names else [*fields, pa.field(SPLIT, pa.string())])


def _cannot_read(part: ParquetPart, error: Exception) -> Refused:
    return Refused(f"{shorten_name(part.name)} can’t be read as Parquet: {shorten_error(error)}")
