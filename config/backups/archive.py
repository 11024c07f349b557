"""The file of a backup: a tar archive whose last two entries are the manifest and its checksum.

A tar archive names the size of an entry before its content. The size of a dump is known only at its end, so each
header is written twice: first as a placeholder, then with the size.
"""

import glob
import hashlib
import os
import shutil
import stat
import tarfile
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import asdict, dataclass, field
from io import BytesIO
from pathlib import Path, PurePosixPath
from typing import IO

import orjson

from config import data_folder, file_locks
from projects.errors import Refused

FORMAT = 1
DATABASE, MANIFEST, CHECKSUM, FILES = "database.dump", "manifest.json", "manifest.sha256", "files/"
CHUNK = 1 << 20
PATTERN = "concord-????-??-??T??????Z.tar"
"""Names that `backup` gives by itself, for the time: one that somebody has named is never deleted as an old one."""


@dataclass(frozen=True)
class Entry:
    """The size and the SHA-256 of one file in the archive."""

    n_bytes: int
    sha256: str


@dataclass
class Manifest:
    """What a backup contains, and what is needed to restore it."""

    made_at: str
    concord: str
    server: str
    program: str
    key: str
    """A fingerprint of SECRET_KEY, which is not in the backup itself."""
    migrations: dict[str, str]
    rows: dict[str, int]
    lost: list[str] = field(default_factory=list)
    """Files that the database names and that the site no longer has."""
    entries: dict[str, Entry] = field(default_factory=dict)
    format: int = FORMAT

    @property
    def files(self) -> list[str]:
        return [name for name in self.entries if name.startswith(FILES)]


class Writer:
    """Writes entries one after another."""

    def __init__(self, file: IO[bytes]) -> None:
        self._file = file
        self.entries: dict[str, Entry] = {}

    def add(self, name: str, source: IO[bytes]) -> None:
        """Add a stream of any length."""
        start, digest, n_bytes = self._file.tell(), hashlib.sha256(), 0
        self._file.write(self._header(name, 0))
        while chunk := source.read(CHUNK):
            digest.update(chunk)
            n_bytes += len(chunk)
            self._file.write(chunk)
        self._file.write(b"\0" * (-n_bytes % tarfile.BLOCKSIZE))
        end = self._file.tell()
        self._file.seek(start)
        self._file.write(self._header(name, n_bytes))
        self._file.seek(end)
        self.entries[name] = Entry(n_bytes, digest.hexdigest())

    def finish(self, manifest: Manifest) -> None:
        """Add the manifest, and the end of the archive."""
        manifest.entries = dict(self.entries)
        content = orjson.dumps(asdict(manifest), option=orjson.OPT_INDENT_2 | orjson.OPT_SORT_KEYS)
        self.add(MANIFEST, BytesIO(content))
        self.add(CHECKSUM, BytesIO(hashlib.sha256(content).hexdigest().encode()))
        self._file.write(b"\0" * (2 * tarfile.BLOCKSIZE))

    @staticmethod
    def _header(name: str, n_bytes: int) -> bytes:
        info = tarfile.TarInfo(name)
        info.size, info.mode, info.mtime = n_bytes, 0o600, int(time.time())
        return info.tobuf(tarfile.GNU_FORMAT)  # its length depends on the name alone


@contextmanager
def creating(path: Path) -> Iterator[Writer]:
    """Write an archive under another name, and give it its own once the disk has all of it.

    Raises Refused if the file exists or cannot be written; a block that fails leaves nothing behind, and one that
    is killed leaves its draft to the next backup, which deletes it.
    """
    if _stat(path) is not None:
        raise Refused(f"{path} exists. A backup never replaces a file: choose another name.")
    try:
        handle, draft = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}-", suffix=".part")  # mode 0600
    except OSError as error:
        raise Refused(f"{path.parent} can't be written: {error.strerror}.") from error
    try:
        with os.fdopen(handle, "w+b") as file:
            file_locks.try_exclusive(file)
            _delete_drafts(path)
            yield Writer(file)
            file.flush()
            os.fsync(file.fileno())
        Path(draft).rename(path)
    except OSError as error:
        raise Refused(f"{path} could not be written: {error.strerror}. Nothing was stored.") from error
    finally:
        Path(draft).unlink(missing_ok=True)
    data_folder.sync_folder(path.parent)


def is_folder(path: Path) -> bool:
    """Return whether a path is a folder. Raises Refused for one that can't be looked at."""
    found = _stat(path)
    return found is not None and stat.S_ISDIR(found.st_mode)


def _stat(path: Path) -> os.stat_result | None:
    try:
        return path.stat()
    except (FileNotFoundError, NotADirectoryError):
        return None
    except OSError as error:
        raise Refused(f"{path} can't be read: {error.strerror}.") from error


def _delete_drafts(path: Path) -> None:
    """Delete what killed backups of the same name have left, or of any time; a draft being written is locked."""
    name = PATTERN if path.match(PATTERN) else glob.escape(path.name)
    for draft in path.parent.glob(f".{name}-????????.part"):
        with suppress(OSError):
            if file_locks.is_free(draft):
                draft.unlink(missing_ok=True)


def read_manifest(path: Path) -> Manifest:
    """Return the manifest. Raises Refused for a file that is no backup, is cut off, or is of a newer version."""
    try:
        with tarfile.open(path, "r:") as archive:
            members = archive.getmembers()
            names = [member.name for member in members]
            if names[-2:] != [MANIFEST, CHECKSUM]:
                raise Refused(f"{path} is no backup of Concord, or is cut off: its manifest is missing.")
            if others := [member.name for member in members if not member.isreg()]:
                raise Refused(f"{path} is damaged: {others[0]} is not a regular file.")
            content = _read(archive, members[-2])
            checksum = _read(archive, members[-1])
    except OSError as error:
        raise Refused(f"{path} can't be read: {error.strerror or error}.") from error
    except tarfile.TarError as error:
        raise Refused(f"{path} is no backup of Concord, or is cut off ({error}).") from error
    if hashlib.sha256(content).hexdigest().encode() != checksum:
        raise Refused(f"{path} is damaged: its manifest has another checksum.")
    try:
        manifest = _parse(path, content)
    except (ValueError, TypeError, KeyError, AttributeError) as error:
        raise Refused(f"{path} is damaged: its manifest cannot be read.") from error
    if sorted(names[:-2]) != sorted(manifest.entries):
        raise Refused(f"{path} is damaged: its entries are not those of its manifest.")
    if wrong := [name for name in manifest.files if not _is_safe(name)]:
        raise Refused(f"{path} is damaged: it has a file outside its folders ({wrong[0]}).")
    return manifest


def _parse(path: Path, content: bytes) -> Manifest:
    found = orjson.loads(content)
    if found["format"] > FORMAT:
        raise Refused(f"{path} was made by a newer version of Concord ({found['concord']}). Update Concord first.")
    manifest = Manifest(**{**found, "entries": {name: Entry(**entry) for name, entry in found["entries"].items()}})
    int(manifest.program.partition(".")[0])  # by which `restore` chooses its own programs
    return manifest


def check_entries(path: Path, manifest: Manifest) -> None:
    """Recompute every checksum. Raises Refused with the name of each damaged entry."""
    damaged = []
    for name, source in open_entries(path):
        digest = hashlib.sha256()
        while chunk := source.read(CHUNK):
            digest.update(chunk)
        if digest.hexdigest() != manifest.entries[name].sha256:
            damaged.append(f"{name} has another checksum than in the manifest.")
    if damaged:
        raise Refused(f"{path} is damaged. Restore another backup.", details=damaged)


def open_entries(path: Path, prefix: str = "") -> Iterator[tuple[str, IO[bytes]]]:
    """Yield the name and the content of each entry that the manifest lists and whose name starts so."""
    with tarfile.open(path, "r:") as archive:
        for member in archive:
            if member.name.startswith(prefix) and member.name not in (MANIFEST, CHECKSUM):
                source = archive.extractfile(member)
                assert source is not None
                yield member.name, source


def extract(source: IO[bytes], target: Path) -> None:
    """Write an entry to a new file, which is on the disk when this returns."""
    draft = target.with_name(f"{target.name}.restoring")
    target.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    with open(os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), "wb") as file:
        shutil.copyfileobj(source, file, CHUNK)
        file.flush()
        os.fsync(file.fileno())
    draft.rename(target)


def _read(archive: tarfile.TarFile, member: tarfile.TarInfo) -> bytes:
    source = archive.extractfile(member)
    return source.read() if source else b""


def _is_safe(name: str) -> bool:
    """Return whether a name stays below its folder: written plainly, as "files//x" without its prefix is "/x"."""
    path = PurePosixPath(name)
    return str(path) == name and not path.is_absolute() and ".." not in path.parts and len(path.parts) > 1
