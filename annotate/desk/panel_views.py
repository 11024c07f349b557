"""Pages of a panel's participants: their arrival, the steps of their session, and the way back to the platform."""

from http import HTTPStatus
from urllib.parse import urlsplit

from django.conf import settings
from django.contrib.auth import logout
from django.core.exceptions import PermissionDenied
from django.http import Http404, HttpRequest, HttpResponse, HttpResponseRedirect
from django.shortcuts import redirect, render
from django.urls import reverse
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_safe

from annotate.desk import arriving, session_steps
from annotate.desk.session_steps import Kind
from annotate.models import Assignment, Outcome, Panel, PanelSession, Survey
from annotate.onboarding import arrival_ids
from annotate.onboarding.consent import consent_state
from annotate.onboarding.notices import fetch_unread
from annotate.panels import panel_links, sessions
from projects.access import ProjectRequest, Right, explain_refusal, public, requires
from projects.accounts import passwords, signing_in
from projects.accounts.views import locked_out
from projects.language.languages import activate_for_visitor, is_known
from projects.models import Guesses, Project, User
from projects.web.client_address import client_address


@public
@never_cache
@require_safe
def arrival(request: HttpRequest, token: str) -> HttpResponse:
    """Let somebody in whom a platform sends, and lead to an address without their ids.

    It stores something although it is a GET, because a platform opens links and sends no forms. Asking again stores
    nothing new, and what only looks at links (a HEAD, a prefetch, an image on a page) is answered without an effect.
    """
    response = _answer_arrival(request, token)
    response.headers["Referrer-Policy"] = "no-referrer"
    return response


def _answer_arrival(request: HttpRequest, token: str) -> HttpResponse:
    address = client_address(request)
    panel = panel_links.find_panel(token)
    if panel is None:
        if Guesses.are_too_many(address):  # wrong links alone are held back, as for invitations
            return locked_out(request)
        Guesses.count(address)
        return _refuse(request, None, "unknown", HTTPStatus.NOT_FOUND)
    if _is_no_visit(request):
        return HttpResponse(status=HTTPStatus.NO_CONTENT)
    activate_for_visitor(request, panel.project)
    # Counted apart from unknown links: whoever asks for those holds nobody back here.
    guesser = f"{address} panel {panel.pk}"
    user = request.user if isinstance(request.user, User) else None
    if user is not None and not passwords.signs_in_by_panel(user):
        return _refuse(request, panel, "signed in", HTTPStatus.CONFLICT)
    try:
        ids = arrival_ids.read_ids(panel, dict(request.GET.lists()))
        if Guesses.are_too_many(guesser) and arriving.may_be_guessed(panel=panel, ids=ids, user=user):
            return locked_out(request)
        found = arriving.arrive(panel=panel, ids=ids, user=user)
    except arriving.PanelEnded as refusal:
        code = panel.code_for(Outcome.NOTHING_LEFT)
        why = "took part" if isinstance(refusal, arriving.TookPartElsewhere) else "ended"
        return _refuse(request, panel, why, HTTPStatus.GONE, reason=refusal.message, code=code)
    except arriving.TookPart as refusal:
        return _refuse(request, panel, "took part", HTTPStatus.FORBIDDEN, reason=refusal.message)
    except arrival_ids.BadLink as refusal:
        if isinstance(refusal, arrival_ids.ForgedLink):
            Guesses.count(guesser)
        return _refuse(request, panel, "bad link", HTTPStatus.BAD_REQUEST, reason=refusal.message)
    if not found.is_let_in:
        Guesses.count(guesser)
        is_new_here = found.session.participant.work_after is None
        return _refuse(request, panel, "known" if is_new_here else "held", HTTPStatus.FORBIDDEN)
    return _sign_in(request, panel, found)


def _is_no_visit(request: HttpRequest) -> bool:
    """Return whether nobody opened the link: a program looks at it, or another page embeds it, as an image say."""
    is_prefetch = "prefetch" in request.headers.get("Sec-Purpose", "")
    # Browsers send it, and no page can forge it; what sends none is not told apart from a browser of long ago.
    is_embedded = request.headers.get("Sec-Fetch-Dest", "document") != "document"
    return request.method == "HEAD" or is_prefetch or is_embedded


def _sign_in(request: HttpRequest, panel: Panel, found: arriving.Arrival) -> HttpResponse:
    member = found.session.participant.membership
    account = member.user
    reason = explain_refusal(member, Right.MEMBER)
    # Somebody removed has no password, so that the link is their only way to read why work was rejected.
    may_enter = not reason or Assignment.objects.filter(annotator=member).exists()
    if account is None or not (may_enter and account.is_active and passwords.signs_in_by_panel(account)):
        return _refuse(request, panel, "no access", HTTPStatus.FORBIDDEN, reason=reason)
    if request.user.is_authenticated and request.user.pk != account.pk:
        logout(request)  # of another participant, at the same computer
    if not request.user.is_authenticated:
        signing_in.finish(request, account)
        chosen = request.COOKIES.get(settings.LANGUAGE_COOKIE_NAME, "")
        if is_known(chosen) and not account.language:
            User.objects.filter(pk=account.pk).update(language=chosen)
    elif found.is_proof:
        signing_in.confirm(request)
    # Who was done and then removed may still need the code; that page leads to their history.
    session = sessions.find_session(member)
    has_page = not reason or (session is not None and session.outcome == Outcome.COMPLETED)
    return redirect("annotate:panel-session" if has_page else "annotate:history", panel.project.slug)


def _refuse(
    request: HttpRequest, panel: Panel | None, why: str, status: HTTPStatus, *, reason: str = "", code: str = ""
) -> HttpResponse:
    context = {"why": why, "reason": reason, "code": code, "panel": panel}
    if panel is not None and code:
        context["return_url"] = panel_links.make_return_url(panel, code=code, participant="", session="")
    return render(request, "annotate/desk/arrival_refused.html", context, status=status)


@requires(Right.HISTORY)
@never_cache
@require_safe
def session_show(request: ProjectRequest, project: Project) -> HttpResponse:
    """Lead a participant to the next step, or show what they have done and, at the end, the code.

    Somebody removed reads how a session ended that is over, and nothing else.
    """
    member = request.membership
    session = sessions.find_session(member)
    if session is None:
        raise Http404("No session.")
    step = session_steps.find_step(member, session)
    why_ended = explain_refusal(member, Right.MEMBER)
    if why_ended and step.kind is not Kind.END:
        raise PermissionDenied(why_ended)
    if step.kind is Kind.CONSENT:
        return redirect(f"{reverse('annotate:consent', args=[project.slug])}?next=work")
    if step.kind in (Kind.SURVEY_BEFORE, Kind.SURVEY_AFTER):
        moment = Survey.Moment.BEFORE if step.kind is Kind.SURVEY_BEFORE else Survey.Moment.AFTER
        return redirect("annotate:survey", project.slug, moment)
    if step.kind is Kind.TEST:
        return redirect("annotate:qualification", project.slug)
    why_not = "" if step.kind is Kind.END else explain_refusal(member, Right.WORK)
    state = consent_state(member)
    context = {
        "step": step,
        "session": step.session,
        "panel": step.session.panel,
        "is_end": step.kind is Kind.END,
        "is_waiting": step.kind is Kind.WAIT,
        "has_return": bool(_make_return_url(step.session)),
        "host": _find_host(step.session.panel),
        "why_not": why_not,
        "why_ended": why_ended,
        "notices": fetch_unread([member]).get(member.pk, ()),
        "has_agreed": state.agreed is not None,
        "left": state.withdrawn if state.has_withdrawn else None,
    }
    return render(request, "annotate/desk/session_show.html", context)


@requires(Right.HISTORY)
@never_cache
@require_safe
def session_return(request: ProjectRequest, project: Project) -> HttpResponse:
    """Lead back to the platform, as often as wanted: the ids that it needs are in its own address alone."""
    session = sessions.find_session(request.membership)
    url = _make_return_url(session) if session is not None else ""
    if not url:
        return redirect("annotate:panel-session", project.slug)
    return HttpResponseRedirect(url)


def _make_return_url(session: PanelSession) -> str:
    if not session.outcome:
        return ""
    participant = session.participant.external_id
    return panel_links.make_return_url(
        session.panel, code=session.code, participant=participant, session=session.external_id
    )


def _find_host(panel: Panel) -> str:
    return urlsplit(panel.return_url).hostname or ""
