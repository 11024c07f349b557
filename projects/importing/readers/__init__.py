"""Readers of each format, which yield a file's records with their physical lines."""

from pathlib import Path

from projects.importing.check_report import Broken, Notes
from projects.importing.import_options import PEERS, Options
from projects.importing.limits import Limits
from projects.importing.readers.base import Reader, Record
from projects.importing.sniffing import detect_format

__all__ = ["Reader", "Record", "open_reader"]


def open_reader(path: Path, name: str, options: Options, limits: Limits, notes: Notes) -> Reader:
    """Open the file with the reader of its format. Raises Broken, here and while reading."""
    if path.stat().st_size > limits.file_bytes:
        raise Broken(f"the file is larger than {limits.file_bytes // 2**20:,} MB")
    kind = detect_format(path, name, options.format)
    return _reader_class(kind)(path, kind, options, limits, notes)


def _reader_class(kind: str) -> type[Reader]:
    # Each format loads its library only when a file of that format comes: pyarrow alone is 60 MB.
    if kind in ("csv", "tsv"):
        from projects.importing.readers.delimited import DelimitedReader

        return DelimitedReader
    if kind == "xlsx":
        from projects.importing.readers.xlsx import XlsxReader

        return XlsxReader
    if kind == "parquet":
        from projects.importing.readers.parquet import ParquetReader

        return ParquetReader
    if kind in PEERS:
        from projects.importing.readers.peers import READERS

        return READERS[kind]
    from projects.importing.readers.objects import JsonlReader, JsonReader, MochaReader

    return {"json": JsonReader, "jsonl": JsonlReader, "mocha": MochaReader}[kind]
