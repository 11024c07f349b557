"""The stored files of a site: which ones the database names, and copies of them that stay while a backup is made."""

import os
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

from django.conf import settings
from django.db import connection, models
from django.db.models import Q

from annotate.imports import uploading
from annotate.models import Import
from config import locks
from projects.errors import Refused
from results.models import JudgmentSet, ScoreFile, Training
from results.score_import import importing

STAGING = "backup-"


@dataclass(frozen=True)
class Store:
    """The files of one model, which a row names by its `stored_name`."""

    model: type[models.Model]
    folder: str
    has_derived: bool
    """Whether files whose names begin with the stored name belong to the row too."""
    without: Q
    """Rows that may have none of these files any more."""


SCORES = importing.FILES
STORES = (
    Store(Import, "imports", has_derived=True, without=uploading.FILES.over),
    # A command that imports scores reads them where they are.
    Store(ScoreFile, "imports", has_derived=True, without=SCORES.over | SCORES.done | Q(state=ScoreFile.State.FAILED)),
    Store(JudgmentSet, "sets", has_derived=False, without=Q(pk__in=[])),
    Store(Training, "trainings", has_derived=True, without=Q(pk__in=[])),
)


def list_named() -> dict[str, bool]:
    """Return the path of each file that the database names, as this transaction sees it, and whether it must exist."""
    existing = set(connection.introspection.table_names())
    named: dict[str, bool] = {}
    for store in STORES:
        if store.model._meta.db_table in existing:  # a database that is still to be migrated may lack one
            rows = store.model._default_manager.exclude(stored_name="")
            for query, must_exist in ((rows.filter(store.without), False), (rows.exclude(store.without), True)):
                named |= {f"{store.folder}/{name}": must_exist for name in query.values_list("stored_name", flat=True)}
    return named


@contextmanager
def staging() -> Iterator[Path]:
    """Yield an empty folder on the disk of the stored files. Raises Refused if it fails or another backup is made."""
    data = Path(settings.SHARED_DIR)
    try:
        lock = locks.hold_if_free(data / "backup.lock")
    except OSError as error:
        is_shared = settings.SHARED_DIR != settings.DATA_DIR
        advice = "Is it mounted?" if is_shared else "Run the command as the user of the site."
        raise Refused(f"{data} can't be written: {error.strerror}. {advice}") from error
    if lock is None:
        raise Refused("Another backup of this site is being made. Wait until it has ended.")
    with lock:
        for left in data.glob(f"{STAGING}*/"):  # of a backup that was killed
            shutil.rmtree(left, ignore_errors=True)
        folder = Path(tempfile.mkdtemp(dir=data, prefix=STAGING))
        try:
            yield folder
        finally:
            shutil.rmtree(folder, ignore_errors=True)


def keep(named: dict[str, bool], folder: Path) -> set[str]:
    """Link the named files, and what is derived from them, into a folder; return those that must exist and don't.

    A link keeps the content when the site deletes the file. Stored files are never changed, so it is the same content.
    """
    root, derived = Path(settings.MEDIA_ROOT), _list_derived()
    missing = set()
    for name, must_exist in named.items():
        if not _keep_file(root / name, folder / name) and must_exist:
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
