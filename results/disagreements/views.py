"""Where annotators differ: items, passages and pairs of annotators; and the page of a single item."""

from typing import Any

from django.http import HttpResponse
from django.shortcuts import get_object_or_404, render
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_http_methods, require_safe

from projects.access import ProjectRequest, Right, requires
from projects.database.snapshots import snapshot
from projects.models import Project
from projects.web.lists import paginate, read_page_number, read_text
from results.disagreements.forms import DisagreementForm
from results.disagreements.items import fetch_ratings, fetch_scores, find_candidates
from results.disagreements.spread import Items, Passages
from results.reports.views import choose_scope, fetch_figures, report_context
from results.scope.scopes import scope_settings

TEMPLATE = "results/disagreements/list.html"
MOST_PAIRS = 100
SIZE = 25


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
    context |= {"scope": scope, "criterion": scope.criterion, "by": by, **report_context(request, state)}
    if by == "pairs":
        return render(request, TEMPLATE, {**context, **_pairs(state.figures)})
    with snapshot():
        first, second = read_text(request, "first"), read_text(request, "second")
        pair = (first, second) if first and second else None
        found: Items | Passages = Passages(scope) if by == "passages" else Items(scope, pair=pair)
        # Read before the paginator counts, so that one statement answers both.
        found.read((read_page_number(request) - 1) * SIZE, SIZE)
        page = paginate(request, found, SIZE)
    return render(request, TEMPLATE, {**context, "page": page, "pair": pair})


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


def _pairs(figures: dict[str, Any] | None) -> dict[str, Any]:
    """Return the pairs for the page, those who agree least first, pairs without a kappa last."""
    if not figures or "computed" not in figures["pairs"]:
        return {"undefined": figures["pairs"]["reason"] if figures else ""}
    pairs = figures["pairs"]["computed"]
    ordered = sorted(pairs, key=lambda each: (not isinstance(each["kappa"], float), _kappa(each), -each["n"]))
    return {"pairs": ordered[:MOST_PAIRS], "n_pairs": figures["pairs"]["n_pairs"], "entering": figures["entering"]}


def _kappa(pair: dict[str, Any]) -> float:
    # Any number will do for a pair without kappa: it sorts last by the first part of the key.
    return pair["kappa"] if isinstance(pair["kappa"], float) else 0.0
