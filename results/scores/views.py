"""The gold-score page: the distribution, how rules differ, and every candidate with its score."""

from typing import Any

from django.contrib import messages
from django.http import HttpResponse
from django.shortcuts import redirect, render
from django.views.decorators.http import require_http_methods, require_POST, require_safe

from annotate.frames.criteria_in_use import Scope
from annotate.reviews import adjudication
from annotate.reviews.adjudication import Gold
from measures.gold_rules import GoldRule
from projects.access import ProjectRequest, Right, requires
from projects.charts.responses import answer_chart
from projects.database.snapshots import snapshot
from projects.models import Project
from projects.tables.responses import answer_table
from projects.web.lists import paginate, read_sort, read_text
from projects.web.refusals import refusals
from results.reports.reports import ReportState
from results.reports.views import (
    choose_scope,
    fetch_figures,
    report_context,
    require_figures,
    require_scope,
    scope_context,
)
from results.scope.scopes import add_warning
from results.scores import charts, tables
from results.scores.candidates import SORTS, CandidateScores, Filters
from results.scores.forms import PARTS, GoldForm, RuleForm

TEMPLATE = "results/scores/show.html"
# One less than `gold.MOST_PARTS`: a breakdown with all 60 parts may have been cut, and a menu must not lack names.
MOST_PARTS = 59
FILTERS = ("text", "dataset", "split", "source")


@requires(Right.READ)
@require_http_methods(["GET", "HEAD", "POST"])
def gold_scores(request: ProjectRequest, project: Project) -> HttpResponse:
    form, gold = _read_forms(request, project)
    context: dict[str, Any] = {"form": form, "gold": gold, "rule_form": _rule_form(gold)}
    scope = choose_scope(request, form, TEMPLATE, context)
    if isinstance(scope, HttpResponse):
        return scope
    state = fetch_figures(request, "golds", form.settings(scope, gold))
    # A POST has been answered already: the figures are requested, and the page is loaded again.
    if isinstance(state, HttpResponse):
        return state
    context |= {**scope_context(scope), **report_context(request, state)}
    figures = state.figures
    if figures and "refusal" in figures:
        return render(request, TEMPLATE, {**context, "refusal": figures["refusal"], "figures": None})
    rule, by = _read_rule(form, gold)
    if not scope.criterion.has_order:
        # Categories have no gold score by any rule.
        del form.fields["rule"]
    context |= {"rule": rule, "by": by, "parts": PARTS}
    if figures:
        context["charts"] = {chart.name: chart for chart in charts.chart_golds(figures, rule=rule, by=by)}
        found = tables.tabulate_golds(figures, criterion=scope.criterion.name, rule=rule, by=by)
        context["tables"] = {table.name: table for table in found}
        context["shown"] = charts.choose_rule(figures, rule)
    with snapshot():
        context |= _table(request, scope, gold, rule, state)
    return render(request, TEMPLATE, context)


@requires(Right.READ)
@require_safe
@snapshot()
def gold_chart(request: ProjectRequest, project: Project, name: str, form: str) -> HttpResponse:
    query_form, gold = _read_forms(request, project)
    figures = require_figures(project, "golds", query_form.settings(require_scope(query_form), gold))
    rule, by = _read_rule(query_form, gold)
    return answer_chart(project, charts.chart_golds(figures, rule=rule, by=by), name, form)


@requires(Right.READ)
@require_safe
@snapshot()
def gold_table(request: ProjectRequest, project: Project, name: str, form: str) -> HttpResponse:
    query_form, gold = _read_forms(request, project)
    scope = require_scope(query_form)
    figures = require_figures(project, "golds", query_form.settings(scope, gold))
    rule, by = _read_rule(query_form, gold)
    found = tables.tabulate_golds(figures, criterion=scope.criterion.name, rule=rule, by=by)
    return answer_table(project, add_warning(found, scope.criterion), name, form, stem="scores")


@requires(Right.MANAGE)
@require_POST
def gold_rule(request: ProjectRequest, project: Project) -> HttpResponse:
    form = RuleForm(request.POST)
    if not form.is_valid():
        messages.error(request, "Select a method.")
        return redirect("results:scores", project.slug)
    with refusals(request):
        adjudication.choose_gold(project=project, actor=request.membership, **form.cleaned_data)
        messages.success(request, "Gold-score method saved.")
    return redirect("results:scores", project.slug)


def _read_forms(request: ProjectRequest, project: Project) -> tuple[GoldForm, Gold]:
    gold = adjudication.read_gold_rule(project)
    return GoldForm(project, request.GET or None, initial={"rule": gold.rule}), gold


def _read_rule(form: GoldForm, gold: Gold) -> tuple[GoldRule, str]:
    data = form.cleaned_data if form.is_bound else {}
    return GoldRule(data.get("rule") or gold.rule), data.get("by") or "dataset"


def _rule_form(gold: Gold) -> RuleForm:
    return RuleForm(initial={"rule": gold.rule, "with_controls": gold.with_controls}, auto_id="project-%s")


def _table(request: ProjectRequest, scope: Scope, gold: Gold, rule: GoldRule, state: ReportState) -> dict[str, Any]:
    sort = read_sort(request, SORTS, "candidate")
    chosen = {name: read_text(request, name) for name in FILTERS}
    figures = state.figures
    # Stale figures may have another number of candidates or adjudications than the list has now.
    current = figures if state.is_current else None
    rows = CandidateScores(
        scope,
        Filters(**chosen),
        sort=sort,
        rule=rule,
        adjudication_wins=gold.adjudication_wins,
        figures=figures,
        has_adjudicated=not current or bool(current["n_settled"]),
        n_known=current["n_candidates"] if current and not any(chosen.values()) else None,
    )
    return {
        "page": paginate(request, rows),
        "sort": sort,
        "chosen": chosen,
        "selects": _selects(figures, chosen),
        "is_filtered": any(chosen.values()),
    }


def _selects(figures: dict[str, Any] | None, chosen: dict[str, str]) -> list[tuple[str, str, list[str], str]]:
    """Return name, label, choices and present value of each menu; a field for text takes its place without choices."""
    by_mean = charts.choose_rule(figures, GoldRule.MEAN) if figures else {}
    selects: list[tuple[str, str, list[str], str]] = []
    for name, label in (("dataset", "Dataset"), ("split", "Split"), ("source", "Source")):
        names = [part["name"] for part in (by_mean.get("parts") or {}).get(name, []) if part["name"]]
        # A project without splits needs no menu of them.
        if figures and not names and not chosen[name]:
            continue
        # A value that the list does not have came by a link; it is shown in a text field and not lost.
        is_whole = len(names) <= MOST_PARTS and chosen[name] in ("", *names)
        selects.append((name, label, names if is_whole else [], chosen[name]))
    return selects
