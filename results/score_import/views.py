"""The pages of score files: upload, report, import."""

from functools import partial
from http import HTTPStatus
from typing import Any

from django.contrib import messages
from django.http import FileResponse, HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_http_methods, require_POST, require_safe

from annotate.imports.forms import CorrectedFileForm
from projects.access import ProjectRequest, Right, requires
from projects.downloads import FileMissing, send_file
from projects.importing.check_report import LINE
from projects.jobs.pages import cancel_job, job_context, job_fragment
from projects.models import Project
from projects.web.forms import choose_status
from projects.web.previews import Preview
from projects.web.refusals import refusals
from projects.web.upload_requests import takes_files
from results.metrics.candidate_slices import count_candidates
from results.models import ScoreFile
from results.score_import import importing
from results.score_import.forms import ScoreFileForm, ScoreOptionsForm, TakeForm, read_initial

COUNTED = {
    "unknown": ("Unknown", "IDs that match no candidate"),
    "ambiguous": ("Ambiguous", "IDs found in several datasets"),
    "duplicate": ("Duplicate", "the first score is used"),
    "not a number": ("Not a number", "cells of candidates"),
    "withdrawn": ("Withdrawn", "of candidates that are withdrawn"),
    "unreadable": ("Unreadable", "rows without an ID or malformed"),
}
"""Name and note of each kind of wrong row; candidates without a score are no rows and listed apart."""

State, Step = ScoreFile.State, ScoreFile.Step


@requires(Right.READ)
@takes_files
@never_cache
@require_http_methods(["GET", "HEAD", "POST"])
def score_file_new(request: ProjectRequest, project: Project) -> HttpResponse:
    form = ScoreFileForm(project)
    if request.method == "POST":
        form = ScoreFileForm(project, request.POST, request.FILES)
        if form.is_valid():
            with refusals(request, form, field="file"):
                job = importing.receive(
                    project=project,
                    actor=request.membership,
                    upload=form.cleaned_data["file"],
                    options=form.options(),
                )
                return _redirect_to(job)
    context = {"form": form, "n_candidates": count_candidates(project)}
    status = choose_status(form)
    return render(request, "results/score_import/new.html", context, status=status)


@requires(Right.READ)
@never_cache
@require_safe
def score_file(request: ProjectRequest, project: Project, number: int) -> HttpResponse:
    job = _fetch(project, number)
    return _render(request, job, TakeForm(job))


@requires(Right.READ)
@never_cache
@require_safe
def score_file_job(request: ProjectRequest, project: Project, number: int) -> HttpResponse:
    return job_fragment(request, _progress(_fetch(project, number)))


@requires(Right.READ)
@require_POST
def score_file_take(request: ProjectRequest, project: Project, number: int) -> HttpResponse:
    job = _fetch(project, number)
    if job.is_live or job.step == Step.TAKE:
        # A second click.
        return _redirect_to(job)
    form = TakeForm(job, request.POST)
    if form.is_valid():
        with refusals(request, form):
            # Queueing compares the attempt again, so no other file can take the place of this one in between.
            _preview_report(job).require_confirmed(request)
            importing.request_import(job=job, actor=request.membership, names=form.names())
            return _redirect_to(job)
    return _render(request, job, form, status=HTTPStatus.UNPROCESSABLE_ENTITY)


@requires(Right.READ)
@require_POST
def score_file_check(request: ProjectRequest, project: Project, number: int) -> HttpResponse:
    """Check the file again with other settings."""
    job = _fetch(project, number)
    if job.is_live:
        return _redirect_to(job)  # a second click
    form = ScoreOptionsForm(project, request.POST)
    if form.is_valid():
        with refusals(request):
            importing.check_again(job=job, actor=request.membership, options=form.options())
        return _redirect_to(job)
    return _render(request, job, TakeForm(job), options_form=form, status=HTTPStatus.UNPROCESSABLE_ENTITY)


@requires(Right.READ)
@partial(takes_files, replaces=ScoreFile)
@require_POST
def score_file_replace(request: ProjectRequest, project: Project, number: int) -> HttpResponse:
    """Put a corrected file in the place of this one; its settings stay."""
    job = _fetch(project, number)
    form = CorrectedFileForm(request.POST, request.FILES)
    if form.is_valid():
        with refusals(request):
            importing.replace_file(job=job, actor=request.membership, upload=form.cleaned_data["file"])
    else:
        messages.error(request, " ".join(map(str, form.errors["file"])))
    return _redirect_to(job)


@requires(Right.READ)
@require_POST
def score_file_cancel(request: ProjectRequest, project: Project, number: int) -> HttpResponse:
    job = _fetch(project, number)
    is_stopping = cancel_job(request, job, stop=importing.stop, done="Discarded. The file is deleted.")
    return redirect("results:metric-list", project.slug) if is_stopping else _redirect_to(job)


@requires(Right.READ)
@never_cache
@require_safe
def score_file_problems(request: ProjectRequest, project: Project, number: int) -> FileResponse:
    """Send the list of every wrong row and of every candidate without a score."""
    job = _fetch(project, number)
    missing = "There is no list of errors for this file."
    if not job.report:
        raise FileMissing(missing)
    return send_file(
        importing.find_problems_file(job),
        name=f"{project.slug}-scores-{job.number}-problems.csv",
        content_type="text/csv; charset=utf-8",
        missing=missing,
    )


def _fetch(project: Project, number: int) -> ScoreFile:
    files = project.score_files.select_related("project", "requested_by__user")
    return get_object_or_404(files, number=number)


def _preview_report(job: ScoreFile) -> Preview:
    """Return what the report was about: this check of this file."""
    return Preview("import scores", job, numbers=[job.attempt, job.sha256])


def _redirect_to(job: ScoreFile) -> HttpResponse:
    return redirect("results:score-file", job.project.slug, job.number)


def _render(
    request: ProjectRequest,
    job: ScoreFile,
    form: TakeForm,
    *,
    options_form: ScoreOptionsForm | None = None,
    status: int = HTTPStatus.OK,
) -> HttpResponse:
    # A file that was refused as a whole stores the refusal in place of a report.
    report = job.report if job.report and "counts" in job.report else None
    refusal = job.report if job.report and "total" in job.report else None
    listed = [] if report is None else [each for kind in COUNTED for each in _listed(report, kind)]
    context = {
        **_progress(job),
        "form": form,
        "report_preview": _preview_report(job),
        "can_change": importing.can_change(job) and bool(job.stored_name),
        "options_form": options_form
        or ScoreOptionsForm(job.project, initial=read_initial(importing.read_options(job))),
        "corrected_file": CorrectedFileForm(),
        "report": report,
        "refusal": refusal,
        "counts": [(label, report["counts"][kind], note) for kind, (label, note) in COUNTED.items()] if report else [],
        "n_wrong": sum(report["counts"][kind] for kind in COUNTED) if report else 0,
        # Files that were checked by an earlier version have lines.
        "unit": report.get("unit", LINE) if report else LINE,
        "listed": sorted(listed, key=lambda each: each["line"] or 0),
        # A candidate lacks a score in each column, and is listed once; twenty are enough to see which they are.
        "missing": list(dict.fromkeys(each["id"] for each in report["problems"].get("missing", [])))[:20]
        if report
        else [],
        "runs": list(job.runs.select_related("project").order_by("title")) if job.step == Step.TAKE else [],
        "has_file": importing.find_problems_file(job).is_file(),
    }
    return render(request, "results/score_import/show.html", context, status=status)


def _listed(report: dict[str, Any], kind: str) -> list[dict[str, Any]]:
    """Return the first problems of a kind, each with the name of the kind."""
    return [{**each, "kind": COUNTED[kind][0]} for each in report["problems"].get(kind, [])]


def _progress(job: ScoreFile) -> dict[str, Any]:
    title = "Validating every row" if job.step == Step.CHECK else "Storing the scores"
    return job_context(
        job, title=title, urls="results:score-file", args=[job.project.slug, job.number], counts="kB read"
    )
