"""Pages of an annotator: the desk of all projects and of one, history, earnings, messages."""

from django.contrib import messages
from django.db.models import Count, Q, Sum
from django.http import HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.urls import reverse
from django.utils.translation import gettext as _
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_POST, require_safe

from annotate.desk.desks import fetch_desks, fetch_earnings, list_former_projects
from annotate.models import Assignment, LedgerEntry, Notice
from annotate.onboarding import notices
from annotate.payments.entries_page import render_entries, require_paying
from annotate.work.work_sessions import find_work_session
from projects.access import (
    ProjectRequest,
    Right,
    SignedInRequest,
    explain_refusal,
    has_right,
    public,
    requires,
    signed_in,
)
from projects.database.snapshots import snapshot
from projects.models import Membership, Project
from projects.web.lists import paginate

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
    page = paginate(request, memberships, PROJECTS_ON_A_PAGE)
    mine = list(page)
    if sent := [each for each in mine if each.is_participant]:
        return redirect("annotate:panel-session", sent[0].project.slug)
    context = {
        "desks": fetch_desks(mine),
        "page": page,
        # Former projects follow the list once, not each of its pages.
        "former": list_former_projects(request.user) if page.number == 1 else [],
        "session": find_work_session(request.user) if request.user.session_goal else None,
    }
    return render(request, "annotate/desk/show.html", context)


@requires(Right.MEMBER)
@never_cache
@require_safe
@snapshot()
def project_desk(request: ProjectRequest, project: Project) -> HttpResponse:
    if request.membership.is_participant:
        return redirect("annotate:panel-session", project.slug)
    return render(request, "annotate/desk/show.html", {"desks": fetch_desks([request.membership]), "is_one": True})


@requires(Right.HISTORY)
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
    page = paginate(request, mine)
    pay = dict(
        LedgerEntry.objects.filter(assignment__in=list(page))
        .order_by()
        .values_list("assignment_id")
        .annotate(cents=Sum("cents"))
    )
    can_work = has_right(request.membership, Right.WORK)
    rows = [
        {
            "assignment": assignment,
            "url": _find_url(project, assignment, can_work=can_work),
            "batch": assignment.hit.batch,
            "n_items": len(assignment.layout),
            "cents": pay.get(assignment.pk),
        }
        for assignment in page
    ]
    earned = fetch_earnings([request.membership])[request.membership.pk]
    context = {
        "rows": rows,
        "page": page,
        "earned": earned,
        "why_ended": explain_refusal(request.membership, Right.MEMBER),
    }
    return render(request, "annotate/desk/history_list.html", context)


def _find_url(project: Project, assignment: Assignment, *, can_work: bool) -> str:
    """Return the address of the rating page while the HIT can be submitted, else of its page in the history."""
    can_submit = can_work and assignment.state in (Assignment.State.OPEN, Assignment.State.EXPIRED)
    return reverse(
        "annotate:work-show" if can_submit else "annotate:history-show", args=[project.slug, assignment.uuid]
    )


@requires(Right.HISTORY)
@never_cache
@require_safe
@snapshot()
def earnings(request: ProjectRequest, project: Project) -> HttpResponse:
    require_paying(project)
    context = {"why_ended": explain_refusal(request.membership, Right.MEMBER)}
    return render_entries(request, request.membership, "annotate/desk/earnings_show.html", context)


@requires(Right.HISTORY)
@require_POST
def notice_read(request: ProjectRequest, project: Project, pk: int) -> HttpResponse:
    notice = get_object_or_404(Notice, pk=pk, annotator=request.membership)
    if notices.confirm(notice=notice, annotator=request.membership):
        messages.success(request, _("Thank you. The message is marked as read."))
    return redirect("annotate:desk")
