"""Uploaded files: how large they may be, how much storage a project has, and where they are kept."""

import errno
import os
import secrets
import shutil
from collections.abc import Callable, Collection, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import Any, ClassVar, Protocol, cast

from django.apps import apps
from django.conf import settings
from django.core import signing
from django.core.files.move import file_move_safe
from django.core.files.uploadedfile import TemporaryUploadedFile, UploadedFile
from django.db.models import Q, QuerySet, Sum
from django.utils.crypto import salted_hmac
from django.utils.translation import gettext as _

from projects.database import identity
from projects.errors import Refused
from projects.language.amounts import format_number
from projects.language.names import shorten_name
from projects.models import Membership

NAME_LENGTH = 200
SUFFIX_LENGTH = 20
TEMPORARY_SECONDS = 24 * 3600
"""Age at which a temporary upload must be left over from a killed process: no upload takes a day."""
MB = 1024**2
KEPT_SUFFIX = ".kept-upload"


class FileRow(Protocol):
    """A row with an uploaded file, stored under a random name."""

    @property
    def stored_name(self) -> str: ...


def folder() -> Path:
    """Return the folder of uploaded files, which no web server serves."""
    path = Path(settings.MEDIA_ROOT) / "imports"
    path.mkdir(mode=0o700, parents=True, exist_ok=True)
    return path


def _kept_folder() -> Path:
    """Return the folder of files that forms with errors keep; the form may come back to another host."""
    path = Path(settings.MEDIA_ROOT) / "kept"
    path.mkdir(mode=0o700, parents=True, exist_ok=True)
    return path


def find_file(row: FileRow) -> Path:
    """Return where the file of a row is kept, or was."""
    return folder() / row.stored_name


def refuse_too_large(n_bytes: int) -> None:
    if n_bytes > settings.MAX_UPLOAD_BYTES:
        most = format_number(settings.MAX_UPLOAD_BYTES // MB)
        raise Refused(_("The file is larger than {most} MB. Split it and try again.").format(most=most))


def has_room(n_bytes: int, *, n_kept: int) -> bool:
    """Return whether a project with `n_kept` bytes of files may store another file of `n_bytes`."""
    return n_kept + n_bytes <= settings.MAX_PROJECT_UPLOAD_BYTES


def refuse_without_quota(actor: Membership, n_bytes: int, *, replaced: FileRow | None = None) -> None:
    """Raise Refused if the files that a person has stored in all projects, or all of a project, would be too many.

    The file of the row `replaced` doesn't count.
    """
    for what, most, rows in (
        ("Your files in all projects", settings.MAX_USER_UPLOAD_BYTES, Q(requested_by__user=actor.user_id)),
        ("This project’s files", settings.MAX_PROJECT_UPLOAD_BYTES, Q(project=actor.project_id)),
    ):
        stored = {}
        for files in JobFiles.all:
            kept = files.model.objects.filter(rows).exclude(stored_name="")
            if isinstance(replaced, files.model):
                kept = kept.exclude(stored_name=replaced.stored_name)
            stored[files.name] = kept.aggregate(n=Sum("n_bytes"))["n"] or 0
        if sum(stored.values()) + n_bytes > most:
            amounts = " and ".join(f"{name} {n / MB:,.1f} MB" for name, n in stored.items())
            # Managers alone upload files, so this is in English.
            message = (
                f"This file of {n_bytes / MB:,.1f} MB doesn't fit. {what} may take {most / MB:,.1f} MB: {amounts} are "
                "stored. Cancel unfinished imports, discard score files, import on the command line (which keeps no "
                "original), or ask the site administrator for more storage."
            )
            raise Refused(message, field="file")


@contextmanager
def kept_upload(upload: "UploadedFile[Any]") -> Iterator[str]:
    """Store an upload for the row that the block makes, under the name it gets; a block that fails leaves no file."""
    name = store_upload(upload)
    try:
        yield name
    except BaseException:
        (folder() / name).unlink(missing_ok=True)
        raise


def store_upload(upload: "UploadedFile[Any]") -> str:
    """Move an upload to a random name and return that name."""
    name = new_name()
    _move(upload, folder() / name)
    return name


def _move(upload: "UploadedFile[Any]", path: Path) -> None:
    """Rename an upload, which is a temporary file already (FILE_UPLOAD_HANDLERS).

    To another file system it is copied, and a copy that fails or falls short is removed.
    """
    source = Path(cast("TemporaryUploadedFile", upload).temporary_file_path())
    n_bytes = source.stat().st_size
    try:
        file_move_safe(str(source), str(path))
        if path.stat().st_size < n_bytes:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC), str(path))
        path.chmod(0o600)
    except BaseException:
        path.unlink(missing_ok=True)
        raise


@dataclass(frozen=True)
class JobFiles:
    """The files of the jobs of one model: uploads and the files derived from them, named by the row's stored name.

    A job that is over keeps none of them, and its stored name is cleared. A finished job keeps some. All others keep
    everything, because they can still be continued.
    """

    model: type[Any]
    done: Q
    """Condition of the jobs that no longer need their files."""
    find_kept: Callable[[Any], Collection[Path]]
    """Returns the files that a finished job keeps."""
    over: Q
    """Condition of the jobs that can't be continued."""
    name: str
    """What the files are called, in the plural."""
    all: ClassVar[list["JobFiles"]] = []

    def __post_init__(self) -> None:
        self.all.append(self)

    def delete(self, pk: int) -> None:
        """Delete the files that a job no longer needs, if it has ended."""
        for row in self._ended().filter(pk=pk):
            self._delete(row, list(folder().glob(f"{row.stored_name}*")))

    def delete_orphans(self) -> None:
        """Delete such files of all jobs: one cancelled while it waits ends without a worker that could delete them."""
        by_stem: dict[str, list[Path]] = {}
        for path in folder().iterdir():
            by_stem.setdefault(path.name.partition(".")[0], []).append(path)
        for row in self._ended():
            self._delete(row, by_stem.get(row.stored_name, []))

    def discard(self, pk: int) -> None:
        """Delete all files of a job, whatever its state."""
        for row in self.model.objects.filter(pk=pk).exclude(stored_name=""):
            delete_stored(row.stored_name)
        self.model.objects.filter(pk=pk).update(stored_name="")

    def _ended(self) -> "QuerySet[Any]":
        # A row without a stored name has no files, but every file's name starts with an empty text.
        ended: QuerySet[Any] = self.model.objects.filter(self.over | self.done).exclude(stored_name="")
        return ended.only("pk", "state", "stored_name")

    def _delete(self, row: Any, paths: list[Path]) -> None:
        kept = self.find_kept(row) if row.state == row.State.DONE else ()
        for path in paths:
            if path not in kept:
                delete_path(path)
        if not kept:
            self.model.objects.filter(pk=row.pk).update(stored_name="")


@dataclass(frozen=True)
class KeptUpload:
    """A file that a form with errors keeps for a day, so that it need not be given again."""

    path: Path
    name: str
    token: str
    """What the form sends back in place of the file; valid for one person and one purpose."""

    def delete(self) -> None:
        for path in self.path.parent.glob(f"{self.path.name}*"):
            delete_path(path)


def keep_for_retry(upload: "UploadedFile[Any]", *, whose: str) -> KeptUpload:
    """Keep an upload for a day.

    It takes the place of the one that was kept for the same person and purpose, whose token is void from now on.
    """
    beside = _kept_folder()
    owner = salted_hmac(__name__, whose, algorithm="sha256").hexdigest()
    for earlier in beside.glob(f"{owner}.*"):
        delete_path(earlier)
    path = beside / f"{owner}.{new_name()}{KEPT_SUFFIX}"
    _move(upload, path)
    name = shorten_file_name(upload.name)
    return KeptUpload(path, name, signing.dumps([path.name, name], salt=whose))


def find_for_retry(token: str, *, whose: str) -> KeptUpload | None:
    """Return the file that a form has kept, or None if the token is another's or too old."""
    try:
        stored_name, name = signing.loads(token, salt=whose, max_age=TEMPORARY_SECONDS)
    except signing.BadSignature:
        return None
    path = _kept_folder() / stored_name
    return KeptUpload(path, name, token) if path.is_file() else None


def delete_stored(stored_name: str) -> None:
    """Delete an upload and the files derived from it."""
    if stored_name:
        for path in folder().glob(f"{stored_name}*"):
            delete_path(path)


def delete_path(path: Path) -> None:
    """Delete a file, or a folder with its content."""
    if path.is_dir():
        shutil.rmtree(path, ignore_errors=True)
    else:
        path.unlink(missing_ok=True)


def new_name() -> str:
    """Return a random name under which a file is stored; it cannot be guessed and reveals nothing."""
    return secrets.token_hex(16)


def clear_temporary(now: float) -> None:
    """Delete what is a day old and nobody needs.

    That is temporary files of uploads whose process was killed, files kept for a form not sent again, and files and
    folders of a row that never came, because the process was killed in between, or that was purged with its project.
    """

    def is_old(path: Path) -> bool:
        return path.exists() and path.stat().st_mtime < now - TEMPORARY_SECONDS

    uploads = Path(settings.FILE_UPLOAD_TEMP_DIR)
    for path in filter(is_old, (*uploads.glob("*.upload*"), *_kept_folder().glob(f"*{KEPT_SUFFIX}*"))):
        delete_path(path)
    if (stored := list(filter(is_old, folder().iterdir()))) and identity.may_delete_unnamed():
        named = _find_stored_names()
        for path in stored:
            if path.name.partition(".")[0] not in named:
                delete_path(path)


def _find_stored_names() -> set[str]:
    """Return the names of the files of all rows, whichever app they are of, without what follows a point."""
    return {
        name.partition(".")[0]
        for model in apps.get_models()
        if any(field.name == "stored_name" for field in model._meta.fields)
        for name in model._default_manager.values_list("stored_name", flat=True)
    }


def shorten_file_name(name: str | None) -> str:
    """Return the name that its owner gave a file, shortened and without invisible characters, for display only."""
    # Some browsers send the whole path, on Windows with backslashes.
    path = PurePosixPath((name or "").replace("\\", "/").rpartition("/")[2] or "file")
    suffix = shorten_name(path.suffix, SUFFIX_LENGTH)
    return shorten_name(path.name.removesuffix(path.suffix), NAME_LENGTH - SUFFIX_LENGTH) + suffix
