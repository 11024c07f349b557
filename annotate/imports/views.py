"""Pages of imports: choose a file, preview it, validate it, import it."""

from dataclasses import replace
from functools import partial
from http import HTTPStatus
from pathlib import PurePosixPath
from typing import Any

from django.contrib import messages
from django.http import FileResponse, HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_http_methods, require_POST, require_safe

from annotate.imports import uploading
from annotate.imports.forms import DELIMITERS, FORMAT_NAMES, CorrectedFilesForm, UploadForm
from annotate.imports.known_judgments import NOT_IMPORTED
from annotate.imports.preview import FilePreview, fetch_preview, read_preview
from annotate.imports.several_files import join_files
from annotate.models import Import
from projects.access import ProjectRequest, Right, requires
from projects.downloads import send_file
from projects.importing import FileRefused, Kind, Options
from projects.importing.sniffing import SUFFIXES
from projects.jobs.pages import cancel_job, job_context, job_fragment
from projects.models import Project
from projects.web import uploads
from projects.web.forms import choose_status
from projects.web.lists import paginate
from projects.web.previews import Preview
from projects.web.refusals import refusals
from projects.web.upload_requests import takes_files

STEPS = ("File", "Columns", "Validate", "Import")
COUNT_LABELS = {
    "rows": "rows",
    "passages": "passages",
    "questions": "questions",
    "references": "references",
    "candidates": "candidates",
    "minimal_pairs": "minimal pairs",
    "judgments": "judgments",
    "annotators": "annotators",
    "most_unnamed": "judgments per candidate without an annotator’s name, at most",
}
LINKED_LABELS = {
    "passages": "passages",
    "questions": "questions",
    "questions_with_further_references": "questions that get further references",
    "rated_questions_with_further_references": "of these, with judgments or in an open or paused batch",
}
LEFT_OUT_LABELS = {
    "equal_to_reference": "candidates equal to a reference",
    "both_numbers": "candidates that are numbers where a reference is one too",
    "wrong_rows": "rows with errors",
    "empty_ratings": "empty ratings, as missing values",
    "repeated": "further ratings of a candidate by the same annotator",
    **NOT_IMPORTED,
}


@requires(Right.MANAGE)
@never_cache
@require_safe
def import_list(request: ProjectRequest, project: Project) -> HttpResponse:
    imports = project.imports.select_related("requested_by", "batch")
    page = paginate(request, imports)
    return render(request, "annotate/imports/list.html", {"page": page})


@requires(Right.MANAGE)
@takes_files
@never_cache
@require_http_methods(["GET", "HEAD", "POST"])
def import_new(request: ProjectRequest, project: Project) -> HttpResponse:
    form = UploadForm()
    if request.method == "POST":
        form = UploadForm(request.POST, request.FILES)
        if form.is_valid():
            sent = form.cleaned_data
            with refusals(request, form, field="file"):
                with join_files(sent["file"]) as upload:
                    job = uploading.receive(
                        project=project, actor=request.membership, upload=upload, kind=Kind(sent["kind"])
                    )
                _refuse_hopeless(job)
                return _redirect_to(job)
    status = choose_status(form)
    context = {"form": form, **_describe_steps(0)}
    return render(request, "annotate/imports/new.html", context, status=status)


@requires(Right.MANAGE)
@never_cache
@require_safe
def import_show(request: ProjectRequest, project: Project, number: int) -> HttpResponse:
    job = _fetch(project, number)
    found = read_preview(job) if _awaits_options(job) else None
    return _render(request, project, job, found)


@requires(Right.MANAGE)
@require_POST
def import_check(request: ProjectRequest, project: Project, number: int) -> HttpResponse:
    """Store the options, then preview the file again or request its validation."""
    job = _fetch(project, number)
    if job.is_live:
        return _redirect_to(job)  # a second click
    if not _can_change_options(job):
        messages.error(request, "The settings of this import can no longer be changed.")
        return _redirect_to(job)
    found = read_preview(job, request.POST)
    is_only_preview = request.POST.get("then") == "look"
    if found.options is None or (found.are_columns_new and not is_only_preview):
        return _render(request, project, job, found, status=HTTPStatus.UNPROCESSABLE_ENTITY)
    options = found.options
    if request.POST.get("then") == "skip":
        options = replace(options, skip_wrong_rows=True)
    with refusals(request):
        if is_only_preview:
            uploading.store_options(job=job, options=options)
        else:
            uploading.start_check(job=job, options=options)
    return _redirect_to(job)


@requires(Right.MANAGE)
@partial(takes_files, replaces=Import)
@require_POST
def import_replace(request: ProjectRequest, project: Project, number: int) -> HttpResponse:
    """Put a corrected file in the place of the import's file; the settings and the mapping stay."""
    job = _fetch(project, number)
    form = CorrectedFilesForm(request.POST, request.FILES)
    if not form.is_valid():
        messages.error(request, " ".join(map(str, form.errors["file"])))
        return _redirect_to(job)
    with refusals(request):
        with join_files(form.cleaned_data["file"]) as upload:
            uploading.replace_file(job=job, actor=request.membership, upload=upload)
        _refuse_hopeless(job)
    return _redirect_to(job)


@requires(Right.MANAGE)
@require_POST
def import_reopen(request: ProjectRequest, project: Project, number: int) -> HttpResponse:
    """Return from the report to the mapping of columns."""
    job = _fetch(project, number)
    with refusals(request):
        uploading.store_options(job=job, options=uploading.read_options(job))
    return _redirect_to(job)


@requires(Right.MANAGE)
@require_POST
def import_write(request: ProjectRequest, project: Project, number: int) -> HttpResponse:
    job = _fetch(project, number)
    if job.is_live or (job.step, job.state) == (Import.Step.WRITE, Import.State.DONE):
        return _redirect_to(job)  # a second click
    with refusals(request):
        if job.state == Import.State.INTERRUPTED:
            uploading.retry(job=job)
        else:
            # Queueing compares the attempt again, so no other file can take the place of this one in between.
            _preview_report(job).require_confirmed(request)
            uploading.start_write(job=job, actor=request.membership)
    return _redirect_to(job)


@requires(Right.MANAGE)
@require_POST
def import_cancel(request: ProjectRequest, project: Project, number: int) -> HttpResponse:
    job = _fetch(project, number)
    cancel_job(request, job, stop=uploading.stop, done="Import cancelled. The file has been deleted.")
    return _redirect_to(job)


@requires(Right.MANAGE)
@never_cache
@require_safe
def import_job(request: ProjectRequest, project: Project, number: int) -> HttpResponse:
    return job_fragment(request, _build_progress(project, _fetch(project, number)))


@requires(Right.MANAGE)
@never_cache
@require_safe
def import_file(request: ProjectRequest, project: Project, number: int) -> FileResponse:
    """Download the original file; it is never opened in the browser."""
    job = _fetch(project, number)
    return send_file(
        # Without a stored name this is the folder, which is no file either.
        uploads.find_file(job),
        name=job.file_name,
        content_type="application/octet-stream",
        missing="The file of this import wasn’t kept.",
    )


@requires(Right.MANAGE)
@never_cache
@require_safe
def import_skipped(request: ProjectRequest, project: Project, number: int) -> FileResponse:
    """Download the list of skipped rows with their reasons and cells."""
    job = _fetch(project, number)
    return send_file(
        uploading.find_skipped_file(job),
        name=f"{project.slug}-import-{job.number}-skipped.csv",
        content_type="text/csv; charset=utf-8",
        missing="No rows of this import were skipped.",
    )


def _fetch(project: Project, number: int) -> Import:
    imports = project.imports.select_related("project", "requested_by__user", "batch")
    return get_object_or_404(imports, number=number)


def _redirect_to(job: Import) -> HttpResponse:
    return redirect("annotate:import-show", job.project.slug, job.number)


def _preview_report(job: Import) -> Preview:
    """Return what the report was about: this validation of this file."""
    return Preview("import", job, numbers=[job.attempt, job.sha256])


def _can_change_options(job: Import) -> bool:
    if job.state == Import.State.FAILED:
        return bool(job.stored_name)
    return bool(job.stored_name) and job.state == Import.State.DONE and job.step != Import.Step.WRITE


def _awaits_options(job: Import) -> bool:
    return _can_change_options(job) and (job.step == Import.Step.UPLOADED or job.state == Import.State.FAILED)


def _refuse_hopeless(job: Import) -> None:
    """End an import whose file can't be read with any options of the page."""
    try:
        fetch_preview(job, Options())
    except FileRefused as refusal:
        has_known_name = PurePosixPath(job.file_name).suffix.lower() in SUFFIXES
        if has_known_name and not refusal.offers:
            uploading.refuse(job=job, refusal=refusal)


def _render(
    request: ProjectRequest,
    project: Project,
    job: Import,
    found: FilePreview | None = None,
    status: int = HTTPStatus.OK,
) -> HttpResponse:
    is_imported = (job.step, job.state) == (Import.Step.WRITE, Import.State.DONE)
    report = job.report or {}
    refused_by = _find_refusing(project, report["same_as"]) if found and "same_as" in report else None
    is_repeated = refused_by is not None
    same = refused_by or (uploading.find_same_file(job) if found else None)
    left_out = {**report.get("removed", {}), **report.get("skipped", {})}
    context = {
        **_build_progress(project, job),
        "file_preview": found,
        "report_preview": _preview_report(job),
        "refusal": found.refusal.as_dict() if found and found.refusal else _read_refusal(job),
        "same": same,
        "is_repeated": is_repeated,
        "corrected_file": CorrectedFilesForm(),
        "left_out": [(LEFT_OUT_LABELS.get(name, name), n) for name, n in left_out.items() if n],
        "linked": [(LINKED_LABELS.get(name, name), n) for name, n in report.get("linked", {}).items() if n],
        "has_skipped": bool(job.stored_name) and uploading.find_skipped_file(job).is_file(),
        "labels": sorted(report.get("labels", {}).items(), key=lambda each: (each[1] is None, -(each[1] or 0))),
        "counts": _list_counts(job) if "problems" not in report else [],
        "by_dataset": _list_by_dataset(job),
        "read_as": _describe_reading(found),
        "can_choose": _can_change_options(job),
        "heading": "Already imported" if is_repeated else _choose_heading(job, found),
        **_describe_steps(STEPS.index(_find_step(job)) + is_imported),
    }
    return render(request, "annotate/imports/show.html", context, status=status)


def _find_refusing(project: Project, number: int) -> Import | None:
    """Return the import because of which another was refused, unless it was cancelled or has failed since."""
    states = (*Import.LIVE, Import.State.DONE)
    return project.imports.filter(number=number, step=Import.Step.WRITE, state__in=states).first()


def _build_progress(project: Project, job: Import) -> dict[str, Any]:
    title = "Validating every row" if job.step == Import.Step.CHECK else "Importing into the project"
    return job_context(job, title=title, urls="annotate:import", args=[project.slug, job.number])


def _choose_heading(job: Import, found: FilePreview | None) -> str:
    if job.state == Import.State.FAILED:
        return "Correct the import" if job.stored_name else "File could not be read"
    if found:
        return "File preview"
    if job.state == Import.State.DONE:
        return "Imported" if job.step == Import.Step.WRITE else "Validated"
    return f"Import {job.number}"


def _describe_steps(n_done: int) -> dict[str, Any]:
    """Return the steps, those that are done, and the current one."""
    return {"steps": STEPS, "steps_done": STEPS[:n_done], "step": STEPS[n_done] if n_done < len(STEPS) else ""}


def _find_step(job: Import) -> str:
    if job.step == Import.Step.UPLOADED or job.state == Import.State.FAILED:
        return str(STEPS[1])
    if job.step == Import.Step.CHECK:
        return str(STEPS[2])
    return str(STEPS[3])


def _read_refusal(job: Import) -> dict[str, Any] | None:
    """Return the problems that an earlier step has stored."""
    report = job.report or {}
    return report if "problems" in report else None


def _list_counts(job: Import) -> list[tuple[str, int]]:
    report = job.report or {}
    return [(str(label), report[name]) for name, label in COUNT_LABELS.items() if report.get(name)]


def _list_by_dataset(job: Import) -> dict[str, Any]:
    datasets: dict[str, dict[str, int]] = (job.report or {}).get("by_dataset", {})
    names = [name for name in COUNT_LABELS if any(counts.get(name) for counts in datasets.values())]
    return {
        "names": [COUNT_LABELS[name] for name in names],
        "rows": [(dataset, [counts.get(name, 0) for name in names]) for dataset, counts in datasets.items()],
    }


def _describe_reading(found: FilePreview | None) -> str:
    """Return how the file is read, as detected or chosen: format, encoding and delimiter."""
    if found is None or found.preview is None:
        return ""
    preview = found.preview
    words = [FORMAT_NAMES[preview.format], preview.encoding.upper()]
    words += [f"separated by {name}" for name, sign in DELIMITERS.values() if sign and sign == preview.delimiter]
    return ", ".join(filter(None, words))
