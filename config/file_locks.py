"""File locks between processes; the system releases them when their process ends."""

import fcntl
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO


def hold(path: Path, *, shared: bool = False) -> IO[bytes]:
    """Wait for a lock, and return its file, which holds the lock until it is closed."""
    file = open(path, "ab")  # noqa: SIM115
    fcntl.flock(file, fcntl.LOCK_SH if shared else fcntl.LOCK_EX)
    return file


@contextmanager
def locked(path: Path) -> Iterator[None]:
    """Hold an exclusive lock during the block."""
    with hold(path):
        yield


def hold_if_free(path: Path) -> IO[bytes] | None:
    """Take a lock without waiting, and return its file; None if another process holds it."""
    file = open(path, "ab")  # noqa: SIM115
    if try_exclusive(file):
        return file
    file.close()
    return None


def is_free(path: Path) -> bool:
    """Return whether nobody holds a lock at this moment."""
    with open(path, "ab") as file:
        return try_exclusive(file)


def try_exclusive(file: IO[bytes]) -> bool:
    """Take an exclusive lock on an open file without waiting, and return whether that succeeded."""
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True
