"""The sample-size planner: the items and judgments that give alpha an interval of a chosen width, and their cost."""

from typing import Any

from django.http import Http404, HttpResponse
from django.shortcuts import render
from django.views.decorators.http import require_http_methods, require_safe

from projects.access import ProjectRequest, Right, requires
from projects.charts.responses import answer_chart
from projects.database.snapshots import snapshot
from projects.errors import Refused
from projects.models import Project
from results.agreement import charts
from results.agreement.planner_forms import PlannerForm
from results.agreement.precision import list_choices
from results.reports.reports import find_report
from results.reports.views import fetch_figures, report_context
from results.scope.gold_settings import SEED

TEMPLATE = "results/agreement/planner_show.html"


@requires(Right.READ)
@require_http_methods(["GET", "HEAD", "POST"])
def planner(request: ProjectRequest, project: Project) -> HttpResponse:
    form = PlannerForm(project, request.GET or None)
    context: dict[str, Any] = {"form": form, "seed": SEED}
    if not form.criteria:
        return render(request, TEMPLATE, context)
    if form.is_bound and not form.is_valid():
        return render(request, TEMPLATE, context, status=400)
    try:
        scope = form.scope()
    except Refused as refusal:
        return render(request, TEMPLATE, {**context, "refusal": refusal.message})
    state = fetch_figures(request, "plan", form.settings(scope))
    if isinstance(state, HttpResponse):
        return state
    context |= {"scope": scope, "criterion": scope.criterion, **report_context(request, state)}
    figures = state.figures
    if figures and "refusal" in figures:
        return render(request, TEMPLATE, {**context, "refusal": figures["refusal"], "figures": None})
    if figures and "widths" in figures["plan"]:
        width = form.read_width()
        context |= {
            "width": width,
            "plan": figures["plan"],
            "choices": list_choices(project, figures, width=width),
            "charts": {chart.name: chart for chart in charts.chart_plan(figures)},
        }
    return render(request, TEMPLATE, context)


@requires(Right.READ)
@require_safe
@snapshot()
def planner_chart(request: ProjectRequest, project: Project, name: str, form: str) -> HttpResponse:
    asked = PlannerForm(project, request.GET or None)
    if not asked.criteria or (asked.is_bound and not asked.is_valid()):
        raise Http404("This chart does not exist.")
    try:
        figures = find_report(project, "plan", asked.settings(asked.scope())).figures
    except Refused as refusal:
        raise Http404("This chart does not exist.") from refusal
    if not figures or "refusal" in figures:
        raise Http404("These figures do not exist.")
    return answer_chart(project, charts.chart_plan(figures), name, form)
