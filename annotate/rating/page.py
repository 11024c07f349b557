"""What the rating page shows: a HIT in its shown order, with no source, no control flag and no id."""

import uuid
from collections.abc import Mapping, Sequence
from functools import lru_cache
from itertools import groupby
from typing import Any

from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.template.loader import render_to_string
from django.urls import reverse
from django.utils import timezone
from django.utils.html import escape
from django.utils.safestring import SafeString
from django.utils.translation import gettext, ngettext

from annotate.models import Assignment, Batch, Draft, Hit
from annotate.rating.draft_merge import PASSED
from annotate.rating.sent import SentAnswers
from annotate.rating.shown import format_opinion, list_items, list_references, question_on_page
from measures.rubric import format_number
from projects.language.languages import current_language
from projects.models import Passage, Project
from projects.rubric.rubrics import CriterionOnPage, explain_invalid, frozen_criteria, read_criteria, share_columns

NAME = "name-of-the-field"
"""Stands for a field's name in a row of buttons until its item is known."""


def render_assignment(
    request: HttpRequest,
    project: Project,
    assignment: Assignment,
    *,
    sent: SentAnswers | None = None,
    errors: Mapping[int, str] | None = None,
    status: int = 200,
    template: str = "annotate/rating/hit_rate.html",
    over: Mapping[str, Any] | None = None,
) -> HttpResponse:
    """The rating page of an assignment, with the draft's answers or those just sent.

    A page that differs from it gives a template of its own, and `over` what stands in it instead.
    """
    batch = assignment.hit.batch
    draft = getattr(assignment, "draft", None)
    filled = filled_from_sent(sent) if sent is not None else filled_from_draft(draft.answers if draft else {})
    show = reverse("annotate:work-show", args=[project.slug, assignment.uuid])
    context = {
        "assignment": assignment,
        "preview": False,
        "is_expired": assignment.state == Assignment.State.EXPIRED,
        "due_at_ms": milliseconds(assignment.due_at),
        "can_extend": assignment.extended_at is None,
        "before_url": _revision_url(project, request.GET.get("after", "")),
        "errors": errors or {},
        "cents": batch.cents_per_hit + batch.cents_per_item * len(assignment.layout),
        "urls": {
            "submit": show,
            **{act: f"{show}{act}/" for act in ("draft", "return", "extend", "reopen")},
            **site_urls(project.slug),
            "instructions": f"{site_urls(project.slug)['instructions']}?hit={assignment.uuid}",
        },
        **_shown(
            project,
            assignment.hit.passage,
            assignment.layout,
            frozen_criteria(batch.rubric_id),
            filled,
            errors or {},
            alone=_place_alone(assignment, draft),
        ),
        **(over or {}),
    }
    return render(request, template, context, status=status)


def _revision_url(project: Project, before: str) -> str:
    """Where the HIT submitted before this one can be changed, which the address of the page names."""
    if not before or not project.revision_minutes:
        return ""
    try:
        return reverse("annotate:revision", args=[project.slug, uuid.UUID(before)])
    except ValueError:
        return ""


def read_assignment(project: Project, assignment: Assignment, said: SentAnswers) -> dict[str, Any]:
    """A HIT as its annotator rated it, to be read: the same parts in the same order, with what was said."""
    criteria = frozen_criteria(assignment.hit.batch.rubric_id)
    return _shown(project, assignment.hit.passage, assignment.layout, criteria, filled_from_sent(said), {})


def render_preview(request: HttpRequest, project: Project, hit: Hit) -> HttpResponse:
    """The same page for a manager: canonical order, nothing is stored and nothing can be sent."""
    batch: Batch = hit.batch
    layout = list(hit.items.order_by("position").values_list("pk", flat=True))
    context = {
        "assignment": None,
        "preview": True,
        "due_at_ms": None,
        "errors": {},
        "cents": batch.cents_per_hit + batch.cents_per_item * len(layout),
        "hit": hit,
        "batch": batch,
        "urls": {
            **dict.fromkeys(("submit", "draft", "return", "extend"), ""),
            **site_urls(project.slug),
            "desk": reverse("annotate:hit-show", args=[project.slug, batch.number, hit.number]),
        },
        **_shown(project, hit.passage, layout, read_criteria(batch.rubric), filled_from_draft({}), {}),
    }
    return render(request, "annotate/rating/hit_rate.html", context)


def _place_alone(assignment: Assignment, draft: Draft | None) -> int | None:
    """Which item is shown alone, where items come one at a time: the first that is not fixed."""
    if assignment.hit.batch.presentation != Batch.Presentation.ONE:
        return None
    passed: int = draft.answers.get(PASSED, 0) if draft else 0
    return min(passed, len(assignment.layout) - 1)


def _shown(
    project: Project,
    passage: Passage,
    layout: Sequence[int],
    criteria: Sequence[CriterionOnPage],
    filled: dict[str, dict[int, Any]],
    errors: Mapping[int, str],
    *,
    alone: int | None = None,
) -> dict[str, Any]:
    """The passage with its items by question, or with the one item that is shown alone."""
    here = layout if alone is None else layout[alone : alone + 1]
    items = list_items(here, with_opinions=project.shows_candidate_opinion)
    references = list_references({item.question_id for item in items}, project)
    groups = []
    for question_id, run in groupby(enumerate(items, alone or 0), key=lambda pair: pair[1].question_id):
        pairs = list(run)
        first = pairs[0][1]
        groups.append(
            {
                "question": question_on_page(first, passage, project),
                "references": references.get(question_id, []),
                "items": [
                    item_on_page(place, item.text, criteria, filled, errors, format_opinion(item.opinion))
                    for place, item in pairs
                ],
            }
        )
    n_answered = sum(
        bool(filled["cannot"].get(place)) or len(filled["answers"].get(place, {})) == len(criteria)
        for place in range(len(layout))
    )
    return {
        "passage": passage,
        **form_parts(groups, criteria, errors),
        "n_items": len(layout),
        "n_answered": n_answered if alone is None else alone,
        "alone": alone,
        "is_last": alone == len(layout) - 1,
        "server_now_ms": milliseconds(timezone.now()),
    }


def item_on_page(
    place: int,
    text: str,
    criteria: Sequence[CriterionOnPage],
    filled: dict[str, dict[int, Any]],
    errors: Mapping[int, str],
    opinion: str = "",
) -> dict[str, Any]:
    values = filled["answers"].get(place, {})
    comment, cannot = filled["comments"].get(place, ""), filled["cannot"].get(place, "")
    flag = bool(filled["flags"].get(place))
    return {
        "place": SafeString(place),  # as text: the template would format a number each of ten times
        "number": SafeString(place + 1),
        "candidate_text": text,
        "opinion": opinion,
        "answers": [_answer(place, criterion, values.get(criterion.key, "")) for criterion in criteria],
        "cannot_judge": cannot,
        "foot": _foot(place, comment, cannot, flag)
        if comment or cannot or flag
        else _empty_foot(place, current_language()),
        "error": errors.get(place, ""),
    }


def form_parts(
    groups: Sequence[Mapping[str, Any]], criteria: Sequence[CriterionOnPage], errors: Mapping[int, str] | None
) -> dict[str, Any]:
    """The form of a HIT or of a test: its items by question, how they are answered, and what is missing."""
    return {
        "groups": groups,
        "criteria": criteria,
        "is_grid": share_columns(tuple(criteria)),
        "keys": _keys_of(tuple(criteria)),
        "missing": _missing_of(groups) if errors else [],
        "missing_said": _say_missing(len(errors)) if errors else "",
    }


def _say_missing(n: int) -> str:
    return ngettext("One answer still needs a rating.", "{n} answers still need a rating.", n).format(n=n)


def _missing_of(groups: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """A line for each item that lacks an answer, and where it lacks only some of them, which ones and why."""
    lines = []
    for item in (item for group in groups for item in group["items"] if item["error"]):
        wrong = [
            (name, criterion.name, "" if value == "" else explain_invalid(criterion.scale, value))
            for criterion, name, value, *_rest in item["answers"]
        ]
        missing = [entry for entry in wrong if entry[2] is not None]
        is_whole = len(missing) == len(wrong)
        criteria = [(target, "" if is_whole else name, why) for target, name, why in missing]
        lines.append({"place": item["place"], "number": item["number"], "criteria": criteria})
    return lines


def _answer(place: int, criterion: CriterionOnPage, value: Any) -> tuple[CriterionOnPage, str, Any, SafeString, str]:
    """A criterion with the name of its field, the answer so far, and what is pressed or slid."""
    name = f"a{place}-{criterion.key}"
    widget = _widget(criterion, current_language()).replace(NAME, name)
    if not criterion.has_buttons:
        shown = format_number(value) if isinstance(value, int | float) else escape(value)
        widget = widget.replace('value=""', f'value="{shown}"', 1)
    elif value in criterion.scale.points:
        widget = widget.replace(f'value="{value}"', f'value="{value}" checked', 1)
    label = _answer_words(current_language()).format(criterion=criterion.name, number=place + 1)
    return criterion, name, value, SafeString(widget), label


@lru_cache(maxsize=16)
def _answer_words(language: str) -> str:
    return gettext("{criterion}, answer {number}")


@lru_cache(maxsize=512)
def _keys_of(criteria: tuple[CriterionOnPage, ...]) -> dict[str, Any]:
    """Which digits rate: the value itself, 0 for 10, or the n-th point where values are no digits."""
    scales = [criterion.scale.points for criterion in criteria if criterion.has_buttons]
    keys: dict[str, Any] = {"points": [], "has_sliders": len(scales) < len(criteria)}
    if not scales:
        return keys
    longest = max(scales, key=len)
    keys["nth"] = longest[0] < 0 or longest[-1] > 10
    keys["ten"] = not keys["nth"] and longest[0] > 0 and longest[-1] == 10
    ends = (1, len(longest) % 10) if keys["nth"] else (longest[0], 0 if keys["ten"] else min(longest[-1], 9))
    keys["points"] = list(ends)
    return keys


def _foot(place: int, comment: str, cannot: str, flag: bool) -> SafeString:
    """Where a comment, a flag and "cannot be judged" go."""
    shown = {"place": place, "number": place + 1, "comment": comment, "cannot_judge": cannot, "flag": flag}
    return render_to_string("annotate/rating/_item_foot.html", shown)


@lru_cache(maxsize=1024)
def _empty_foot(place: int, language: str) -> SafeString:
    return _foot(place, "", "", flag=False)


@lru_cache(maxsize=512)
def _widget(criterion: CriterionOnPage, language: str) -> str:
    """A criterion's buttons or slider, drawn once for each language; a page has it ten times, with other names."""
    template = "annotate/rating/_points.html" if criterion.has_buttons else "annotate/rating/_slider.html"
    return render_to_string(template, {"criterion": criterion, "name": NAME})


def filled_from_draft(draft: dict[str, Any]) -> dict[str, dict[int, Any]]:
    """The draft's values without their stamps, by place."""
    answers = {
        int(place): {key: _plain(value) for key, (value, _) in entries.items() if value is not None}
        for place, entries in draft.get("answers", {}).items()
    }
    rest = {
        part: {int(place): value for place, (value, _) in draft.get(part, {}).items() if value}
        for part in ("cannot", "flags", "comments")
    }
    return {"answers": answers, **rest}


def filled_from_sent(sent: SentAnswers) -> dict[str, dict[int, Any]]:
    return {
        "answers": {
            place: {key: _plain(value) for key, value in values.items()} for place, values in sent.values.items()
        },
        "cannot": dict(sent.cannot),
        "flags": dict.fromkeys(sent.flags, True),
        "comments": dict(sent.comments),
    }


def _plain(value: Any) -> Any:
    return int(value) if isinstance(value, float) and value.is_integer() else value


def milliseconds(at: Any) -> int | None:
    return None if at is None else int(at.timestamp() * 1000)


@lru_cache(maxsize=1024)
def site_urls(slug: str) -> dict[str, str]:
    return {
        "session": reverse("annotate:session"),
        "instructions": reverse("annotate:instructions", args=[slug]),
        "desk": reverse("annotate:project-desk", args=[slug]),
        "sign_in": reverse("projects:sign-in"),
    }
