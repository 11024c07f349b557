"""Surveys: questions for annotators before or after their work, and what each has answered."""

from django.contrib.postgres.fields import ArrayField
from django.db import models
from django.db.models import Q
from django.db.models.functions import Now

from projects.models import Membership, Project


class Survey(models.Model):
    """A version of the questions that a project asks at one moment. Once somebody has answered, it never changes."""

    class Moment(models.TextChoices):
        BEFORE = "before", "before the work"
        AFTER = "after", "after the work"

    project = models.ForeignKey(Project, on_delete=models.PROTECT, related_name="surveys", db_index=False)
    moment = models.CharField(max_length=6, choices=Moment.choices)
    version = models.PositiveIntegerField()
    introduction = models.TextField(blank=True)
    created_by = models.ForeignKey(Membership, on_delete=models.PROTECT, related_name="+", db_index=False)
    created_at = models.DateTimeField(db_default=Now())
    ended_at = models.DateTimeField(null=True, blank=True)
    """When a newer version took its place, or it was no longer asked."""

    class Meta:
        ordering = ("moment", "-version")
        constraints = [
            models.UniqueConstraint(fields=["project", "moment", "version"], name="survey_version"),
            models.UniqueConstraint(fields=["project", "moment"], condition=Q(ended_at=None), name="survey_one_asked"),
        ]

    def __str__(self) -> str:
        return f"survey {self.moment} {self.version}"


class SurveyQuestion(models.Model):
    """One question of a survey."""

    class Kind(models.TextChoices):
        CHOICE = "choice", "choice"
        NUMBER = "number", "number"
        TEXT = "text", "text"
        LANGUAGE = "language", "language"
        SCALE = "scale", "scale"

    survey = models.ForeignKey(Survey, on_delete=models.CASCADE, related_name="questions", db_index=False)
    position = models.PositiveSmallIntegerField()
    kind = models.CharField(max_length=8, choices=Kind.choices)
    text = models.CharField(max_length=500)
    options = ArrayField(models.CharField(max_length=200), default=list, blank=True)
    """The answers of a choice."""
    low = models.IntegerField(null=True, blank=True)
    high = models.IntegerField(null=True, blank=True)
    low_label = models.CharField(max_length=100, blank=True)
    high_label = models.CharField(max_length=100, blank=True)
    is_required = models.BooleanField(default=True)
    is_published = models.BooleanField(default=False)
    """Whether frozen sets may have its answers, of annotators who allowed it."""
    screens_out = ArrayField(models.CharField(max_length=200), default=list, blank=True)
    """The answers that end the visit; of numbers also ranges, such as 0-17."""
    screens_others = models.BooleanField(default=False)
    """Whether every answer but those ends it."""

    class Meta:
        ordering = ("position",)
        constraints = [models.UniqueConstraint(fields=["survey", "position"], name="survey_question_position")]

    def __str__(self) -> str:
        return self.text


class SurveyResponse(models.Model):
    """What an annotator has answered. Personal data: it goes with the account, or when they leave the study."""

    survey = models.ForeignKey(Survey, on_delete=models.PROTECT, related_name="responses")
    annotator = models.ForeignKey(Membership, on_delete=models.PROTECT, related_name="survey_responses", db_index=False)
    moment = models.CharField(max_length=6, choices=Survey.Moment.choices)
    """That of the survey, so that each is answered once, in whichever version."""
    answers = models.JSONField(default=dict)
    """The answers by the position of their question, as text; what was left empty is not there."""
    may_publish = models.BooleanField(default=False)
    """Whether the annotator allows answers to the questions marked so to be published under their random name."""
    is_screened_out = models.BooleanField(default=False)
    answered_at = models.DateTimeField(db_default=Now())

    class Meta:
        ordering = ("id",)
        constraints = [models.UniqueConstraint(fields=["annotator", "moment"], name="survey_answered_once")]

    def __str__(self) -> str:
        return f"answers {self.pk}"
