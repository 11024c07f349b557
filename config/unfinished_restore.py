"""The mark of a restore that has replaced the database and not yet repeated the erasures: nothing starts meanwhile."""

import os
from pathlib import Path

from django.conf import settings

from config import data_folder


def mark(backup: Path) -> None:
    """Leave the mark, and wait until the disk has it."""
    path = _find_path()
    draft = path.with_suffix(".new")
    try:
        with open(draft, "w", encoding="utf-8") as file:
            file.write(str(backup.absolute()))
            file.flush()
            os.fsync(file.fileno())
        draft.replace(path)
    finally:
        draft.unlink(missing_ok=True)  # a full disk leaves no half of a mark
    data_folder.sync_folder(path.parent)


def unmark() -> None:
    _find_path().unlink(missing_ok=True)


def explain() -> str:
    """Return what is unfinished and what to do about it; empty if nothing is."""
    try:
        backup = _find_path().read_text(encoding="utf-8")
    except OSError:
        return ""
    return (
        "A restore was interrupted before it had repeated the erasures made after the backup. "
        f"Repeat it: manage.py restore {backup} --replace"
    )


def _find_path() -> Path:
    return Path(settings.SHARED_DIR) / "unfinished-restore"
