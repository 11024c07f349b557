"""The parts of the rating form: items with their fields, what is filled in already, and what is still missing.

A page has about ten items with the same buttons, so that each widget is rendered once for each language and kept; only
the names of its fields and the answers are put in afterwards.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from typing import NamedTuple, TypedDict

from django.template.loader import render_to_string
from django.utils.html import escape
from django.utils.safestring import SafeString
from django.utils.translation import gettext, ngettext

from annotate.rating.answers import explain_invalid
from annotate.rating.draft_merge import DraftContent, read_texts
from annotate.rating.sent import Ratings, SentAnswers
from annotate.rating.shown import QuestionOnPage, ReferenceOnPage
from measures.rubric import format_plain_number
from projects.language.languages import current_language
from projects.rubric.rubrics import CriterionOnPage, share_columns

NAME = "name-of-the-field"
"""Stands for a field's name in a rendered widget until its item is known."""


@dataclass(frozen=True)
class Prefill:
    """What a form is filled with, by position in the layout."""

    answers: Mapping[int, Ratings] = field(default_factory=dict)
    cannot: Mapping[int, str] = field(default_factory=dict)
    comments: Mapping[int, str] = field(default_factory=dict)
    flags: frozenset[int] = frozenset()

    def count_answered(self, *, n_items: int, n_criteria: int) -> int:
        """Return how many items have all their ratings, or a reason why they can't be judged."""
        return sum(
            bool(self.cannot.get(position)) or len(self.answers.get(position, {})) == n_criteria
            for position in range(n_items)
        )


class AnswerField(NamedTuple):
    """One criterion of one item: the name of its field, its buttons or slider, its label, and what its rating lacks.

    That is None for a rating that is on the scale, or if nobody asks, and an empty text if there is no rating.
    """

    criterion: CriterionOnPage
    name: str
    widget: SafeString
    label: str
    lack: str | None


class ItemOnPage(TypedDict):
    """An item with its fields. Position and number are texts, because a template formats each number it prints."""

    position: SafeString
    number: SafeString
    candidate_text: str
    opinion: str
    answers: list[AnswerField]
    cannot_judge: str
    foot: SafeString
    error: str


class QuestionGroup(TypedDict):
    """A question with its references and its items."""

    question: QuestionOnPage
    references: Sequence[ReferenceOnPage]
    items: list[ItemOnPage]


class MissingLine(TypedDict):
    """An item that lacks ratings, with the field, the criterion and the error of each; no criterion if all lack."""

    position: SafeString
    number: SafeString
    criteria: list[tuple[str, str, str | None]]


class MissingAnswers(TypedDict):
    """What a form lacks that was sent, and whether anything in it is rated."""

    lines: list[MissingLine]
    message: str
    has_ratings: bool


class Keys(TypedDict, total=False):
    """The digits that rate: from the first to the last of `points`, as values, as 0 for 10, or as the n-th point.

    With `ten_by_two` the scale has 0 and 10, which is typed as 1 and then 0.
    """

    points: list[int]
    has_sliders: bool
    nth: bool
    ten: bool
    ten_by_two: bool


class FormParts(TypedDict):
    """What the templates need to render a form."""

    groups: Sequence[QuestionGroup]
    criteria: Sequence[CriterionOnPage]
    is_grid: bool
    keys: Keys
    missing: MissingAnswers
    rates_questions: bool


def prefill_from_draft(draft: DraftContent) -> Prefill:
    """Return the content of a draft. Ratings of an item that can't be judged stay, in case the reason is cleared."""
    return Prefill(
        answers={
            int(position): {key: _make_whole(value) for key, (value, _) in entries.items() if value is not None}
            for position, entries in draft.get("answers", {}).items()
        },
        cannot=read_texts(draft.get("cannot", {})),
        comments=read_texts(draft.get("comments", {})),
        flags=frozenset(int(position) for position, (value, _) in draft.get("flags", {}).items() if value),
    )


def prefill_from_sent(sent: SentAnswers) -> Prefill:
    return Prefill(
        answers={
            position: {key: _make_whole(value) for key, value in values.items()}
            for position, values in sent.values.items()
        },
        cannot=sent.cannot,
        comments=sent.comments,
        flags=sent.flags,
    )


def _make_whole(value: float | str) -> float | str:
    """Return 4 for 4.0, as the buttons of a scale have it."""
    return int(value) if isinstance(value, float) and value.is_integer() else value


def build_item(
    position: int,
    text: str,
    criteria: Sequence[CriterionOnPage],
    prefill: Prefill,
    errors: Mapping[int, str],
    opinion: str = "",
    *,
    rates_questions: bool = False,
) -> ItemOnPage:
    """Return an item as the templates render it; names of fields carry its position and nothing of its id."""
    ratings, error = prefill.answers.get(position, {}), errors.get(position, "")
    comment, cannot = prefill.comments.get(position, ""), prefill.cannot.get(position, "")
    is_flagged = position in prefill.flags
    return {
        "position": SafeString(position),
        "number": SafeString(position + 1),
        "candidate_text": text,
        "opinion": opinion,
        "answers": [
            _build_answer(
                *(position, criterion, ratings.get(criterion.key, "")),
                rates_questions=rates_questions,
                is_checked=bool(error),
            )
            for criterion in criteria
        ],
        "cannot_judge": cannot,
        "foot": _render_foot(position, comment, cannot, flag=is_flagged, rates_questions=rates_questions)
        if comment or cannot or is_flagged
        else _render_empty_foot(position, current_language(), rates_questions=rates_questions),
        "error": error,
    }


def build_form(
    groups: Sequence[QuestionGroup], criteria: Sequence[CriterionOnPage], errors: Mapping[int, str] | None
) -> FormParts:
    """Return the form of a HIT or a test: its items by question, how they are answered, and what is missing."""
    # All questions of a page have the same passage, hence the same dataset.
    rates_questions = bool(groups) and groups[0]["question"].get("rates_questions", False)
    return {
        "groups": groups,
        "criteria": criteria,
        "is_grid": share_columns(tuple(criteria)),
        "keys": _choose_keys(tuple(criteria)),
        "missing": _describe_missing(groups, len(errors or ()), rates_questions=rates_questions),
        "rates_questions": rates_questions,
    }


def _describe_missing(groups: Sequence[QuestionGroup], n_errors: int, *, rates_questions: bool) -> MissingAnswers:
    if not n_errors:
        return {"lines": [], "message": "", "has_ratings": False}
    lines = _list_missing(groups)
    is_partly_rated = any(name for line in lines for _target, name, _why in line["criteria"])
    return {
        "lines": lines,
        "message": _count_missing(n_errors, rates_questions=rates_questions),
        "has_ratings": is_partly_rated or len(lines) < sum(len(group["items"]) for group in groups),
    }


def _count_missing(n: int, *, rates_questions: bool) -> str:
    if rates_questions:
        return ngettext("One question still needs a rating.", "{n} questions still need a rating.", n).format(n=n)
    return ngettext("One answer still needs a rating.", "{n} answers still need a rating.", n).format(n=n)


def _list_missing(groups: Sequence[QuestionGroup]) -> list[MissingLine]:
    """Return a line for each item with an error; if only some criteria are missing, which ones and why."""
    lines: list[MissingLine] = []
    for item in (item for group in groups for item in group["items"] if item["error"]):
        checked = [(each.name, each.criterion.name, each.lack) for each in item["answers"]]
        wrong = [entry for entry in checked if entry[2] is not None]
        is_whole = len(wrong) == len(checked)
        criteria = [(target, "" if is_whole else name, why) for target, name, why in wrong]
        lines.append({"position": item["position"], "number": item["number"], "criteria": criteria})
    return lines


def _build_answer(
    position: int, criterion: CriterionOnPage, value: float | str, *, rates_questions: bool, is_checked: bool
) -> AnswerField:
    name = f"a{position}-{criterion.key}"
    widget = _render_widget(criterion, current_language()).replace(NAME, name)
    if not criterion.has_buttons:
        text = format_plain_number(value) if isinstance(value, int | float) else escape(value)
        widget = widget.replace('value=""', f'value="{text}"', 1)
    elif value in criterion.scale.points:
        widget = widget.replace(f'value="{value}"', f'value="{value}" checked', 1)
    label = _translate_label(current_language(), rates_questions=rates_questions).format(
        criterion=criterion.name, number=position + 1
    )
    lack = ("" if value == "" else explain_invalid(criterion.scale, value)) if is_checked else None
    return AnswerField(criterion, name, SafeString(widget), label, lack)


# The caches below are keyed by the language as well, because what they keep is translated. Their sizes cover some
# dozens of rubrics in every language, or the positions of the longest HITs.


@lru_cache(maxsize=16)
def _translate_label(language: str, *, rates_questions: bool) -> str:
    return (
        gettext("{criterion}, generated question {number}")
        if rates_questions
        else gettext("{criterion}, answer {number}")
    )


@lru_cache(maxsize=512)
def _choose_keys(criteria: tuple[CriterionOnPage, ...]) -> Keys:
    """Return which digits rate: the value itself, 0 for 10, or the n-th point where values are not digits."""
    scales = [criterion.scale.points for criterion in criteria if criterion.has_buttons]
    keys: Keys = {"points": [], "has_sliders": len(scales) < len(criteria)}
    if not scales:
        return keys
    longest = max(scales, key=len)
    keys["nth"] = longest[0] < 0 or longest[-1] > 10
    keys["ten"] = not keys["nth"] and longest[0] > 0 and longest[-1] == 10
    keys["ten_by_two"] = not keys["nth"] and longest[0] == 0 and longest[-1] == 10
    ends = (1, len(longest) % 10) if keys["nth"] else (longest[0], 0 if keys["ten"] else min(longest[-1], 9))
    keys["points"] = list(ends)
    return keys


def _render_foot(position: int, comment: str, cannot: str, *, flag: bool, rates_questions: bool) -> SafeString:
    """Render the fields for a comment, a flag and "can't be judged"."""
    context = {
        "position": position,
        "number": position + 1,
        "comment": comment,
        "cannot_judge": cannot,
        "flag": flag,
        "rates_questions": rates_questions,
    }
    return render_to_string("annotate/rating/_item_foot.html", context)


@lru_cache(maxsize=1024)
def _render_empty_foot(position: int, language: str, *, rates_questions: bool) -> SafeString:
    return _render_foot(position, "", "", flag=False, rates_questions=rates_questions)


@lru_cache(maxsize=512)
def _render_widget(criterion: CriterionOnPage, language: str) -> str:
    """Render a criterion's buttons or slider, without an answer and with `NAME` for the name of its field."""
    template = "annotate/rating/_points.html" if criterion.has_buttons else "annotate/rating/_slider.html"
    return render_to_string(template, {"criterion": criterion, "name": NAME})
