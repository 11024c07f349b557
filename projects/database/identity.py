"""Which database the stored files belong to: those that no row names are deleted for it alone.

A site that was started on another database by mistake, such as an empty one, would otherwise delete all of them.
"""

import logging
import os
from contextlib import suppress
from pathlib import Path

from django.conf import settings
from django.db import connection

FILE_NAME = "database"

logger = logging.getLogger(__name__)


def may_delete_unnamed() -> bool:
    """Return whether files that no row names may be deleted; if not, log why. The first one to ask gets the files."""
    if not _find_path().exists():
        with suppress(OSError):  # before there are files
            _write(_find_path(), _read_identity())
    if reason := explain_other():
        logger.error(reason)
    return not reason


def explain_other() -> str:
    """Return what is wrong if the stored files belong to another database; nothing if they belong to none yet."""
    path = _find_path()
    # A check does not say whose they are: it may be run by another user, whose file the worker could not read.
    if not path.exists() or path.read_text(encoding="ascii") == _read_identity():
        return ""
    return (
        f"The stored files in {path.parent} belong to another database than that of the site, so none is deleted that "
        f"no row names. Is DATABASE_URL right? If it is, delete {path}."
    )


def take_files() -> None:
    """Make the stored files those of this database, for example after both were restored."""
    path = _find_path()
    path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    _write(path, _read_identity())


def _read_identity() -> str:
    """Return the time of the first migration: backups and moves keep it, and no other database has the same."""
    with connection.cursor() as cursor:
        cursor.execute("SELECT applied FROM django_migrations ORDER BY id LIMIT 1")
        return str(cursor.fetchone()[0].isoformat())


def _write(path: Path, identity: str) -> None:
    draft = path.with_name(f"{FILE_NAME}.{os.uname().nodename}.{os.getpid()}")
    try:
        draft.write_text(identity, encoding="ascii")
        draft.replace(path)
    finally:
        draft.unlink(missing_ok=True)


def _find_path() -> Path:
    return Path(settings.MEDIA_ROOT) / FILE_NAME
