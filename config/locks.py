"""File locks between processes; they end with the process that holds them."""

import fcntl
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO


def hold(path: Path, *, shared: bool = False) -> IO[bytes]:
    """Wait for a lock; it lasts until the returned file is closed."""
    file = open(path, "ab")  # noqa: SIM115
    fcntl.flock(file, fcntl.LOCK_SH if shared else fcntl.LOCK_EX)
    return file


@contextmanager
def locked(path: Path) -> Iterator[None]:
    with hold(path):
        yield


def hold_if_free(path: Path) -> IO[bytes] | None:
    file = open(path, "ab")  # noqa: SIM115
    if try_exclusive(file):
        return file
    file.close()
    return None


def is_free(path: Path) -> bool:
    with open(path, "ab") as file:
        return try_exclusive(file)


def try_exclusive(file: IO[bytes]) -> bool:
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True
