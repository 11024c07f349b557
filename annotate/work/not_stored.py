"""Pages that show what an annotator sent and the server did not store, so that nothing typed is lost."""

import uuid
from dataclasses import asdict, dataclass
from http import HTTPStatus

from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.utils.translation import gettext as _

from annotate.models import Assignment
from annotate.rating import answers
from annotate.rating.sent import SentAnswers, read_rating
from annotate.rating.shown import ShownItem, list_items
from annotate.work import drafts, revising
from measures.rubric import format_plain_number
from projects.access import SignedInRequest
from projects.errors import Refused
from projects.models import Membership
from projects.rubric.rubrics import CriterionOnPage, frozen_criteria


@dataclass(frozen=True)
class UnstoredAnswer:
    """The part of a form about one item; values are texts, in the order of the criteria."""

    values: list[str]
    cannot: str
    is_flagged: bool
    comment: str


def keep_draft_on_access_lost(
    request: SignedInRequest, membership: Membership, reason: str, *, assignment_uuid: uuid.UUID
) -> HttpResponse | None:
    """Save and show the form of an annotator who has lost access; None if the HIT is not theirs."""
    return _show_on_access_lost(request, membership, reason, assignment_uuid, may_keep=True)


def show_answers_on_access_lost(
    request: SignedInRequest, membership: Membership, reason: str, *, assignment_uuid: uuid.UUID
) -> HttpResponse | None:
    """Show such a form without saving it, because it may come from another site; None if the HIT is not theirs."""
    return _show_on_access_lost(request, membership, reason, assignment_uuid, may_keep=False)


def _show_on_access_lost(
    request: SignedInRequest, membership: Membership, reason: str, assignment_uuid: uuid.UUID, *, may_keep: bool
) -> HttpResponse | None:
    assignment = Assignment.objects.filter(uuid=assignment_uuid, annotator=membership.pk).first()
    if assignment is None:
        return None
    sent = read_rating(request.POST)
    # The retry of a submission that was stored is told so, and must not become a draft.
    was_stored = bool(assignment.answers_sha256) and assignment.answers_sha256 == answers.content_sha256(sent)
    is_kept = may_keep and not was_stored and keep_as_draft(membership, assignment_uuid, sent)
    return render_closed(
        request, assignment, sent, reason, was_stored=was_stored, is_kept=is_kept, status=HTTPStatus.FORBIDDEN
    )


def keep_as_draft(annotator: Membership, assignment_uuid: uuid.UUID, sent: SentAnswers) -> bool:
    """Save a form that could not be submitted as the draft; return False if no draft is accepted any more."""
    try:
        drafts.save_form(annotator=annotator, assignment_uuid=assignment_uuid, sent=sent)
    except Refused:
        return False
    return True


def render_closed(
    request: HttpRequest,
    assignment: Assignment,
    sent: SentAnswers,
    reason: str,
    *,
    is_kept: bool,
    was_stored: bool = False,
    status: int = HTTPStatus.CONFLICT,
) -> HttpResponse:
    """Render the page with what was sent and the reason why it was not submitted."""
    criteria = frozen_criteria(assignment.hit.batch.rubric_id)
    rows = [
        {**_describe_item(position, item), **asdict(_read_answer(position, sent, criteria))}
        for position, item in enumerate(list_items(assignment.layout))
    ]
    context = {
        "reason": reason,
        "was_stored": was_stored,
        "is_kept": is_kept,
        # Of somebody who has left or was removed, for example: the draft is never filled in again.
        "is_withdrawn": assignment.state == Assignment.State.WITHDRAWN,
        "criteria": criteria,
        "rows": rows,
    }
    return render(request, "annotate/work/hit_closed.html", context, status=status)


def render_conflict(
    request: HttpRequest, assignment: Assignment, sent: SentAnswers, message: str, *, again_url: str = ""
) -> HttpResponse:
    """Render stored and sent answers side by side; the stored ones stay, and `again_url` leads to editing them."""
    stored = revising.newest_answers(Assignment.objects.select_related("hit__batch").get(pk=assignment.pk))
    criteria = frozen_criteria(assignment.hit.batch.rubric_id)
    rows = [
        _compare(
            _describe_item(position, item),
            criteria,
            _read_answer(position, stored, criteria),
            _read_answer(position, sent, criteria),
        )
        for position, item in enumerate(list_items(assignment.layout))
    ]
    n_differing = sum(bool(row["differs"]) for row in rows)
    context = {"message": message, "rows": rows, "n_differing": n_differing, "again_url": again_url}
    return render(request, "annotate/work/hit_conflict.html", context, status=HTTPStatus.CONFLICT)


def _describe_item(position: int, item: ShownItem) -> dict[str, object]:
    return {"number": position + 1, "question": item.question, "candidate_text": item.text}


def _compare(
    row: dict[str, object], criteria: tuple[CriterionOnPage, ...], stored: UnstoredAnswer, sent: UnstoredAnswer
) -> dict[str, object]:
    """Return an item with both versions, line by line: name, both texts, and whether they differ."""
    lines = [
        (criterion.name, mine, theirs)
        for criterion, mine, theirs in zip(criteria, stored.values, sent.values, strict=True)
    ]
    lines += [
        (_("Can't be judged"), stored.cannot, sent.cannot),
        (_("Problem"), _("flagged") * stored.is_flagged, _("flagged") * sent.is_flagged),
        (_("Comment"), stored.comment, sent.comment),
    ]
    filled = [
        {"name": name, "stored": mine, "sent": theirs, "differs": mine != theirs}
        for name, mine, theirs in lines
        if mine or theirs
    ]
    return {**row, "lines": filled, "differs": stored != sent}


def _read_answer(position: int, sent: SentAnswers, criteria: tuple[CriterionOnPage, ...]) -> UnstoredAnswer:
    """Return the answer to one item as it would be stored: without values if it can't be judged."""
    cannot = sent.cannot.get(position, "")
    values = {} if cannot else sent.values.get(position, {})
    return UnstoredAnswer(
        values=[_format_value(values.get(criterion.key)) for criterion in criteria],
        cannot=cannot,
        is_flagged=position in sent.flags,
        comment=sent.comments.get(position, ""),
    )


def _format_value(value: float | str | None) -> str:
    return "" if value is None else value if isinstance(value, str) else format_plain_number(value)
