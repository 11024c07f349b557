"""The sample-size planner: the items and judgments that give alpha an interval of a chosen width, and their cost."""

from collections.abc import Mapping
from typing import Any

from django.http import HttpResponse
from django.shortcuts import render
from django.views.decorators.http import require_http_methods, require_safe

from annotate.frames.criteria_in_use import Scope
from projects.access import ProjectRequest, Right, requires
from projects.charts.responses import answer_chart
from projects.database.snapshots import snapshot
from projects.models import Project
from projects.tables.responses import answer_table
from projects.tables.tables import Table
from results.agreement import charts
from results.agreement.planner_forms import PlannerForm
from results.agreement.planner_tables import is_of_studies, tabulate_plan
from results.agreement.precision import OBSERVED, describe_basis, list_choices, warn_of_equal, warn_of_few
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
        context |= {
            "width": form.read_width(),
            "plan": figures["plan"],
            "has_modelled": any(
                describe_basis(figures["plan"], each["n_judgments"]) != OBSERVED for each in figures["plan"]["widths"]
            ),
            "is_of_studies": is_of_studies(figures["plan"]),
            "few_passages": warn_of_few(figures["plan"]),
            "equal_ratings": warn_of_equal(figures["plan"]),
            "tables": {table.name: table for table in _tabulate(project, form, scope, figures)},
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


@requires(Right.READ)
@require_safe
@snapshot()
def planner_table(request: ProjectRequest, project: Project, name: str, form: str) -> HttpResponse:
    query_form = PlannerForm(project, request.GET or None)
    scope = require_scope(query_form)
    figures = require_figures(project, "plan", query_form.settings(scope))
    found = _tabulate(project, query_form, scope, figures) if "widths" in figures["plan"] else []
    return answer_table(project, found, name, form, stem="planner")


def _tabulate(project: Project, form: PlannerForm, scope: Scope, figures: Mapping[str, Any]) -> list[Table]:
    width = form.read_width()
    choices = list_choices(project, figures, width=width)
    return tabulate_plan(project, figures, choices, criterion=scope.criterion.name, width=width)
