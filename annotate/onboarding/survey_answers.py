"""Stored answers of surveys, which go when an annotator leaves."""

from django.db.models import QuerySet

from annotate.models import SurveyResponse
from projects.models import Membership


def forget_answers(annotator: Membership) -> int:
    """Delete what an annotator answered and return how many surveys that were; whether they fit stays."""
    return SurveyResponse.objects.filter(annotator=annotator).exclude(answers={}).update(answers={}, may_publish=False)


def count_answered(annotator: Membership) -> int:
    return SurveyResponse.objects.filter(annotator=annotator).exclude(answers={}).count()


def has_allowed_publication(annotators: QuerySet[Membership]) -> bool:
    """Return whether any of these annotators lets answers be published: files created since can have them."""
    return SurveyResponse.objects.filter(annotator__in=annotators, may_publish=True).exists()
