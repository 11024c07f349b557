"""Editing surveys: each change is a new version, so that stored answers keep the questions they were given to."""

from collections.abc import Mapping, Sequence
from typing import Any

from django.db import transaction
from django.utils import timezone

from annotate.models import Survey, SurveyQuestion
from annotate.onboarding.surveys import describe_survey_question, find_asked
from projects import log
from projects.access import lock_actor
from projects.errors import Refused
from projects.models import Act, Membership, Project


@transaction.atomic
def save_survey(
    *, actor: Membership, moment: str, introduction: str, questions: Sequence[Mapping[str, Any]], based_on: int
) -> Survey:
    """Ask these questions from now on, and return the new version.

    Whoever has answered an earlier version is not asked again. Raises Refused without questions, if nothing has
    changed, or if a newer version than `based_on` was saved meanwhile. Locks the project.
    """
    lock_actor(actor)
    project = Project.objects.select_for_update(no_key=True).get(pk=actor.project_id)
    newest = find_newest(project, moment)
    if (newest.version if newest else 0) != based_on:
        raise Refused("Somebody saved another version meanwhile. Reload the page and enter your changes again.")
    if not questions:
        raise Refused("A survey needs at least one question.")
    asked = find_asked(project, moment)
    if asked is not None and asked.introduction == introduction and _describe(asked) == list(questions):
        raise Refused("Nothing has changed.")
    _end(project, moment)
    survey = Survey.objects.create(
        project=project, moment=moment, version=based_on + 1, introduction=introduction, created_by=actor
    )
    SurveyQuestion.objects.bulk_create(
        SurveyQuestion(survey=survey, position=position, **question)
        for position, question in enumerate(questions, start=1)
    )
    after = {"version": survey.version, "moment": moment, "questions": len(questions)}
    log.record(project, actor, Act.CHANGE_SURVEY, survey, after=after)
    return survey


@transaction.atomic
def end_survey(*, actor: Membership, moment: str) -> None:
    """Ask nobody any more; the answers stay. Repeating it changes nothing."""
    lock_actor(actor)
    asked = find_asked(actor.project, moment)
    if asked is not None and _end(actor.project, moment):
        log.record(actor.project, actor, Act.END_SURVEY, asked, after={"version": asked.version, "moment": moment})


def find_newest(project: Project, moment: str) -> Survey | None:
    """Return the newest version of a survey, whether or not it is asked."""
    return Survey.objects.filter(project=project, moment=moment).order_by("-version").first()


def _end(project: Project, moment: str) -> int:
    return Survey.objects.filter(project=project, moment=moment, ended_at=None).update(ended_at=timezone.now())


def _describe(survey: Survey) -> list[dict[str, Any]]:
    return [describe_survey_question(question) for question in survey.questions.all()]
