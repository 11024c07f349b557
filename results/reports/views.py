"""What every page of figures shares: fetching or requesting its figures, and the job that computes them."""

from collections.abc import Mapping
from contextlib import suppress
from http import HTTPStatus
from typing import Any

from django.http import Http404, HttpResponse, HttpResponseRedirect
from django.shortcuts import get_object_or_404, redirect, render
from django.urls import reverse
from django.utils.http import url_has_allowed_host_and_scheme
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_POST, require_safe

from annotate.frames.criteria_in_use import Scope
from projects.access import ProjectRequest, Right, requires
from projects.database.snapshots import snapshot
from projects.errors import Refused
from projects.jobs.pages import cancel_job, job_context, job_fragment
from projects.models import Project
from results.models import Report
from results.reports.reports import ReportState, find_report, request_report
from results.scope.forms import JudgmentsForm
from results.scope.scopes import explain_several_scales, warn_of_no_order


def choose_scope(
    request: ProjectRequest,
    form: JudgmentsForm,
    template: str,
    context: Mapping[str, Any],
    *,
    needs_one_scale: bool = True,
) -> Scope | HttpResponse:
    """Return the judgments that a page's form selects, or the page to answer with where it can show none.

    That is the case before a criterion is in use, after an invalid choice, for a batch without the criterion, and for
    a criterion on several scales unless the page allows these.
    """
    if not form.criteria:
        return render(request, template, context)
    if form.is_bound and not form.is_valid():
        return render(request, template, context, status=HTTPStatus.BAD_REQUEST)
    try:
        return _read_scope(form, needs_one_scale=needs_one_scale)
    except Refused as refusal:
        return render(request, template, {**context, "refusal": refusal.message})


def scope_context(scope: Scope) -> dict[str, Any]:
    """Return what the pages of a scope's figures show of it, with the warning about means of categories."""
    return {"scope": scope, "criterion": scope.criterion, "no_order": warn_of_no_order(scope.criterion)}


def require_scope(form: JudgmentsForm, *, needs_one_scale: bool = True) -> Scope:
    """Return the judgments that the address of a chart selects. Raises Http404 where the page would show none."""
    if form.criteria and (not form.is_bound or form.is_valid()):
        with suppress(Refused):
            return _read_scope(form, needs_one_scale=needs_one_scale)
    raise Http404("This chart does not exist.")


def _read_scope(form: JudgmentsForm, *, needs_one_scale: bool) -> Scope:
    scope = form.scope()
    # Asked here and not only of the figures: those that are stored may be from before a second scale.
    if needs_one_scale and not scope.criterion.has_one_scale:
        raise Refused(explain_several_scales(scope.criterion))
    return scope


def require_figures(project: Project, kind: str, settings: Mapping[str, Any]) -> dict[str, Any]:
    """Return the figures that a chart draws. Raises Http404 where they are not computed, or could not be."""
    figures = find_report(project, kind, settings).figures
    if not figures or "refusal" in figures:
        raise Http404("These figures have not been computed.")
    return figures


def fetch_figures(
    request: ProjectRequest, kind: str, settings: Mapping[str, Any]
) -> ReportState | HttpResponseRedirect:
    """Return the figures of a page; a POST requests them to be recomputed and redirects back to the page."""
    if request.method == "POST":
        request_report(project=request.project, actor=request.membership, kind=kind, settings=settings)
        return redirect(request.get_full_path())
    # Figures and the version that they are stored under have to be of one moment.
    with snapshot():
        return find_report(request.project, kind, settings)


def report_context(request: ProjectRequest, state: ReportState) -> dict[str, Any]:
    """Return the context of `results/reports/_report_state.html`, and the figures."""
    context: dict[str, Any] = {"report_state": state, "figures": state.figures, "query": request.GET.urlencode()}
    if state.under_way:
        context |= _progress(request.project, state.under_way)
    return context


@requires(Right.READ)
@never_cache
@require_safe
def report_job(request: ProjectRequest, project: Project, pk: int) -> HttpResponse:
    return job_fragment(request, _progress(project, get_object_or_404(Report, project=project, pk=pk)))


@requires(Right.READ)
@require_POST
def report_cancel(request: ProjectRequest, project: Project, pk: int) -> HttpResponse:
    """Cancel the job and go back to the page of the button: reports belong to several pages."""
    report = get_object_or_404(Report, project=project, pk=pk)
    cancel_job(request, report)
    page = request.headers.get("Referer", "")
    # The header comes from outside; without the check a forged one would redirect to another site.
    is_ours = url_has_allowed_host_and_scheme(page, allowed_hosts={request.get_host()})
    return redirect(page if is_ours else reverse("results:agreement", args=[project.slug]))


def _progress(project: Project, report: Report) -> dict[str, Any]:
    return job_context(report, title="Computing figures", urls="results:report", args=[project.slug, report.pk])
