"""The rating page: a HIT in its shown order, with no source, no control flag and no id."""

import uuid
from collections.abc import Mapping, Sequence
from datetime import datetime
from functools import lru_cache
from itertools import groupby

from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.urls import reverse
from django.utils import timezone
from django.utils.functional import SimpleLazyObject

from annotate.models import Assignment, Batch, Draft, Hit
from annotate.rating.draft_merge import list_read
from annotate.rating.form_parts import (
    FormParts,
    Prefill,
    QuestionGroup,
    build_form,
    build_item,
    prefill_from_draft,
    prefill_from_sent,
)
from annotate.rating.pace import estimate_duration, find_duration
from annotate.rating.sent import SentAnswers
from annotate.rating.shown import describe_question, format_opinion, list_items, list_references
from projects.models import Passage, Project
from projects.rubric.rubrics import CriterionOnPage, frozen_criteria, read_criteria


class PageParts(FormParts):
    """A form with its passage, and how much of it is answered; `alone` is the position of the only item shown."""

    passage: Passage
    n_items: int
    n_answered: int
    alone: int | None
    is_last: bool
    server_now_ms: int | None


def render_assignment(
    request: HttpRequest,
    project: Project,
    assignment: Assignment,
    *,
    sent: SentAnswers | None = None,
    errors: Mapping[int, str] | None = None,
    status: int = 200,
    template: str = "annotate/rating/hit_rate.html",
    over: Mapping[str, object] | None = None,
) -> HttpResponse:
    """Render the rating page of an assignment, with the draft's answers or those just sent.

    A variant of the page has its own `template`, and `over` replaces parts of the context.
    """
    batch = assignment.hit.batch
    # An assignment without a draft raises RelatedObjectDoesNotExist here, which is an AttributeError too.
    draft = getattr(assignment, "draft", None)
    prefill = prefill_from_sent(sent) if sent is not None else prefill_from_draft(draft.answers if draft else {})
    show = reverse("annotate:work-show", args=[project.slug, assignment.uuid])
    context: dict[str, object] = {
        "assignment": assignment,
        "preview": False,
        "is_expired": assignment.state == Assignment.State.EXPIRED,
        "due_at_ms": to_milliseconds(assignment.due_at),
        "can_extend": assignment.extended_at is None,
        "must_read_to_end": batch.must_read_to_end,
        "positions_read": list_read(draft.answers if draft else {}),
        "before_url": _find_revision_url(project, request.GET.get("after", "")),
        "errors": errors or {},
        "cents": 0 if assignment.annotator.is_paid_elsewhere else batch.compute_pay(len(assignment.layout)),
        # Asked only by the templates that show it.
        "duration": SimpleLazyObject(
            lambda: find_duration(assignment.hit_id, assignment.annotator_id, len(assignment.layout))
        ),
        "urls": {
            "submit": show,
            **{act: f"{show}{act}/" for act in ("draft", "return", "extend", "reopen")},
            **site_urls(project.slug),
            "instructions": f"{site_urls(project.slug)['instructions']}?hit={assignment.uuid}",
        },
        **_build_page(
            project,
            assignment.hit.passage,
            assignment.layout,
            frozen_criteria(batch.rubric_id),
            prefill,
            errors or {},
            alone=_find_position_alone(assignment, draft),
        ),
        **(over or {}),
    }
    return render(request, template, context, status=status)


def read_assignment(project: Project, assignment: Assignment, sent: SentAnswers) -> PageParts:
    """Return a HIT for reading: the same parts in the same order as on the rating page, with these answers."""
    criteria = frozen_criteria(assignment.hit.batch.rubric_id)
    return _build_page(project, assignment.hit.passage, assignment.layout, criteria, prefill_from_sent(sent), {})


def render_preview(request: HttpRequest, project: Project, hit: Hit) -> HttpResponse:
    """Render the page for a manager: in canonical order, without a draft, a timer or anything to submit."""
    batch: Batch = hit.batch
    layout = list(hit.items.order_by("position").values_list("pk", flat=True))
    context: dict[str, object] = {
        "assignment": None,
        "preview": True,
        "due_at_ms": None,
        "errors": {},
        "cents": batch.compute_pay(len(layout)),
        "duration": estimate_duration(hit.pk),
        "hit": hit,
        "batch": batch,
        "urls": {
            **dict.fromkeys(("submit", "draft", "return", "extend"), ""),
            **site_urls(project.slug),
            "desk": reverse("annotate:hit-show", args=[project.slug, batch.number, hit.number]),
        },
        # The rubric of a draft batch may still change, so its criteria are not read from the cache of frozen ones.
        **_build_page(project, hit.passage, layout, read_criteria(batch.rubric), Prefill(), {}),
    }
    return render(request, "annotate/rating/hit_rate.html", context)


def _find_revision_url(project: Project, before: str) -> str:
    """Return where the HIT submitted before this one can be edited, if the page's address names one."""
    if not before or not project.revision_minutes:
        return ""
    try:
        return reverse("annotate:revision", args=[project.slug, uuid.UUID(before)])
    except ValueError:
        return ""


def _find_position_alone(assignment: Assignment, draft: Draft | None) -> int | None:
    """Return the position of the first item that is not final, if items are shown one at a time, or None."""
    if assignment.hit.batch.presentation != Batch.Presentation.ONE:
        return None
    passed: int = draft.answers.get("passed", 0) if draft else 0
    return min(passed, len(assignment.layout) - 1)


def _build_page(
    project: Project,
    passage: Passage,
    layout: Sequence[int],
    criteria: Sequence[CriterionOnPage],
    prefill: Prefill,
    errors: Mapping[int, str],
    *,
    alone: int | None = None,
) -> PageParts:
    """Return the passage with its items by question, or with the one item that is shown alone."""
    visible = layout if alone is None else layout[alone : alone + 1]
    items = list_items(visible, with_opinions=project.shows_candidate_opinion)
    references = list_references({item.question_id for item in items}, project)
    groups: list[QuestionGroup] = []
    # The layout keeps a question's items together, so that each question is one run.
    for question_id, run in groupby(enumerate(items, alone or 0), key=lambda pair: pair[1].question_id):
        pairs = list(run)
        question = describe_question(pairs[0][1], passage, project)
        rates_questions = question["rates_questions"]
        groups.append(
            {
                "question": question,
                "references": references.get(question_id, []),
                "items": [
                    build_item(
                        *(position, item.text, criteria, prefill, errors, format_opinion(item.opinion)),
                        rates_questions=rates_questions,
                    )
                    for position, item in pairs
                ],
            }
        )
    n_answered = prefill.count_answered(n_items=len(layout), n_criteria=len(criteria))
    return {
        "passage": passage,
        **build_form(groups, criteria, errors),
        "n_items": len(layout),
        "n_answered": n_answered if alone is None else alone,
        "alone": alone,
        "is_last": alone == len(layout) - 1,
        "server_now_ms": to_milliseconds(timezone.now()),
    }


def to_milliseconds(at: datetime | None) -> int | None:
    """Return a time as scripts count it, in milliseconds since 1970."""
    return None if at is None else int(at.timestamp() * 1000)


@lru_cache(maxsize=1024)
def site_urls(slug: str) -> dict[str, str]:
    """Return the addresses that the page's script and links need; reversing them takes longer than keeping them."""
    return {
        "session": reverse("annotate:session"),
        "instructions": reverse("annotate:instructions", args=[slug]),
        "desk": reverse("annotate:project-desk", args=[slug]),
        "sign_in": reverse("projects:sign-in"),
    }
