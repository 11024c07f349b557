"""A HIT as managers and researchers see it, and its preview as annotators see it."""

from typing import Any

from django.http import HttpResponse
from django.shortcuts import get_object_or_404, render
from django.views.decorators.http import require_safe

from annotate.models import Assignment, Hit, Item, Judgment, Reservation
from annotate.rating.page import render_preview
from projects.access import ProjectRequest, Right, requires
from projects.database.snapshots import snapshot
from projects.models import Project


@requires(Right.READ)
@require_safe
@snapshot()
def hit_show(request: ProjectRequest, project: Project, number: int, hit_number: int) -> HttpResponse:
    hit = _fetch_hit(project, number, hit_number)
    assignments = list(Assignment.objects.filter(hit=hit).select_related("annotator").order_by("opened_at", "pk"))
    submitted = [assignment for assignment in assignments if assignment.submitted_at]
    values = _fetch_values([assignment.pk for assignment in submitted])
    items = Item.objects.filter(hit=hit).select_related("question", "candidate").order_by("position")
    criteria = list(hit.batch.rubric.criteria.all())
    context = {
        "hit": hit,
        "batch": hit.batch,
        "passage": hit.passage,
        "criteria": criteria,
        "assignments": assignments,
        "submitted": submitted,
        "reserved": Reservation.objects.filter(hit=hit).for_lists(),
        "n_held": hit.places_wanted - hit.places_open - hit.places_done,
        "items": [
            {
                "item": item,
                "values": [
                    [values.get((assignment.pk, item.pk, criterion.pk), "") for criterion in criteria]
                    for assignment in submitted
                ],
            }
            for item in items
        ],
    }
    return render(request, "annotate/batches/hit_show.html", context)


@requires(Right.READ)
@require_safe
def hit_preview(request: ProjectRequest, project: Project, number: int, hit_number: int) -> HttpResponse:
    return render_preview(request, project, _fetch_hit(project, number, hit_number))


def _fetch_hit(project: Project, number: int, hit_number: int) -> Hit:
    hits = Hit.objects.select_related("batch__rubric", "passage__dataset").filter(purpose=Hit.Purpose.WORK)
    return get_object_or_404(hits, batch__project=project, batch__number=number, number=hit_number)


def _fetch_values(assignment_ids: list[int]) -> dict[tuple[int, int, int], Any]:
    """Return the values of each item, with a dash if it can't be judged."""
    rows = Judgment.objects.filter(assignment__in=assignment_ids).values_list(
        "assignment_id", "item_id", "criterion_id", "value"
    )
    return {row[:3]: "–" if row[3] is None else f"{row[3]:g}" for row in rows}
