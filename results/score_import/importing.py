"""Uploaded scores: a file is received, checked and reported on; then it is imported as runs, or discarded.

A file that can't be read stays, so that it can be checked with other settings, or a corrected one take its place.
"""

from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

from django.core.files.uploadedfile import UploadedFile
from django.db import transaction
from django.db.models import Q, Sum
from django.utils import timezone

from projects import log
from projects.database.numbering import next_number
from projects.errors import Refused
from projects.importing import FileRefused, Options, fingerprint
from projects.jobs import queue, running
from projects.jobs.running import OnProgress, RefusedWithChanges
from projects.models import Act, Membership, Project
from projects.people.members import find_owner
from projects.web import uploads
from results.metrics.registry import make_metric_key
from results.metrics.storing import ScoreColumn, store_scores
from results.models import MetricRun, ScoreFile
from results.score_import.reading import NAME_LENGTH, Read, read_scores
from results.score_import.rows import NO_SCORE, ScoresByMetric, list_reasons

State, Step = ScoreFile.State, ScoreFile.Step


def receive(*, project: Project, actor: Membership, upload: "UploadedFile[Any]", options: Options) -> ScoreFile:
    """Keep an uploaded file and queue its check. Raises Refused where it is too large."""
    n_bytes = upload.size or 0
    _refuse_without_room(project, n_bytes)
    uploads.refuse_without_quota(actor, n_bytes)
    with uploads.kept_upload(upload) as stored_name, transaction.atomic():
        job = _create(project, actor, uploads.shorten_file_name(upload.name), stored_name, options)
        queue.enqueue_on_commit(job)
    return job


def check_again(*, job: ScoreFile, actor: Membership, options: Options) -> None:
    """Queue the check of a file with other settings. Raises Refused where its scores are imported or it runs."""
    if not uploads.find_file(job).is_file():
        raise Refused("The file is no longer available. Upload it again.")
    with transaction.atomic():
        _refuse_unless_changeable(job)
        queue.queue(job, step=Step.CHECK, options=options.as_dict(), report=None, requested_by=actor)


def replace_file(*, job: ScoreFile, actor: Membership, upload: "UploadedFile[Any]") -> None:
    """Put a corrected file in the place of this one and queue its check with the same settings. Raises Refused."""
    with uploads.kept_upload(upload) as stored_name, transaction.atomic():
        locked = ScoreFile.objects.select_for_update().get(pk=job.pk)
        replaced = locked.stored_name
        _refuse_unless_changeable(locked)
        _refuse_without_room(job.project, upload.size or 0, besides=job)
        uploads.refuse_without_quota(actor, upload.size or 0, replaced=locked)
        path = uploads.folder() / stored_name
        queue.queue(
            locked,
            step=Step.CHECK,
            file_name=uploads.shorten_file_name(upload.name),
            stored_name=stored_name,
            n_bytes=path.stat().st_size,
            sha256=fingerprint(path, Options()),
            report=None,
            requested_by=actor,
        )
    uploads.delete_stored(replaced)


def can_change(job: ScoreFile) -> bool:
    """Return whether the file can be checked again, or replaced by a corrected one."""
    return job.state == State.FAILED or (job.state == State.DONE and job.step == Step.CHECK)


def request_import(*, job: ScoreFile, actor: Membership, names: dict[str, str]) -> None:
    """Queue the import of a checked file; `names` gives the metric of each column to import.

    Raises Refused for names that cannot be used, or where the file is gone.
    """
    names = {column: " ".join(name.split()) for column, name in names.items()}
    _refuse_names(job, names)
    if not uploads.find_file(job).is_file():
        raise Refused("The file is no longer available. Upload it again.")
    # Checked again in the UPDATE: of two clicks one queues the import.
    at_rest = {"step": Step.CHECK}
    with transaction.atomic():
        if job.state not in (State.DONE, State.INTERRUPTED):
            raise Refused("This file has not been checked yet or was discarded. Open its page.")
        options = {**job.options, "names": names}
        queue.queue(job, only_if=at_rest, step=Step.TAKE, options=options, requested_by=actor)


def stop(job: ScoreFile) -> bool:
    """Discard a file.

    Returns True if it has stopped now, False if the worker is told to stop. Raises Refused if its scores are imported
    already.
    """
    # A checked file waits for nobody's worker, so its row is ended here; the condition in the UPDATE decides a race
    # with an import.
    at_rest = ScoreFile.objects.filter(Q(state=State.DONE, step=Step.CHECK) | Q(state=State.FAILED), pk=job.pk)
    if at_rest.update(state=State.CANCELLED, finished_at=timezone.now()) or queue.cancel(job):
        FILES.delete(job.pk)
        return True
    return False


def run(pk: int) -> str | None:
    """Check or import the file, whichever it waits for. Returns the state in which the job ended."""
    state = running.run(ScoreFile, pk, read, only_reads=True, finish=store)
    FILES.delete(pk)
    return state


def read(job: ScoreFile, on_progress: OnProgress) -> dict[str, Any]:
    """Read the file for its report, or for the scores to store; the act of the job."""
    if job.project.deleted_at is not None:
        raise Refused("The project has been deleted.")
    try:
        found = read_scores(
            project=job.project,
            path=uploads.find_file(job),
            name=job.file_name,
            options=read_options(job),
            problems_path=find_problems_file(job),
            on_progress=on_progress,
            kept_rows=uploads.folder() / f"{job.stored_name}.rows",
        )
    except FileRefused as refusal:
        raise RefusedWithChanges(refusal, report=refusal.as_dict()) from refusal
    return {"read": found, "report": found.report}


def store(job: ScoreFile, changes: dict[str, Any]) -> None:
    """Store the scores of an import, in the transaction that marks the job as done."""
    found: Read = changes.pop("read")
    if job.step == Step.TAKE:
        store_runs(job, found, job.options["names"])


def store_runs(job: ScoreFile, found: Read, names: dict[str, str]) -> list[MetricRun]:
    """Store each chosen column as a finished run that replaces the earlier one of that name. Locks the project."""
    Project.objects.select_for_update(no_key=True).get(pk=job.project_id)
    if gone := names.keys() - found.columns.keys():
        raise Refused(f"The column “{min(gone)}” has no scores any more. Upload the file again.")
    runs = [_store_run(job, found, found.columns[column], name) for column, name in names.items()]
    after = {"file": job.file_name, "metrics": [run.metric for run in runs]}
    log.record(job.project, job.requested_by, Act.TAKE_SCORES, job, after=after)
    return runs


def import_now(
    *,
    project: Project,
    path: Path,
    options: Options,
    choose: Callable[[dict[str, Any]], dict[str, str]],
    on_progress: OnProgress,
) -> tuple[ScoreFile, list[MetricRun]]:
    """Read a file and store its scores in this process, on behalf of the project's owner.

    `choose` is given the report and returns the metric of each column to import. Raises Refused.
    """
    owner = find_owner(project, for_what="scores are imported")
    # Stored only at the end, as done: a command has no worker that could go on.
    job = ScoreFile(
        project=project,
        requested_by=owner,
        step=Step.TAKE,
        state=State.DONE,
        file_name=uploads.shorten_file_name(path.name),
        stored_name=uploads.new_name(),
        n_bytes=path.stat().st_size,
        sha256=fingerprint(path, Options()),
        finished_at=timezone.now(),
    )
    try:
        found = read_scores(
            project=project,
            path=path,
            name=job.file_name,
            options=options,
            problems_path=find_problems_file(job),
            on_progress=on_progress,
        )
        job.report = found.report
        names = choose(found.report)
        _refuse_names(job, names)
        job.options = {**options.as_dict(), "names": names}
        with transaction.atomic():
            job.number = next_number(project, ScoreFile)
            job.save()
            runs = store_runs(job, found, names)
    except BaseException:
        find_problems_file(job).unlink(missing_ok=True)
        raise
    return job, runs


def find_problems_file(job: ScoreFile) -> Path:
    """Return the file that lists every problem, row by row; it is kept as long as the scores."""
    return uploads.folder() / f"{job.stored_name}.problems.csv"


FILES = uploads.JobFiles(
    model=ScoreFile,
    done=Q(step=Step.TAKE, state=State.DONE),
    find_kept=lambda job: [find_problems_file(job)],
    over=Q(state=State.CANCELLED) | Q(state=State.FAILED, project__deleted_at__isnull=False),
    name="score files",
)
"""The upload and the list of its problems; where the scores were imported, the list stays."""


def _store_run(job: ScoreFile, found: Read, column: ScoresByMetric, name: str) -> MetricRun:
    ids, now = found.candidates.ids, timezone.now()
    reasons = {ids[position]: reason for position, reason in list_reasons(column)}
    n_not_numbers = len(column.not_numbers)
    # Reasons by kind: the scores themselves name each cell that was no number.
    counts = {NO_SCORE: len(column.missing), "not a number": n_not_numbers}
    run = MetricRun.objects.create(
        project=job.project,
        requested_by=job.requested_by,
        origin=MetricRun.Origin.UPLOADED,
        metric=name,
        title=name,
        subject=make_metric_key(MetricRun.Origin.UPLOADED, name, {}),
        file=job,
        state=MetricRun.State.DONE,
        started_at=now,
        finished_at=now,
        n_scored=column.n,
        n_refused=len(reasons),
        report={
            "reasons": {reason: n for reason, n in counts.items() if n},
            "column": column.column,
            "sha256": job.sha256,
        },
    )
    # The summary is computed from the stored scores, which need the run's id first.
    run.report["summary"] = store_scores(run, ScoreColumn(ids=[ids], values=[column.values], reasons=reasons))
    run.save(update_fields=["report"])
    return run


def _create(project: Project, actor: Membership, name: str, stored_name: str, options: Options) -> ScoreFile:
    path = uploads.folder() / stored_name
    return ScoreFile.objects.create(
        project=project,
        number=next_number(project, ScoreFile),
        requested_by=actor,
        file_name=name,
        stored_name=stored_name,
        n_bytes=path.stat().st_size,
        sha256=fingerprint(path, Options()),
        options=options.as_dict(),
    )


def read_options(job: ScoreFile) -> Options:
    return Options.from_dict({name: value for name, value in job.options.items() if name != "names"})


def _refuse_names(job: ScoreFile, names: dict[str, str]) -> None:
    if not names:
        raise Refused("Select at least one score column.")
    known = {each["column"]: each["n"] for each in (job.report or {}).get("columns", [])}
    for column, name in names.items():
        if not known.get(column):
            raise Refused(f"The file has no score in a column “{column}”.")
        if not name:
            raise Refused(f"Enter the metric name for the column “{column}”.")
        if len(name) > NAME_LENGTH:
            raise Refused(f"“{name}” is longer than {NAME_LENGTH} characters.")
    repeated = [name for name, n in Counter(names.values()).items() if n > 1]
    if repeated:
        raise Refused(f"Two columns have the metric name “{repeated[0]}”. Rename one of them.")


def _refuse_unless_changeable(job: ScoreFile) -> None:
    if not can_change(job):
        raise Refused("This file can no longer be changed. See its page.")


def _refuse_without_room(project: Project, n_bytes: int, *, besides: ScoreFile | None = None) -> None:
    uploads.refuse_too_large(n_bytes)
    waiting = project.score_files.exclude(stored_name="").exclude(step=Step.TAKE, state=State.DONE)
    waiting = waiting.exclude(pk=besides.pk if besides else 0)
    n_waiting = waiting.aggregate(n=Sum("n_bytes"))["n"] or 0
    if not uploads.has_room(n_bytes, n_kept=n_waiting):
        raise Refused("Score files awaiting import take too much space. Import or discard some of them first.")
