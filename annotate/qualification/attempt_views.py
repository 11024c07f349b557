"""Annotators' pages of the qualification test: its start, practice, an attempt page by page, and the result."""

import uuid
from collections.abc import Sequence
from http import HTTPStatus

from django.contrib import messages
from django.http import Http404, HttpRequest, HttpResponse, HttpResponseRedirect, JsonResponse
from django.shortcuts import redirect, render
from django.urls import reverse
from django.utils import timezone
from django.utils.translation import gettext as _
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_http_methods, require_POST, require_safe

from annotate.models import Attempt, LedgerEntry, QualificationItem, QualificationTest
from annotate.onboarding.consent import ConsentFirst, explain_withdrawal
from annotate.qualification import attempts, results
from annotate.qualification.admission import find_admission, is_time_up
from annotate.qualification.attempt_page import render_closed, render_sheet
from annotate.qualification.pages import AttemptPage, list_pages, read_answers
from annotate.qualification.practice import find_practice
from annotate.rating.answers import Incomplete, TakesNoAnswers
from annotate.rating.draft_requests import save_draft
from annotate.rating.sent import read_rating
from measures.grading import least_right
from projects.access import ProjectRequest, Right, SignedInRequest, requires
from projects.database.snapshots import snapshot
from projects.errors import Refused
from projects.models import Membership, Project
from projects.rubric.rubrics import frozen_criteria, read_criteria
from projects.web.refusals import refusals

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
        return render(request, "annotate/qualification/attempt_none.html", {"practice": practice})
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
    return render(request, "annotate/qualification/attempt_start.html", context)


@requires(Right.WORK)
@require_POST
def attempt_begin(request: ProjectRequest, project: Project) -> HttpResponse:
    purpose = Purpose.PRACTICE if request.POST.get("purpose") == Purpose.PRACTICE else Purpose.TEST
    with refusals(request):
        try:
            attempt = attempts.begin(annotator=request.membership, purpose=purpose)
        except ConsentFirst:
            return _see_other(f"{reverse('annotate:consent', args=[project.slug])}?next=test")
        return _see_other(_url("show", project, attempt.uuid))
    return redirect("annotate:qualification", project.slug)


def _keep_page_on_access_lost(
    request: SignedInRequest, membership: Membership, reason: str, *, attempt_uuid: uuid.UUID
) -> HttpResponse | None:
    """A page sent by somebody whose right has gone meanwhile: kept as the draft, and shown."""
    attempt = Attempt.objects.filter(uuid=attempt_uuid, annotator=membership).first()
    if attempt is None:
        return None
    page, sent = _page_of(request), read_rating(request.POST)
    try:
        attempts.save_page(annotator=membership, attempt_uuid=attempt_uuid, page=page, sent=sent)
        is_kept = True
    except (Refused, attempts.NoSuchPage):
        is_kept = False
    return render_closed(request, attempt, page, sent, reason, is_kept=is_kept, status=HTTPStatus.FORBIDDEN)


@requires(Right.WORK, on_access_lost=_keep_page_on_access_lost)
@never_cache
@require_http_methods(["GET", "HEAD", "POST"])
def attempt_show(request: ProjectRequest, project: Project, attempt_uuid: uuid.UUID) -> HttpResponse:
    attempt = _attempt(request.membership, attempt_uuid)
    if request.method == "POST":
        return _take_page(request, project, attempt)
    if attempt.state != State.OPEN or is_time_up(attempt, timezone.now()):
        return redirect(_url("result", project, attempt.uuid))
    if explain_withdrawal(request.membership):
        return redirect(f"{reverse('annotate:consent', args=[project.slug])}?next=test")
    sheets = list_pages(attempt)
    asked = request.GET.get("page", "")
    number = int(asked) if asked.isascii() and asked.isdigit() and len(asked) < 5 else 0
    if not 1 <= number <= len(sheets):  # a page with its number in the address stays where it is when it is reloaded
        return redirect(f"{_url('show', project, attempt.uuid)}?page={_first_unfinished(attempt, sheets)}")
    return render_sheet(request, project, attempt, sheets, sheets[number - 1])


def _take_page(request: ProjectRequest, project: Project, attempt: Attempt) -> HttpResponse:
    """Save the page; then show the next one, or submit the attempt after the last."""
    me, page, sent = request.membership, _page_of(request), read_rating(request.POST)
    sheets = list_pages(attempt)
    try:
        wrong = attempts.save_page(annotator=me, attempt_uuid=attempt.uuid, page=page, sent=sent)
    except TakesNoAnswers:
        return _see_other(_url("result", project, attempt.uuid))
    except attempts.NoSuchPage as error:
        raise Http404("No such page.") from error
    attempt = _attempt(me, attempt.uuid)
    sheet = sheets[page - 1]
    if wrong:
        return render_sheet(request, project, attempt, sheets, sheet, sent=sent, errors=wrong)
    if page < len(sheets):
        return _see_other(f"{_url('show', project, attempt.uuid)}?page={page + 1}")
    try:
        attempts.submit_attempt(annotator=me, attempt_uuid=attempt.uuid)
    except Incomplete as refusal:
        sheet = next(each for each in sheets if any(_has(each, place) for place in refusal.errors))
        errors = {place - sheet.first: said for place, said in refusal.errors.items() if _has(sheet, place)}
        return render_sheet(request, project, attempt, sheets, sheet, errors=errors)
    except TakesNoAnswers as refusal:
        return render_closed(request, attempt, page, sent, refusal.message, is_kept=True)
    return _see_other(_url("result", project, attempt.uuid))


def _keep_draft_on_access_lost(
    request: SignedInRequest, membership: Membership, reason: str, *, attempt_uuid: uuid.UUID, page: int
) -> HttpResponse | None:
    if not Attempt.objects.filter(uuid=attempt_uuid, annotator=membership).exists():
        return None
    return _save_draft(request, membership, attempt_uuid, page)


@requires(Right.WORK, answers_json=True, on_access_lost=_keep_draft_on_access_lost)
@never_cache
@require_POST
def attempt_draft(request: ProjectRequest, project: Project, attempt_uuid: uuid.UUID, page: int) -> JsonResponse:
    return _save_draft(request, request.membership, attempt_uuid, page)


def _save_draft(request: SignedInRequest, annotator: Membership, attempt_uuid: uuid.UUID, page: int) -> JsonResponse:
    return save_draft(request, attempts.save_draft, annotator=annotator, attempt_uuid=attempt_uuid, page=page)


@requires(Right.WORK)
@never_cache
@require_safe
@snapshot()
def attempt_result(request: ProjectRequest, project: Project, attempt_uuid: uuid.UUID) -> HttpResponse:
    attempt = _attempt(request.membership, attempt_uuid)
    now = timezone.now()
    if attempt.state == State.OPEN and not is_time_up(attempt, now):
        return redirect(_url("show", project, attempt.uuid))
    brief = results.summarise_result(attempt, now)
    context = {
        "attempt": attempt,
        "test": attempt.test,
        "brief": brief,
        "admission": find_admission(request.membership),
        "criteria": read_criteria(attempt.rubric),
        "sheets": results.explain_result(attempt) if brief.shows_items else [],
    }
    return render(request, "annotate/qualification/attempt_result.html", context)


def fill_in_again(request: ProjectRequest, project: Project, attempt_uuid: uuid.UUID) -> HttpResponse:
    """Render a page whose CSRF token was stale again, filled in and with a fresh token."""
    attempt = _attempt(request.membership, attempt_uuid)
    sheets = list_pages(attempt)
    number = min(_page_of(request), len(sheets))
    messages.warning(
        request, _("Your sign-in changed after you opened this page. Nothing is lost. Please submit again.")
    )
    sent = read_rating(request.POST)
    return render_sheet(request, project, attempt, sheets, sheets[number - 1], sent=sent, status=HTTPStatus.FORBIDDEN)


show_again = requires(Right.WORK)(fill_in_again)


def _first_unfinished(attempt: Attempt, sheets: Sequence[AttemptPage]) -> int:
    criteria = frozen_criteria(attempt.rubric_id)
    said = read_answers(attempt.draft, sheets)
    for sheet in sheets:
        if not all(each.is_complete(criteria) for each in said[sheet.first : sheet.first + len(sheet.items)]):
            return sheet.number
    return len(sheets)


def _has(sheet: AttemptPage, place: int) -> bool:
    return sheet.first <= place < sheet.first + len(sheet.items)


def _attempt(annotator: Membership, attempt_uuid: uuid.UUID) -> Attempt:
    try:
        return Attempt.objects.select_related("test", "rubric").get(uuid=attempt_uuid, annotator=annotator)
    except Attempt.DoesNotExist as error:
        raise Http404("No such attempt.") from error


def _page_of(request: HttpRequest) -> int:
    asked = request.POST.get("page", "")
    return int(asked) if asked.isascii() and asked.isdigit() and 0 < len(asked) < 5 and int(asked) > 0 else 1


def _url(what: str, project: Project, attempt_uuid: uuid.UUID) -> str:
    return reverse(f"annotate:attempt-{what}", args=[project.slug, attempt_uuid])


def _see_other(url: str) -> HttpResponseRedirect:
    response = HttpResponseRedirect(url)
    response.status_code = HTTPStatus.SEE_OTHER
    return response
