"""Downloads of exports: choose what a file holds, and get it as it is read."""

from collections.abc import Iterator

from django.http import HttpResponse, HttpResponseBase, StreamingHttpResponse
from django.shortcuts import render
from django.views.decorators.http import require_safe

from annotate.models import Item
from annotate.models.batch import find_batch_ids
from projects.access import ProjectRequest, Right, requires
from projects.downloads import download_headers
from projects.errors import Refused
from projects.models import Project
from results.exports.formats import CONTROLS, FILES, FORMATS, Choices, file_name, make_statement
from results.exports.forms import ExportForm
from results.exports.streaming import stream
from results.scope.excluded import count_judgments

CONTENT_TYPES = {"csv": "text/csv; charset=utf-8", "jsonl": "application/jsonl", "json": "application/json"}


@requires(Right.READ)
@require_safe
def export_list(request: ProjectRequest, project: Project) -> HttpResponse:
    return _page(request, project, ExportForm(project, request.GET or None))


@requires(Right.READ)
@require_safe
def export_download(request: ProjectRequest, project: Project, form: str) -> HttpResponseBase:
    return _download(request, project, form)


@requires(Right.MANAGE)
@require_safe
def export_controls(request: ProjectRequest, project: Project) -> HttpResponseBase:
    return _download(request, project, CONTROLS)


def _download(request: ProjectRequest, project: Project, form: str) -> HttpResponseBase:
    query_form = ExportForm(project, request.GET)
    if not query_form.is_valid():
        return _page(request, project, query_form, status=400)
    choices = Choices(
        project=project,
        criterion=query_form.cleaned_data["criterion"],
        stage=query_form.read_stage(),
        batches=(query_form.cleaned_data["batch"],) if query_form.cleaned_data["batch"] else (),
        with_texts=query_form.cleaned_data["texts"],
        with_comments=query_form.cleaned_data["comments"],
    )
    try:
        statement = make_statement(form, choices)
    except Refused as refusal:
        return _page(request, project, query_form, refusal=refusal.message, status=400)
    # A HEAD request must not start a statement over a million rows.
    chunks: Iterator[bytes] = iter(()) if request.method == "HEAD" else stream(statement)
    return StreamingHttpResponse(
        chunks,
        content_type=CONTENT_TYPES[FILES[form].rpartition(".")[2]],
        headers=download_headers(file_name(form, choices)),
    )


def _page(
    request: ProjectRequest, project: Project, form: ExportForm, *, refusal: str = "", status: int = 200
) -> HttpResponse:
    context = {
        "form": form,
        "counts": count_judgments(project, form.read_stage()),
        "refusal": refusal,
        "formats": tuple(FORMATS),
        "has_controls": request.membership.can_manage
        and Item.objects.filter(pool_of__in=find_batch_ids(project)).exists(),
    }
    return render(request, "results/exports/list.html", context, status=status)
