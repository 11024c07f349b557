"""Systems: their scores with intervals, pairwise comparisons, and replication between two batches."""

from dataclasses import asdict
from typing import Any

from django.contrib import messages
from django.http import Http404, HttpResponse, QueryDict
from django.shortcuts import redirect, render
from django.urls import reverse
from django.views.decorators.http import require_http_methods, require_POST, require_safe

from annotate.reviews import adjudication
from projects.access import ProjectRequest, Right, requires
from projects.charts.responses import answer_chart
from projects.database.snapshots import snapshot
from projects.models import Project
from projects.tables.responses import answer_table
from projects.web.refusals import refusals
from results.reports.views import fetch_figures, report_context, require_figures
from results.scope.gold_settings import RESAMPLES, SEED
from results.scope.human_sources import CHOICES, keep_choice
from results.systems import charts, tables
from results.systems.forms import ReplicationForm, SystemsForm
from results.systems.pair_tables import tabulate_pairs
from results.systems.system_pairs import GRAHAM2016
from results.systems.warnings import explain_shared, list_warnings, name_excluded, warn_of_categories

TEMPLATE = "results/systems/show.html"


@requires(Right.READ)
@require_http_methods(["GET", "HEAD", "POST"])
def systems(request: ProjectRequest, project: Project) -> HttpResponse:
    form, runs, settings = _read_forms(request, project)
    context: dict[str, Any] = {"form": form, "runs": runs, "n_resamples": RESAMPLES, "seed": SEED}
    if not form.criteria:
        return render(request, TEMPLATE, context)
    if form.is_bound and not form.is_valid():
        return render(request, TEMPLATE, context, status=400)
    state = fetch_figures(request, "systems", settings)
    if isinstance(state, HttpResponse):
        return state
    context |= report_context(request, state) | {"with_controls": settings["controls"]}
    if form.human_sources:
        context["human_choices"] = [(value, label, value == form.choice) for value, label in CHOICES.items()]
    if state.figures:
        context |= _select_criterion(state.figures, form)
        context["shared_note"] = explain_shared(state.figures)
        context["warnings"] = list_warnings(state.figures, form.human_sources, key=context["key"])
        urls = {each["key"]: _choose_in_query(request, each["key"]) for each in state.figures["criteria"]}
        found = tables.tabulate_systems(state.figures, key=context["key"], criterion_urls=urls)
        context["tables"] = {table.name: table for table in found}
    return render(request, TEMPLATE, context, status=400 if runs.errors else 200)


@requires(Right.READ)
@require_POST
def human_sources(request: ProjectRequest, project: Project) -> HttpResponse:
    """Keep the choice about human sources, which changes no judgment, and go back to the page as it was filtered."""
    with refusals(request):
        keep_choice(project=project, actor=request.membership, choice=request.POST.get("humans", ""))
        messages.success(request, "Choice about human sources saved.")
    query = QueryDict(request.POST.get("query", ""), mutable=True)
    # The saved choice holds, not one from an earlier address.
    query.pop("humans", None)
    return redirect(f"{reverse('results:systems', args=[project.slug])}?{query.urlencode()}")


@requires(Right.READ)
@require_http_methods(["GET", "HEAD", "POST"])
def replication(request: ProjectRequest, project: Project) -> HttpResponse:
    form, runs, settings = _read_forms(request, project)
    context: dict[str, Any] = {"form": form, "runs": runs}
    # Both forms are in one address: settings of the systems hold for both batches.
    between = runs.settings(settings) if form.criteria and (not form.is_bound or form.is_valid()) else None
    if between is None:
        is_wrong = bool(form.is_bound and (form.errors or runs.errors))
        return render(request, "results/systems/replication_show.html", context, status=400 if is_wrong else 200)
    state = fetch_figures(request, "replication", between)
    if isinstance(state, HttpResponse):
        return state
    context |= report_context(request, state)
    if state.figures:
        key = _choose_key(form)
        context |= {"found": state.figures["by"].get(key), "warning": warn_of_categories(state.figures)}
        context["is_excluded"] = any(each.key == key and not each.has_order for each in form.criteria)
        context["charts"] = {chart.name: chart for chart in charts.chart_replication(state.figures, key=key)}
        correlation, *systems = tables.tabulate_replication(state.figures, key=key)
        context |= {"tables": {"correlation": correlation}, "system_tables": systems}
    return render(request, "results/systems/replication_show.html", context)


@requires(Right.READ)
@require_safe
@snapshot()
def systems_chart(request: ProjectRequest, project: Project, name: str, form: str) -> HttpResponse:
    query_form, _runs, settings = _read_forms(request, project)
    if not query_form.criteria or (query_form.is_bound and not query_form.is_valid()):
        raise Http404("This chart does not exist.")
    figures = require_figures(project, "systems", settings)
    return answer_chart(project, charts.chart_systems(figures, key=_choose_key(query_form)), name, form)


@requires(Right.READ)
@require_safe
@snapshot()
def systems_table(request: ProjectRequest, project: Project, name: str, form: str) -> HttpResponse:
    query_form, _runs, settings = _read_forms(request, project)
    if not query_form.criteria or (query_form.is_bound and not query_form.is_valid()):
        raise Http404("This table does not exist.")
    figures = require_figures(project, "systems", settings)
    key = _choose_key(query_form)
    found = tables.tabulate_systems(figures, key=key)
    # Reports of earlier versions have the published test only.
    is_published = figures.get("test", GRAHAM2016) == GRAHAM2016
    found.append((tables.tabulate_matrix if is_published else tabulate_pairs)(figures, key=key))
    return answer_table(project, found, name, form, stem="systems")


@requires(Right.READ)
@require_safe
@snapshot()
def replication_chart(request: ProjectRequest, project: Project, name: str, form: str) -> HttpResponse:
    figures, key = _require_replication(request, project)
    return answer_chart(project, charts.chart_replication(figures, key=key), name, form)


@requires(Right.READ)
@require_safe
@snapshot()
def replication_table(request: ProjectRequest, project: Project, name: str, form: str) -> HttpResponse:
    figures, key = _require_replication(request, project)
    return answer_table(project, tables.tabulate_replication(figures, key=key), name, form, stem="replication")


def _require_replication(request: ProjectRequest, project: Project) -> tuple[dict[str, Any], str]:
    """Return the figures of the two batches in the address, and the criterion. Raises Http404 without two batches."""
    query_form, runs, settings = _read_forms(request, project)
    between = (
        runs.settings(settings) if query_form.criteria and (not query_form.is_bound or query_form.is_valid()) else None
    )
    if between is None:
        raise Http404("Two batches are needed.")
    return require_figures(project, "replication", between), _choose_key(query_form)


def _choose_in_query(request: ProjectRequest, criterion: str) -> str:
    """Return the address of the same page for one criterion."""
    query = request.GET.copy()
    query["criterion"] = criterion
    return f"?{query.urlencode()}"


def _read_forms(request: ProjectRequest, project: Project) -> tuple[SystemsForm, ReplicationForm, dict[str, Any]]:
    form = SystemsForm(project, request.GET or None)
    is_wrong = form.is_bound and not form.is_valid()
    settings = {} if is_wrong or not form.criteria else form.settings(adjudication.read_gold_rule(project))
    return form, ReplicationForm(project, request.GET or None), settings


def _choose_key(form: SystemsForm) -> str:
    """Return the criterion that is shown: the chosen one, or the only one; empty for all together."""
    chosen: str = form.cleaned_data.get("criterion", "") if form.is_bound else ""
    return chosen or (form.criteria[0].key if len(form.criteria) == 1 else "")


def _select_criterion(figures: dict[str, Any], form: SystemsForm) -> dict[str, Any]:
    key = _choose_key(form)
    scores = figures["scores"].get(key, [])
    pairs = figures["pairs"].get(key, [])
    # Systems beyond `MOST_SYSTEMS` have scores but no comparisons.
    named = {name for pair in pairs for name in (pair["first"], pair["second"])}
    compared = [score["source"] for score in scores if score["source"] in named]
    is_ordered = figures.get("test", GRAHAM2016) == GRAHAM2016
    return {
        "key": key,
        # One that is excluded has no figures, but a name.
        "criterion": next(
            (each for each in (*figures["criteria"], *map(asdict, form.criteria)) if each["key"] == key), None
        ),
        "several_scales": name_excluded(figures, "left_out"),
        "is_excluded": bool(key) and key not in {each["key"] for each in figures["criteria"]},
        "scores": scores,
        "compared": compared,
        "matrix": tables.tabulate_matrix(figures, key=key) if is_ordered and pairs else None,
        "pair_table": None if is_ordered or not pairs else tabulate_pairs(figures, key=key),
        "notes": figures.get("notes", {}).get(key, []) if len(compared) > 1 or not pairs else [],
        "charts": {chart.name.replace("-", "_"): chart for chart in charts.chart_systems(figures, key=key)},
    }
