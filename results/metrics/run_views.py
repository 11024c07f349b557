"""One run of a metric: its figures and candidates, running it again, cancelling, deleting, its file."""

from typing import Any

from django.contrib import messages
from django.db.models import QuerySet
from django.http import HttpResponse, HttpResponseBase
from django.shortcuts import get_object_or_404, redirect, render
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_POST, require_safe

from annotate.frames.criteria_in_use import CriterionInUse, criteria_in_use
from annotate.frames.stages import default_stage
from projects.access import ProjectRequest, Right, requires
from projects.charts.responses import answer_chart
from projects.jobs.pages import cancel_job, job_context, job_fragment
from projects.models import Project
from projects.tables.responses import answer_table
from projects.web.lists import paginate, read_sort, read_text
from projects.web.refusals import refusals
from results.metrics import computing
from results.metrics.candidates import SORTS, Filters, fetch_golds, find_scores, sort_scores
from results.metrics.charts import make_charts
from results.metrics.downloading import FORMATS, stream_scores
from results.metrics.listing import describe_run, list_settings, list_warnings
from results.metrics.storing import delete_run, may_delete
from results.metrics.tables import PARTS, tabulate_run
from results.models import MetricRun

FILTERS = ("text", "dataset", "source", "reason")


@requires(Right.READ)
@never_cache
@require_safe
def metric_show(request: ProjectRequest, project: Project, pk: int) -> HttpResponse:
    run = _fetch(project, pk)
    summary = run.report.get("summary") or {}
    context: dict[str, Any] = {
        **_progress(run),
        "run": run,
        "description": describe_run(run),
        "settings": list_settings(run),
        "about": run.report.get("about") or {},
        "warnings": list_warnings(run),
        "summary": summary,
        "charts": make_charts(run),
        "parts": PARTS,
        "forms": tuple(FORMATS),
        "tables": {table.name: table for table in tabulate_run(run)},
        "may_delete": may_delete(run, request.membership),
        "is_computed": run.origin == MetricRun.Origin.COMPUTED,
    }
    if run.state == MetricRun.State.DONE:
        context |= _table(request, project, run)
    return render(request, "results/metrics/show.html", context)


@requires(Right.READ)
@never_cache
@require_safe
def metric_job(request: ProjectRequest, project: Project, pk: int) -> HttpResponse:
    return job_fragment(request, _progress(_fetch(project, pk)))


@requires(Right.READ)
@require_POST
def metric_cancel(request: ProjectRequest, project: Project, pk: int) -> HttpResponse:
    run = _fetch(project, pk)
    cancel_job(request, run)
    return redirect("results:metric-list", project.slug)


@requires(Right.READ)
@require_POST
def metric_again(request: ProjectRequest, project: Project, pk: int) -> HttpResponse:
    """Compute the metric again with the same settings; the new scores replace these."""
    run = _fetch(project, pk)
    with refusals(request):
        again = computing.request_again(run=run, actor=request.membership)
        return redirect("results:metric-show", project.slug, again.pk)
    # Reached after a refusal, which has become a message.
    return redirect("results:metric-show", project.slug, pk)


@requires(Right.READ)
@require_POST
def metric_delete(request: ProjectRequest, project: Project, pk: int) -> HttpResponse:
    run = _fetch(project, pk)
    with refusals(request):
        delete_run(run=run, actor=request.membership)
        messages.success(request, "Scores deleted.")
        return redirect("results:metric-list", project.slug)
    return redirect("results:metric-show", project.slug, pk)


@requires(Right.READ)
@require_safe
def metric_scores(request: ProjectRequest, project: Project, pk: int, form: str) -> HttpResponseBase:
    return stream_scores(_fetch(project, pk), form, is_head=request.method == "HEAD")


@requires(Right.READ)
@require_safe
def metric_chart(request: ProjectRequest, project: Project, pk: int, name: str, form: str) -> HttpResponse:
    return answer_chart(project, make_charts(_fetch(project, pk)), name, form)


@requires(Right.READ)
@require_safe
def metric_table(request: ProjectRequest, project: Project, pk: int, name: str, form: str) -> HttpResponse:
    return answer_table(project, tabulate_run(_fetch(project, pk)), name, form, stem=f"metric-{pk}")


def _fetch(project: Project, pk: int) -> MetricRun:
    runs = project.metric_runs.select_related("project", "requested_by__user", "file__project")
    return get_object_or_404(runs, pk=pk)


def _table(request: ProjectRequest, project: Project, run: MetricRun) -> dict[str, Any]:
    sort = read_sort(request, SORTS, "candidate")
    chosen = {name: read_text(request, name) for name in FILTERS}
    found = find_scores(run, Filters(**chosen))
    rows = sort_scores(run, found, sort)
    page = paginate(request, rows, n=found.count() if isinstance(rows, QuerySet) else rows.count())
    # Gold scores are those of the default stage.
    criteria = criteria_in_use(project, stage=default_stage(project))
    criterion = _criterion(request, criteria)
    golds = fetch_golds(project, criterion, [row.candidate_id for row in page]) if criterion else {}
    return {
        "page": page,
        "rows": [(row, golds.get(row.candidate_id)) for row in page],
        "sort": sort,
        "chosen": chosen,
        "is_filtered": any(chosen.values()),
        "criteria": criteria,
        "criterion": criterion,
    }


def _criterion(request: ProjectRequest, criteria: list[CriterionInUse]) -> CriterionInUse | None:
    # Gold scores on several scales cannot be in one column.
    usable = [each for each in criteria if each.has_one_scale]
    return next((each for each in usable if each.key == request.GET.get("criterion")), usable[0] if usable else None)


def _progress(run: MetricRun) -> dict[str, Any]:
    args = [run.project.slug, run.pk]
    return job_context(run, title=f"Computing {run.title}", urls="results:metric", args=args, counts="candidates")
