"""Rubrics, their criteria and the instructions: versioned, frozen once work starts."""

from django.db import models
from django.db.models import F, Q
from django.db.models.functions import Now

from projects.models.people import Project


class Rubric(models.Model):
    """One version of how a project's candidates are judged."""

    class Preset(models.TextChoices):
        CORRECTNESS = "mocha", "Correctness (MOCHA)"
        ANSWER_QUALITY = "yang", "Answer quality (Yang)"
        QASCORE = "qascore", "Question quality (QAScore)"
        CUSTOM = "custom", "Custom"

    project = models.ForeignKey(Project, on_delete=models.PROTECT, related_name="rubrics")
    version = models.PositiveIntegerField()
    name = models.CharField(max_length=120)
    preset = models.CharField(max_length=20, choices=Preset.choices)
    is_imported = models.BooleanField(default=False)
    frozen_at = models.DateTimeField(null=True, blank=True)
    created_at = models.DateTimeField(db_default=Now())

    class Meta:
        ordering = ("-version",)
        constraints = [models.UniqueConstraint(fields=["project", "version"], name="rubric_version")]

    def __str__(self) -> str:
        return f"{self.name}, version {self.version}"


class Criterion(models.Model):
    """One statement that a candidate is rated on, with its scale."""

    class Kind(models.TextChoices):
        ORDINAL = "ordinal", "points"
        CONTINUOUS = "continuous", "slider"

    class Level(models.TextChoices):
        NOMINAL = "nominal", "nominal"
        ORDINAL = "ordinal", "ordinal"
        INTERVAL = "interval", "interval"
        RATIO = "ratio", "ratio"

    rubric = models.ForeignKey(Rubric, on_delete=models.CASCADE, related_name="criteria")
    position = models.PositiveSmallIntegerField()
    key = models.SlugField(max_length=40)
    name = models.CharField(max_length=80)
    statement = models.TextField(blank=True)
    kind = models.CharField(max_length=12, choices=Kind.choices, default=Kind.ORDINAL)
    low = models.IntegerField(default=1)
    high = models.IntegerField(default=5)
    anchors = models.JSONField(default=list, blank=True)
    is_reversed = models.BooleanField(default=False)
    level = models.CharField(max_length=12, choices=Level.choices, default=Level.ORDINAL)
    used_for_quality = models.BooleanField(default=True)

    class Meta:
        ordering = ("position",)
        verbose_name_plural = "criteria"
        constraints = [
            models.UniqueConstraint(fields=["rubric", "key"], name="criterion_key"),
            models.UniqueConstraint(fields=["rubric", "position"], name="criterion_position"),
            models.CheckConstraint(condition=Q(low__lt=F("high")), name="criterion_low_below_high"),
            models.CheckConstraint(condition=Q(low__gte=-1_000_000, high__lte=1_000_000), name="criterion_scale_range"),
        ]

    def __str__(self) -> str:
        return self.key


class Instructions(models.Model):
    """One version of what annotators read before they rate, in Markdown."""

    project = models.ForeignKey(Project, on_delete=models.PROTECT, related_name="instructions")
    version = models.PositiveIntegerField()
    text = models.TextField()
    created_at = models.DateTimeField(db_default=Now())

    class Meta:
        ordering = ("-version",)
        verbose_name_plural = "instructions"
        constraints = [models.UniqueConstraint(fields=["project", "version"], name="instructions_version")]

    def __str__(self) -> str:
        return f"version {self.version}"
