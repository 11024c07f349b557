"""Annotators' pages of the qualification test: its start, practice, an attempt page by page, and the result."""

import uuid
from collections.abc import Sequence
from functools import partial
from http import HTTPStatus

from django.contrib import messages
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.urls import reverse
from django.utils import timezone
from django.utils.translation import gettext as _
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_http_methods, require_POST, require_safe

from annotate.attempts import attempts, results
from annotate.attempts.admission import find_admission, is_time_up
from annotate.attempts.attempt_page import render_closed, render_page
from annotate.attempts.item_pages import AttemptPage, list_pages, read_answers
from annotate.attempts.practice import find_practice
from annotate.models import Attempt, LedgerEntry, QualificationItem, QualificationTest, Survey
from annotate.onboarding.consent import ConsentFirst, explain_withdrawal
from annotate.onboarding.instructions import InstructionsFirst
from annotate.onboarding.surveys import SurveyFirst
from annotate.rating.answers import Incomplete, TakesNoAnswers
from annotate.rating.script_requests import answers_script, save_draft
from annotate.rating.sent import read_rating
from measures.grading import least_right
from projects.access import ProjectRequest, Right, SignedInRequest, requires
from projects.database.snapshots import snapshot
from projects.errors import Refused
from projects.models import Membership, Project
from projects.rubric.rubrics import frozen_criteria, read_criteria
from projects.web.links import redirect_with_get
from projects.web.refusals import refusals
from projects.web.whole_numbers import parse_whole_number

Purpose = QualificationItem.Purpose
State = Attempt.State


@requires(Right.WORK)
@never_cache
@require_safe
@snapshot()
def qualification(request: ProjectRequest, project: Project) -> HttpResponse:
    admission = find_admission(request.membership)
    practice = find_practice(request.membership)
    if admission is None or admission.test.state == QualificationTest.State.DRAFT:
        return render(request, "annotate/attempts/none.html", {"practice": practice})
    test = admission.test
    kinds = test.items.filter(retired_at=None).values_list("purpose", flat=True)
    n_items = test.n_items or sum(kind == Purpose.TEST for kind in kinds)
    mine = Attempt.objects.filter(test=test, annotator=request.membership)
    context = {
        "admission": admission,
        "test": test,
        "n_items": n_items,
        "n_needed": least_right(n_items, test.pass_share),
        "practice": practice,
        "attempts": [
            results.summarise_result(each, timezone.now()) for each in mine.filter(purpose=Purpose.TEST).order_by("-n")
        ],
        "is_paid": LedgerEntry.objects.filter(key=f"qualification:{request.membership.pk}").exists(),
    }
    return render(request, "annotate/attempts/start.html", context)


@requires(Right.WORK)
@require_POST
def attempt_begin(request: ProjectRequest, project: Project) -> HttpResponse:
    purpose = Purpose.PRACTICE if request.POST.get("purpose") == Purpose.PRACTICE else Purpose.TEST
    with refusals(request):
        try:
            attempt = attempts.begin(annotator=request.membership, purpose=purpose)
        except ConsentFirst:
            return redirect_with_get(f"{reverse('annotate:consent', args=[project.slug])}?next=test")
        except SurveyFirst:
            asked = reverse("annotate:survey", args=[project.slug, Survey.Moment.BEFORE])
            return redirect_with_get(f"{asked}?next=test")
        except InstructionsFirst as asked_first:
            read = reverse("annotate:instructions-read", args=[project.slug, asked_first.version])
            return redirect_with_get(f"{read}?next=test")
        return redirect_with_get(_make_url("show", project, attempt.uuid))
    return redirect("annotate:qualification", project.slug)


def _keep_page_on_access_lost(
    request: SignedInRequest, membership: Membership, reason: str, *, attempt_uuid: uuid.UUID
) -> HttpResponse | None:
    """Keep a page that was sent after its annotator lost access as a draft, and show the answers with the reason.

    Returns None for a page that isn't theirs, which is then refused like any other.
    """
    attempt = Attempt.objects.filter(uuid=attempt_uuid, annotator=membership).first()
    if attempt is None:
        return None
    number, sent = _read_page_number(request), read_rating(request.POST)
    try:
        attempts.save_page(annotator=membership, attempt_uuid=attempt_uuid, page=number, sent=sent)
        is_kept = True
    except (Refused, attempts.NoSuchPage):
        is_kept = False
    return render_closed(request, attempt, number, sent, reason, is_kept=is_kept, status=HTTPStatus.FORBIDDEN)


@answers_script
@requires(Right.WORK, on_access_lost=_keep_page_on_access_lost)
@never_cache
@require_http_methods(["GET", "HEAD", "POST"])
def attempt_show(request: ProjectRequest, project: Project, attempt_uuid: uuid.UUID) -> HttpResponse:
    attempt = _fetch_attempt(request.membership, attempt_uuid)
    if request.method == "POST":
        return _save_page(request, project, attempt)
    if attempt.state != State.OPEN or is_time_up(attempt, timezone.now()):
        return redirect(_make_url("result", project, attempt.uuid))
    if explain_withdrawal(request.membership):
        return redirect(f"{reverse('annotate:consent', args=[project.slug])}?next=test")
    pages = list_pages(attempt)
    number = parse_whole_number(request.GET.get("page", "")) or 0
    # The number goes into the address, so that reloading stays on the page even when its answers are complete by then.
    if not 1 <= number <= len(pages):
        return redirect(f"{_make_url('show', project, attempt.uuid)}?page={_find_first_unfinished(attempt, pages)}")
    return render_page(request, project, attempt, pages, pages[number - 1])


@requires(Right.WORK)
@never_cache
@require_safe
@snapshot()
def attempt_feedback(request: ProjectRequest, project: Project, attempt_uuid: uuid.UUID, page: int) -> HttpResponse:
    """Show the correct rating of an answer in practice, once it is rated; a test tells nothing before its end."""
    attempt = _fetch_attempt(request.membership, attempt_uuid)
    if attempt.state != State.OPEN:
        return redirect(_make_url("result", project, attempt.uuid))
    show = _make_url("show", project, attempt.uuid)
    pages = list_pages(attempt)
    if not 1 <= page <= len(pages):
        raise Http404("No such page.")
    if attempt.purpose != Purpose.PRACTICE:
        return redirect(show)
    explained = results.explain_answer(attempt, pages[page - 1])
    if explained is None:
        return redirect(f"{show}?page={page}")
    context = {
        "pages": [explained],
        "is_right": explained.items[0].is_right,
        "rates_questions": explained.rates_questions,
        "number": page,
        "n_pages": len(pages),
        "next_url": f"{show}?page={page + 1}" if page < len(pages) else "",
        "again_url": f"{show}?page={page}",
    }
    return render(request, "annotate/attempts/feedback.html", context)


def _save_page(request: ProjectRequest, project: Project, attempt: Attempt) -> HttpResponse:
    """Save the page; then show the next one, or submit the attempt after the last."""
    me, number, sent = request.membership, _read_page_number(request), read_rating(request.POST)
    pages = list_pages(attempt)
    try:
        wrong = attempts.save_page(annotator=me, attempt_uuid=attempt.uuid, page=number, sent=sent)
    except TakesNoAnswers:
        return redirect_with_get(_make_url("result", project, attempt.uuid))
    except attempts.NoSuchPage as error:
        raise Http404("No such page.") from error
    # Read again, because saving has changed the draft.
    attempt = _fetch_attempt(me, attempt.uuid)
    page = pages[number - 1]
    if wrong:
        return render_page(request, project, attempt, pages, page, sent=sent, errors=wrong)
    if number < len(pages) and attempt.purpose == Purpose.PRACTICE:
        # Leads back to the page if it is not rated yet.
        return redirect_with_get(reverse("annotate:attempt-feedback", args=[project.slug, attempt.uuid, number]))
    if number < len(pages):
        return redirect_with_get(f"{_make_url('show', project, attempt.uuid)}?page={number + 1}")
    try:
        attempts.submit_attempt(annotator=me, attempt_uuid=attempt.uuid)
    except Incomplete as refusal:
        # Positions count over the whole attempt. The first page with something missing is shown, with its own errors.
        page = next(each for each in pages if any(_is_on_page(each, place) for place in refusal.errors))
        errors = {place - page.first: message for place, message in refusal.errors.items() if _is_on_page(page, place)}
        return render_page(request, project, attempt, pages, page, errors=errors)
    except TakesNoAnswers as refusal:
        return render_closed(request, attempt, number, sent, refusal.message, is_kept=True)
    return redirect_with_get(_make_url("result", project, attempt.uuid))


def _keep_draft_on_access_lost(
    request: SignedInRequest, membership: Membership, reason: str, *, attempt_uuid: uuid.UUID, page: int
) -> HttpResponse | None:
    if not Attempt.objects.filter(uuid=attempt_uuid, annotator=membership).exists():
        return None
    return _save_draft(request, membership, attempt_uuid, page)


@requires(Right.WORK, answers_json=True, on_access_lost=_keep_draft_on_access_lost)
@never_cache
@require_POST
def attempt_draft(request: ProjectRequest, project: Project, attempt_uuid: uuid.UUID, page: int) -> HttpResponse:
    return _save_draft(request, request.membership, attempt_uuid, page)


def _save_draft(request: SignedInRequest, annotator: Membership, attempt_uuid: uuid.UUID, page: int) -> HttpResponse:
    act = partial(attempts.save_draft, annotator=annotator, attempt_uuid=attempt_uuid, page=page)
    return save_draft(request, act)


@requires(Right.WORK)
@never_cache
@require_safe
@snapshot()
def attempt_result(request: ProjectRequest, project: Project, attempt_uuid: uuid.UUID) -> HttpResponse:
    attempt = _fetch_attempt(request.membership, attempt_uuid)
    now = timezone.now()
    if attempt.state == State.OPEN and not is_time_up(attempt, now):
        return redirect(_make_url("show", project, attempt.uuid))
    summary = results.summarise_result(attempt, now)
    context = {
        "attempt": attempt,
        "test": attempt.test,
        "summary": summary,
        "admission": find_admission(request.membership),
        "criteria": read_criteria(attempt.rubric),
        "pages": results.explain_result(attempt) if summary.shows_items else [],
    }
    return render(request, "annotate/attempts/result.html", context)


def render_again(request: ProjectRequest, project: Project, attempt_uuid: uuid.UUID) -> HttpResponse:
    """Render the page again, with the answers that were sent and a new token, after its CSRF token was refused."""
    attempt = _fetch_attempt(request.membership, attempt_uuid)
    pages = list_pages(attempt)
    number = min(_read_page_number(request), len(pages))
    messages.warning(
        request, _("Your sign-in changed after you opened this page. Nothing is lost. Please submit again.")
    )
    sent = read_rating(request.POST)
    return render_page(request, project, attempt, pages, pages[number - 1], sent=sent, status=HTTPStatus.FORBIDDEN)


show_again = requires(Right.WORK)(render_again)


def _find_first_unfinished(attempt: Attempt, pages: Sequence[AttemptPage]) -> int:
    criteria = frozen_criteria(attempt.rubric_id)
    answers = read_answers(attempt.draft, pages)
    for page in pages:
        if not all(each.is_complete(criteria) for each in answers[page.first : page.first + len(page.items)]):
            return page.number
    return len(pages)


def _is_on_page(page: AttemptPage, place: int) -> bool:
    return page.first <= place < page.first + len(page.items)


def _fetch_attempt(annotator: Membership, attempt_uuid: uuid.UUID) -> Attempt:
    try:
        return Attempt.objects.select_related("test", "rubric").get(uuid=attempt_uuid, annotator=annotator)
    except Attempt.DoesNotExist as error:
        raise Http404("No such attempt.") from error


def _read_page_number(request: HttpRequest) -> int:
    """Return the number of the page that a form belongs to, or 1 if it gives none."""
    return parse_whole_number(request.POST.get("page", "")) or 1


def _make_url(what: str, project: Project, attempt_uuid: uuid.UUID) -> str:
    return reverse(f"annotate:attempt-{what}", args=[project.slug, attempt_uuid])
