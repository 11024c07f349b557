"""Where annotators differ: items, passages and pairs of annotators; and the page of a single item."""

from typing import Any

from django.http import HttpResponse
from django.shortcuts import get_object_or_404, render
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_http_methods, require_safe

from annotate.frames.criteria_in_use import Scope
from projects.access import ProjectRequest, Right, requires
from projects.database.snapshots import snapshot
from projects.models import Project
from projects.tables.responses import answer_table
from projects.tables.tables import Table
from projects.web.lists import TALL_PAGE_SIZE, paginate, read_text
from results.disagreements.forms import DisagreementForm
from results.disagreements.judged_candidate import fetch_ratings, fetch_scores, find_candidates
from results.disagreements.spread import Items, Passages
from results.disagreements.tables import is_of_numbers, tabulate_items, tabulate_pairs, tabulate_passages
from results.reports.views import (
    choose_scope,
    fetch_figures,
    report_context,
    require_figures,
    require_scope,
    scope_context,
)
from results.scope.scopes import add_warning, scope_settings

TEMPLATE = "results/disagreements/list.html"


@requires(Right.READ)
@require_http_methods(["GET", "HEAD", "POST"])
def disagreements(request: ProjectRequest, project: Project) -> HttpResponse:
    form = DisagreementForm(project, request.GET or None)
    context: dict[str, Any] = {"form": form}
    scope = choose_scope(request, form, TEMPLATE, context)
    if isinstance(scope, HttpResponse):
        return scope
    by = form.read_grouping()
    # Pairs are the figures of the agreement page; items and passages are lists, which only need their counts as
    # figures.
    kind, settings = ("annotators", form.settings(scope)) if by == "pairs" else ("entering", scope_settings(scope))
    state = fetch_figures(request, kind, settings)
    if isinstance(state, HttpResponse):
        return state
    context |= {**scope_context(scope), "by": by, **report_context(request, state)}
    if by == "pairs":
        return render(request, TEMPLATE, {**context, **_show_pairs(request, state.figures, scope)})
    with snapshot():
        found = _choose_list(request, scope, by)
        page = paginate(request, found, TALL_PAGE_SIZE)
    table = Table(by, "Passages" if by == "passages" else "Candidates", (), ())
    return render(request, TEMPLATE, {**context, "page": page, "pair": found.pair, "sort": found.sort, "table": table})


@requires(Right.READ)
@require_safe
@snapshot()
def disagreements_table(request: ProjectRequest, project: Project, name: str, form: str) -> HttpResponse:
    query_form = DisagreementForm(project, request.GET or None)
    scope = require_scope(query_form)
    criterion = scope.criterion.name
    if name == "pairs":
        figures = require_figures(project, "annotators", query_form.settings(scope))
        found = [tabulate_pairs(_sort_pairs(figures), criterion=criterion, has_order=is_of_numbers(figures))]
    elif isinstance(rows := _choose_list(request, scope, name), Passages):
        found = add_warning([tabulate_passages(rows, criterion=criterion)], scope.criterion)
    else:
        found = add_warning([tabulate_items(rows, criterion=criterion)], scope.criterion)
    return answer_table(project, found, name, form, stem="disagreements")


@requires(Right.READ)
@never_cache
@require_safe
@snapshot()
def item(request: ProjectRequest, project: Project, pk: int) -> HttpResponse:
    candidate = get_object_or_404(find_candidates(project), pk=pk)
    ratings = fetch_ratings([candidate.pk])[candidate.pk]
    context = {
        "candidate": candidate,
        "question": candidate.question,
        "passage": candidate.question.passage,
        "ratings": ratings,
        "has_criteria": len({rating.criterion_key for rating in ratings}) > 1,
        "scores": fetch_scores(project, candidate, ratings),
    }
    return render(request, "results/disagreements/item_show.html", context)


def _choose_list(request: ProjectRequest, scope: Scope, by: str) -> Items | Passages:
    """Return the passages, or the items: of one pair of annotators, if the address names two."""
    kind: type[Items | Passages] = Passages if by == "passages" else Items
    first, second = read_text(request, "first"), read_text(request, "second")
    pair = (first, second) if first and second and kind is Items else None
    return kind(scope, pair=pair, sort=read_text(request, "sort"))


def _show_pairs(request: ProjectRequest, figures: dict[str, Any] | None, scope: Scope) -> dict[str, Any]:
    if figures and "refusal" in figures:
        return {"refusal": figures["refusal"], "figures": None}
    if not figures or "computed" not in figures["pairs"]:
        return {"undefined": figures["pairs"]["reason"] if figures else ""}
    query = request.GET.copy()
    for name in ("page", "sort"):
        query.pop(name, None)

    def link(first: str, second: str) -> str:
        query.update({"by": "items", "first": first, "second": second})
        return f"?{query.urlencode()}"

    table = tabulate_pairs(
        _sort_pairs(figures), criterion=scope.criterion.name, has_order=is_of_numbers(figures), link=link
    )
    return {"table": table, "n_pairs": figures["pairs"]["n_pairs"], "entering": figures["entering"]}


def _sort_pairs(figures: dict[str, Any]) -> list[dict[str, Any]]:
    """Return the pairs, those who agree least first, pairs without a kappa last; none where they are undefined."""
    pairs = figures["pairs"].get("computed", [])
    return sorted(pairs, key=lambda each: (not isinstance(each["kappa"], float), _kappa(each), -each["n"]))


def _kappa(pair: dict[str, Any]) -> float:
    # Any number will do for a pair without kappa: it sorts last by the first part of the key.
    return pair["kappa"] if isinstance(pair["kappa"], float) else 0.0
