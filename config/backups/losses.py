"""Stored files that are lost for good: once that is accepted, backups and checks no longer name them."""

from collections.abc import Collection, Iterable
from pathlib import Path

from django.conf import settings

from config import data_folder
from config.backups import stored_files
from projects.database import identity
from projects.errors import Refused

FILE_NAME = "accepted-losses.txt"


def accept(names: Collection[str]) -> None:
    """Accept that these files are lost. Raises Refused for one that is as the database names it."""
    faults = stored_files.find_faults()
    if sound := [name for name in names if name not in faults]:
        raise Refused(
            f"{sound[0]} is not lost: the site has it, or the database names no such file. Nothing was changed.",
            details=[f"Lost: {name}" for name in leave_out_accepted(faults)],
        )
    # What was put back since it was accepted is not on the list any more, so that a second loss is noticed.
    _write(sorted({*names, *(name for name in _read() if name in faults)}))


def leave_out_accepted(names: Iterable[str]) -> list[str]:
    """Return the names without those of accepted losses."""
    accepted = _read()
    return [name for name in names if name not in accepted]


def find_unaccepted() -> list[str]:
    """Return a sentence for each stored file that is missing or of another size, but for accepted losses.

    The first one says if all of them belong to another database.
    """
    faults, other = stored_files.find_faults(), identity.explain_other()
    sentences = [f"The stored file {name} {faults[name]}." for name in leave_out_accepted(faults)]
    return [other, *sentences] if other else sentences


def _find_path() -> Path:
    return Path(settings.SHARED_DIR) / FILE_NAME


def _read() -> set[str]:
    path = _find_path()
    return set(path.read_text(encoding="utf-8").splitlines()) if path.exists() else set()


def _write(names: Iterable[str]) -> None:
    path = _find_path()
    draft = path.with_suffix(".new")
    try:
        draft.write_text("".join(f"{name}\n" for name in names), encoding="utf-8")
        draft.replace(path)
    except OSError as error:
        raise Refused(f"{path} can't be written: {error.strerror}. Nothing was changed.") from error
    data_folder.sync_folder(path.parent)
