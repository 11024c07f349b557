"""The results of one batch: agreement, spread, and the items that annotators differ on most; written for trials."""

from django.http import HttpResponse
from django.shortcuts import get_object_or_404, render
from django.views.decorators.http import require_safe

from annotate.frames.criteria_in_use import CriterionInUse, Scope, criteria_in_use
from annotate.models import Batch
from measures.jackknife import FEW_UNITS
from measures.rubric import Level
from projects.access import ProjectRequest, Right, requires
from projects.database.snapshots import snapshot
from projects.models import Project
from projects.tables.responses import answer_table
from results.agreement.alpha import AgreementReport, measure_agreement
from results.disagreements.spread import MOST_ITEMS, count_remarks, measure_spread
from results.overview.batch_tables import tabulate_batch


@requires(Right.READ)
@require_safe
@snapshot()
def batch_results(request: ProjectRequest, project: Project, number: int) -> HttpResponse:
    batch, reports, chosen = _measure(request, project, number)
    spread = measure_spread(Scope(project=project, criterion=chosen, batch=batch))
    found = tabulate_batch(batch, reports, spread, chosen=chosen)
    context = {
        "batch": batch,
        "criteria": list(reports),
        "chosen": chosen,
        "report": reports[chosen],
        "spread": spread,
        "tables": {table.name: table for table in found},
        "query": request.GET.urlencode(),
        "remarks": count_remarks(batch),
        "most_items": MOST_ITEMS,
        "few": FEW_UNITS,
    }
    return render(request, "results/overview/batch_results.html", context)


@requires(Right.READ)
@require_safe
@snapshot()
def batch_table(request: ProjectRequest, project: Project, number: int, name: str, form: str) -> HttpResponse:
    batch, reports, chosen = _measure(request, project, number)
    spread = measure_spread(Scope(project=project, criterion=chosen, batch=batch))
    found = tabulate_batch(batch, reports, spread, chosen=chosen)
    return answer_table(project, found, name, form, stem=f"batch-{number}")


def _measure(
    request: ProjectRequest, project: Project, number: int
) -> tuple[Batch, dict[CriterionInUse, AgreementReport], CriterionInUse]:
    """Return the batch, the agreement on each of its criteria, and the chosen criterion. Raises Http404."""
    batch = get_object_or_404(Batch.objects.select_related("project", "rubric"), project=project, number=number)
    criteria = criteria_in_use(project, batch)
    chosen = next((each for each in criteria if each.key == request.GET.get("criterion")), criteria[0])
    # Every criterion at once, as a batch is small enough; only the chosen one's items are listed.
    reports = {
        each: measure_agreement(
            Scope(project=project, criterion=each, batch=batch), level=Level(each.level), by="dataset"
        )
        for each in criteria
    }
    return batch, reports, chosen
