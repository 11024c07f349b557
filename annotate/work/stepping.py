"""Stepping: items are shown one at a time, and an answer is final once the next item is requested."""

import uuid
from dataclasses import replace
from typing import TypeVar

from django.db import transaction
from django.utils import timezone
from django.utils.translation import gettext as _

from annotate.models import Assignment, Batch, Draft
from annotate.places.locking import lock_annotator, lock_assignment
from annotate.rating.answers import Incomplete, check_answers
from annotate.rating.draft_merge import PARTS, DraftContent, read_draft, stamp_answers
from annotate.rating.sent import SentAnswers
from annotate.work.submitting import Submitted, require_open, submit
from projects.errors import Refused
from projects.models import Membership
from projects.rubric.rubrics import frozen_criteria

T = TypeVar("T")


class AlreadyAnswered(Refused):
    """The item was already answered differently; the first answer stays."""


@transaction.atomic
def answer_item(
    *, annotator: Membership, assignment_uuid: uuid.UUID, position: int, sent: SentAnswers
) -> Submitted | None:
    """Store the final answer to one item, and submit the HIT after the last; return None while items are left.

    The same answer again changes nothing. Raises AlreadyAnswered for a different one, Refused for an item that is not
    shown yet, Incomplete, TakesNoAnswers, or Assignment.DoesNotExist. Locks the membership, then the assignment.
    """
    lock_annotator(annotator)
    assignment = lock_assignment(annotator, assignment_uuid)
    if assignment.state in Assignment.SUBMITTED_STATES:
        return Submitted(was_stored=True, mark=assignment.mark)
    require_open(annotator, assignment)
    if assignment.presentation != Batch.Presentation.ONE:
        raise Refused(_("This HIT is rated on one page."))
    draft = Draft.objects.filter(pk=assignment.id).first() or Draft(pk=assignment.id)
    passed = draft.answers.get("passed", 0)
    here = _pick_item(sent, position)
    if position < passed:
        stored = _pick_item(read_draft(draft.answers), position)
        # Compared without the times, which have grown since the first request.
        if replace(stored, seconds=None) != replace(here, seconds=None, has_odd_times=False):
            raise AlreadyAnswered(
                _("Your first rating of number {number} stays as it was.").format(number=position + 1)
            )
        return None
    if position != passed or position >= len(assignment.layout):
        raise Refused(_("You can't rate that one yet. This is the next one."))
    _check_alone(here, position, assignment.layout, assignment.rubric_id)
    draft.answers = _fix_answer(draft.answers, here, position, len(assignment.layout))
    draft.updated_at = timezone.now()
    draft.save()
    if position + 1 < len(assignment.layout):
        return None
    whole = replace(read_draft(draft.answers), has_odd_times=sent.has_odd_times)
    return submit(annotator=annotator, assignment_uuid=assignment_uuid, sent=whole, is_stepped=True)


def _pick_item(sent: SentAnswers, position: int) -> SentAnswers:
    """Return the part of a form that concerns one item."""

    return replace(
        sent,
        values={} if position in sent.cannot else _pick(sent.values, position),
        cannot=_pick(sent.cannot, position),
        flags=sent.flags & {position},
        comments=_pick(sent.comments, position),
    )


def _pick(entries: dict[int, T], position: int) -> dict[int, T]:
    return {position: entries[position]} if position in entries else {}


def _check_alone(here: SentAnswers, position: int, layout: list[int], rubric_id: int) -> None:
    """Check one item as if it were the only one of its HIT. Raises Incomplete, by its position in the whole HIT."""
    alone = replace(
        here,
        values={0: here.values[position]} if here.values else {},
        cannot={0: here.cannot[position]} if here.cannot else {},
    )
    try:
        check_answers(alone, [layout[position]], frozen_criteria(rubric_id))
    except Incomplete as refusal:
        raise Incomplete({position: refusal.errors[0]}) from refusal


def _fix_answer(stored: DraftContent, here: SentAnswers, position: int, n_items: int) -> DraftContent:
    """Return the draft with this item's answer replaced by the form's, and the item marked as passed.

    It replaces rather than merges, so that an autosave that is still under way cannot change a final answer.
    """
    key, new = str(position), stamp_answers(here, timezone.now().timestamp() * 1000)
    draft: DraftContent = {**stored, "passed": position + 1}
    draft["answers"] = _replace_entry(stored.get("answers", {}), new["answers"], key)
    # A form does not say which answers were read to their end: those entries stay as drafts have brought them.
    for part in PARTS:
        if part in new:
            draft[part] = _replace_entry(stored.get(part, {}), new[part], key)
    if here.seconds and len(here.seconds) == n_items:
        before = stored.get("seconds") or [0.0] * n_items
        draft["seconds"] = [max(pair) for pair in zip(here.seconds, before, strict=True)]
    return draft


def _replace_entry(stored: dict[str, T], new: dict[str, T], key: str) -> dict[str, T]:
    """Return the stored entries with the one under this key replaced by the new one, or removed if there is none."""
    return {**{each: entry for each, entry in stored.items() if each != key}, **new}
