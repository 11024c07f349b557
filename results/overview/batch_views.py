"""The results of one batch: agreement, spread, and the items that annotators differ on most; written for trials."""

from django.http import HttpResponse
from django.shortcuts import get_object_or_404, render
from django.views.decorators.http import require_safe

from annotate.frames.criteria_in_use import Scope, criteria_in_use
from annotate.models import Batch
from measures.jackknife import FEW_UNITS
from measures.rubric import Level
from projects.access import ProjectRequest, Right, requires
from projects.database.snapshots import snapshot
from projects.models import Project
from results.agreement.alpha import measure_agreement
from results.disagreements.spread import MOST_ITEMS, count_remarks, measure_spread


@requires(Right.READ)
@require_safe
@snapshot()
def batch_results(request: ProjectRequest, project: Project, number: int) -> HttpResponse:
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
    context = {
        "batch": batch,
        "criteria": criteria,
        "chosen": chosen,
        "reports": reports.items(),
        "report": reports[chosen],
        "spread": measure_spread(Scope(project=project, criterion=chosen, batch=batch)),
        "remarks": count_remarks(batch),
        "most_items": MOST_ITEMS,
        "few": FEW_UNITS,
    }
    return render(request, "results/overview/batch_results.html", context)
