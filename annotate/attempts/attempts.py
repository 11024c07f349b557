"""Attempts at the test and at practice: begin, save a draft, submit once and grade."""

import uuid
from collections.abc import Sequence
from datetime import datetime, timedelta
from typing import Any

from django.core.exceptions import ObjectDoesNotExist
from django.db import transaction
from django.utils import timezone
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from annotate.attempts.admission import find_admission, is_time_up
from annotate.attempts.gradable_items import find_quality_criteria
from annotate.attempts.item_pages import (
    AttemptPage,
    ItemAnswer,
    draft_from_form,
    draw_items,
    find_wrong_values,
    list_pages,
    read_answers,
)
from annotate.attempts.practice import list_practice_items
from annotate.models import (
    Attempt,
    Grant,
    LedgerEntry,
    Qualification,
    QualificationItem,
    QualificationTest,
)
from annotate.onboarding.consent import explain_withdrawal, require_consent
from annotate.onboarding.instructions import require_instructions
from annotate.onboarding.surveys import require_survey
from annotate.places.locking import lock_annotator
from annotate.rating import draft_merge
from annotate.rating.answers import Incomplete, TakesNoAnswers
from annotate.rating.sent import SentAnswers
from measures.grading import Expected, Grade, grade, reaches
from projects import log
from projects.access import Right, explain_refusal
from projects.errors import Refused
from projects.models import Act, Membership
from projects.rubric import rubrics
from projects.rubric.rubrics import frozen_criteria

State = Attempt.State
Purpose = QualificationItem.Purpose

_ENDED = {
    State.PASSED: gettext_lazy("You already submitted this attempt."),
    State.FAILED: gettext_lazy("You already submitted this attempt."),
    State.EXPIRED: gettext_lazy("This attempt has ended."),
}


class NoSuchPage(ObjectDoesNotExist):
    """The attempt has no page of this number."""


@transaction.atomic
def begin(*, annotator: Membership, purpose: str = Purpose.TEST) -> Attempt:
    """Return the annotator's open attempt, or begin a new one; two tabs at once get the same one.

    Practice needs no open test. Raises Refused, with the reason, if the annotator may not begin now, and ConsentFirst,
    SurveyFirst or InstructionsFirst. Locks the membership.
    """
    # The membership first, as everywhere; of two requests at once, the second finds the attempt of the first.
    lock_annotator(annotator)
    # Asked again under the lock, because the annotator may have been removed since the page was opened.
    refusal = explain_refusal(annotator, Right.WORK)
    if refusal:
        raise Refused(refusal)
    test = QualificationTest.objects.filter(project=annotator.project_id).first()
    if test is None or (test.state != QualificationTest.State.OPEN and purpose != Purpose.PRACTICE):
        raise Refused(_("This project has no open qualification test right now."))
    now = timezone.now()
    open_one = Attempt.objects.filter(annotator=annotator, state=State.OPEN).first()
    if open_one is not None and (is_time_up(open_one, now) or open_one.rubric_id != test.rubric_id):
        _expire(open_one, now)
        open_one = None
    # One attempt is open at a time. Practice gives way to the test, since nothing is lost with it; the test does not
    # give way to practice, because that would use up an attempt.
    if open_one is not None and open_one.purpose != purpose:
        if open_one.purpose == Purpose.TEST:
            raise Refused(_("You have an open attempt at the test. Finish it first."))
        _expire(open_one, now)
        open_one = None
    if open_one is not None:
        return open_one
    require_consent(annotator)
    require_survey(annotator)
    # Practice may come before, as people like: nothing of it counts.
    if purpose == Purpose.TEST:
        require_instructions(annotator, test.instructions)
    return _create_attempt(test, annotator, purpose, now)


@transaction.atomic
def save_draft(
    *, annotator: Membership, attempt_uuid: uuid.UUID, page: int, sent: dict[str, Any]
) -> tuple[draft_merge.DraftContent, datetime]:
    """Merge what was sent into one page of the draft; return that page and when it was saved.

    Raises Refused for an invalid draft, TakesNoAnswers after the attempt has ended, or Attempt.DoesNotExist.
    """
    attempt = _lock(annotator, attempt_uuid)
    _check_open(attempt)
    n_items = len(find_page(list_pages(attempt), page).items)
    now = timezone.now()
    criteria = {criterion.key: criterion for criterion in frozen_criteria(attempt.rubric_id)}
    stored = attempt.draft.get(str(page), {})
    merged = draft_merge.merge_draft(stored, sent, n_items=n_items, criteria=criteria, now=now)
    attempt.draft = {**attempt.draft, str(page): merged}
    attempt.save(update_fields=["draft"])
    return merged, now


@transaction.atomic
def save_page(*, annotator: Membership, attempt_uuid: uuid.UUID, page: int, sent: SentAnswers) -> dict[int, str]:
    """Save a page's form as its draft; return the errors of values off their scale, by position on the page.

    Raises TakesNoAnswers after the attempt has ended, or Attempt.DoesNotExist.
    """
    attempt = _lock(annotator, attempt_uuid)
    _check_open(attempt)
    n_items = len(find_page(list_pages(attempt), page).items)
    criteria = frozen_criteria(attempt.rubric_id)
    # Stamped with the server's time, in milliseconds like those of the page: the form that was sent is newer than every
    # draft saved before it, even if one of these arrives late.
    form = draft_from_form(sent, n_items, criteria, timezone.now().timestamp() * 1000)
    attempt.draft = {**attempt.draft, str(page): form}
    attempt.save(update_fields=["draft"])
    return find_wrong_values(sent, n_items, criteria)


@transaction.atomic
def submit_attempt(*, annotator: Membership, attempt_uuid: uuid.UUID) -> Attempt:
    """Grade the draft once and return the attempt, whose state is the outcome; submitting again changes nothing.

    Within the time limit every item needs an answer: raises Incomplete, by position in the attempt. Within the grace
    after it, what is there is graded. Later, or if its items can't be graded, the attempt expires and keeps its
    draft. Raises TakesNoAnswers if the annotator may not work, or Attempt.DoesNotExist. Locks the membership, then
    the attempt.
    """
    lock_annotator(annotator)
    attempt = _lock(annotator, attempt_uuid)
    # Sent twice: the first outcome is shown again.
    if attempt.state != State.OPEN:
        return attempt
    refusal = explain_refusal(annotator, Right.WORK) or explain_withdrawal(annotator)
    if refusal:
        raise TakesNoAnswers(refusal, "suspended")
    now = timezone.now()
    test = attempt.test
    if is_time_up(attempt, now) or attempt.rubric_id != test.rubric_id:
        _expire(attempt, now)
        return attempt
    pages = list_pages(attempt)
    # Without a correct rating on each criterion an attempt can't be graded, and nobody should fail for that.
    keys = [criterion.key for criterion in find_quality_criteria(attempt.rubric)]
    if not keys or any(key not in item.expected for page in pages for item in page.items for key in keys):
        _expire(attempt, now)
        return attempt
    answers = read_answers(attempt.draft, pages)
    criteria = frozen_criteria(attempt.rubric_id)
    missing = {place: _("Not rated yet.") for place, each in enumerate(answers) if not each.is_complete(criteria)}
    # After the time limit there is no time to complete it, so what is missing counts as incorrect.
    if missing and (attempt.due_at is None or now <= attempt.due_at):
        raise Incomplete(missing)
    _finish(attempt, pages, answers, keys, now)
    return attempt


def find_page(pages: Sequence[AttemptPage], number: int) -> AttemptPage:
    """Return the page with this number, counted from 1. Raises NoSuchPage if there is none."""
    if not 1 <= number <= len(pages):
        raise NoSuchPage(f"There is no page {number}.")
    return pages[number - 1]


def grade_answers(items: Sequence[QualificationItem], answers: Sequence[ItemAnswer], keys: Sequence[str]) -> Grade:
    """Return which answers are correct on all these criteria; an item that “can't be judged” is incorrect."""
    expected = [
        Expected(ranges={key: (low, high) for key, (low, high) in item.expected.items()}, tolerance=item.tolerance)
        for item in items
    ]
    return grade([None if each.cannot else each.values for each in answers], expected, keys)


def _create_attempt(test: QualificationTest, annotator: Membership, purpose: str, now: datetime) -> Attempt:
    if purpose == Purpose.TEST:
        admission = find_admission(annotator)
        if admission is None or admission.is_qualified:
            raise Refused(_("You're already qualified for this project."))
        if not admission.can_begin:
            raise Refused(admission.why_not)
    live = test.items.filter(purpose=purpose, retired_at=None).order_by("position", "pk")
    pool = list_practice_items(test) if purpose == Purpose.PRACTICE else list(live)
    if not pool:
        raise Refused(
            _("There's nothing to practise with.")
            if purpose == Purpose.PRACTICE
            else _("The test has no answers to rate.")
        )
    # Answers are stored under this version of the rubric, so it must not change from now on.
    rubrics.freeze(test.rubric)
    last = Attempt.objects.filter(test=test, annotator=annotator, purpose=purpose).order_by("-n").first()
    n = last.n + 1 if last else 1
    is_timed = purpose == Purpose.TEST and test.time_limit_minutes
    return Attempt.objects.create(
        test=test,
        annotator=annotator,
        purpose=purpose,
        n=n,
        rubric_id=test.rubric_id,
        pass_share=test.pass_share,
        layout=draw_items(test, pool, annotator.pk, n) if purpose == Purpose.TEST else [item.pk for item in pool],
        started_at=now,
        due_at=now + timedelta(minutes=test.time_limit_minutes or 0) if is_timed else None,
    )


def _lock(annotator: Membership, attempt_uuid: uuid.UUID) -> Attempt:
    """Lock and return the annotator's own attempt. Raises DoesNotExist for a missing one or someone else's."""
    attempts = Attempt.objects.select_related("test__rubric", "test__project")
    return attempts.select_for_update(no_key=True, of=("self",)).get(uuid=attempt_uuid, annotator=annotator)


def _check_open(attempt: Attempt) -> None:
    if attempt.state in _ENDED:
        raise TakesNoAnswers(_ENDED[State(attempt.state)], attempt.state)


def _expire(attempt: Attempt, now: datetime) -> None:
    # One left lying ended when its time was up: a waiting time that began now would end for nobody.
    ended_at = now if attempt.due_at is None else min(now, attempt.due_at)
    attempt.state, attempt.finished_at = State.EXPIRED, ended_at
    attempt.save(update_fields=["state", "finished_at"])


def _finish(
    attempt: Attempt, pages: Sequence[AttemptPage], answers: Sequence[ItemAnswer], keys: Sequence[str], now: datetime
) -> None:
    test = attempt.test
    items = [item for page in pages for item in page.items]
    graded = grade_answers(items, answers, keys)
    has_passed = attempt.purpose == Purpose.PRACTICE or reaches(graded.n_right, graded.n_items, attempt.share_needed)
    seconds = [second for page in attempt.draft.values() for second in page.get("seconds", [])]
    attempt.state = State.PASSED if has_passed else State.FAILED
    attempt.finished_at, attempt.n_right = now, graded.n_right
    attempt.active_seconds = round(sum(seconds), 2) if seconds else None
    attempt.answers = {
        "items": [
            {
                "values": each.values,
                "cannot": each.cannot,
                "comment": each.comment,
                "flag": each.is_flagged,
                "right": right,
            }
            for each, right in zip(answers, graded.is_right, strict=True)
        ]
    }
    attempt.save()
    if attempt.purpose == Purpose.TEST:
        _qualify(attempt, has_passed=has_passed, now=now)
        _pay(attempt)
        act = Act.PASS_QUALIFICATION_TEST if has_passed else Act.FAIL_QUALIFICATION_TEST
        after = {"attempt": attempt.n, "n_right": graded.n_right, "n_items": graded.n_items}
        log.record(test.project, attempt.annotator, act, attempt, after=after)


def _qualify(attempt: Attempt, *, has_passed: bool, now: datetime) -> None:
    """Store whether the annotator is qualified, unless a manager has decided on it since the attempt began."""
    if Grant.objects.filter(annotator=attempt.annotator_id, given_at__gte=attempt.started_at).exists():
        return
    days = attempt.test.valid_days
    Qualification.objects.update_or_create(
        annotator_id=attempt.annotator_id,
        defaults={
            "is_qualified": has_passed,
            "rubric_id": attempt.rubric_id,
            "since": now,
            "until": now + timedelta(days=days) if has_passed and days else None,
        },
    )


def _pay(attempt: Attempt) -> None:
    """Add the pay for the test to the ledger, once per person, pass or fail; none for whom a panel's platform pays."""
    test = attempt.test
    if not test.cents or attempt.annotator.is_paid_elsewhere:
        return
    entry = LedgerEntry(
        project=test.project,
        annotator_id=attempt.annotator_id,
        kind=LedgerEntry.Kind.QUALIFICATION,
        cents=test.cents,
        key=f"qualification:{attempt.annotator_id}",
    )
    # The key is unique within the project, so later attempts add nothing.
    LedgerEntry.objects.bulk_create([entry], ignore_conflicts=True)
