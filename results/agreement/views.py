"""The agreement pages: alpha at every level and by part, annotators compared, and agreement over time."""

from collections.abc import Mapping
from typing import Any

from django.http import HttpResponse
from django.shortcuts import render
from django.views.decorators.http import require_http_methods, require_safe

from measures.jackknife import FEW_UNITS
from projects.access import ProjectRequest, Right, requires
from projects.charts.responses import answer_chart
from projects.database.snapshots import snapshot
from projects.models import Project
from results.agreement import charts
from results.agreement.alpha import PASSAGES
from results.agreement.forms import AgreementForm
from results.reports.views import choose_scope, fetch_figures, report_context, require_figures, require_scope
from results.scope.gold_settings import CONFIDENCE, RESAMPLES, SEED

PAGES = {
    "agreement": ("results/agreement/show.html", charts.chart_agreement),
    "annotators": ("results/agreement/annotators.html", charts.chart_annotators),
    "time": ("results/agreement/time.html", charts.chart_time),
}
"""The template and the charts of each kind of figures."""


@requires(Right.READ)
@require_http_methods(["GET", "HEAD", "POST"])
def agreement(request: ProjectRequest, project: Project, kind: str) -> HttpResponse:
    template, draw = PAGES[kind]
    form = AgreementForm(project, request.GET or None)
    context: dict[str, Any] = {"form": form, "n_resamples": RESAMPLES, "seed": SEED, "few": FEW_UNITS}
    context["confidence"] = CONFIDENCE
    scope = choose_scope(request, form, template, context)
    if isinstance(scope, HttpResponse):
        return scope
    state = fetch_figures(request, kind, form.settings(kind, scope))
    # A POST has been answered already: the figures are requested, and the page is loaded again.
    if isinstance(state, HttpResponse):
        return state
    context |= {"scope": scope, "criterion": scope.criterion, **report_context(request, state)}
    if state.figures and kind == "agreement":
        context |= _describe_interval(state.figures["report"])
    if state.figures:
        context["charts"] = {chart.name: chart for chart in draw(state.figures)}
    return render(request, template, context)


def _describe_interval(report: Mapping[str, Any]) -> dict[str, Any]:
    """Return whether a report is of an earlier version, which bootstrapped, and the interval beside its alpha."""
    main = report["levels"][0]
    ends = main["by_passage" if main.get("unit") == PASSAGES else "by_unit"]
    return {"has_earlier_method": "method" not in report, "main_interval": ends}


@requires(Right.READ)
@require_safe
@snapshot()
def agreement_chart(request: ProjectRequest, project: Project, kind: str, name: str, form: str) -> HttpResponse:
    query_form = AgreementForm(project, request.GET or None)
    figures = require_figures(project, kind, query_form.settings(kind, require_scope(query_form)))
    return answer_chart(project, PAGES[kind][1](figures), name, form)
