"""The stored files of a site: which ones the database names, what they lack, and copies that stay during a backup."""

import os
import shutil
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

from django.conf import settings
from django.db import connection, models
from django.db.models import Q

from annotate.imports import uploading
from annotate.models import Import
from config import file_locks
from projects.errors import Refused
from results.models import JudgmentSet, ScoreFile, Training
from results.score_import import importing

STAGING = "backup-"
PAUSE_SECONDS = 0.5
"""How long a deletion may take, from the file to the row that names it."""


@dataclass(frozen=True)
class Store:
    """The files of one model, which a row names by its `stored_name`."""

    model: type[models.Model]
    folder: str
    has_derived: bool
    """Whether files whose names begin with the stored name belong to the row too."""
    without: Q
    """Rows that may have none of these files any more."""
    has_size: bool = True
    """Whether `n_bytes` is the size of the file named, and not of what is derived from it."""


@dataclass(frozen=True)
class Named:
    """What the database says of a file."""

    must_exist: bool
    n_bytes: int | None
    """None where it is not known."""


SCORES = importing.FILES
STORES = (
    Store(Import, "imports", has_derived=True, without=uploading.FILES.over),
    # A command that imports scores reads them where they are.
    Store(ScoreFile, "imports", has_derived=True, without=SCORES.over | SCORES.done | Q(state=ScoreFile.State.FAILED)),
    Store(JudgmentSet, "sets", has_derived=False, without=Q(pk__in=[])),
    Store(Training, "trainings", has_derived=True, without=Q(pk__in=[]), has_size=False),
)


def list_named() -> dict[str, Named]:
    """Return the path of each file that the database names, as this transaction sees it, with what it must be."""
    existing = set(connection.introspection.table_names())
    named: dict[str, Named] = {}
    for store in STORES:
        if store.model._meta.db_table in existing:  # a database that is still to be migrated may lack one
            rows = store.model._default_manager.exclude(stored_name="")
            for query, must_exist in ((rows.filter(store.without), False), (rows.exclude(store.without), True)):
                named |= {
                    f"{store.folder}/{name}": Named(must_exist, (n_bytes if store.has_size else 0) or None)
                    for name, n_bytes in query.values_list("stored_name", "n_bytes")
                }
    return named


def find_faults() -> dict[str, str]:
    """Return the files that the database names and that are missing or of another size, with a sentence for each.

    They are not read. What the site deletes just now is no fault: it is looked at twice.
    """
    found = _find_faults()
    if found:
        time.sleep(PAUSE_SECONDS)
        again = _find_faults()
        found = {name: again[name] for name in found if name in again}
    return found


def _find_faults() -> dict[str, str]:
    root, found = Path(settings.MEDIA_ROOT), {}
    for name, wanted in sorted(list_named().items()):
        try:
            n_bytes = (root / name).stat().st_size
        except FileNotFoundError:
            if wanted.must_exist:
                found[name] = "is missing"
        except OSError as error:
            found[name] = f"can't be read: {error.strerror}"
        else:
            if wanted.n_bytes not in (n_bytes, None):
                found[name] = f"has {n_bytes:,} bytes instead of {wanted.n_bytes:,}"
    return found


@contextmanager
def alone() -> Iterator[Path]:
    """Keep other backups and restores of this site away; yields the folder of its data.

    Raises Refused if one is under way, or if the folder can't be written.
    """
    data = Path(settings.SHARED_DIR)
    try:
        lock = file_locks.hold_if_free(data / "backup.lock")
    except OSError as error:
        is_shared = settings.SHARED_DIR != settings.DATA_DIR
        advice = "Is it mounted?" if is_shared else "Run the command as the user of the site."
        raise Refused(f"{data} can't be written: {error.strerror}. {advice}") from error
    if lock is None:
        raise Refused("Another backup or restore of this site is under way. Wait until it has ended.")
    with lock:
        yield data


@contextmanager
def staging() -> Iterator[Path]:
    """Yield an empty folder on the disk of the stored files, while no other backup is made. Raises Refused."""
    with alone() as data:
        for left in data.glob(f"{STAGING}*/"):  # of a backup that was killed
            shutil.rmtree(left, ignore_errors=True)
        folder = Path(tempfile.mkdtemp(dir=data, prefix=STAGING))
        try:
            yield folder
        finally:
            shutil.rmtree(folder, ignore_errors=True)


def keep(named: dict[str, Named], folder: Path) -> set[str]:
    """Link the named files, and what is derived from them, into a folder; return those that must exist and don't.

    A link keeps the content when the site deletes the file. Stored files are never changed, so it is the same content.
    """
    root, derived = Path(settings.MEDIA_ROOT), _list_derived()
    missing = set()
    for name, wanted in named.items():
        if not _keep_file(root / name, folder / name) and wanted.must_exist:
            missing.add(name)
        for each in derived.get(name, ()):
            _keep_file(root / each, folder / each)
    return missing


def list_with_derived() -> set[str]:
    """Return the path of each file that the database names, and of those derived from them."""
    derived = _list_derived()
    named = list_named()
    return named.keys() | {each for name in named for each in derived.get(name, ())}


def list_files(folder: Path) -> list[str]:
    return sorted(str(path.relative_to(folder)) for path in folder.rglob("*") if path.is_file())


def delete_others(named: set[str]) -> None:
    """Delete the stored files that are not among these."""
    root = Path(settings.MEDIA_ROOT)
    for name in {store.folder for store in STORES}:
        for path in sorted((root / name).rglob("*"), reverse=True):  # what is in a folder before the folder
            if path.is_dir():
                with suppress(OSError):  # not empty
                    path.rmdir()
            elif str(path.relative_to(root)) not in named:
                path.unlink(missing_ok=True)


def _list_derived() -> dict[str, list[str]]:
    """Return the derived files by the stored name with which theirs, or that of their folder, begins."""
    root, found = Path(settings.MEDIA_ROOT), dict[str, list[str]]()
    for name in {store.folder for store in STORES if store.has_derived}:
        for path in (root / name).glob("*.*"):
            paths = [path] if path.is_file() else [each for each in path.rglob("*") if each.is_file()]
            stem = f"{name}/{path.name.partition('.')[0]}"
            found.setdefault(stem, []).extend(str(each.relative_to(root)) for each in paths)
    return found


def _keep_file(source: Path, target: Path) -> bool:
    target.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    try:
        os.link(source, target)
    except FileNotFoundError:
        return False
    except FileExistsError:
        pass  # linked by the attempt before
    except OSError:  # a file system without links
        shutil.copy2(source, target)
    return True
