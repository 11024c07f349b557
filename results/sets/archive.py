"""The archive of a set: one ZIP, written once, out of which every file is read, and the check that it is unchanged."""

import hashlib
import io
import shutil
import zipfile
import zlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any

import orjson

CHUNK_BYTES = 256 * 1024
LONG_AGO = (1980, 1, 1, 0, 0, 0)
"""The date of every file, the earliest that a ZIP can hold: the same files give the same bytes at any time."""
MANIFEST, SUMS = "manifest.json", "SHA256SUMS"
PACKED = (".parquet",)
"""Files that are compressed already, and stored as they are."""


Unreadable = zipfile.BadZipFile


@dataclass(frozen=True)
class File:
    """A file of a set: its name, length and SHA-256."""

    name: str
    n_bytes: int
    sha256: str

    def as_dict(self) -> dict[str, Any]:
        return {"name": self.name, "n_bytes": self.n_bytes, "sha256": self.sha256}


def write_archive(
    folder: Path, path: Path, *, inside: str, about: dict[str, Any], on_bytes: Callable[[int], None]
) -> list[File]:
    """Pack the files of a folder, sorted by name, into the folder `inside`, with their sums beside them.

    The manifest lists every other file; `sha256sum --check SHA256SUMS` checks them all.
    """
    files = [measure_file(each) for each in sorted(folder.iterdir(), key=lambda each: each.name.encode())]
    manifest = {**about, "files": [file.as_dict() for file in files]}
    (folder / MANIFEST).write_bytes(orjson.dumps(manifest, option=orjson.OPT_INDENT_2) + b"\n")
    files.append(measure_file(folder / MANIFEST))
    # The manifest has no sum of itself or of SHA256SUMS, and SHA256SUMS none of itself: nothing can hold its own
    # hash.
    (folder / SUMS).write_text("".join(f"{file.sha256}  {file.name}\n" for file in files), encoding="ascii")
    files = sorted([*files, measure_file(folder / SUMS)], key=lambda file: file.name.encode())
    n_done = 0
    # "x" refuses to write over an archive: none is ever made twice.
    with zipfile.ZipFile(path, "x") as archive:
        for file in files:
            with (folder / file.name).open("rb") as source, archive.open(_make_entry(inside, file), "w") as target:
                for chunk in _read_chunks(source):
                    target.write(chunk)
                    n_done += len(chunk)
                    on_bytes(n_done)
    return files


def compute_sha256(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def read_file(path: Path, inside: str, name: str, *, start: int = 0) -> Iterator[bytes]:
    """Yield one file of the archive in chunks, from this byte on."""
    with zipfile.ZipFile(path) as archive, archive.open(f"{inside}/{name}") as file:
        file.seek(start)
        yield from _read_chunks(file)


def read_lines(path: Path, inside: str, name: str) -> Iterator[bytes]:
    with zipfile.ZipFile(path) as archive, archive.open(f"{inside}/{name}") as file:
        yield from file


def read_archive(path: Path) -> Iterator[bytes]:
    with path.open("rb") as file:
        yield from _read_chunks(file)


def unpack(
    path: Path,
    folder: Path,
    *,
    inside: str,
    files: list[File],
    is_packed: bool,
    note: tuple[str, bytes] | None = None,
) -> Path:
    """Write the files to `folder/inside`, or the archive to `folder`; `note` is the name and text of a retirement note.

    Raises OSError, also where one of them exists already; what could not be written whole is deleted again.
    """
    folder.mkdir(parents=True, exist_ok=True)
    target = folder / (name_archive(inside, is_retired=note is not None) if is_packed else inside)
    if is_packed:
        with target.open("xb") as file, _deleted_on_failure(target):
            file.writelines(read_archive(path) if note is None else add_retirement_note(path, inside, *note)[1])
            file.flush()
        return target
    target.mkdir()
    with _deleted_on_failure(target):
        for each in files:
            with (target / each.name).open("xb") as file:
                file.writelines(read_file(path, inside, each.name))
        if note is not None:
            name, text = note
            (target / name).write_bytes(text)
    return target


@contextmanager
def _deleted_on_failure(target: Path) -> Iterator[None]:
    try:
        yield
    except BaseException:
        if target.is_dir():
            shutil.rmtree(target, ignore_errors=True)
        else:
            target.unlink(missing_ok=True)
        raise


def name_archive(inside: str, *, is_retired: bool) -> str:
    return f"{inside}-retired.zip" if is_retired else f"{inside}.zip"


def add_retirement_note(path: Path, inside: str, name: str, text: bytes) -> tuple[int, Iterator[bytes]]:
    """Return the length and the chunks of the archive with one more file; every entry before it stays byte by byte."""
    with path.open("rb") as base, zipfile.ZipFile(path) as archive:
        # A ZIP ends in a directory of its entries. The new entry is written from there on, followed by a new
        # directory; what comes before it is sent from the stored file as it is.
        start = archive.start_dir
        tail = _Tail(base, start)
        with zipfile.ZipFile(tail, "a") as longer:
            entry = _make_entry(inside, File(name, len(text), ""))
            longer.writestr(entry, text)
    rest = tail.rest()

    def chunks() -> Iterator[bytes]:
        left = start
        with path.open("rb") as file:
            while left:
                chunk = file.read(min(CHUNK_BYTES, left))
                left -= len(chunk)
                yield chunk
        yield rest

    return start + len(rest), chunks()


class _Tail(io.RawIOBase):
    """A ZIP file as zipfile wants it for appending: the entries are read from disk, the rest is kept in memory."""

    def __init__(self, base: IO[bytes], start: int) -> None:
        super().__init__()
        self._base, self._start, self._at = base, start, 0
        base.seek(start)
        self._rest = io.BytesIO(base.read())

    def rest(self) -> bytes:
        return self._rest.getvalue()

    def readable(self) -> bool:
        return True

    def writable(self) -> bool:
        return True

    def seekable(self) -> bool:
        return True

    def tell(self) -> int:
        return self._at

    def seek(self, offset: int, whence: int = 0) -> int:
        # zipfile seeks from the end to find the directory, and from there to where it goes on writing.
        origin = {0: 0, 1: self._at, 2: self._start + len(self._rest.getbuffer())}[whence]
        self._at = origin + offset
        return self._at

    def read(self, size: int = -1) -> bytes:
        if self._at < self._start:
            self._base.seek(self._at)
            # A read ends at the directory, even if more was asked for: the caller reads on.
            found = self._base.read(self._start - self._at if size < 0 else min(size, self._start - self._at))
        else:
            self._rest.seek(self._at - self._start)
            found = self._rest.read(size)
        self._at += len(found)
        return found

    def write(self, data: Any) -> int:
        self._rest.seek(self._at - self._start)
        n_written = self._rest.write(data)
        self._at += n_written
        return n_written

    def truncate(self, size: int | None = None) -> int:
        return self._rest.truncate((self._at if size is None else size) - self._start)


def find_breaches(path: Path, *, sha256: str, inside: str, files: list[File]) -> list[str]:
    """Return a sentence for each difference from what was frozen; none where every byte is the same."""
    if not path.is_file():
        return ["The archive is missing."]
    found = [] if compute_sha256(path) == sha256 else ["The SHA-256 of the archive has changed since it was frozen."]
    try:
        with zipfile.ZipFile(path) as archive:
            names = [f"{inside}/{file.name}" for file in files]
            # The order counts as well: it is part of the bytes that were frozen.
            if archive.namelist() != names:
                found.append("The archive has other files than when it was frozen.")
            for file, name in zip(files, names, strict=True):
                found += _find_file_breaches(archive, name, file)
    except zipfile.BadZipFile:
        found.append("The archive cannot be read.")
    return found


def _find_file_breaches(archive: zipfile.ZipFile, name: str, file: File) -> list[str]:
    try:
        with archive.open(name) as source:
            is_same = hashlib.file_digest(source, "sha256").hexdigest() == file.sha256  # type: ignore[arg-type]
    except (KeyError, zipfile.BadZipFile, zlib.error, EOFError):
        return [f"{file.name} cannot be read."]
    return [] if is_same else [f"The SHA-256 of {file.name} has changed since it was frozen."]


def measure_file(path: Path) -> File:
    return File(path.name, path.stat().st_size, compute_sha256(path))


def _make_entry(inside: str, file: File) -> zipfile.ZipInfo:
    entry = zipfile.ZipInfo(f"{inside}/{file.name}", LONG_AGO)
    # zipfile would note the system that it runs on, and Windows would give other bytes.
    entry.create_system = 3
    entry.external_attr = 0o644 << 16
    entry.file_size = file.n_bytes
    is_packed = file.name.endswith(PACKED)
    entry.compress_type = zipfile.ZIP_STORED if is_packed else zipfile.ZIP_DEFLATED
    return entry


def _read_chunks(file: IO[bytes]) -> Iterator[bytes]:
    while chunk := file.read(CHUNK_BYTES):
        yield chunk
