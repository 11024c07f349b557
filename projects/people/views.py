"""Pages of a project's members and invitations."""

from django.contrib import messages
from django.db.models import Q, QuerySet, Value
from django.db.models.functions import Coalesce, Concat, Lower, NullIf, Trim
from django.http import HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.urls import reverse
from django.utils import timezone
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_http_methods, require_POST, require_safe

from projects.access import ProjectRequest, Right, requires
from projects.accounts import passwords
from projects.models import Membership, Project
from projects.people import invitations as people_invitations
from projects.people import members as people_members
from projects.people.forms import AnnotatesForm, InvitationForm, PeopleFilterForm, RoleForm
from projects.web.links import absolute_url
from projects.web.lists import paginate
from projects.web.refusals import refusals

NEWEST_ANNOTATORS = 20
"""Annotators listed below the invitations: enough to see who has just joined; *Members* lists all."""
_FULL_NAME = Trim(Concat("user__first_name", Value(" "), "user__last_name"))
SHOWN_NAME = Lower(
    Coalesce(NullIf(_FULL_NAME, Value("")), "user__username", NullIf("imported_name", Value("")), "pseudonym")
)
"""The name that managers see, as the filter `name_for` returns it, in lower case."""


@requires(Right.MANAGE)
@never_cache
@require_safe
def people_list(request: ProjectRequest, project: Project) -> HttpResponse:
    form = PeopleFilterForm(request.GET or {"standing": ""})
    is_clear = form.is_valid()
    wanted = form.cleaned_data
    page = paginate(request, _filtered(project.memberships.select_related("user"), wanted))
    context = {"page": page, "form": form, "is_clear": is_clear, "sort": wanted.get("sort")}
    return render(request, "projects/people/list.html", context)


@requires(Right.MANAGE)
@never_cache
@require_safe
def member_show(request: ProjectRequest, project: Project, pseudonym: str) -> HttpResponse:
    return _member_page(request, people_members.fetch_member(project, pseudonym))


@requires(Right.MANAGE)
@require_POST
def member_role(request: ProjectRequest, project: Project, pseudonym: str) -> HttpResponse:
    member = people_members.fetch_member(project, pseudonym)
    form = RoleForm(request.membership, request.POST)
    if not form.is_valid():
        messages.error(request, "You can't assign this role.")
        return redirect("projects:member-show", project.slug, pseudonym)
    with refusals(request):
        people_members.change_role(target=member, role=form.cleaned_data["role"], actor=request.membership)
        messages.success(request, "Role changed. It takes effect on the next page the member opens.")
    return redirect("projects:member-show", project.slug, pseudonym)


@requires(Right.MANAGE)
@require_POST
def member_annotates(request: ProjectRequest, project: Project, pseudonym: str) -> HttpResponse:
    member = people_members.fetch_member(project, pseudonym)
    form = AnnotatesForm(request.POST)
    form.is_valid()  # always: its only field is an optional checkbox
    annotates = form.cleaned_data["is_annotator"]
    with refusals(request):
        people_members.set_annotates(target=member, annotates=annotates, actor=request.membership)
        messages.success(request, "The member can now annotate." if annotates else "The member no longer annotates.")
    return redirect("projects:member-show", project.slug, pseudonym)


@requires(Right.MANAGE)
@never_cache
@require_POST
def member_reset_link(request: ProjectRequest, project: Project, pseudonym: str) -> HttpResponse:
    member = people_members.fetch_member(project, pseudonym)
    with refusals(request):
        path = passwords.issue_link(target=member, actor=request.membership)
        return render(
            request, "projects/people/reset_link_show.html", {"member": member, "link": absolute_url(path, request)}
        )
    return redirect("projects:member-show", project.slug, pseudonym)


@requires(Right.MANAGE)
@never_cache
@require_safe
def invitation_list(request: ProjectRequest, project: Project) -> HttpResponse:
    invitations = project.invitations.select_related("created_by")
    page, now = paginate(request, invitations), timezone.now()
    everybody = project.memberships.people().annotators().select_related("user").order_by("-joined_at", "-pk")
    annotators = list(everybody[: NEWEST_ANNOTATORS + 1])
    context = {
        "page": page,
        "rows": [(each, each.state_at(now)) for each in page],
        "annotators": annotators[:NEWEST_ANNOTATORS],
        "has_more_annotators": len(annotators) > NEWEST_ANNOTATORS,
    }
    return render(request, "projects/people/invitation_list.html", context)


@requires(Right.MANAGE)
@never_cache
@require_http_methods(["GET", "HEAD", "POST"])
def invitation_new(request: ProjectRequest, project: Project) -> HttpResponse:
    form = InvitationForm(request.membership, request.POST if request.method == "POST" else None)
    if request.method == "POST" and form.is_valid():
        with refusals(request, form):
            invitation, token = people_invitations.create_invitation(actor=request.membership, **form.cleaned_data)
            link = absolute_url(reverse("projects:join", args=[token]), request)
            return render(request, "projects/people/invitation_show.html", {"invitation": invitation, "link": link})
    return render(request, "projects/people/invitation_new.html", {"form": form})


@requires(Right.MANAGE)
@require_POST
def invitation_revoke(request: ProjectRequest, project: Project, invitation_id: int) -> HttpResponse:
    invitation = get_object_or_404(project.invitations, pk=invitation_id)
    people_invitations.revoke(invitation=invitation, actor=request.membership)
    messages.success(request, "Invitation revoked. People who have already joined stay members.")
    return redirect("projects:invitation-list", project.slug)


def _filtered(members: "QuerySet[Membership]", wanted: dict[str, str]) -> "QuerySet[Membership]":
    members = members.alias(shown_name=SHOWN_NAME)
    if text := wanted.get("q"):
        found = Q()
        for field in ("shown_name", "pseudonym", "user__username", "imported_name"):
            found |= Q(**{f"{field}__icontains": text})
        members = members.filter(found)
    for field in ("role", "kind", "standing"):
        if value := wanted.get(field):
            members = members.filter(**{field: value})
    if annotates := wanted.get("annotates"):
        members = members.filter(is_annotator=annotates == "yes")
    return members.order_by(*PeopleFilterForm.SORTS[wanted.get("sort") or "joined"])


def _member_page(request: ProjectRequest, member: Membership) -> HttpResponse:
    actor = request.membership
    entries = member.project.log.select_related("actor").filter(object_type="membership", object_id=str(member.pk))
    context = {
        "member": member,
        "why_fixed_role": people_members.explain_fixed_role(target=member, actor=actor),
        "why_not_act": people_members.explain_fixed_status(target=member, actor=actor),
        "why_no_link": passwords.explain_missing_link(target=member, actor=actor),
        "role_form": RoleForm(actor, initial={"role": member.role}),
        "entries": entries[:20],
        "consents": member.consent_acceptances.select_related("consent").order_by("-pk"),
    }
    return render(request, "projects/people/member_show.html", context)
