"""A page of an attempt, which is one passage on the rating page, and the page for answers that weren't submitted."""

from collections.abc import Mapping, Sequence
from http import HTTPStatus
from types import SimpleNamespace
from typing import Any

from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.urls import reverse
from django.utils import timezone
from django.utils.translation import gettext as _

from annotate.attempts.item_pages import AttemptPage, list_pages, rates_questions
from annotate.models import Attempt, QualificationItem
from annotate.rating.form_parts import (
    Prefill,
    QuestionGroup,
    build_form,
    build_item,
    prefill_from_draft,
    prefill_from_sent,
)
from annotate.rating.page import site_urls, to_milliseconds
from annotate.rating.sent import SentAnswers
from annotate.rating.shown import DetailsOnPage, QuestionOnPage, describe_details, describe_reference, format_opinion
from projects.models import Candidate, Project
from projects.rubric.rubrics import CriterionOnPage, frozen_criteria


def render_page(
    request: HttpRequest,
    project: Project,
    attempt: Attempt,
    pages: Sequence[AttemptPage],
    page: AttemptPage,
    *,
    sent: SentAnswers | None = None,
    errors: Mapping[int, str] | None = None,
    status: int = 0,
) -> HttpResponse:
    """Render one passage of an attempt on the rating page, with the draft's answers or those just sent."""
    stored = attempt.draft.get(str(page.number), {})
    criteria = frozen_criteria(attempt.rubric_id)
    show = reverse("annotate:attempt-show", args=[project.slug, attempt.uuid])
    context = {
        # The rating page is made for assignments. Drafts that the browser keeps are found by uuid, so each page of an
        # attempt has one of its own.
        "assignment": SimpleNamespace(
            uuid=f"{attempt.uuid}-{page.number}", due_at=attempt.due_at, draft=SimpleNamespace(answers=stored)
        ),
        "attempt": attempt,
        "attempt_page": page,
        "n_pages": len(pages),
        "is_last": page.number == len(pages),
        "is_practice": attempt.purpose == QualificationItem.Purpose.PRACTICE,
        "preview": False,
        "due_at_ms": to_milliseconds(attempt.due_at),
        "due_over": _("Time is up. Submit what you have."),
        "takes_incomplete_once_over": attempt.due_at is not None,
        "due_after": _("After that, you can still submit for a short time."),
        "server_now_ms": to_milliseconds(timezone.now()),
        "errors": errors or {},
        "urls": {
            **site_urls(project.slug),
            "instructions": f"{site_urls(project.slug)['instructions']}?attempt={attempt.uuid}",
            "submit": show,
            "draft": reverse("annotate:attempt-draft", args=[project.slug, attempt.uuid, page.number]),
            "previous": f"{show}?page={page.number - 1}" if page.number > 1 else "",
        },
        **make_page_context(
            project, page.items, criteria, prefill_from_sent(sent) if sent else prefill_from_draft(stored), errors
        ),
    }
    status = status or (HTTPStatus.UNPROCESSABLE_ENTITY if errors else HTTPStatus.OK)
    return render(request, "annotate/attempts/page.html", context, status=status)


def make_page_context(
    project: Project,
    items: Sequence[QualificationItem],
    criteria: Sequence[CriterionOnPage],
    prefill: Prefill,
    errors: Mapping[int, str] | None = None,
) -> dict[str, Any]:
    """Return the items of one passage as the rating page shows them, without the correct ratings."""
    groups: list[QuestionGroup] = []
    candidates = _fetch_candidates(items, project)
    is_generated = rates_questions(project, items)
    for place, item in enumerate(items):
        candidate = candidates.get(getattr(item, "candidate_id", None))
        # Consecutive items with the same question share its heading, as candidates of a HIT do.
        if not groups or groups[-1]["question"]["text"] != item.question:
            references = [
                describe_reference(each["text"], each.get("opinion", ""), project)
                for each in ([] if project.hides_references else item.references)
            ]
            details = _read_kind(item, candidate, project)
            question: QuestionOnPage = {
                "text": item.question,
                "type": details.get("type", ""),
                "entities": details.get("entities", []),
                "rates_questions": is_generated,
            }
            groups.append({"question": question, "references": references, "items": []})
        # An item made from a candidate may have been edited since; its opinion belonged to the former text.
        opinion = candidate.opinion if candidate and candidate.text == item.answer else ""
        opinion = format_opinion(opinion) if project.shows_candidate_opinion else ""
        groups[-1]["items"].append(
            build_item(place, item.answer, criteria, prefill, errors or {}, opinion, rates_questions=is_generated)
        )
    # All items of a page have the same passage; that is how they are grouped.
    first = items[0]
    return {
        "passage": SimpleNamespace(title=first.passage_title, text=first.passage_text, documents=None),
        **build_form(groups, criteria, errors),
        "n_items": len(items),
        "n_answered": prefill.count_answered(n_items=len(items), n_criteria=len(criteria)),
    }


def _fetch_candidates(items: Sequence[QualificationItem], project: Project) -> dict[int | None, Candidate]:
    """Return the candidates that items were made from, if the project shows more of them than their texts."""
    if not (project.shows_question_type or project.shows_entities or project.shows_candidate_opinion):
        return {}
    ids: set[int] = {getattr(item, "candidate_id", None) or 0 for item in items} - {0}
    return {each.pk: each for each in Candidate.objects.filter(pk__in=ids).select_related("question")} if ids else {}


def _read_kind(item: QualificationItem, candidate: Candidate | None, project: Project) -> DetailsOnPage:
    # As with opinions: type and entities belong to the question as it was imported.
    if candidate is None or candidate.question.text != item.question:
        return {}
    return describe_details(candidate.question.type, candidate.question.entities, project)


def render_closed(
    request: HttpRequest,
    attempt: Attempt,
    number: int,
    sent: SentAnswers,
    reason: str,
    *,
    is_kept: bool,
    status: int = HTTPStatus.CONFLICT,
) -> HttpResponse:
    """Render the page with what was sent and the reason why it was not submitted."""
    pages = list_pages(attempt)
    page = pages[min(number, len(pages)) - 1]
    criteria = frozen_criteria(attempt.rubric_id)
    rows = [
        {
            "number": place + 1,
            "question": item.question,
            "candidate_text": item.answer,
            "values": [sent.values.get(place, {}).get(criterion.key, "") for criterion in criteria],
            "cannot": sent.cannot.get(place, ""),
            "is_flagged": place in sent.flags,
            "comment": sent.comments.get(place, ""),
        }
        for place, item in enumerate(page.items)
    ]
    context = {"reason": reason, "was_stored": False, "is_kept": is_kept, "criteria": criteria, "rows": rows}
    return render(request, "annotate/work/hit_closed.html", context, status=status)
