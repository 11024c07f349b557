"""Several Parquet files chosen in one form, which are imported as one file."""

from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any

from django.core.files.uploadedfile import TemporaryUploadedFile, UploadedFile

from projects.errors import Refused
from projects.importing import isolated
from projects.importing.parquet_folders import ParquetPart
from projects.web import uploads


@contextmanager
def join_files(files: "Sequence[UploadedFile[Any]]") -> "Iterator[UploadedFile[Any]]":
    """Yield the only file as it is, or several Parquet files as one, the way a folder of them is read.

    Raises Refused for several files of another form, and as `combine_parquet` does.
    """
    if len(files) == 1:
        yield files[0]
        return
    parts = sorted(
        ParquetPart(uploads.shorten_file_name(file.name), Path(file.temporary_file_path()))  # type: ignore[attr-defined]
        for file in files
    )
    if other := next((part for part in parts if not part.name.lower().endswith(".parquet")), None):
        raise Refused(
            f"{other.name} isn’t a Parquet file. Several files are imported together only if all of them are Parquet."
        )
    # A temporary file like those of the server itself, so that it is deleted like them.
    name = f"{parts[0].name.removesuffix('.parquet')} and {len(parts) - 1} more.parquet"
    joined = TemporaryUploadedFile(name, "application/octet-stream", 0, None)
    # Closing it deletes it, unless it has been moved to the files of an import.
    with closing(joined):
        path = Path(joined.temporary_file_path())
        isolated.combine_parquet(parts, path)
        joined.size = path.stat().st_size
        yield joined
