"""Managers' pages of panels: the list, one with its link and sessions, the form, the test of a link."""

from collections import Counter
from collections.abc import Iterable
from http import HTTPStatus
from typing import Any

from django.contrib import messages
from django.db.models import Count, Q
from django.http import HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_http_methods, require_POST, require_safe

from annotate.models import Outcome, Panel, PanelSession
from annotate.onboarding import arrival_ids
from annotate.panels import managing, panel_links, participant_work, sessions
from annotate.panels.forms import LinkForm, PanelForm, RecordForm
from annotate.panels.platforms import PRESETS
from annotate.payments import panel_comparison
from annotate.payments.ledger import pays_anything
from projects.access import ProjectRequest, Right, requires
from projects.language.amounts import write_percent
from projects.models import Project
from projects.web.forms import choose_status
from projects.web.keyed_forms import KeyedForm
from projects.web.links import absolute_url
from projects.web.lists import paginate, read_word
from projects.web.refusals import refusals

State = PanelSession.State
HELD = PanelSession.Access.HELD
IS_HELD = Q(access=HELD)
"""Sessions that were not let in: anybody can have made them up, so that no count has them."""
NOT_LET_IN = "not let in"
LET_IN = ~Q(sessions__access=HELD)
MANY = {
    "n_sessions": LET_IN,
    "n_live": LET_IN & Q(sessions__state__in=sessions.LIVE),
    "n_completed": Q(sessions__outcome="completed"),
}


@requires(Right.MANAGE)
@never_cache
@require_safe
def panel_list(request: ProjectRequest, project: Project) -> HttpResponse:
    panels = project.panels.annotate(**{name: Count("sessions", filter=which) for name, which in MANY.items()})
    return render(request, "annotate/panels/list.html", {"panels": panels})


@requires(Right.MANAGE)
@never_cache
@require_http_methods(["GET", "HEAD", "POST"])
def panel_new(request: ProjectRequest, project: Project) -> HttpResponse:
    """Show the platforms, then the form that the chosen one's preset fills in."""
    platform = request.GET.get("platform", "")
    if platform not in Panel.Platform.values:
        return render(request, "annotate/panels/choose.html", {"platforms": Panel.Platform.choices})
    preset = PRESETS[Panel.Platform(platform)]
    start = {
        "name": Panel.Platform(platform).label if platform != Panel.Platform.GENERIC else "",
        **dict(zip(managing.PARAMETERS, preset.parameters, strict=True)),
        "return_url": preset.return_url,
        "hits_per_session": 1,
        "currency": "USD",
    }
    data = request.POST if request.method == "POST" else None
    form, keyed = PanelForm(data, instance=Panel(project=project), initial=start), KeyedForm(data)
    if request.method == "POST" and form.is_valid():
        with refusals(request, form):
            values = {"platform": platform, **form.cleaned_data}
            key = keyed.cleaned_data["key"] if keyed.is_valid() else None
            panel = managing.create_panel(actor=request.membership, values=values, key=key)
            messages.success(request, "Panel created. Copy its link to the platform.")
            return redirect("annotate:panel-show", project.slug, panel.number)
    context = {"form": form, "key": keyed["key"], "platform": Panel.Platform(platform).label}
    return render(request, "annotate/panels/edit.html", context, status=choose_status(form))


@requires(Right.MANAGE)
@never_cache
@require_safe
def panel_show(request: ProjectRequest, project: Project, number: int) -> HttpResponse:
    return _show(request, project, _fetch(project, number))


@requires(Right.MANAGE)
@never_cache
@require_POST
def panel_test(request: ProjectRequest, project: Project, number: int) -> HttpResponse:
    """Say what a pasted link would do. It is sent by POST, so that the ids in it are in no address."""
    panel = _fetch(project, number)
    form = LinkForm(request.POST)
    ids = None
    if form.is_valid():
        with refusals(request, form, field="link"):
            ids = panel_links.check_link(panel, form.cleaned_data["link"])
    return _show(request, project, panel, form=form, ids=ids, status=choose_status(form))


@requires(Right.MANAGE)
@never_cache
@require_http_methods(["GET", "HEAD", "POST"])
def panel_edit(request: ProjectRequest, project: Project, number: int) -> HttpResponse:
    panel = _fetch(project, number)
    form = PanelForm(request.POST if request.method == "POST" else None, instance=panel)
    if request.method == "POST" and form.is_valid():
        with refusals(request, form):
            managing.change_panel(panel=panel, actor=request.membership, values=form.cleaned_data)
            messages.success(request, "Changes saved.")
            return redirect("annotate:panel-show", project.slug, number)
    context = {"form": form, "panel": panel, "platform": panel.get_platform_display()}
    return render(request, "annotate/panels/edit.html", context, status=choose_status(form))


@requires(Right.MANAGE)
@require_POST
def panel_end(request: ProjectRequest, project: Project, number: int) -> HttpResponse:
    panel = _fetch(project, number)
    with refusals(request):
        managing.end_panel(panel=panel, actor=request.membership)
        messages.success(request, "Panel ended. Nobody new can arrive.")
    return redirect("annotate:panel-show", project.slug, number)


@requires(Right.MANAGE)
@require_POST
def panel_session_act(request: ProjectRequest, project: Project, number: int, session_id: int) -> HttpResponse:
    """Let a held session in, or record what the platform says of one."""
    panel = _fetch(project, number)
    session = get_object_or_404(panel.sessions.select_related("participant__membership__project"), pk=session_id)
    with refusals(request):
        if request.POST.get("act") == "let in":
            sessions.let_in(session, actor=request.membership)
            messages.success(request, "Let in. The participant can open the link again.")
        elif (form := RecordForm(request.POST)).is_valid():
            sessions.record(session, form.cleaned_data["state"], actor=request.membership)
            messages.success(request, "Recorded.")
    return redirect("annotate:panel-show", project.slug, number)


def _show(
    request: ProjectRequest,
    project: Project,
    panel: Panel,
    *,
    form: LinkForm | None = None,
    ids: arrival_ids.Ids | None = None,
    status: int = HTTPStatus.OK,
) -> HttpResponse:
    url = absolute_url(panel_links.make_path(panel), request)
    state = read_word(request, "state", [*State.values, HELD])
    rows = panel.sessions.select_related("participant__membership").order_by("-pk")
    page = paginate(request, rows.filter(_in_state(state)) if state else rows)
    _add_work(page.object_list)
    for session in page:
        session.is_held = session.access == HELD
        session.is_live = session.state in sessions.LIVE and not session.is_held
        session.moves = [
            (move.value, move.label) for move in sessions.MOVES[session.state] if move in sessions.BY_PLATFORM
        ]
    context: dict[str, Any] = {
        "panel": panel,
        "pay": panel_comparison.measure_panel(panel, project)
        if panel.reward_cents or panel.screened_out_cents
        else None,
        "fee_percent": write_percent(panel.fee_share),
        "length": _describe_length(panel),
        "pays": pays_anything(project),
        "link": panel_links.make_link(panel, url),
        "sample": panel_links.make_sample(panel, url),
        "preset": PRESETS[Panel.Platform(panel.platform)],
        "signing_key": arrival_ids.make_key(panel) if panel.platform == panel_links.SIGNED_PLATFORM else "",
        "codes": [(label, panel.code_for(value)) for value, label in Outcome.choices],
        "page": page,
        "state": state,
        "states": [*State.choices, (HELD, NOT_LET_IN)],
        "counts": _count_states(panel),
        "form": form or LinkForm(initial={"link": panel_links.make_sample(panel, url)}),
        "ids": ids,
    }
    return render(request, "annotate/panels/show.html", context, status=status)


def _describe_length(panel: Panel) -> str:
    n, unit = (panel.hits_per_session, "HIT") if panel.hits_per_session else (panel.minutes_per_session, "minute")
    return f"{n} {unit}{'' if n == 1 else 's'}"


def _count_states(panel: Panel) -> list[tuple[str, int]]:
    """Return how many sessions each state has, and last how many were not let in, which have none."""
    counts = dict(panel.sessions.exclude(IS_HELD).order_by().values_list("state").annotate(n=Count("pk")))
    found = [(str(label), counts[value]) for value, label in State.choices if value in counts]
    n_held = panel.sessions.filter(IS_HELD).count()
    return [*found, (NOT_LET_IN, n_held)] if n_held else found


def _in_state(state: str) -> Q:
    return IS_HELD if state == HELD else ~IS_HELD & Q(state=state)


def _add_work(page: Iterable[PanelSession]) -> None:
    """Set on each session how many HITs were submitted in it, in the participant's earlier ones, and were due in it."""
    shown = list(page)
    participants = {session.participant_id for session in shown}
    n_done = participant_work.count_done_in_sessions(participants)
    n_so_far, n_before = Counter[int](), dict[int, int]()
    theirs = PanelSession.objects.filter(participant__in=participants).exclude(IS_HELD).order_by("pk")
    for pk, participant in theirs.values_list("pk", "participant"):
        n_before[pk] = n_so_far[participant]
        n_so_far[participant] += n_done.get(pk, 0)
    for session in shown:
        before = n_before.get(session.pk, 0)
        session.n_done, session.n_before = n_done.get(session.pk, 0), before  # type: ignore[attr-defined]
        session.n_due = session.participant.n_hits_due - before  # type: ignore[attr-defined]


def _fetch(project: Project, number: int) -> Panel:
    return get_object_or_404(project.panels.select_related("project", "created_by"), number=number)
