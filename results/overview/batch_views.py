"""The results of one batch: agreement, spread, and the items that annotators differ on most; written for trials."""

from typing import Any

from django.http import HttpResponse
from django.shortcuts import get_object_or_404, render
from django.views.decorators.http import require_http_methods, require_safe

from annotate.frames.criteria_in_use import CriterionInUse, Scope, criteria_in_use
from annotate.models import Batch
from projects.access import ProjectRequest, Right, requires
from projects.database.snapshots import snapshot
from projects.models import Project
from projects.tables.responses import answer_table
from results.agreement.alpha import warn_of_equal, warn_of_few
from results.disagreements.spread import MOST_ITEMS, count_remarks, fetch_items
from results.overview.batch_tables import SPREAD, tabulate_batch
from results.reports.views import fetch_figures, report_context, require_figures
from results.scope.scopes import add_warning, warn_of_no_order


@requires(Right.READ)
@require_http_methods(["GET", "HEAD", "POST"])
def batch_results(request: ProjectRequest, project: Project, number: int) -> HttpResponse:
    batch, criteria, chosen = _read(request, project, number)
    state = fetch_figures(request, "batch", _settings(batch))
    # A POST has been answered already: the figures are requested, and the page is loaded again.
    if isinstance(state, HttpResponse):
        return state
    context: dict[str, Any] = {
        "batch": batch,
        "criteria": criteria,
        "chosen": chosen,
        "no_order": warn_of_no_order(chosen),
        "most_items": MOST_ITEMS,
        **report_context(request, state),
    }
    # Stored figures may lack a criterion that the rubric of a draft has got since.
    if state.figures and all(each.key in state.figures for each in criteria):
        found = tabulate_batch(batch, state.figures, criteria, chosen=chosen)
        context |= {**state.figures[chosen.key], "tables": {table.name: table for table in found}}
        context["few_passages"] = warn_of_few(context["report"])
        context["equal_ratings"] = warn_of_equal(context["report"])
        with snapshot():
            scope = Scope(project=project, criterion=chosen, batch=batch)
            context["worst"] = fetch_items(scope, context["spread"]["worst"])
            context["remarks"] = count_remarks(batch)
    return render(request, "results/overview/batch_results.html", context)


@requires(Right.READ)
@require_safe
@snapshot()
def batch_table(request: ProjectRequest, project: Project, number: int, name: str, form: str) -> HttpResponse:
    batch, criteria, chosen = _read(request, project, number)
    figures = require_figures(project, "batch", _settings(batch))
    found = tabulate_batch(batch, figures, criteria, chosen=chosen)
    if name == SPREAD:
        found = add_warning(found, chosen)
    return answer_table(project, found, name, form, stem=f"batch-{number}")


def _read(request: ProjectRequest, project: Project, number: int) -> tuple[Batch, list[CriterionInUse], CriterionInUse]:
    """Return the batch, its criteria, and the one that the address names. Raises Http404."""
    batch = get_object_or_404(Batch.objects.select_related("project", "rubric"), project=project, number=number)
    criteria = criteria_in_use(project, batch)
    return batch, criteria, next((each for each in criteria if each.key == request.GET.get("criterion")), criteria[0])


def _settings(batch: Batch) -> dict[str, Any]:
    return {"batch": batch.number}
