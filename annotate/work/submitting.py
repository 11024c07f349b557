"""Submitting a HIT once; returning, resuming and extending it; replying to a rejection."""

import uuid
from dataclasses import dataclass

from django.db import transaction
from django.db.models.functions import Now
from django.utils import timezone
from django.utils.translation import gettext as _

from annotate import places
from annotate.models import Assignment, Batch, Remark
from annotate.onboarding.consent import explain_withdrawal
from annotate.places.locking import LockedAssignment, lock_annotator, lock_assignment
from annotate.rating.answers import SteppedOnly, SubmittedBefore, TakesNoAnswers, check_answers, content_sha256
from annotate.rating.sent import SentAnswers
from annotate.rating.submitted_versions import fetch_versions, normalise_numbers
from projects import log
from projects.access import Right, explain_refusal
from projects.errors import Refused
from projects.language.amounts import format_number
from projects.models import Act, Membership
from projects.rubric.rubrics import frozen_criteria


@dataclass(frozen=True)
class Submitted:
    """The outcome of a submission: whether it repeats one already stored, and how it counts."""

    was_stored: bool
    mark: str


@transaction.atomic
def submit(
    *, annotator: Membership, assignment_uuid: uuid.UUID, sent: SentAnswers, is_stepped: bool = False
) -> Submitted:
    """Store a HIT's answers once and return how they count.

    The same content again changes nothing and is reported as stored, even if the annotator has revised it since;
    different content raises SubmittedBefore. An expired assignment counts if its place is still open and is surplus
    otherwise. Raises Incomplete, SubmittedBefore, TakesNoAnswers, SteppedOnly, or Assignment.DoesNotExist. Locks the
    membership, the assignment, then the HIT.
    """
    lock_annotator(annotator)
    assignment = lock_assignment(annotator, assignment_uuid)
    criteria = frozen_criteria(assignment.rubric_id)
    sha256 = content_sha256(sent)
    # Before any refusal: the retry of a submission that was stored is confirmed, even if its annotator was suspended
    # since.
    if assignment.state in Assignment.SUBMITTED_STATES:
        if assignment.answers_sha256 != sha256 and not _was_stored_before(assignment, sent):
            raise SubmittedBefore(_("You already submitted this HIT with different ratings. The first ones are kept."))
        return Submitted(was_stored=True, mark=assignment.mark)
    require_open(annotator, assignment)
    if assignment.presentation == Batch.Presentation.ONE and not is_stepped:
        raise SteppedOnly(_("This HIT is rated one by one."))
    answers = check_answers(sent, assignment.layout, criteria)
    seconds = sent.seconds if sent.seconds and len(sent.seconds) == len(assignment.layout) else None
    mark = places.finish(
        assignment,
        answers=answers,
        sha256=sha256,
        item_seconds=seconds,
        has_odd_times=sent.has_odd_times or seconds != sent.seconds or _is_longer_than_open(seconds, assignment),
        not_blind=not annotator.is_blind,
    )
    _write_remarks(assignment, sent)
    return Submitted(was_stored=False, mark=mark)


def require_open(annotator: Membership, assignment: LockedAssignment) -> None:
    """Raise TakesNoAnswers if the assignment is over or the annotator may not work; the caller has locked both."""
    if assignment.state == Assignment.State.RETURNED:
        raise TakesNoAnswers(_("You returned this HIT, so you can no longer submit it."), assignment.state)
    refusal = explain_refusal(annotator, Right.WORK)
    if refusal:
        raise TakesNoAnswers(refusal, "suspended")
    is_over = assignment.state == Assignment.State.WITHDRAWN
    # Withdrawing consent ends the open HIT; only an expired one is still there to be submitted late.
    withdrawal = explain_withdrawal(annotator) if is_over or assignment.state == Assignment.State.EXPIRED else ""
    if is_over or withdrawal:
        reason = withdrawal or _("The project withdrew this HIT.")
        kept = _("Your ratings are saved as a draft.")
        raise TakesNoAnswers(f"{reason} {kept}", assignment.state)


def _was_stored_before(assignment: LockedAssignment, sent: SentAnswers) -> bool:
    """Return whether this is an earlier version of the HIT: a retried submission must not undo a later revision."""
    submitted_at = Assignment.objects.values_list("submitted_at", flat=True).get(pk=assignment.id)
    if submitted_at is None:
        return False
    record = fetch_versions(
        assignment.id, layout=assignment.layout, rubric_id=assignment.rubric_id, submitted_at=submitted_at
    )
    return content_sha256(normalise_numbers(sent)) in map(content_sha256, record.read_all())


def _is_longer_than_open(seconds: list[float] | None, assignment: LockedAssignment) -> bool:
    """Return whether the page claims more active time than the assignment has existed.

    One minute is tolerated for the clocks of browser and server. Longer times are marked as implausible, not refused.
    """
    return sum(seconds or []) > (timezone.now() - assignment.opened_at).total_seconds() + 60


def _write_remarks(assignment: LockedAssignment, sent: SentAnswers) -> None:
    marked = sorted(set(sent.cannot) | set(sent.comments) | sent.flags)
    if marked:
        Remark.objects.bulk_create(
            Remark(
                assignment_id=assignment.id,
                item_id=assignment.layout[position],
                is_flagged=position in sent.flags,
                comment=sent.comments.get(position, ""),
                cannot_judge_reason=sent.cannot.get(position, ""),
            )
            for position in marked
            if position < len(assignment.layout)
        )


@transaction.atomic
def return_hit(*, annotator: Membership, assignment_uuid: uuid.UUID, reason: str) -> None:
    """Return an open HIT, which is not offered to this annotator again. Returning it twice changes nothing.

    Raises TakesNoAnswers if it is no longer open.
    """
    lock_annotator(annotator)
    assignment = lock_assignment(annotator, assignment_uuid)
    if assignment.state == Assignment.State.RETURNED:
        return
    if assignment.state != Assignment.State.OPEN:
        raise TakesNoAnswers(_("This HIT is no longer open, so you can't return it."), assignment.state)
    places.return_assignment(assignment, reason=reason)


@transaction.atomic
def reopen(*, annotator: Membership, assignment_uuid: uuid.UUID) -> None:
    """Resume an expired HIT while it has an open place; its draft is still there.

    Raises Refused if the place is taken, the batch is not open, or the annotator has another HIT open; TakesNoAnswers
    if the HIT is over for another reason.
    """
    lock_annotator(annotator)
    refusal = explain_refusal(annotator, Right.WORK)
    if refusal:
        raise Refused(refusal)
    assignment = lock_assignment(annotator, assignment_uuid)
    if assignment.state == Assignment.State.OPEN:
        return
    if assignment.state != Assignment.State.EXPIRED:
        raise TakesNoAnswers(
            _("This HIT has ended, so you can't resume it. Continue with the next one."), assignment.state
        )
    if withdrawal := explain_withdrawal(annotator):
        raise Refused(withdrawal)
    # The membership is locked, so no other HIT can be opened between this question and the update.
    if Assignment.objects.open().filter(annotator=annotator.pk).exists():
        raise Refused(_("You have another open HIT. Submit or return it first."))
    if assignment.batch_state != Batch.State.OPEN:
        raise Refused(_("You can't resume this HIT, because its work isn't open. You can still submit your ratings."))
    if not places.reopen(assignment, minutes=assignment.time_limit_minutes, not_blind=not annotator.is_blind):
        raise Refused(_("Others have rated this HIT in the meantime. You can still submit your ratings."))


@transaction.atomic
def extend(*, annotator: Membership, assignment_uuid: uuid.UUID) -> None:
    """Restart the timer of an open HIT, once: Refused the second time, TakesNoAnswers if the HIT is not open."""
    lock_annotator(annotator)
    assignment = lock_assignment(annotator, assignment_uuid)
    if assignment.state != Assignment.State.OPEN:
        raise TakesNoAnswers(_("This HIT is no longer open."), assignment.state)
    if assignment.extended_at is not None:
        raise Refused(_("You've already restarted the timer of this HIT."))
    places.extend(assignment, minutes=assignment.time_limit_minutes)


LONGEST_REPLY = 2000
"""Characters; about a page, which is enough to explain ten ratings."""


@transaction.atomic
def reply(*, annotator: Membership, assignment_uuid: uuid.UUID, text: str) -> None:
    """Store the annotator's one reply to a rejection, for managers. Raises Refused, or Assignment.DoesNotExist."""
    text = text.strip()
    assignment = Assignment.objects.get(uuid=assignment_uuid, annotator=annotator)
    if not text or len(text) > LONGEST_REPLY:
        raise Refused(_("Write a reply of at most {n} characters.").format(n=format_number(LONGEST_REPLY)))
    # The UPDATE itself asks whether a reply is still allowed, so that of two requests at once only one is stored.
    mine = Assignment.objects.filter(pk=assignment.pk, state=Assignment.State.REJECTED, replied_at=None)
    if not mine.update(reply=text, replied_at=Now()):
        raise Refused(
            _("You've already replied. You can reply to a rejection only once.")
            if assignment.replied_at
            else _("This HIT isn't rejected, so there's nothing to reply to.")
        )
    log.record(annotator.project, annotator, Act.ANSWER_REJECTION, assignment)
