"""Managers' pages of Prolific: the account, and a panel's study with its submissions and differences."""

from decimal import Decimal
from typing import Any

from django.conf import settings
from django.contrib import messages
from django.db.models import Count
from django.http import HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_http_methods, require_POST, require_safe

from annotate.models import Panel, ProlificStudy, ProlificSubmission
from annotate.panels import panel_links
from annotate.prolific import accounts, drafting, following, participant_groups, reconciling, submissions, tending
from annotate.prolific.calling import PlatformError
from annotate.prolific.forms import AccountForm, LimitForm, RejectForm, StudyForm
from projects.access import ProjectRequest, Right, requires
from projects.models import Project
from projects.web.forms import choose_status
from projects.web.links import absolute_url
from projects.web.lists import paginate, read_word
from projects.web.previews import Preview
from projects.web.refusals import refusals

Status = ProlificSubmission.Status


@requires(Right.OWN)
@never_cache
@require_http_methods(["GET", "HEAD", "POST"])
def account(request: ProjectRequest, project: Project) -> HttpResponse:
    """Show whether an account is connected, and connect one by its token."""
    form = AccountForm(request.POST if request.method == "POST" else None)
    form.fields["token"].required = not settings.PROLIFIC_TOKEN
    if request.method == "POST" and form.is_valid():
        with refusals(request, form):
            accounts.connect(actor=request.membership, token=form.cleaned_data["token"])
            messages.success(request, "Connected. Prolific accepts the token.")
            return redirect("annotate:prolific-account", project.slug)
    found = accounts.find_account(project)
    context = {
        "form": form,
        "account": found,
        "is_connected": accounts.is_connected(project),
        "has_site_token": bool(settings.PROLIFIC_TOKEN),
        "address": accounts.make_address(found, request) if found else "",
        "n_events": found.events.count() if found else 0,
        "newest_event": found.events.order_by("-pk").first() if found else None,
    }
    return render(request, "annotate/prolific/account.html", context, status=choose_status(form))


@requires(Right.OWN)
@require_POST
def account_act(request: ProjectRequest, project: Project) -> HttpResponse:
    """Subscribe to messages, renew their secret, or disconnect; an unknown act does nothing."""
    act = request.POST.get("act", "")
    with refusals(request):
        if act == "subscribe":
            found = accounts.find_account(project)
            url = accounts.make_address(found, request) if found else ""
            accounts.subscribe(actor=request.membership, url=url)
            messages.success(request, "Prolific now sends its messages here, signed with a new secret.")
        elif act == "disconnect":
            accounts.disconnect(actor=request.membership)
            messages.success(request, "Disconnected. The token is deleted here; delete it on Prolific too.")
    return redirect("annotate:prolific-account", project.slug)


@requires(Right.MANAGE)
@never_cache
@require_safe
def study_show(request: ProjectRequest, project: Project, number: int) -> HttpResponse:
    panel = _fetch_panel(project, number)
    study = ProlificStudy.objects.filter(panel=panel).select_related("panel", "published_by").first()
    context: dict[str, Any] = {"panel": panel, "study": study, "is_connected": accounts.is_connected(project)}
    if study is not None:
        context |= _describe(request, study)
    return render(request, "annotate/prolific/study.html", context)


@requires(Right.MANAGE)
@never_cache
@require_http_methods(["GET", "HEAD", "POST"])
def study_edit(request: ProjectRequest, project: Project, number: int) -> HttpResponse:
    """Edit a draft; saving sends it to Prolific and asks what it costs."""
    panel = _fetch_panel(project, number)
    study = ProlificStudy.objects.filter(panel=panel).first()
    here = following.count_open_sessions(panel, study)
    data = request.POST if request.method == "POST" else None
    form = StudyForm(data, instance=study, initial={} if study else _suggest_values(panel, here.n_left))
    if request.method == "POST" and form.is_valid():
        with refusals(request, form):
            url = panel_links.make_link(panel, absolute_url(panel_links.make_path(panel), request))
            try:
                drafting.save_draft(panel=panel, actor=request.membership, values=form.read_values(), url=url)
                messages.success(request, "The draft is on Prolific. Check what it costs, then publish it.")
            except PlatformError as error:
                messages.error(request, f"{error.message} The draft is stored here. Save it again to send it.")
            return redirect("annotate:prolific-study", project.slug, number)
    context = {"panel": panel, "study": study, "form": form, "here": here}
    return render(request, "annotate/prolific/study_edit.html", context, status=choose_status(form))


def _suggest_values(panel: Panel, n_left: int) -> dict[str, Any]:
    """Return what a first draft starts from; saving it overwrites the reward and the minutes of the panel."""
    n_places = max(1, n_left)
    minutes = panel.minutes_expected or panel.minutes_per_session or 15
    values = {"title": panel.project.name[:120], "estimated_minutes": minutes}
    values |= {"places": n_places, "most_places": n_places}
    account = accounts.find_account(panel.project)
    if panel.reward_cents and account is not None and account.currency == panel.currency:
        values["reward"] = Decimal(panel.reward_cents) / 100
    return values


@requires(Right.MANAGE)
@never_cache
@require_http_methods(["GET", "HEAD", "POST"])
def study_places(request: ProjectRequest, project: Project, number: int) -> HttpResponse:
    """Raise the most places of a published study, after what that costs was shown."""
    study = fetch_study(project, number)
    form = LimitForm(request.GET if "most_places" in request.GET else None, initial={"most_places": study.most_places})
    if request.method == "POST":
        form = LimitForm(request.POST)
    preview, cost = None, None
    if form.is_bound and form.is_valid():
        wanted = form.cleaned_data["most_places"]
        with refusals(request, form):
            drafting.check_limit(study, wanted)
            cost = drafting.ask_cost(accounts.open_client(project), study, wanted)
            preview = Preview("raise places", study, settings={"most_places": wanted}, numbers={"cents": cost})
            if request.method == "POST":
                preview.require_confirmed(request)
                drafting.raise_limit(study=study, actor=request.membership, most_places=wanted)
                messages.success(request, "Saved. Places follow the open places here, up to the new number.")
                return redirect("annotate:prolific-study", project.slug, number)
    context = {"panel": study.panel, "study": study, "form": form, "preview": preview, "cost": cost}
    return render(request, "annotate/prolific/study_places.html", context, status=choose_status(form))


@requires(Right.MANAGE)
@require_POST
def study_act(request: ProjectRequest, project: Project, number: int) -> HttpResponse:
    """Do what a button of the page says; an unknown act does nothing."""
    study, actor, act = fetch_study(project, number), request.membership, request.POST.get("act", "")
    with refusals(request):
        if act == "publish":
            preview_publication(study).require_confirmed(request)
            drafting.publish(study=study, actor=actor)
            messages.success(request, "Published. Participants can come now.")
        elif act == "pause":
            drafting.pause(study=study, actor=actor)
            messages.success(request, "Paused. Nobody new comes until you start it again.")
        elif act == "start":
            drafting.start(study=study, actor=actor)
            messages.success(request, "Started.")
        elif act == "update":
            tending.tend(study.pk, is_prompt=True)
        elif act == "approve":
            n = submissions.want_approval(study=study, actor=actor, chosen=list_approvable(study))
            what = "1 approval is" if n == 1 else f"{n} approvals are"
            messages.success(request, f"{what} sent to Prolific in the next minute.")
        elif act == "groups":
            participant_groups.make_groups(study=study, actor=actor)
            messages.success(request, "The participant groups are on Prolific, and are kept up to date.")
    return redirect("annotate:prolific-study", project.slug, number)


@requires(Right.MANAGE)
@require_POST
def submission_act(request: ProjectRequest, project: Project, number: int, submission_id: int) -> HttpResponse:
    """Approve one submission; the next round asks Prolific."""
    study = fetch_study(project, number)
    row = get_object_or_404(study.submissions, pk=submission_id)
    with refusals(request):
        chosen = study.submissions.filter(pk=row.pk)
        if submissions.want_approval(study=study, actor=request.membership, chosen=chosen):
            messages.success(request, "The approval is sent to Prolific in the next minute.")
    return redirect("annotate:prolific-study", project.slug, number)


@requires(Right.MANAGE)
@never_cache
@require_http_methods(["GET", "HEAD", "POST"])
def submission_reject(request: ProjectRequest, project: Project, number: int, submission_id: int) -> HttpResponse:
    study = fetch_study(project, number)
    rows = study.submissions.select_related("study__panel", "session__participant__membership__project")
    row = get_object_or_404(rows, pk=submission_id)
    form = RejectForm(request.POST if request.method == "POST" else None)
    if request.method == "POST" and form.is_valid():
        with refusals(request, form):
            submissions.reject(row=row, actor=request.membership, **form.cleaned_data)
            messages.success(request, "Rejected on Prolific. The ratings still count until you decide otherwise.")
            return redirect("annotate:prolific-study", project.slug, number)
    context = {"panel": study.panel, "study": study, "row": row, "form": form}
    return render(request, "annotate/prolific/submission_reject.html", context, status=choose_status(form))


def preview_publication(study: ProlificStudy) -> Preview:
    """Return what somebody sees before they publish: the places and their cost."""
    numbers = {"cents": study.cost_cents, "most_cents": study.most_cost_cents, "reward": study.reward_cents}
    asked = {"places": study.places, "most_places": study.most_places}
    return Preview("publish on Prolific", study, settings=asked, numbers=numbers)


def list_approvable(study: ProlificStudy) -> Any:
    """Return the submissions that one button approves: finished here, whatever code was entered there.

    Of several for the same HITs it approves one, and none if one was rejected; somebody decides on each of the others.
    """
    waiting = study.submissions.filter(status=Status.AWAITING_REVIEW, approval_wanted_at=None)
    finished = waiting.filter(session__outcome="completed").exclude(submissions.is_sent_again())
    undecided = finished.exclude(submissions.is_rejected_work())
    return undecided.exclude(session__participant__membership__standing="removed")


def fetch_study(project: Project, number: int) -> ProlificStudy:
    studies = ProlificStudy.objects.select_related("panel__project", "published_by")
    return get_object_or_404(studies, panel__project=project, panel__number=number)


def _describe(request: ProjectRequest, study: ProlificStudy) -> dict[str, Any]:
    status = read_word(request, "status", Status.values)
    rows = study.submissions.select_related("session__participant__membership").order_by("-pk")
    counts = dict(study.submissions.order_by().values_list("status").annotate(n=Count("pk")))
    differences = reconciling.compare(study) if study.published_at else []
    return {
        # Studies of earlier versions can have 0 minutes.
        "cents_per_hour": round(study.reward_cents * 60 / study.estimated_minutes) if study.estimated_minutes else None,
        "preview": preview_publication(study),
        "plan": following.plan_places(study),
        "page": paginate(request, rows.filter(status=status) if status else rows),
        "status": status,
        "statuses": Status.choices,
        "counts": [(label, counts[value]) for value, label in Status.choices if value in counts],
        "n_approvable": list_approvable(study).count(),
        "differences": differences[:100],
        "n_differences": len(differences),
        "bonuses": study.bonuses.select_related("made_by"),
    }


def _fetch_panel(project: Project, number: int) -> Panel:
    panels = project.panels.select_related("project").filter(platform=Panel.Platform.PROLIFIC)
    return get_object_or_404(panels, number=number)
