"""Drafts: answers not yet submitted, merged so that late, duplicate and offline saves need no version numbers.

Every answer carries a stamp, the page's estimate of the server time in milliseconds. For each answer the greater
stamp wins; clearing an answer is an answer too. A stamp from the future is capped at the server's current time.

A process remembers the drafts that it saved last, and saves the next answers by one statement, which changes nothing if
the draft in the table is another one by now. Then, and for what it does not remember, it locks, reads and merges.
"""

import uuid
from collections.abc import Mapping
from dataclasses import dataclass, replace
from datetime import datetime

import orjson
from django.db import transaction
from django.utils import timezone
from django.utils.translation import gettext_lazy

from annotate.models import Assignment, Draft
from annotate.places.locking import LockedAssignment, lock_assignment
from annotate.rating.answers import TakesNoAnswers
from annotate.rating.draft_merge import DraftContent, merge_draft, stamp_answers
from annotate.rating.sent import SentAnswers
from measures.rubric import check_value
from projects.database.prepared import Columns, fetch_one
from projects.models import Membership
from projects.rubric.rubrics import frozen_criteria

# Expired and withdrawn HITs still accept drafts, so that nothing an annotator has typed is lost.
_CLOSED = {
    Assignment.State.SUBMITTED: gettext_lazy("You already submitted this HIT."),
    Assignment.State.APPROVED: gettext_lazy("You already submitted this HIT."),
    Assignment.State.REJECTED: gettext_lazy("You already submitted this HIT."),
    Assignment.State.RETURNED: gettext_lazy("You returned this HIT."),
}

_DRAFT = Columns(Draft, "d", ("answers", "updated_at"))
_FETCH = f"SELECT {_DRAFT.sql} FROM annotate_draft d WHERE d.assignment_id = %(assignment)s::bigint"
# What tells a row from every other version of it: the transaction that wrote it, and its place in the table.
_VERSION = "{0}.xmin::text || {0}.ctid::text"
_STORE = f"""
INSERT INTO annotate_draft AS d (assignment_id, answers, updated_at)
VALUES (%(assignment)s::bigint, %(answers)s::jsonb, %(now)s::timestamptz)
ON CONFLICT (assignment_id) DO UPDATE SET answers = excluded.answers, updated_at = excluded.updated_at
RETURNING {_VERSION.format("d")}
"""
# The lock is the one that submitting takes: a draft is saved before it, or finds that it is too late.
_TAKING = f"""
WITH a AS (
    SELECT id FROM annotate_assignment WHERE id = %(assignment)s::bigint AND annotator_id = %(me)s::bigint
      AND state NOT IN ({", ".join(f"'{state.value}'" for state in _CLOSED)}) FOR NO KEY UPDATE)
"""
_BEGIN = f"""
{_TAKING} INSERT INTO annotate_draft AS d (assignment_id, answers, updated_at)
SELECT a.id, %(answers)s::jsonb, %(now)s::timestamptz FROM a ON CONFLICT (assignment_id) DO NOTHING
RETURNING {_VERSION.format("d")}
"""
_REPLACE = f"""
{_TAKING} UPDATE annotate_draft d SET answers = %(answers)s::jsonb, updated_at = %(now)s::timestamptz FROM a
WHERE d.assignment_id = a.id AND {_VERSION.format("d")} = %(version)s::text RETURNING {_VERSION.format("d")}
"""

MOST_REMEMBERED = 1_000
"""Drafts that a process remembers; it forgets all of them when there are more, and reads them again."""


@dataclass(frozen=True)
class _Known:
    """A draft as this process saw it last, and what stays so of its assignment; without a version there is none."""

    assignment: int
    rubric: int
    n_items: int
    answers: DraftContent
    version: str
    saved_at: datetime | None


_known: dict[tuple[uuid.UUID, int], _Known] = {}


@dataclass(frozen=True)
class _Saved:
    """A draft with what was merged into it, and when it was saved, now and before."""

    answers: DraftContent
    at: datetime
    before: datetime | None


def save(
    *, annotator: Membership, assignment_uuid: uuid.UUID, sent: Mapping[str, object]
) -> tuple[DraftContent, datetime]:
    """Merge what was sent into the draft; return the whole draft and the time at which it was saved.

    Raises Refused for an invalid draft, TakesNoAnswers after the assignment is submitted or returned.
    """
    saved = _save(annotator, assignment_uuid, sent)
    return saved.answers, saved.at


def save_for_page(
    *, annotator: Membership, assignment_uuid: uuid.UUID, sent: Mapping[str, object]
) -> tuple[DraftContent | None, datetime]:
    """Do what `save` does, but return no draft if the page has all of it, so that nothing came from another device.

    The page says in `after` when the newest draft that it knows was saved: as the last answer did that arrived, or an
    empty text if it has had none.
    """
    saved = _save(annotator, assignment_uuid, sent)
    knows_all = sent.get("after") == (saved.before.isoformat() if saved.before else "")
    return None if knows_all else saved.answers, saved.at


def _save(annotator: Membership, assignment_uuid: uuid.UUID, sent: Mapping[str, object]) -> _Saved:
    known = _known.get((assignment_uuid, annotator.pk))
    saved = _save_known(annotator, assignment_uuid, known, sent) if known is not None else None
    return saved or _save_locked(annotator, assignment_uuid, sent)


def expect_first(assignment: Assignment, rubric_id: int) -> None:
    """Remember an assignment that is shown and has no draft yet: its first answers will follow."""
    known = _Known(assignment.pk, rubric_id, len(assignment.layout), {}, "", None)
    _remember(assignment.uuid, assignment.annotator_id, known)


def _save_known(
    annotator: Membership, assignment_uuid: uuid.UUID, known: _Known, sent: Mapping[str, object]
) -> _Saved | None:
    """Merge into the draft that is remembered and save it, or return None if that is not the one in the table."""
    merged, now = _merge(known.answers, sent, rubric_id=known.rubric, n_items=known.n_items)
    found = fetch_one(
        _REPLACE if known.version else _BEGIN,
        {
            "assignment": known.assignment,
            "me": annotator.pk,
            "answers": _write(merged),
            "now": now,
            "version": known.version,
        },
    )
    if found is None:
        return None
    _remember(assignment_uuid, annotator.pk, replace(known, answers=merged, version=found[0], saved_at=now))
    return _Saved(merged, now, known.saved_at)


@transaction.atomic
def _save_locked(annotator: Membership, assignment_uuid: uuid.UUID, sent: Mapping[str, object]) -> _Saved:
    assignment = lock_assignment(annotator, assignment_uuid)
    if assignment.state in _CLOSED:
        raise TakesNoAnswers(_CLOSED[Assignment.State(assignment.state)], assignment.state)
    # Read after the assignment is locked: a draft that was read by the statement which waits for the lock would be the
    # one from before the wait, and what another request saved meanwhile would be overwritten.
    row = fetch_one(_FETCH, {"assignment": assignment.id})
    draft = _DRAFT.take(row) if row else None
    stored: DraftContent = draft.answers if draft else {}
    n_items = len(assignment.layout)
    merged, now = _merge(stored, sent, rubric_id=assignment.rubric_id, n_items=n_items)
    found = fetch_one(_STORE, {"assignment": assignment.id, "answers": _write(merged), "now": now})
    assert found is not None
    known = _Known(assignment.id, assignment.rubric_id, n_items, merged, found[0], now)
    _remember(assignment_uuid, annotator.pk, known)
    return _Saved(merged, now, draft.updated_at if draft else None)


def _merge(
    stored: DraftContent, sent: Mapping[str, object], *, rubric_id: int, n_items: int
) -> tuple[DraftContent, datetime]:
    now = timezone.now()
    criteria = {criterion.key: criterion for criterion in frozen_criteria(rubric_id)}
    return merge_draft(stored, sent, n_items=n_items, criteria=criteria, now=now), now


def _write(draft: DraftContent) -> str:
    return orjson.dumps(draft).decode()


def _remember(assignment_uuid: uuid.UUID, annotator_id: int, known: _Known) -> None:
    if len(_known) >= MOST_REMEMBERED:
        _known.clear()
    _known[assignment_uuid, annotator_id] = known


@transaction.atomic
def save_form(*, annotator: Membership, assignment_uuid: uuid.UUID, sent: SentAnswers) -> None:
    """Save a form that could not be submitted as the draft, stamped with the server's current time.

    What the form leaves empty stays as it was. Values that are not on the rubric's scales are dropped.
    Raises TakesNoAnswers after the assignment is submitted or returned.
    """
    assignment = lock_assignment(annotator, assignment_uuid)
    save(annotator=annotator, assignment_uuid=assignment_uuid, sent=stamp_form(assignment, sent))


def stamp_form(assignment: LockedAssignment, sent: SentAnswers) -> DraftContent:
    """Return a form as a draft, stamped with the server's current time, without values that are on no scale."""
    scales = {criterion.key: criterion.scale for criterion in frozen_criteria(assignment.rubric_id)}
    known = sent.first(len(assignment.layout))
    valid = {
        position: {key: value for key, value in values.items() if key in scales and not check_value(scales[key], value)}
        for position, values in known.values.items()
    }
    stamp = timezone.now().timestamp() * 1000
    form = stamp_answers(replace(known, values=valid), stamp)
    # An answer that is rated now was not left at “can't be judged”, which would hide the rating.
    form["cannot"] |= {str(position): [None, stamp] for position in valid if position not in known.cannot}
    if sent.seconds:
        form["seconds"] = sent.seconds
    return form
