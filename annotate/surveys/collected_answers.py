"""The answers of a survey: counted by question, and as a file."""

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from statistics import median

from django.db import transaction

from annotate.models import Survey, SurveyQuestion, SurveyResponse
from annotate.onboarding.survey_form import list_languages
from projects import log
from projects.access import lock_actor
from projects.database.csv import Value, format_row, guard_text
from projects.models import Act, Membership

Kind = SurveyQuestion.Kind

HEAD = (
    *("survey", "version", "annotator", "answered_at", "may_publish", "screened_out"),
    *("question", "kind", "published", "text", "answer"),
)


@dataclass(frozen=True)
class QuestionSummary:
    """The answers to one question: how many, how often each, or the range and median of numbers."""

    question: SurveyQuestion
    n: int
    counts: tuple[tuple[str, int], ...] = ()
    low: int | None = None
    median: float | None = None
    high: int | None = None


def summarise(survey: Survey) -> list[QuestionSummary]:
    """Return a summary of each question of a version."""
    stored = list(survey.responses.values_list("answers", flat=True))
    found = []
    for question in survey.questions.all():
        given = [each[key] for each in stored if (key := str(question.position)) in each]
        if question.kind == Kind.NUMBER and given:
            found.append(QuestionSummary(question, len(given), (), min(given), median(given), max(given)))
        elif question.kind == Kind.TEXT or not given:
            found.append(QuestionSummary(question, len(given)))
        else:
            found.append(QuestionSummary(question, len(given), tuple(_count(question, given))))
    return found


def _count(question: SurveyQuestion, given: list[str | int]) -> Iterator[tuple[str, int]]:
    counts = Counter(given)
    if question.kind == Kind.CHOICE:
        yield from ((option, counts[option]) for option in question.options)
    elif question.kind == Kind.SCALE:
        yield from ((str(value), counts[value]) for value in range(question.low or 0, (question.high or 0) + 1))
    else:
        names = dict(list_languages())
        yield from ((names.get(str(code), str(code)), n) for code, n in counts.most_common())


@transaction.atomic
def write_file(*, actor: Membership, moment: str) -> str:
    """Return every stored answer to a survey's versions as CSV, by pseudonym; the audit log records it."""
    lock_actor(actor)
    responses = list(
        SurveyResponse.objects.filter(survey__project=actor.project_id, moment=moment)
        .exclude(answers={})
        .select_related("survey", "annotator")
        .prefetch_related("survey__questions")
        .order_by("survey__version", "annotator__pseudonym")
    )
    log.record(actor.project, actor, Act.DOWNLOAD_SURVEY, actor.project, after={"annotators": len(responses)})
    rows: list[tuple[Value, ...]] = [HEAD]
    for response in responses:
        rows += _list_rows(response)
    return "".join(format_row(row) for row in rows)


def _list_rows(response: SurveyResponse) -> Iterator[tuple[Value, ...]]:
    survey = response.survey
    at = response.answered_at.isoformat(timespec="seconds")
    about = (survey.moment, survey.version, response.annotator.pseudonym, at, response.may_publish)
    for question in survey.questions.all():
        answer = response.answers.get(str(question.position))
        if answer is not None:
            text = guard_text(answer) if isinstance(answer, str) else answer
            asked = (question.position, question.kind, question.is_published, guard_text(question.text))
            yield (*about, response.is_screened_out, *asked, text)
