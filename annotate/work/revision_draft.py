"""Drafts of a revision: unsent changes to a submitted HIT."""

import uuid
from collections.abc import Mapping
from datetime import datetime

from django.db import transaction
from django.utils import timezone
from django.utils.translation import gettext as _

from annotate.models import Assignment, Draft
from annotate.places.locking import lock_assignment
from annotate.rating.answers import TakesNoAnswers
from annotate.rating.draft_merge import DraftContent, merge_draft, read_draft, stamp_answers
from annotate.rating.sent import SentAnswers
from annotate.work import drafts
from annotate.work.revising import delete_draft, newest_version, version_key
from projects.models import Membership
from projects.rubric.rubrics import frozen_criteria


@transaction.atomic
def save_draft(
    *, annotator: Membership, assignment_uuid: uuid.UUID, sent: Mapping[str, object], of: str
) -> tuple[DraftContent, datetime]:
    """Merge unsent changes into the draft of a revision; return the whole draft and when it was saved.

    Raises TakesNoAnswers if the HIT may no longer be edited or was edited on another page; Refused for an invalid
    draft.
    """
    assignment = lock_assignment(annotator, assignment_uuid)
    newest = newest_version(annotator, assignment_uuid)
    if newest is None or version_key(newest) != of:
        raise TakesNoAnswers(
            _("You edited this HIT in another tab. Reload this page to see what you saved there."), assignment.state
        )
    now = timezone.now()
    criteria = {criterion.key: criterion for criterion in frozen_criteria(assignment.rubric_id)}
    draft = Draft.objects.filter(pk=assignment.id).first() or Draft(pk=assignment.id)
    stored: DraftContent = draft.answers if draft.answers.get("of") == of else {}
    merged = merge_draft(stored, sent, n_items=len(assignment.layout), criteria=criteria, now=now)
    draft.answers, draft.updated_at = {**merged, "of": of}, now
    draft.save()
    return merged, now


@transaction.atomic
def save_form(*, annotator: Membership, assignment_uuid: uuid.UUID, sent: SentAnswers, of: str) -> None:
    """Save a form that could not be stored as the draft of a revision; raises as `save_draft` does."""
    assignment = lock_assignment(annotator, assignment_uuid)
    form = drafts.stamp_form(assignment, sent)
    save_draft(annotator=annotator, assignment_uuid=assignment_uuid, sent=form, of=of)


@transaction.atomic
def drop_draft(*, annotator: Membership, assignment_uuid: uuid.UUID) -> None:
    """Delete unsent changes; the submitted answers stay. Raises Assignment.DoesNotExist."""
    assignment = lock_assignment(annotator, assignment_uuid)
    if assignment.state == Assignment.State.SUBMITTED:
        delete_draft(assignment)


def prefill_form(assignment: Assignment, newest: SentAnswers) -> SentAnswers:
    """Return what the editing page starts with: the newest version, overlaid with unsent changes to it."""
    draft = Draft.objects.filter(pk=assignment.pk).first()
    unsent = draft.answers if draft is not None and draft.answers.get("of") == version_key(newest) else {}
    criteria = {criterion.key: criterion for criterion in frozen_criteria(assignment.hit.batch.rubric_id)}
    n_items = len(assignment.layout)
    # The submitted answers get stamp 0, so that every unsent change is newer.
    return read_draft(
        merge_draft(stamp_answers(newest, 0), unsent, n_items=n_items, criteria=criteria, now=timezone.now())
    )
