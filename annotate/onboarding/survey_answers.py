"""Stored answers of surveys, which go when an annotator leaves."""

from annotate.models import SurveyResponse
from projects.models import Membership


def forget_answers(annotator: Membership) -> int:
    """Delete what an annotator answered and return how many surveys that were; whether they fit stays."""
    return SurveyResponse.objects.filter(annotator=annotator).exclude(answers={}).update(answers={}, may_publish=False)


def count_answered(annotator: Membership) -> int:
    return SurveyResponse.objects.filter(annotator=annotator).exclude(answers={}).count()
