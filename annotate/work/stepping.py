"""Stepping: items are shown one at a time, and an answer is final once the next item is requested."""

import uuid
from dataclasses import replace
from typing import Any

from django.db import transaction
from django.utils import timezone
from django.utils.translation import gettext as _

from annotate.models import Batch, Draft
from annotate.places.locking import lock_annotator, lock_assignment
from annotate.rating.answers import Incomplete, check_answers
from annotate.rating.draft_merge import PASSED, read_draft, stamp_answers
from annotate.rating.sent import SentAnswers
from annotate.work.submitting import SUBMITTED_STATES, Submitted, require_open, submit
from projects.errors import Refused
from projects.models import Membership
from projects.rubric.rubrics import frozen_criteria


class AlreadyAnswered(Refused):
    """The item was already answered differently; the first answer stays."""


@transaction.atomic
def answer_item(
    *, annotator: Membership, assignment_uuid: uuid.UUID, place: int, sent: SentAnswers
) -> Submitted | None:
    """Store the final answer to one item, and submit the HIT after the last; return None while items are left.

    The same answer again changes nothing. Raises AlreadyAnswered for a different one, Refused for an item that is not
    shown yet, Incomplete, TakesNoAnswers, or Assignment.DoesNotExist. Locks the membership, then the assignment.
    """
    lock_annotator(annotator)
    assignment = lock_assignment(annotator, assignment_uuid)
    if assignment.state in SUBMITTED_STATES:
        return Submitted(was_stored=True, mark=assignment.mark)
    require_open(annotator, assignment)
    if assignment.presentation != Batch.Presentation.ONE:
        raise Refused(_("The answers of this HIT are rated on one page."))
    draft = Draft.objects.filter(pk=assignment.id).first() or Draft(pk=assignment.id)
    passed = draft.answers.get(PASSED, 0)
    here = _only(sent, place)
    if place < passed:
        if _only(read_draft(draft.answers), place) != replace(here, seconds=None, has_odd_times=False):
            raise AlreadyAnswered(_("Your first rating of answer {number} stays as it was.").format(number=place + 1))
        return None
    if place != passed or place >= len(assignment.layout):
        raise Refused(_("You can't rate that answer yet. This is the next one."))
    _check(here, place, assignment.layout, assignment.rubric_id)
    draft.answers = _fixed(draft.answers, here, place, len(assignment.layout))
    draft.updated_at = timezone.now()
    draft.save()
    if place + 1 < len(assignment.layout):
        return None
    whole = replace(read_draft(draft.answers), has_odd_times=sent.has_odd_times)
    return submit(annotator=annotator, assignment_uuid=assignment_uuid, sent=whole, is_stepped=True)


def _only(sent: SentAnswers, place: int) -> SentAnswers:
    """Return the part of a form that concerns one item."""

    def here(entries: dict[int, Any]) -> dict[int, Any]:
        return {place: entries[place]} if place in entries else {}

    return replace(
        sent,
        values={} if place in sent.cannot else here(sent.values),
        cannot=here(sent.cannot),
        flags=sent.flags & {place},
        comments=here(sent.comments),
    )


def _check(here: SentAnswers, place: int, layout: list[int], rubric_id: int) -> None:
    alone = replace(
        here,
        values={0: here.values[place]} if here.values else {},
        cannot={0: here.cannot[place]} if here.cannot else {},
    )
    try:
        check_answers(alone, [layout[place]], frozen_criteria(rubric_id))
    except Incomplete as refusal:
        raise Incomplete({place: refusal.errors[0]}) from refusal


def _fixed(stored: dict[str, Any], here: SentAnswers, place: int, n_items: int) -> dict[str, Any]:
    """Return the draft with this item's answer replaced by the form's, and the item marked as passed.

    It replaces rather than merges, so that an autosave that is still under way cannot change a final answer.
    """
    stamp = timezone.now().timestamp() * 1000
    new = stamp_answers(here, stamp)
    draft: dict[str, Any] = {**stored, PASSED: place + 1}
    for part, entries in new.items():
        draft[part] = {**stored.get(part, {}), **entries}
        if str(place) not in entries:
            draft[part].pop(str(place), None)
    if here.seconds and len(here.seconds) == n_items:
        before = stored.get("seconds") or [0.0] * n_items
        draft["seconds"] = [max(pair) for pair in zip(here.seconds, before, strict=True)]
    return draft
