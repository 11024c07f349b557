"""The agreement pages: alpha at every level and by part, annotators compared, and agreement over time."""

from collections.abc import Callable, Mapping
from typing import Any

from django.http import HttpResponse
from django.shortcuts import render
from django.views.decorators.http import require_http_methods, require_safe

from annotate.frames.criteria_in_use import Scope
from measures.rubric import Level
from projects.access import ProjectRequest, Right, requires
from projects.charts.drawing import Chart
from projects.charts.responses import answer_chart
from projects.database.snapshots import snapshot
from projects.models import Project
from projects.tables.responses import answer_table
from projects.tables.tables import Table
from results.agreement import charts, tables
from results.agreement.alpha import (
    warn_of_equal,
    warn_of_equal_by_part,
    warn_of_equal_by_period,
    warn_of_few,
    warn_of_few_by_part,
    warn_of_few_by_period,
)
from results.agreement.forms import AgreementForm
from results.reports.views import (
    choose_scope,
    fetch_figures,
    report_context,
    require_figures,
    require_scope,
    scope_context,
)
from results.scope.gold_settings import CONFIDENCE, PASSAGES, RESAMPLES, SEED

PAGES: dict[str, tuple[str, Callable[..., list[Chart]], Callable[..., list[Table]]]] = {
    "agreement": ("results/agreement/show.html", charts.chart_agreement, tables.tabulate_agreement),
    "annotators": ("results/agreement/annotators.html", charts.chart_annotators, tables.tabulate_annotators),
    "time": ("results/agreement/time.html", charts.chart_time, tables.tabulate_time),
}
"""The template, the charts and the tables of each kind of figures."""
ON_SEVERAL_SCALES = ("agreement",)
"""Kinds whose page has figures of a criterion on several scales: counts, and why the others are undefined."""


@requires(Right.READ)
@require_http_methods(["GET", "HEAD", "POST"])
def agreement(request: ProjectRequest, project: Project, kind: str) -> HttpResponse:
    template, draw, tabulate = PAGES[kind]
    form = AgreementForm(project, request.GET or None)
    context: dict[str, Any] = {"form": form, "n_resamples": RESAMPLES, "seed": SEED, "confidence": CONFIDENCE}
    scope = choose_scope(request, form, template, context, needs_one_scale=kind not in ON_SEVERAL_SCALES)
    if isinstance(scope, HttpResponse):
        return scope
    state = fetch_figures(request, kind, form.settings(kind, scope))
    # A POST has been answered already: the figures are requested, and the page is loaded again.
    if isinstance(state, HttpResponse):
        return state
    context |= {**scope_context(scope), **report_context(request, state)}
    if state.figures and "refusal" in state.figures:
        return render(request, template, {**context, "refusal": state.figures["refusal"], "figures": None})
    if state.figures and kind == "agreement":
        context |= _describe_interval(state.figures["report"])
    if state.figures and kind == "time":
        context |= {
            "few_passages": warn_of_few_by_period(state.figures),
            "equal_ratings": warn_of_equal_by_period(state.figures),
        }
    if state.figures:
        context["charts"] = {chart.name: chart for chart in draw(state.figures)}
        on_page = _link_levels(request, scope) if kind == "agreement" else {}
        found = tabulate(state.figures, criterion=scope.criterion.name, **_choose_rows(kind, scope), **on_page)
        context["tables"] = {table.name.replace("-", "_"): table for table in found}
    return render(request, template, context)


def _choose_rows(kind: str, scope: Scope) -> dict[str, Any]:
    # The other kinds of figures tell by themselves whether they are of categories.
    return {"has_order": scope.criterion.has_order} if kind == "agreement" else {}


def _link_levels(request: ProjectRequest, scope: Scope) -> dict[str, Any]:
    """Return what the table of levels has on the page alone: the level of the criterion, and links to the others."""
    query = request.GET.copy()
    urls = {}
    for level in Level:
        query["level"] = level.value
        urls[level.value] = f"?{query.urlencode()}"
    return {"criterion_level": scope.criterion.level, "level_urls": urls}


def _describe_interval(report: Mapping[str, Any]) -> dict[str, Any]:
    """Return whether a report is of an earlier version, which bootstrapped, and the interval beside its alpha."""
    main = report["levels"][0]
    ends = main["by_passage" if main.get("unit") == PASSAGES else "by_unit"]
    return {
        "has_earlier_method": "method" not in report,
        "main_interval": ends,
        "few_passages": warn_of_few(report),
        "equal_ratings": warn_of_equal(report),
        "by_part": [warn_of_few_by_part(report), warn_of_equal_by_part(report)],
    }


@requires(Right.READ)
@require_safe
@snapshot()
def agreement_chart(request: ProjectRequest, project: Project, kind: str, name: str, form: str) -> HttpResponse:
    query_form = AgreementForm(project, request.GET or None)
    scope = require_scope(query_form, needs_one_scale=kind not in ON_SEVERAL_SCALES)
    figures = require_figures(project, kind, query_form.settings(kind, scope))
    return answer_chart(project, PAGES[kind][1](figures), name, form)


@requires(Right.READ)
@require_safe
@snapshot()
def agreement_table(request: ProjectRequest, project: Project, kind: str, name: str, form: str) -> HttpResponse:
    query_form = AgreementForm(project, request.GET or None)
    scope = require_scope(query_form, needs_one_scale=kind not in ON_SEVERAL_SCALES)
    figures = require_figures(project, kind, query_form.settings(kind, scope))
    found = PAGES[kind][2](figures, criterion=scope.criterion.name, **_choose_rows(kind, scope))
    return answer_table(project, found, name, form, stem="agreement")
