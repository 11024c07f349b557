"""Pages that annotators read before they work: consent, its withdrawal, and the instructions with the rubric."""

from http import HTTPStatus
from typing import Any

from django.contrib import messages
from django.http import Http404, HttpResponse
from django.shortcuts import redirect, render
from django.utils.translation import gettext as _
from django.utils.translation import ngettext
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_http_methods, require_safe

from annotate.attempts.practice import Practice, find_practice
from annotate.desk.forms import WithdrawForm, read_version
from annotate.models import Outcome
from annotate.onboarding import consent as onboarding_consent
from annotate.onboarding import instructions as onboarding_instructions
from annotate.onboarding.instructions import Guide
from annotate.panels.sessions import LIVE, end, find_session
from annotate.payments.ledger import find_paid
from annotate.work.openings import explain_start
from annotate.work.views import next_hit
from projects.access import ProjectRequest, Right, explain_refusal, requires
from projects.models import Instructions, Membership, Project
from projects.texts import markdown, versions
from projects.texts.examples import Example
from projects.texts.versions import current_consent
from projects.web.forms import choose_status
from projects.web.refusals import refusals

NEXT = ("work", "test")
"""Where these pages may lead besides the next step of a newcomer: to the next HIT, or to the test."""


@requires(Right.MEMBER)
@never_cache
@require_http_methods(["GET", "HEAD", "POST"])
def consent(request: ProjectRequest, project: Project) -> HttpResponse:
    if request.method != "POST":
        return _show_consent(request, project)
    if request.POST.get("act") != "agree":
        if _end_session(request.membership):
            return redirect("annotate:panel-session", project.slug)
        messages.info(
            request,
            _("You didn't agree, so you can't start work that needs your consent. You can still agree at any time."),
        )
        return _to_desk(request, project)
    with refusals(request):
        version = read_version(request.POST.get("version", ""))
        try:
            onboarding_consent.agree(annotator=request.membership, version=version)
        except onboarding_consent.OldVersion as refusal:
            messages.warning(request, refusal.message)
            return _show_consent(request, project, status=HTTPStatus.CONFLICT)
        return continue_onboarding(request, project, request.POST.get("next", ""))
    return _to_desk(request, project)


@requires(Right.MEMBER)
@never_cache
@require_http_methods(["GET", "HEAD", "POST"])
def consent_withdraw(request: ProjectRequest, project: Project) -> HttpResponse:
    form = WithdrawForm(request.POST if request.method == "POST" else None)
    if request.method == "POST" and form.is_valid():
        with refusals(request):
            done = onboarding_consent.withdraw(annotator=request.membership, removes_work=form.removes_work)
            messages.success(request, _describe_withdrawal(request.membership, done, removes_work=form.removes_work))
            _end_session(request.membership)
        return _to_desk(request, project)
    context = {
        "form": form,
        "state": onboarding_consent.consent_state(request.membership),
        "plan": onboarding_consent.plan_withdrawal(request.membership),
        "is_paid": request.membership.pk in find_paid([request.membership]),
    }
    return render(
        request,
        "annotate/desk/consent_withdraw.html",
        context,
        status=choose_status(form),
    )


@requires(Right.MEMBER)
@never_cache
@require_safe
def instructions(request: ProjectRequest, project: Project) -> HttpResponse:
    guide = onboarding_instructions.find_guide(
        request.membership, hit=request.GET.get("hit", ""), attempt=request.GET.get("attempt", "")
    )
    is_annotator = not explain_refusal(request.membership, Right.WORK)
    has_left = onboarding_consent.explain_withdrawal(request.membership)
    return _show_guide(request, guide, can_start=is_annotator and not has_left)


@requires(Right.WORK)
@never_cache
@require_http_methods(["GET", "HEAD", "POST"])
def instructions_read(request: ProjectRequest, project: Project, version: int) -> HttpResponse:
    """Show a version that must be read before the next HIT, with what is new in it, or confirm that it was read."""
    guide = onboarding_instructions.find_guide(request.membership, version=version, batch=request.GET.get("batch", ""))
    if guide.instructions is None:
        raise Http404("There is no such version.")
    if request.method == "POST":
        onboarding_instructions.confirm(annotator=request.membership, instructions=guide.instructions)
        return continue_onboarding(request, project, request.POST.get("next", ""))
    return _show_guide(request, guide, can_start=True, following=read_next(request), is_asked=True)


def _end_session(annotator: Membership) -> bool:
    """End the session of a participant who doesn't consent; return False for anybody else."""
    session = find_session(annotator)
    if session is None:
        return False
    if session.state in LIVE:
        end(session, Outcome.NO_CONSENT)
    return True


def continue_onboarding(request: ProjectRequest, project: Project, following: str) -> HttpResponse:
    """Redirect to where the annotator was going, or take a newcomer to the instructions, then to the desk."""
    if following == "work":
        return next_hit(request, project)
    if following == "test":
        return redirect("annotate:qualification", project.slug)
    guide = onboarding_instructions.find_guide(request.membership)
    if guide.instructions is not None and not guide.is_read:
        return redirect("annotate:instructions-read", project.slug, guide.instructions.version)
    return redirect("annotate:project-desk", project.slug)


def _show_consent(request: ProjectRequest, project: Project, *, status: int = HTTPStatus.OK) -> HttpResponse:
    text = current_consent(project)
    context = {
        "text": text,
        "html": markdown.render(text.text) if text else "",
        "state": onboarding_consent.consent_state(request.membership),
        "following": read_next(request),
    }
    return render(request, "annotate/desk/consent_show.html", context, status=status)


def _show_guide(
    request: ProjectRequest, guide: Guide, *, can_start: bool, following: str = "work", is_asked: bool = False
) -> HttpResponse:
    me, version = request.membership, guide.instructions
    before = (
        onboarding_instructions.find_last_confirmed(me, version)
        if version is not None and is_asked and not guide.is_read
        else None
    )
    practice: Practice | None = find_practice(me) if can_start else None
    context: dict[str, Any] = {
        "instructions": version,
        "html": markdown.render(version.text) if version else "",
        "criteria": guide.criteria,
        "shown_examples": [(example, example.rated(guide.criteria)) for example in guide.examples],
        "is_read": guide.is_read,
        "is_asked": is_asked,
        # Asked only where the page ends with the button, which then leads to a HIT and not back.
        "why_not": explain_start(me) if can_start and guide.is_read else "",
        "can_start": can_start,
        "following": following,
        "before": before,
        "changes": versions.compare(_list_lines(before), _list_lines(version)) if before and version else [],
        "practice": practice,
    }
    return render(request, "annotate/desk/instructions_show.html", context)


def _list_lines(version: Instructions) -> list[str]:
    """Return the lines of a version, for comparison with another: its text, then its worked examples."""
    examples = Example.read_all(version.examples)
    lines = [line for number, example in enumerate(examples, start=1) for line in example.lines(number)]
    return [*version.text.splitlines(), *lines]


def read_next(request: ProjectRequest) -> str:
    asked = (request.POST if request.method == "POST" else request.GET).get("next", "")
    return asked if asked in NEXT else ""


def _describe_withdrawal(annotator: Membership, done: onboarding_consent.Withdrawal, *, removes_work: bool) -> str:
    if not done.n_hits:
        return onboarding_consent.explain_withdrawal(annotator)
    if not removes_work:
        return _("You've left this study. Your ratings stay in the results under your random name. Thank you!")
    return ngettext(
        "You've left this study. The ratings of %(n)d HIT are removed and no longer count.",
        "You've left this study. The ratings of %(n)d HITs are removed and no longer count.",
        done.n_hits,
    ) % {"n": done.n_hits}


def _to_desk(request: ProjectRequest, project: Project) -> HttpResponse:
    """Redirect to the project's desk, or to the desk of all projects if they may not work in this one."""
    if explain_refusal(request.membership, Right.WORK):
        return redirect("annotate:desk")
    return redirect("annotate:project-desk", project.slug)
