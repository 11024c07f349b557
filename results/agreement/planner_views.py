"""The sample-size planner: the items and judgments that give alpha an interval of a chosen width, and their cost."""

from typing import Any

from django.http import HttpResponse
from django.shortcuts import render
from django.views.decorators.http import require_http_methods, require_safe

from projects.access import ProjectRequest, Right, requires
from projects.charts.responses import answer_chart
from projects.database.snapshots import snapshot
from projects.models import Project
from results.agreement import charts
from results.agreement.planner_forms import PlannerForm
from results.agreement.precision import list_choices
from results.reports.views import choose_scope, fetch_figures, report_context, require_figures, require_scope
from results.scope.gold_settings import SEED

TEMPLATE = "results/agreement/planner_show.html"


@requires(Right.READ)
@require_http_methods(["GET", "HEAD", "POST"])
def planner(request: ProjectRequest, project: Project) -> HttpResponse:
    form = PlannerForm(project, request.GET or None)
    context: dict[str, Any] = {"form": form, "seed": SEED}
    scope = choose_scope(request, form, TEMPLATE, context)
    if isinstance(scope, HttpResponse):
        return scope
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
    query_form = PlannerForm(project, request.GET or None)
    figures = require_figures(project, "plan", query_form.settings(require_scope(query_form)))
    return answer_chart(project, charts.chart_plan(figures), name, form)
