"""Surveys as annotators meet them: which is asked of whom, answering it, and whom an answer screens out.

Before the work a survey comes after the consent, and the qualification test and the first HIT after it. Each of the two
surveys is answered once, in whichever version.
"""

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from django.db import connection, transaction
from django.utils.translation import gettext as _

from annotate.models import Assignment, Survey, SurveyQuestion, SurveyResponse
from annotate.models.conditions import is_screened_out, lacks_survey
from annotate.onboarding.consent import require_consent
from annotate.places.locking import lock_annotator
from projects.access import Right, explain_refusal
from projects.errors import Refused
from projects.models import Membership, Project

Moment = Survey.Moment

_RANGE = re.compile(r"(-?\d+)(?:\s*[-–]\s*(-?\d+))?")


class SurveyFirst(Refused):
    """The annotator must answer the survey first."""


class OldSurvey(Refused):
    """Another version is asked by now, or none."""


@dataclass(frozen=True)
class SurveyState:
    """One annotator: whether they have yet to answer each survey, and whether one screened them out."""

    lacks_before: bool = False
    lacks_after: bool = False
    is_screened_out: bool = False

    @property
    def why_not(self) -> str:
        """The reason why an annotator who was screened out gets no work; empty for anyone else."""
        return _("You don't fit what this study needs. Thank you for your interest!") if self.is_screened_out else ""


def survey_states(annotators: Iterable[Membership]) -> dict[int, SurveyState]:
    """Return the state of each annotator by membership id, with one query, for nobody with none."""
    ids = [annotator.pk for annotator in annotators]
    if not ids:
        return {}
    with connection.cursor() as cursor:
        cursor.execute(_STATES, [ids])
        found = {pk: SurveyState(*state) for pk, *state in cursor.fetchall()}
    return {pk: found.get(pk, SurveyState()) for pk in ids}


def survey_state(annotator: Membership) -> SurveyState:
    return survey_states([annotator])[annotator.pk]


_STATES = f"""
SELECT m.id, {lacks_survey("before", project="m.project_id", annotator="m.id")},
       {lacks_survey("after", project="m.project_id", annotator="m.id")},
       {is_screened_out(response="screened", annotator="m.id")}
FROM projects_membership m WHERE m.id = ANY(%s)
"""


def find_asked(project: Project, moment: str) -> Survey | None:
    """Return the survey that the project asks at a moment, or None."""
    return Survey.objects.filter(project=project, moment=moment, ended_at=None).first()


def require_survey(annotator: Membership) -> None:
    """Raise SurveyFirst if the annotator has yet to answer the survey before the work, Refused if they don't fit."""
    state = survey_state(annotator)
    if state.why_not:
        raise Refused(state.why_not)
    if state.lacks_before:
        raise SurveyFirst(_("Please answer the survey first."))


@transaction.atomic
def answer(
    *, annotator: Membership, survey: Survey, answers: Mapping[int, str | int], may_publish: bool
) -> SurveyResponse:
    """Store what an annotator answers, by the position of the question, and return it; a second time changes nothing.

    The answers have passed the form. Whoever has submitted HITs is screened out no more. Raises OldSurvey if the survey
    is not asked any more, ConsentFirst without consent, Refused for who may not work. Locks the membership.
    """
    lock_annotator(annotator)
    if refusal := explain_refusal(annotator, Right.WORK):
        raise Refused(refusal)
    stored = SurveyResponse.objects.filter(annotator=annotator, moment=survey.moment).first()
    if stored is not None:
        return stored
    require_consent(annotator)
    asked = find_asked(annotator.project, survey.moment)
    if asked is None or asked.pk != survey.pk:
        raise OldSurvey(_("The questions changed while you were answering. These are the new ones."))
    questions = list(survey.questions.all())
    is_out = survey.moment == Moment.BEFORE and any(
        question.position in answers and screens_out(question, answers[question.position]) for question in questions
    )
    has_worked = Assignment.objects.submitted().filter(annotator=annotator).exists()
    return SurveyResponse.objects.create(
        survey=survey,
        annotator=annotator,
        moment=survey.moment,
        answers={str(position): value for position, value in answers.items()},
        may_publish=may_publish and any(question.is_published for question in questions),
        is_screened_out=is_out and not has_worked,
    )


def screens_out(question: SurveyQuestion, value: str | int) -> bool:
    """Return whether an answer to a question ends the visit."""
    if not question.screens_out:
        return False
    is_named = any(_matches(entry, value) for entry in question.screens_out)
    return is_named != question.screens_others


def read_range(entry: str) -> tuple[int, int] | None:
    """Return the lowest and the highest number of an entry such as 17 or 0-17; None for anything else."""
    match = _RANGE.fullmatch(entry.strip())
    if match is None:
        return None
    low = int(match[1])
    return low, int(match[2]) if match[2] is not None else low


def _matches(entry: str, value: str | int) -> bool:
    if isinstance(value, str):
        return entry == value
    limits = read_range(entry)
    return limits is not None and limits[0] <= value <= limits[1]


def describe_survey_question(question: SurveyQuestion) -> dict[str, Any]:
    """Return a question as the audit log and the form of a new version have it."""
    names = ("kind", "text", "options", "low", "high", "low_label", "high_label", "is_required", "is_published")
    return {name: getattr(question, name) for name in (*names, "screens_out", "screens_others")}
