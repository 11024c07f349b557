"""The metrics of a project, and new runs."""

from http import HTTPStatus
from typing import Any

from django.contrib import messages
from django.http import HttpResponse
from django.shortcuts import redirect, render
from django.urls import reverse
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_http_methods, require_POST, require_safe

from projects.access import ProjectRequest, Right, requires
from projects.errors import Refused
from projects.jobs import queue
from projects.jobs.pages import REFRESH_SECONDS
from projects.models import Project
from projects.tables.responses import answer_table
from results.metrics import computing
from results.metrics.candidate_slices import count_candidates, count_without_reference
from results.metrics.forms import ComputeForm
from results.metrics.listing import list_metrics, unfinished_runs
from results.metrics.registry import explain_not_imported
from results.metrics.tables import tabulate_metrics
from results.models import ScoreFile
from results.scope.self_references import count_self_references, warn_of_self_references
from results.scope.unspaced_texts import count_unspaced, warn_before_computing


@requires(Right.READ)
@never_cache
@require_safe
def metric_list(request: ProjectRequest, project: Project) -> HttpResponse:
    listed = list_metrics(project)
    waiting = project.score_files.filter(step=ScoreFile.Step.CHECK).exclude(state__in=("failed", "cancelled"))
    context = {
        **_jobs(project),
        "metrics": listed,
        "tables": tabulate_metrics(project, listed),
        "waiting": waiting.select_related("requested_by__user", "project")[:20],
        "not_imported": explain_not_imported(),
        "n_candidates": count_candidates(project),
    }
    context["refresh_seconds"] = REFRESH_SECONDS if context["live"] else None
    return render(request, "results/metrics/list.html", context)


@requires(Right.READ)
@never_cache
@require_safe
def metric_jobs(request: ProjectRequest, project: Project) -> HttpResponse:
    """Answer the page that polls the unfinished runs; it reloads itself once these are others."""
    context = _jobs(project)
    response = render(request, "results/metrics/_jobs.html", context)
    # A run that ended has scores now, which only the whole page shows.
    if request.GET.get("live", "") != context["live_ids"]:
        response["HX-Refresh"] = "true"
    return response


@requires(Right.READ)
@require_safe
def metric_list_table(request: ProjectRequest, project: Project, name: str, form: str) -> HttpResponse:
    return answer_table(project, tabulate_metrics(project, list_metrics(project)), name, form)


@requires(Right.READ)
@require_http_methods(["GET", "HEAD", "POST"])
def metric_new(request: ProjectRequest, project: Project) -> HttpResponse:
    """Choose metrics by GET, request their runs by POST; open to researchers."""
    form = ComputeForm(project, request.POST if request.method == "POST" else None)
    refusals: list[str] = []
    if request.method == "POST" and form.is_valid():
        ticked = list(form.chosen())
        for name, settings in ticked:
            try:
                computing.request_run(project=project, actor=request.membership, name=name, settings=settings)
            except Refused as refusal:
                refusals.append(refusal.message)
        # Some are queued: the list shows these, and the others' refusals as messages.
        if len(refusals) < len(ticked):
            for refused in refusals:
                messages.error(request, refused)
            return redirect("results:metric-list", project.slug)
    context = {
        "form": form,
        "refusals": refusals,
        "warnings": _list_warnings(project),
        "n_candidates": count_candidates(project),
        "n_without_reference": count_without_reference(project),
        "not_imported": explain_not_imported(),
    }
    is_wrong = bool(form.errors or refusals)
    status = HTTPStatus.UNPROCESSABLE_ENTITY if is_wrong else HTTPStatus.OK
    return render(request, "results/metrics/new.html", context, status=status)


@requires(Right.READ)
@require_POST
def metric_cancel_all(request: ProjectRequest, project: Project) -> HttpResponse:
    for run in unfinished_runs(project):
        try:
            queue.cancel(run)
        except Refused:
            # It has just ended by itself.
            continue
    messages.success(request, "Unfinished metrics were cancelled; none of their scores were stored.")
    return redirect("results:metric-list", project.slug)


def _list_warnings(project: Project) -> list[str]:
    found = [
        warn_of_self_references(count_self_references(project)),
        warn_before_computing(count_unspaced(project)),
    ]
    return [each for each in found if each]


def _jobs(project: Project) -> dict[str, Any]:
    live = list(unfinished_runs(project))
    ids = "-".join(str(run.pk) for run in live)
    return {
        "live": live,
        "live_ids": ids,
        "why_waiting": next(filter(None, map(queue.explain_wait, live)), "") if live else "",
        "jobs_url": f"{reverse('results:metric-jobs', args=[project.slug])}?live={ids}",
    }
