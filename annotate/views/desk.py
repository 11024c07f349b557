"""The annotator's own pages: desk, instructions, history."""

import uuid

from django.db.models import Count, Q, Sum
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.urls import reverse
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_safe

from annotate.desks import desks_of, earned_by, left_by
from annotate.models import Assignment, Batch, LedgerEntry
from annotate.views.lists import page_of
from projects.access import ProjectRequest, Right, SignedInRequest, public, requires, signed_in, why_refused
from projects.markdown import render as render_markdown
from projects.models import Instructions, Membership, Project
from projects.snapshots import snapshot

PROJECTS_ON_A_PAGE = 20


@public
@require_safe
def home(request: HttpRequest) -> HttpResponse:
    return redirect("annotate:desk" if request.user.is_authenticated else "projects:sign-in")


@signed_in
@never_cache
@require_safe
@snapshot()
def desk(request: SignedInRequest) -> HttpResponse:
    memberships = (
        Membership.objects.select_related("project")
        .filter(user=request.user, project__deleted_at=None)
        .exclude(standing=Membership.Standing.REMOVED)
        .order_by("project__name", "pk")
    )
    page = page_of(request, memberships, PROJECTS_ON_A_PAGE)
    context = {"desks": desks_of(list(page)), "page": page, "left": left_by(request.user) if page.number == 1 else []}
    return render(request, "annotate/desk_show.html", context)


@requires(Right.WORK)
@never_cache
@require_safe
@snapshot()
def project_desk(request: ProjectRequest, project: Project) -> HttpResponse:
    return render(request, "annotate/desk_show.html", {"desks": desks_of([request.membership]), "is_one": True})


@requires(Right.MEMBER)
@require_safe
def instructions(request: ProjectRequest, project: Project) -> HttpResponse:
    shown = _instructions_for(request.membership, request.GET.get("hit", ""))
    context = {
        "instructions": shown,
        "html": render_markdown(shown.text) if shown else "",
        "can_start": not why_refused(request.membership, Right.WORK),
        "urls": {
            "start": reverse("annotate:work-start", args=[project.slug]),
            "desk": reverse("annotate:project-desk", args=[project.slug]),
        },
    }
    return render(request, "annotate/instructions_show.html", context)


def _instructions_for(membership: Membership, hit: str) -> Instructions | None:
    """The version pinned by the batch of the reader's own HIT, or by the work that is open, or the newest."""
    versions = membership.project.instructions.order_by("-version")
    try:
        own = Assignment.objects.filter(uuid=uuid.UUID(hit), annotator=membership)
    except ValueError:
        own = Assignment.objects.none()
    return (
        versions.filter(batches__hits__assignments__in=own).first()
        or versions.filter(batches__state=Batch.State.OPEN).first()
        or versions.first()
    )


@requires(Right.MEMBER)
@never_cache
@require_safe
@snapshot()
def history(request: ProjectRequest, project: Project) -> HttpResponse:
    mine = (
        Assignment.objects.filter(annotator=request.membership)
        .select_related("hit__batch")
        .annotate(n_flags=Count("remarks", filter=Q(remarks__is_flagged=True)))
        .order_by("-opened_at")
    )
    page = page_of(request, mine)
    pay = dict(
        LedgerEntry.objects.filter(assignment__in=list(page))
        .order_by()
        .values_list("assignment_id")
        .annotate(cents=Sum("cents"))
    )
    rows = [
        {
            "assignment": assignment,
            "batch": assignment.hit.batch,
            "n_items": len(assignment.layout),
            "cents": pay.get(assignment.pk),
        }
        for assignment in page
    ]
    earned = earned_by([request.membership])[request.membership.pk]
    return render(request, "annotate/history_list.html", {"rows": rows, "page": page, "earned": earned})
