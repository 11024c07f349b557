"""Managers' pages about an annotator: warn, suspend, remove, restore."""

from collections.abc import Callable
from http import HTTPStatus
from typing import Any

from django import forms
from django.contrib import messages
from django.db import transaction
from django.http import HttpResponse
from django.shortcuts import redirect, render
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_http_methods

from annotate.moderation import members as moderation_members
from annotate.moderation.decisions import describe_closed
from annotate.moderation.forms import ExclusionForm, RemoveForm, RestoreForm, SuspendForm, WarnForm
from annotate.moderation.members import RemovalPlan
from annotate.places import RestoredWork
from projects.access import ProjectRequest, Right, requires
from projects.language.amounts import format_number, plural
from projects.models import Membership, Project
from projects.people import members
from projects.web.forms import choose_status
from projects.web.previews import Preview, read_settings
from projects.web.refusals import refusals


@requires(Right.MANAGE)
@never_cache
@require_http_methods(["GET", "HEAD", "POST"])
def member_warn(request: ProjectRequest, project: Project, pseudonym: str) -> HttpResponse:
    def act(member: Membership, text: str) -> str:
        moderation_members.warn(target=member, actor=request.membership, text=text)
        return f"Message sent. It stays on the desk of {pseudonym} until they confirm they have read it."

    return _handle_form(request, project, pseudonym, "annotate/moderation/member_warn.html", WarnForm, act)


@requires(Right.MANAGE)
@never_cache
@require_http_methods(["GET", "HEAD", "POST"])
def member_suspend(request: ProjectRequest, project: Project, pseudonym: str) -> HttpResponse:
    def act(member: Membership, why: str, text: str) -> str:
        moderation_members.suspend(target=member, actor=request.membership, why=why, text=text)
        return f"{pseudonym} is suspended. They can see their desk but can’t take HITs."

    return _handle_form(request, project, pseudonym, "annotate/moderation/member_suspend.html", SuspendForm, act)


@requires(Right.MANAGE)
@never_cache
@require_http_methods(["GET", "HEAD", "POST"])
def member_restore(request: ProjectRequest, project: Project, pseudonym: str) -> HttpResponse:
    """Show how much would count again and how much is surplus (GET), then restore the annotator (POST)."""

    @transaction.atomic
    def act(member: Membership, why: str, with_work: bool) -> str:
        done = moderation_members.restore(target=member, actor=request.membership, why=why, with_work=with_work)
        if with_work:
            _preview_restoring(member, done).require_confirmed(request)
        sentences = [f"{pseudonym} is active again."]
        if with_work:
            n, n_surplus = format_number(done.n_counted), format_number(done.n_surplus)
            again = plural(done.n_counted, "assignment counts", "assignments count")
            sentences.append(f"{n} {again} again; {n_surplus} {plural(done.n_surplus, 'is', 'are')} surplus.")
            if done.n_already_counted:
                sentences.append(f"{format_number(done.n_already_counted)} of their judgments were already counted.")
        return " ".join(sentences)

    member = members.fetch_member(project, pseudonym)
    restored = moderation_members.plan_restoring(target=member)
    context = {"restored": restored, "preview": _preview_restoring(member, restored)}
    return _handle_form(
        request, project, pseudonym, "annotate/moderation/member_restore.html", RestoreForm, act, **context
    )


@requires(Right.MANAGE)
@never_cache
@require_http_methods(["GET", "HEAD", "POST"])
def member_remove(request: ProjectRequest, project: Project, pseudonym: str) -> HttpResponse:
    """Show the choice and its preview (GET), then remove the annotator, with a reason (POST)."""
    member = members.fetch_member(project, pseudonym)
    sent = request.POST if request.method == "POST" else request.GET
    # The first GET has no choice yet and shows the blank form, without errors and without a preview.
    choice = ExclusionForm(project, sent if sent.keys() & ExclusionForm.base_fields.keys() else None)
    form = RemoveForm(request.POST if request.method == "POST" else None)
    plan = None
    if choice.is_bound and choice.is_valid():
        plan = moderation_members.plan_removal(target=member, exclusion=choice.exclusion())
        if request.method == "POST" and form.is_valid():
            with refusals(request, form):
                messages.success(request, _remove(request, member, choice, **form.cleaned_data))
                return redirect("projects:member-show", project.slug, pseudonym)
    context = {
        "member": member,
        "why_not": members.explain_fixed_status(target=member, actor=request.membership),
        "choice": choice,
        "form": form,
        "plan": plan,
        "preview": _preview_removal(member, choice, plan) if plan else None,
        "n_findings": moderation_members.find_open_alerts(member).count(),
        "is_removed": member.standing == Membership.Standing.REMOVED,
        "is_wrong": bool(choice.errors or form.errors),
    }
    status = HTTPStatus.UNPROCESSABLE_ENTITY if context["is_wrong"] else 200
    return render(request, "annotate/moderation/member_remove.html", context, status=status)


def _handle_form(
    request: ProjectRequest,
    project: Project,
    pseudonym: str,
    template: str,
    form_class: type[forms.Form],
    act: Callable[..., str],
    **context: Any,
) -> HttpResponse:
    """Handle a form about one member: show it, show its errors, or act on it."""
    member = members.fetch_member(project, pseudonym)
    form = form_class(request.POST if request.method == "POST" else None)
    if request.method == "POST" and form.is_valid():
        with refusals(request, form):
            done = act(member, **form.cleaned_data)
            messages.success(request, done)
            return redirect("projects:member-show", project.slug, pseudonym)
    why_not = members.explain_fixed_status(target=member, actor=request.membership)
    why_not = why_not or members.explain_lost_account(member)
    context = {"member": member, "form": form, "why_not": why_not, **context}
    return render(request, template, context, status=choose_status(form))


# One transaction for both acts, so that no alert stays open for someone who has been removed.
@transaction.atomic
def _remove(
    request: ProjectRequest,
    member: Membership,
    choice: ExclusionForm,
    *,
    why: str,
    reopen_batches: bool,
    resolves_alerts: bool,
) -> str:
    actor = request.membership
    was_removed = member.standing == Membership.Standing.REMOVED
    done = moderation_members.remove(
        target=member, actor=actor, why=why, exclusion=choice.exclusion(), reopen_batches=reopen_batches
    )
    # What was done is compared, because the annotator may submit work until the act has locked it.
    _preview_removal(member, choice, done).require_confirmed(request)
    message = _describe_removal("" if was_removed else member.pseudonym, done, reopened=reopen_batches)
    if not resolves_alerts:
        return message
    n = moderation_members.resolve_alerts(target=member, actor=actor, why=why)
    if not n:
        return message
    resolved = plural(n, "{n} alert resolved.", "{n} alerts resolved.")
    return f"{message} {resolved.format(n=format_number(n))}"


def _preview_removal(member: Membership, choice: ExclusionForm, plan: RemovalPlan) -> Preview:
    return Preview("removal", member, read_settings(choice), [plan.n_assignments, plan.n_judgments, plan.n_places])


def _preview_restoring(member: Membership, restored: RestoredWork) -> Preview:
    return Preview("restoring", member, numbers=[restored.n_counted, restored.n_surplus, restored.n_already_counted])


def _describe_removal(pseudonym: str, done: RemovalPlan, *, reopened: bool) -> str:
    """Describe what was done; no pseudonym for somebody who had been removed before."""
    sentences = [f"{pseudonym} has been removed."] if pseudonym else []
    if done.n_assignments:
        n, n_places = format_number(done.n_assignments), format_number(done.n_places)
        excluded = plural(done.n_assignments, "{n} assignment excluded", "{n} assignments excluded").format(n=n)
        sentences.append(f"{excluded}, {n_places} reassigned.")
    if done.closed_batches:
        sentences.append(describe_closed(done.closed_batches, reopened=reopened))
    return " ".join(sentences)
