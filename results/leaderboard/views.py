"""The leaderboard: its page, and its tables and charts as files."""

from typing import Any

from django.http import HttpResponse
from django.shortcuts import render
from django.views.decorators.http import require_http_methods, require_safe

from annotate.reviews import adjudication
from projects.access import ProjectRequest, Right, requires
from projects.charts.responses import answer_chart
from projects.database.snapshots import snapshot
from projects.models import Project
from projects.tables.responses import answer_table
from results.leaderboard import tables
from results.leaderboard.forms import LeaderboardForm
from results.reports.views import choose_scope, fetch_figures, report_context, require_figures, require_scope

TEMPLATE = "results/leaderboard/show.html"


@requires(Right.READ)
@require_http_methods(["GET", "HEAD", "POST"])
def leaderboard(request: ProjectRequest, project: Project) -> HttpResponse:
    form = LeaderboardForm(project, request.GET or None)
    context: dict[str, Any] = {"form": form}
    scope = choose_scope(request, form, TEMPLATE, context)
    if isinstance(scope, HttpResponse):
        return scope
    state = fetch_figures(request, "leaderboard", form.settings(scope, adjudication.read_gold_rule(project)))
    # A POST has been answered already: the figures are requested, and the page is loaded again.
    if isinstance(state, HttpResponse):
        return state
    context |= {"scope": scope, **report_context(request, state)}
    figures = state.figures
    if figures and "refusal" in figures:
        return render(request, TEMPLATE, {**context, "refusal": figures["refusal"], "figures": None})
    if figures:
        context["tables"] = {table.name: table for table in tables.tabulate_leaderboard(figures)}
        context["charts"] = tables.chart_leaderboard(figures)
        context["notes"] = tables.list_notes(figures)
    return render(request, TEMPLATE, context)


@requires(Right.READ)
@require_safe
@snapshot()
def leaderboard_chart(request: ProjectRequest, project: Project, name: str, form: str) -> HttpResponse:
    return answer_chart(project, tables.chart_leaderboard(_require_figures(request, project)), name, form)


@requires(Right.READ)
@require_safe
@snapshot()
def leaderboard_table(request: ProjectRequest, project: Project, name: str, form: str) -> HttpResponse:
    found = tables.tabulate_leaderboard(_require_figures(request, project))
    return answer_table(project, found, name, form, stem="leaderboard")


def _require_figures(request: ProjectRequest, project: Project) -> dict[str, Any]:
    form = LeaderboardForm(project, request.GET or None)
    settings = form.settings(require_scope(form), adjudication.read_gold_rule(project))
    return require_figures(project, "leaderboard", settings)
