"""Erasures that outlive a restore: what was deleted after a backup was made must not come back with it.

An act that erases personal data calls `remember` in its transaction, and its package registers how to repeat it. The
list is a file beside the database, so restoring an older database leaves it as it is; every backup contains a copy.
Each line names what was erased by ids and times only.
"""

import fcntl
import os
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import orjson
from django.conf import settings
from django.utils import timezone

from projects.errors import Refused

FILE_NAME = "erasures.jsonl"
Repeat = Callable[[dict[str, Any]], bool]
"""Erases again what the key of an erasure names; returns whether anything was there. Safe to call repeatedly."""

_repeats: dict[str, Repeat] = {}


@dataclass(frozen=True)
class Erasure:
    """One line of the file."""

    kind: str
    key: dict[str, Any]


def register(kind: str, repeat: Repeat) -> None:
    """Say how erasures of a kind are repeated; call it when the app is ready."""
    _repeats[kind] = repeat


def remember(kind: str, key: dict[str, Any]) -> None:
    """Add an erasure to the file and wait until the disk has it.

    Call it before the transaction of the erasure commits: a line too many is harmless, a missing one is not.
    """
    add_lines([orjson.dumps({"at": timezone.now(), "kind": kind, "key": key})])


def add_lines(lines: Iterable[bytes]) -> None:
    """Add lines to the file, each unless it is there already, and wait until the disk has them."""
    path = find_path()
    known = set(_read_lines(path))
    fresh = [line for line in lines if line and line not in known]
    if not fresh:
        return
    handle = os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600)
    with os.fdopen(handle, "ab") as file:
        fcntl.flock(file, fcntl.LOCK_EX)  # on a network file system, hosts that append at once overwrite each other
        # One write, so that lines of two processes do not mix; the line feed first, should the last line be cut off.
        file.write(b"".join(b"\n" + line for line in fresh) + b"\n")
        file.flush()
        os.fsync(file.fileno())


def read_erasures(content: bytes) -> list[Erasure]:
    """Return the erasures of such a file. Raises Refused for a kind that this version cannot repeat."""
    found = []
    for line in _split(content):
        try:
            entry = orjson.loads(line)
            erasure = Erasure(entry["kind"], entry["key"])
        except (orjson.JSONDecodeError, KeyError, TypeError):
            continue  # a line that was cut off; its erasure was never committed
        if erasure.kind not in _repeats:
            raise Refused(f"{FILE_NAME} has an erasure of the kind “{erasure.kind}”. Update Concord to repeat it.")
        found.append(erasure)
    return found


def repeat_all() -> int:
    """Repeat every erasure of the file, and return how many found something to erase."""
    path = find_path()
    content = path.read_bytes() if path.exists() else b""
    return sum(_repeats[erasure.kind](erasure.key) for erasure in read_erasures(content))


def find_path() -> Path:
    return Path(settings.SHARED_DIR) / FILE_NAME


def _read_lines(path: Path) -> list[bytes]:
    return _split(path.read_bytes()) if path.exists() else []


def _split(content: bytes) -> list[bytes]:
    return [line for line in content.split(b"\n") if line.strip()]
