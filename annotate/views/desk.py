"""The annotator's own pages: desk, instructions, history."""

import uuid
from typing import Any

from django.core.paginator import Paginator
from django.db.models import Count, F, Q, Sum
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.urls import reverse
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_safe

from annotate import serving
from annotate.models import Assignment, Batch
from projects.access import ProjectRequest, Right, SignedInRequest, public, requires, signed_in, why_refused
from projects.markdown import render as render_markdown
from projects.models import Instructions, Membership, Project

PAID = (Assignment.State.SUBMITTED, Assignment.State.APPROVED)


@public
@require_safe
def home(request: HttpRequest) -> HttpResponse:
    return redirect("annotate:desk" if request.user.is_authenticated else "projects:sign-in")


@signed_in
@never_cache
@require_safe
def desk(request: SignedInRequest) -> HttpResponse:
    memberships = (
        Membership.objects.select_related("project")
        .filter(user=request.user, project__deleted_at=None)
        .exclude(standing=Membership.Standing.REMOVED)
        .order_by("project__name")
    )
    rows = [_row(membership) for membership in memberships]
    return render(request, "annotate/desk_show.html", {"projects": rows})


@requires(Right.WORK)
@never_cache
@require_safe
def project_desk(request: ProjectRequest, project: Project) -> HttpResponse:
    return render(request, "annotate/desk_show.html", {"projects": [_row(request.membership)], "is_one": True})


def _row(membership: Membership) -> dict[str, Any]:
    project = membership.project
    refusal = why_refused(membership, Right.WORK)
    open_one, expired = None, None
    has_work = False
    if membership.is_annotator:
        held = Assignment.objects.filter(
            annotator=membership, state__in=(Assignment.State.OPEN, Assignment.State.EXPIRED)
        ).order_by("-opened_at")
        open_one = next((a for a in held if a.state == Assignment.State.OPEN), None)
        expired = next((a for a in held if a.state == Assignment.State.EXPIRED), None)
        has_work = Batch.objects.filter(project=project).open().exists()
    why_not = refusal or ("" if open_one or has_work else serving.why_nothing(membership))
    return {
        "project": project,
        "membership": membership,
        "is_annotator": membership.is_annotator,
        "can_read": membership.can_read,
        "open_assignment": open_one,
        "expired_assignment": expired,
        "can_start": membership.is_annotator and not why_not,
        "why_not": why_not if membership.is_annotator else "",
        **_totals(membership),
        "urls": {
            "start": reverse("annotate:work-start", args=[project.slug]),
            "resume": reverse("annotate:work-show", args=[project.slug, open_one.uuid]) if open_one else "",
            "expired": reverse("annotate:work-show", args=[project.slug, expired.uuid]) if expired else "",
            "instructions": reverse("annotate:instructions", args=[project.slug]),
            "history": reverse("annotate:history", args=[project.slug]),
            "overview": project.get_absolute_url(),
        },
    }


def _totals(membership: Membership) -> dict[str, Any]:
    if not membership.is_annotator:
        return {"n_submitted": 0, "earned_cents": None}
    paid = Assignment.objects.filter(annotator=membership, state__in=PAID).exclude(hit__batch__kind="imported")
    sums = paid.aggregate(
        n=Count("pk"),
        cents=Sum(F("hit__batch__cents_per_hit") + F("hit__batch__cents_per_item") * F("layout__len")),
    )
    is_paid = membership.project.is_paid or bool(sums["cents"])
    return {"n_submitted": sums["n"], "earned_cents": (sums["cents"] or 0) if is_paid else None}


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
def history(request: ProjectRequest, project: Project) -> HttpResponse:
    mine = (
        Assignment.objects.filter(annotator=request.membership)
        .select_related("hit__batch")
        .annotate(n_flags=Count("remarks", filter=Q(remarks__is_flagged=True)))
        .order_by("-opened_at")
    )
    page = Paginator(mine, 50).get_page(request.GET.get("page"))
    rows = [
        {
            "assignment": assignment,
            "batch": assignment.hit.batch,
            "n_items": len(assignment.layout),
            "cents": assignment.hit.batch.cents_per_hit + assignment.hit.batch.cents_per_item * len(assignment.layout),
        }
        for assignment in page
    ]
    context = {"rows": rows, "page": page, "shows_money": project.is_paid, **_totals(request.membership)}
    return render(request, "annotate/history_list.html", context)
