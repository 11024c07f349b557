"""Results of attempts: a summary for lists, and each item explained, as far as the test's feedback allows."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

from django.utils.translation import gettext, pgettext

from annotate.attempts.admission import is_time_up
from annotate.attempts.attempts import grade_answers
from annotate.attempts.gradable_items import find_quality_criteria
from annotate.attempts.item_pages import (
    AttemptPage,
    ItemAnswer,
    list_pages,
    list_passages,
    rates_questions,
    read_answers,
)
from annotate.models import Attempt, QualificationItem, QualificationTest
from measures.grading import least_right
from measures.rubric import format_plain_number
from projects.rubric.rubrics import CriterionOnPage, read_criteria

State = Attempt.State
Feedback = QualificationTest.Feedback


@dataclass(frozen=True)
class AttemptSummary:
    """One attempt as a line of a list; `shows_score` and `shows_items` follow from the test's feedback."""

    attempt: Attempt
    is_over: bool
    is_practice: bool
    shows_score: bool
    shows_items: bool

    @property
    def is_open(self) -> bool:
        return self.attempt.state == State.OPEN and not self.is_over

    @property
    def has_passed(self) -> bool:
        return self.attempt.state == State.PASSED and not self.is_practice

    @property
    def has_failed(self) -> bool:
        return self.attempt.state == State.FAILED

    @property
    def n_items(self) -> int:
        return len(self.attempt.layout)

    @property
    def active_minutes(self) -> str:
        seconds = self.attempt.active_seconds
        return "–" if seconds is None else f"{seconds / 60:.1f}"

    @property
    def n_needed(self) -> int:
        return least_right(self.n_items, self.attempt.share_needed)

    @property
    def tone(self) -> str:
        """The colour of its status."""
        if self.has_passed:
            return "good"
        if self.is_open:
            return "open"
        if self.has_failed:
            return "failed"
        return "done" if self.is_practice else "warn"

    @property
    def was_ended(self) -> bool:
        """Whether a new version of the rubric ended it, rather than the time limit."""
        attempt = self.attempt
        is_of_old_rubric = attempt.rubric_id != attempt.test.rubric_id
        is_in_time = attempt.finished_at is None or not is_time_up(attempt, attempt.finished_at)
        return attempt.state == State.EXPIRED and is_of_old_rubric and is_in_time

    @property
    def state(self) -> str:
        if self.is_open:
            return pgettext("attempt", "open")
        if self.is_practice:
            return pgettext("attempt", "done") if self.attempt.state == State.PASSED else pgettext("attempt", "ended")
        if self.was_ended:
            return pgettext("attempt", "ended")
        if self.attempt.state == State.OPEN:
            return pgettext("attempt", "time ran out")
        return str(self.attempt.get_state_display())


@dataclass(frozen=True)
class ExplainedRating:
    """One criterion of one item: the rating given, and the correct one."""

    criterion: CriterionOnPage
    given: str
    right: str
    is_checked: bool


@dataclass(frozen=True)
class ExplainedItem:
    """One item with the rating given, the correct one, and the explanation."""

    number: int
    item: QualificationItem
    answer: ItemAnswer
    is_right: bool
    ratings: list[ExplainedRating]


@dataclass(frozen=True)
class ExplainedPage:
    """The items of one passage, and whether they are generated questions."""

    title: str
    text: str
    rates_questions: bool
    items: list[ExplainedItem]


def summarise_result(attempt: Attempt, now: datetime) -> AttemptSummary:
    """Return the summary of an attempt; practice always gives full feedback."""
    is_practice = attempt.purpose == QualificationItem.Purpose.PRACTICE
    is_graded = attempt.n_right is not None
    feedback = Feedback.FULL if is_practice else attempt.test.feedback
    return AttemptSummary(
        attempt=attempt,
        is_over=attempt.state == State.OPEN and is_time_up(attempt, now),
        is_practice=is_practice,
        shows_score=is_graded and feedback != Feedback.NONE,
        shows_items=is_graded and feedback == Feedback.FULL,
    )


def explain_result(attempt: Attempt) -> list[ExplainedPage]:
    """Return every item of a graded attempt with the rating given, the correct one and the explanation."""
    criteria = read_criteria(attempt.rubric)
    checked = {criterion.key for criterion in find_quality_criteria(attempt.rubric)}
    # Graded answers are stored by position in the layout, across pages.
    entries = (attempt.answers or {}).get("items", [])
    pages = []
    for page in list_passages(attempt):
        items = []
        for place, item in enumerate(page.items, start=page.first):
            entry = entries[place]
            answer = ItemAnswer(entry["values"], entry["cannot"], entry["comment"], entry["flag"])
            ratings = [_explain_rating(criterion, answer, item, checked) for criterion in criteria]
            items.append(ExplainedItem(place + 1, item, answer, entry["right"], ratings))
        first, is_generated = page.items[0], rates_questions(attempt.test.project, page.items)
        pages.append(ExplainedPage(first.passage_title, first.passage_text, is_generated, items))
    return pages


def explain_answer(attempt: Attempt, page: AttemptPage) -> ExplainedPage | None:
    """Return the one item of a page of practice with its correct rating, or None before it is rated."""
    criteria = read_criteria(attempt.rubric)
    keys = [criterion.key for criterion in find_quality_criteria(attempt.rubric)]
    (item,) = page.items
    answer = read_answers(attempt.draft, list_pages(attempt))[page.first]
    # Nothing is explained that can't be graded: the rubric may have changed since the practice began.
    if not answer.is_complete(criteria) or not keys or any(key not in item.expected for key in keys):
        return None
    (is_right,) = grade_answers([item], [answer], keys).is_right
    ratings = [_explain_rating(criterion, answer, item, set(keys)) for criterion in criteria]
    return ExplainedPage(
        item.passage_title,
        item.passage_text,
        rates_questions(attempt.test.project, [item]),
        [ExplainedItem(page.number, item, answer, is_right, ratings)],
    )


def format_range(ends: Sequence[float], tolerance: float = 0.0) -> str:
    """Return a range as text: `4`, `4 to 5`, or with a tolerance."""
    low, high = ends
    text = format_plain_number(low)
    if low != high:
        text = gettext("{low} to {high}").format(low=text, high=format_plain_number(high))
    if tolerance:
        text = gettext("{range}, ±{tolerance}").format(range=text, tolerance=format_plain_number(tolerance))
    return text


def _explain_rating(
    criterion: CriterionOnPage, answer: ItemAnswer, item: QualificationItem, checked: set[str]
) -> ExplainedRating:
    value = None if answer.cannot else answer.values.get(criterion.key)
    expected = item.expected.get(criterion.key)
    return ExplainedRating(
        criterion=criterion,
        given="" if value is None else format_plain_number(value),
        right=format_range(expected, item.tolerance) if expected else "",
        is_checked=criterion.key in checked,
    )
