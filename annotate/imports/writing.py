"""Writing validated files into the tables: compared with the project, then written completely or not at all."""

from collections.abc import Callable
from copy import deepcopy
from pathlib import Path

from django.db import connection, transaction
from django.db.models import Q
from django.utils import timezone

from annotate.imports import corpus, judgments, known_judgments
from annotate.imports.staging import AlreadyImported, ByteProgress, OnProgress
from annotate.models import Batch, Import
from projects import log
from projects.database.numbering import next_number
from projects.errors import Refused
from projects.identical_answers import mark_identical
from projects.importing import Checked, CheckReport, FileRefused, Kind, Options, isolated, save
from projects.importing.skipping import SkippedRows
from projects.models import Act, Membership, Project
from projects.people.members import find_owner

__all__ = ["check_alone", "check_file", "check_to_write", "compare", "import_now", "refuse_if_imported", "write"]


def check_file(
    *,
    project: Project,
    path: Path,
    name: str,
    folder: Path,
    options: Options | None = None,
    kind: Kind = Kind.CANDIDATES,
    on_progress: OnProgress | None = None,
) -> Checked:
    """Validate every row by itself and against the project; the rows wait in the spool `folder`. Stores nothing.

    If the options say so, rows that are wrong by themselves or contradict the project are skipped. Raises FileRefused,
    or Refused if this file was already imported with these options; the spool is deleted then.
    """
    skipped = SkippedRows()
    while True:
        checked = check_alone(
            project=project,
            path=path,
            name=name,
            folder=folder,
            options=options,
            kind=kind,
            skipped=skipped,
            on_progress=on_progress,
        )
        try:
            compare(project=project, checked=checked)
        except FileRefused as refusal:
            skipped.take(refusal, is_wanted=checked.options.skip_wrong_rows)
        else:
            return checked


def check_alone(
    *,
    project: Project,
    path: Path,
    name: str,
    folder: Path,
    options: Options | None = None,
    kind: Kind = Kind.CANDIDATES,
    skipped: SkippedRows | None = None,
    on_progress: OnProgress | None = None,
) -> Checked:
    """Validate every row by itself, on the scales of the project's criteria; enough if the file is written next."""
    known = judgments.fetch_known_criteria(project)
    return isolated.check(
        path=path,
        name=name,
        folder=folder,
        options=options,
        kind=kind,
        known=known,
        skipped=skipped,
        on_progress=on_progress,
    )


def check_to_write(
    *,
    project: Project,
    path: Path,
    name: str,
    folder: Path,
    options: Options | None = None,
    kind: Kind = Kind.CANDIDATES,
    on_progress: OnProgress | None = None,
) -> Checked:
    """Validate a file that is written next, which compares it with the project; earlier only to skip wrong rows."""
    validate = check_file if options is not None and options.skip_wrong_rows else check_alone
    return validate(
        project=project, path=path, name=name, folder=folder, options=options, kind=kind, on_progress=on_progress
    )


def compare(*, project: Project, checked: Checked) -> None:
    """Compare a validated file with the project without storing anything. Raises as `check_file` does."""
    try:
        refuse_if_imported(project, checked)
        with transaction.atomic():
            # Staging compares the file with the project. It creates new datasets on the way, hence the rollback.
            _stage(project, checked, checked.report, ByteProgress(checked.spool, None), locks=False)
            transaction.set_rollback(True)
    except Refused:
        checked.spool.discard()
        raise
    save(checked)


def import_now(
    *,
    project: Project,
    path: Path,
    name: str,
    folder: Path,
    actor: Membership | None,
    options: Options | None = None,
    kind: Kind = Kind.CANDIDATES,
    on_progress: OnProgress | None = None,
) -> CheckReport:
    """Validate and import a file at once. Raises as `check_file` and `write` do."""
    checked = check_to_write(
        project=project, path=path, name=name, folder=folder, options=options, kind=kind, on_progress=on_progress
    )
    try:
        return write(project=project, checked=checked, actor=actor, on_progress=on_progress)
    finally:
        checked.spool.discard()


def write(
    *,
    project: Project,
    checked: Checked,
    actor: Membership | None,
    job: Import | None = None,
    finish: Callable[[], None] | None = None,
    on_progress: OnProgress | None = None,
) -> CheckReport:
    """Write a validated file in one transaction and return what was written.

    Without a job (on the command line) the import is recorded as done. `finish` is called as the last step of the
    transaction: an exception from it or from `on_progress` undoes everything. Raises Refused for the same file with the
    same options, and FileRefused if the project has changed so that the file no longer fits. Locks the project.
    """
    # The counts change while the rows are compared and written; the report of the validation stays as it was.
    report = deepcopy(checked.report)
    with transaction.atomic():
        # The lock makes imports into one project run one after the other, so that none misses rows that another writes.
        locked = Project.objects.select_for_update(no_key=True).get(pk=project.pk)
        if locked.deleted_at is not None:
            raise Refused("The project has been deleted.")
        refuse_if_imported(project, checked, job=job)
        progress = ByteProgress(checked.spool, on_progress)
        batch = _write(locked, checked, report, actor, progress)
        job = _store_import(project, checked, report, actor, job, batch)
        log.record(project, actor, Act(f"import {checked.kind.value}"), job, after=_describe_for_log(report))
        progress.at(1.0)
        if finish is not None:
            finish()
    return report


def refuse_if_imported(project: Project, checked: Checked, *, job: Import | None = None) -> None:
    """Raise AlreadyImported if this file is already imported or queued with these options."""
    earlier = Import.objects.filter(
        ~Q(pk=job.pk if job else 0),
        project=project,
        kind=checked.kind.value,
        sha256=checked.sha256,
        step=Import.Step.WRITE,
        state__in=(*Import.LIVE, Import.State.DONE),
    )
    number = earlier.values_list("number", flat=True).first()
    if number is not None:
        raise AlreadyImported(number)


def _write(
    project: Project, checked: Checked, report: CheckReport, actor: Membership | None, progress: ByteProgress
) -> Batch | None:
    only_judgments = _stage(project, checked, report, progress, locks=True)
    batch = None
    with connection.cursor() as cursor:
        if checked.kind == Kind.CANDIDATES:
            if not only_judgments:
                corpus.write_corpus(cursor, report, progress)
            corpus.analyze_corpus(cursor)
        if report.judgments:
            batch = judgments.write_judgments(cursor, project, checked, actor, progress)
        # Last, as withdrawals wait for its lock.
        if checked.kind == Kind.CANDIDATES and not only_judgments and project.rates_identical_once:
            mark_identical(project, corpus.list_questions(cursor))
    return batch


def _stage(project: Project, checked: Checked, report: CheckReport, progress: ByteProgress, *, locks: bool) -> bool:
    """Stage the file and compare it with the project; return whether it only adds judgments. Raises FileRefused."""
    judgments.check_scales(project, checked)
    only_judgments = False
    with connection.cursor() as cursor:
        if checked.kind == Kind.CANDIDATES:
            only_judgments = corpus.stage_corpus(cursor, project, checked, report, progress)
            if only_judgments:
                report.passages = report.questions = report.references = report.candidates = report.minimal_pairs = 0
            if not checked.criteria:
                return only_judgments
            judgments.stage_scores(cursor)
        else:
            judgments.stage_judgments(cursor, project, checked, progress)
        left = known_judgments.skip_known(cursor, project, checked, report, locks=locks)
    if not left and (only_judgments or checked.kind == Kind.JUDGMENTS):
        raise Refused(known_judgments.explain_nothing_left(report))
    return only_judgments


def _store_import(
    project: Project,
    checked: Checked,
    report: CheckReport,
    actor: Membership | None,
    job: Import | None,
    batch: Batch | None,
) -> Import:
    if job is not None:
        job.batch, job.report = batch, report.as_dict()
        job.save(update_fields=["batch", "report"])
        return job
    now = timezone.now()
    return Import.objects.create(
        project=project,
        number=next_number(project, Import),
        kind=checked.kind.value,
        step=Import.Step.WRITE,
        state=Import.State.DONE,
        file_name=checked.name,
        sha256=checked.sha256,
        n_bytes=checked.n_bytes,
        options=checked.options.as_dict(),
        report=report.as_dict(),
        batch=batch,
        requested_by=actor or find_owner(project, for_what="files are imported"),
        done=report.rows,
        total=report.rows,
        started_at=now,
        finished_at=now,
    )


def _describe_for_log(report: CheckReport) -> dict[str, object]:
    names = ("file", "rows", "passages", "questions", "references", "candidates", "judgments", "minimal_pairs")
    return {name: getattr(report, name) for name in names}
