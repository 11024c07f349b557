"""Drafts: answers not yet submitted, merged so that late, duplicate and offline saves need no version numbers.

Every answer carries a stamp, the page's estimate of the server time in milliseconds. For each answer the greater
stamp wins; clearing an answer is an answer too. A stamp from the future is capped at the server's current time.
"""

import json
import uuid
from collections.abc import Mapping
from dataclasses import replace
from datetime import datetime

from django.db import transaction
from django.utils import timezone
from django.utils.translation import gettext_lazy

from annotate.models import Assignment, Draft
from annotate.places.locking import lock_assignment
from annotate.rating.answers import TakesNoAnswers
from annotate.rating.draft_merge import DraftContent, merge_draft, stamp_answers
from annotate.rating.sent import SentAnswers
from measures.rubric import check_value
from projects.database.prepared import Columns, fetch_one, run
from projects.models import Membership
from projects.rubric.rubrics import frozen_criteria

# Expired and withdrawn HITs still accept drafts, so that nothing an annotator has typed is lost.
_CLOSED = {
    Assignment.State.SUBMITTED: gettext_lazy("You already submitted this HIT."),
    Assignment.State.APPROVED: gettext_lazy("You already submitted this HIT."),
    Assignment.State.REJECTED: gettext_lazy("You already submitted this HIT."),
    Assignment.State.RETURNED: gettext_lazy("You returned this HIT."),
}

_DRAFT = Columns(Draft, "d", ("answers",))
_FETCH = f"SELECT {_DRAFT.sql} FROM annotate_draft d WHERE d.assignment_id = %(assignment)s::bigint"
_STORE = """
INSERT INTO annotate_draft (assignment_id, answers, updated_at)
VALUES (%(assignment)s::bigint, %(answers)s::jsonb, %(now)s::timestamptz)
ON CONFLICT (assignment_id) DO UPDATE SET answers = excluded.answers, updated_at = excluded.updated_at
"""


@transaction.atomic
def save(
    *, annotator: Membership, assignment_uuid: uuid.UUID, sent: Mapping[str, object]
) -> tuple[DraftContent, datetime]:
    """Merge what was sent into the draft; return the whole draft and the time at which it was saved.

    Raises Refused for an invalid draft, TakesNoAnswers after the assignment is submitted or returned.
    """
    assignment = lock_assignment(annotator, assignment_uuid)
    if assignment.state in _CLOSED:
        raise TakesNoAnswers(_CLOSED[Assignment.State(assignment.state)], assignment.state)
    now = timezone.now()
    criteria = {criterion.key: criterion for criterion in frozen_criteria(assignment.rubric_id)}
    # Read after the assignment is locked: a draft that was read by the statement which waits for the lock would be the
    # one from before the wait, and what another request saved meanwhile would be overwritten.
    found = fetch_one(_FETCH, {"assignment": assignment.id})
    stored: DraftContent = _DRAFT.take(found).answers if found else {}
    merged = merge_draft(stored, sent, n_items=len(assignment.layout), criteria=criteria, now=now)
    run(_STORE, {"assignment": assignment.id, "answers": json.dumps(merged), "now": now})
    return merged, now


@transaction.atomic
def save_form(*, annotator: Membership, assignment_uuid: uuid.UUID, sent: SentAnswers) -> None:
    """Save a form that could not be submitted as the draft, stamped with the server's current time.

    What the form leaves empty stays as it was. Values that are not on the rubric's scales are dropped.
    Raises TakesNoAnswers after the assignment is submitted or returned.
    """
    assignment = lock_assignment(annotator, assignment_uuid)
    scales = {criterion.key: criterion.scale for criterion in frozen_criteria(assignment.rubric_id)}
    known = sent.first(len(assignment.layout))
    valid = {
        position: {key: value for key, value in values.items() if key in scales and not check_value(scales[key], value)}
        for position, values in known.values.items()
    }
    form = stamp_answers(replace(known, values=valid), timezone.now().timestamp() * 1000)
    if sent.seconds:
        form["seconds"] = sent.seconds
    save(annotator=annotator, assignment_uuid=assignment_uuid, sent=form)
