"""Uploading: the steps of a file from the browser into the tables.

Uploaded, validated, imported: after each step the import rests (`done`) until someone requests the next. If one fails,
the file and the settings stay, so that these can be corrected, wrong rows skipped, or the file replaced by a corrected
one. The file is deleted if the import is cancelled, and kept for managers if it was imported.
"""

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

from django.conf import settings
from django.core.files.uploadedfile import UploadedFile
from django.db import IntegrityError, transaction
from django.db.models import Q, QuerySet, Sum
from django.utils import timezone

from annotate.imports import writing
from annotate.imports.staging import AlreadyImported
from annotate.models import Import
from projects.database.numbering import next_number
from projects.errors import Refused
from projects.importing import SKIPPED_NAME, FileRefused, Kind, Options, Spool, fingerprint, load
from projects.jobs import queue
from projects.jobs.running import RefusedWithChanges
from projects.models import Membership, Project
from projects.web import uploads

OnProgress = Callable[[int, int], None]
KB = 1024

FILES = uploads.JobFiles(
    model=Import,
    done=Q(step=Import.Step.WRITE, state=Import.State.DONE),
    find_kept=lambda job: (uploads.find_file(job), find_skipped_file(job)),
    over=Q(state=Import.State.CANCELLED) | Q(state=Import.State.FAILED, project__deleted_at__isnull=False),
    name="imported files",
)
"""The original, the checked rows and the list of skipped ones; of an import that is done the rows are deleted."""
_AT_REST = Q(state=Import.State.DONE) | Q(state=Import.State.FAILED)
_WRITTEN = Q(step=Import.Step.WRITE, state=Import.State.DONE)


def receive(*, project: Project, actor: Membership, upload: "UploadedFile[Any]", kind: Kind) -> Import:
    """Store an uploaded file for its preview. Raises Refused if the project's files would exceed their storage.

    The originals of completed imports count too, because they are kept.
    """
    n_bytes = upload.size or 0
    uploads.refuse_too_large(n_bytes)
    with uploads.kept_upload(upload) as stored_name, transaction.atomic():
        # The number comes first: the row that counts numbers is a lock, so of two uploads at once the second sees the
        # size of the first.
        number = next_number(project, Import)
        _refuse_without_room(project, n_bytes)
        uploads.refuse_without_quota(actor, n_bytes)
        return Import.objects.create(
            project=project,
            number=number,
            kind=kind.value,
            step=Import.Step.UPLOADED,
            state=Import.State.DONE,
            requested_by=actor,
            file_name=uploads.shorten_file_name(upload.name),
            stored_name=stored_name,
            n_bytes=n_bytes,
            sha256=fingerprint(uploads.folder() / stored_name, Options()),
            options=Options().as_dict(),
            finished_at=timezone.now(),
        )


def find_same_file(job: Import) -> Import | None:
    """Return an import that has written exactly this file before, with any options, or None."""
    earlier = job.project.imports.filter(
        kind=job.kind, step=Import.Step.WRITE, state=Import.State.DONE, n_bytes=job.n_bytes
    ).exclude(pk=job.pk)
    # The fingerprint covers the options too, so this file is hashed with those of each earlier import in turn. Only
    # files of the same size come this far.
    for each in earlier:
        if each.sha256 == fingerprint(uploads.find_file(job), read_options(each)):
            return each
    return None


def store_options(*, job: Import, options: Options) -> None:
    """Store the options for the next preview. Raises Refused if they can no longer be changed."""
    if not _find_changeable(job).exclude(stored_name="").update(options=options.as_dict(), **_BEFORE_VALIDATION):
        raise Refused("The settings of this import can no longer be changed. See its page.")


def replace_file(*, job: Import, actor: Membership, upload: "UploadedFile[Any]") -> None:
    """Put a corrected file in the place of an import's file; its settings stay, but wrong rows are not skipped unseen.

    It counts toward the quota of whoever uploads it. Raises Refused if the import has been written or runs, or if the
    files would exceed their storage.
    """
    n_bytes = upload.size or 0
    uploads.refuse_too_large(n_bytes)
    with uploads.kept_upload(upload) as stored_name, transaction.atomic():
        # The row is locked, so that of two corrected files at once the second replaces the first.
        found = _find_changeable(job).select_for_update().first()
        if found is None:
            raise Refused("The file of this import can no longer be replaced. See its page.")
        _refuse_without_room(found.project, n_bytes, besides=found)
        uploads.refuse_without_quota(actor, n_bytes, replaced=found)
        Import.objects.filter(pk=found.pk).update(
            requested_by=actor,
            file_name=uploads.shorten_file_name(upload.name),
            stored_name=stored_name,
            n_bytes=n_bytes,
            sha256=fingerprint(uploads.folder() / stored_name, Options()),
            options=replace(read_options(found), skip_wrong_rows=False).as_dict(),
            **_BEFORE_VALIDATION,
        )
    uploads.delete_stored(found.stored_name)
    job.refresh_from_db()


def refuse(*, job: Import, refusal: FileRefused) -> None:
    """End an import whose file can't be read, and delete the file; a corrected one can take its place."""
    sentence = "\n".join([refusal.message, *refusal.details])
    at_rest = Import.objects.filter(pk=job.pk, state=Import.State.DONE).exclude(step=Import.Step.WRITE)
    if at_rest.update(state=Import.State.FAILED, error=sentence, report=refusal.as_dict()):
        FILES.discard(job.pk)


def start_check(*, job: Import, options: Options) -> None:
    """Request the validation of every row. Raises Refused if the options can no longer be changed."""
    _refuse_without_file(job)
    with transaction.atomic():
        store_options(job=job, options=options)
        job.refresh_from_db()
        queue.queue(job, step=Import.Step.CHECK, message="kB read")


def start_write(*, job: Import, actor: Membership) -> None:
    """Request the import of a validated file. Raises Refused if it isn't validated, or already imported or queued."""
    _refuse_without_file(job)
    if (job.step, job.state) != (Import.Step.CHECK, Import.State.DONE):
        raise Refused("This import hasn’t been validated yet, or is already done. See its page.")
    try:
        with transaction.atomic():
            checked = {"step": Import.Step.CHECK}
            queue.queue(job, only_if=checked, step=Import.Step.WRITE, message="rows written", requested_by=actor)
    except IntegrityError as error:
        # The constraint import_once: another import of the same file was queued at the same time.
        raise _already_imported(job) from error


def retry(*, job: Import) -> None:
    """Retry an import whose worker died more than once. Raises Refused for any other."""
    _refuse_without_file(job)
    if job.state != Import.State.INTERRUPTED:
        raise Refused("Only an interrupted import can be retried.")
    try:
        with transaction.atomic():
            queue.queue(job, message="kB read" if job.step == Import.Step.CHECK else "rows written")
    except IntegrityError as error:
        raise _already_imported(job) from error


def stop(job: Import) -> bool:
    """Cancel at any step and delete the file; return whether it has stopped already or the worker must notice first.

    Raises Refused if it has ended in the meantime.
    """
    at_rest = Import.objects.filter(_AT_REST, pk=job.pk).exclude(_WRITTEN).exclude(stored_name="")
    if at_rest.update(state=Import.State.CANCELLED, finished_at=timezone.now()) or queue.cancel(job):
        FILES.delete(job.pk)
        return True
    return False


def run_step(job: Import, on_progress: OnProgress) -> dict[str, Any]:
    """Run the job: validate the file, or import the validated rows."""
    if job.project.deleted_at is not None:
        raise Refused("The project has been deleted.")
    if job.step == Import.Step.CHECK:
        return _check(job, on_progress)
    return _write(job, on_progress)


def read_options(job: Import) -> Options:
    return Options.from_dict(job.options)


def find_skipped_file(job: Import) -> Path:
    """Return the list of the rows that were skipped, as CSV; there is one only if there were any."""
    return uploads.folder() / f"{job.stored_name}.skipped.csv"


_BEFORE_VALIDATION = {"step": Import.Step.UPLOADED, "state": Import.State.DONE, "report": None, "error": ""}


def _find_changeable(job: Import) -> "QuerySet[Import]":
    # The attempt is compared too: a job that was queued and finished since the page was opened has other options.
    return Import.objects.filter(_AT_REST, pk=job.pk, attempt=job.attempt).exclude(_WRITTEN)


def _refuse_without_room(project: Project, n_bytes: int, *, besides: Import | None = None) -> None:
    kept = project.imports.exclude(stored_name="").exclude(pk=besides.pk if besides else 0)
    n_written = kept.filter(_WRITTEN).aggregate(n=Sum("n_bytes"))["n"] or 0
    n_waiting = kept.exclude(_WRITTEN).aggregate(n=Sum("n_bytes"))["n"] or 0
    if uploads.has_room(n_bytes, n_kept=n_written + n_waiting):
        return
    room, written, waiting = (f"{n / KB**2:,.1f} MB" for n in (settings.MAX_PROJECT_UPLOAD_BYTES, n_written, n_waiting))
    raise Refused(
        f"This file exceeds the project's {room} of storage: imported files take {written} and unfinished imports "
        f"{waiting}. Cancel unfinished imports, import on the command line (which keeps no original), or ask the "
        "site administrator for more storage."
    )


def _check(job: Import, on_progress: OnProgress) -> dict[str, Any]:
    try:
        checked = writing.check_file(
            project=job.project,
            path=uploads.find_file(job),
            name=job.file_name,
            folder=_find_spool(job, job.attempt),
            options=read_options(job),
            kind=Kind(job.kind),
            on_progress=lambda done, total: on_progress(done // KB, max(1, total // KB)),
        )
    except FileRefused as refusal:
        raise RefusedWithChanges(refusal, report=refusal.as_dict()) from refusal
    except AlreadyImported as refusal:
        raise RefusedWithChanges(refusal, report={"same_as": refusal.number}) from refusal
    if checked.report.skipped_rows:
        (checked.spool.folder / SKIPPED_NAME).replace(find_skipped_file(job))
    else:
        find_skipped_file(job).unlink(missing_ok=True)
    _discard_spools(job, before=job.attempt)
    return {"report": checked.report.as_dict(), "sha256": checked.sha256}


def _write(job: Import, on_progress: OnProgress) -> dict[str, Any]:
    # The latest validation is the one that succeeded; the file itself is not read again.
    checked = load(_find_spool(job, max(_list_attempts_with_spool(job))))
    n_rows = checked.report.rows
    try:
        writing.write(
            project=job.project,
            checked=checked,
            actor=job.requested_by,
            job=job,
            on_progress=lambda done, total: on_progress(n_rows * done // max(1, total), n_rows),
        )
    except FileRefused as refusal:
        raise RefusedWithChanges(refusal, report=refusal.as_dict()) from refusal
    except AlreadyImported as refusal:
        raise RefusedWithChanges(refusal, report={**(job.report or {}), "same_as": refusal.number}) from refusal
    return {}


def _find_spool(job: Import, attempt: int) -> Path:
    """Return the folder of one attempt at the validation: an attempt presumed dead may still run beside its successor.

    The import reads the latest folder: its validation succeeded, so no other came after it.
    """
    return uploads.folder() / f"{job.stored_name}.{attempt}.spool"


def _list_attempts_with_spool(job: Import) -> list[int]:
    return [int(path.suffixes[-2][1:]) for path in uploads.folder().glob(f"{job.stored_name}.*.spool")]


def _discard_spools(job: Import, *, before: int) -> None:
    for attempt in _list_attempts_with_spool(job):
        if attempt < before:
            Spool(_find_spool(job, attempt)).discard()


def _refuse_without_file(job: Import) -> None:
    if not job.stored_name:
        raise Refused("The file of this import is gone. Upload it again.")


def _already_imported(job: Import) -> AlreadyImported:
    same = Import.objects.filter(
        project=job.project,
        kind=job.kind,
        sha256=job.sha256,
        step=Import.Step.WRITE,
        state__in=(*Import.LIVE, Import.State.DONE),
    )
    return AlreadyImported(same.values_list("number", flat=True).first() or job.number)
