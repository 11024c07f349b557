"""Rubrics with their criteria, instructions and consent forms, all versioned."""

from collections.abc import Collection

from django.db import models
from django.db.models import Exists, F, OuterRef, Q
from django.db.models.functions import Now

from measures.rubric import has_order
from projects.models.people import Membership, Project

SCALE_FIELDS = ("kind", "low", "high", "is_reversed")
"""What has to be equal for a rating to mean the same on two criteria."""


class Rubric(models.Model):
    """One version of a project's criteria; frozen once a batch that uses it opens."""

    class Preset(models.TextChoices):
        CORRECTNESS = "mocha", "Correctness (MOCHA)"
        ANSWER_QUALITY = "yang", "Answer quality (Yang)"
        QASCORE = "qascore", "Generated questions (QAScore)"
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


class CriterionQuerySet(models.QuerySet["Criterion"]):
    def comparable_to(self, ids: Collection[int]) -> "CriterionQuerySet":
        """Return the criteria in any version of the rubric whose ratings mean what those on one of these do.

        They have its key, kind, scale and direction.
        """
        same = {name: OuterRef(name) for name in ("rubric__project", "key", *SCALE_FIELDS)}
        return self.filter(Exists(Criterion.objects.filter(pk__in=ids, **same)))


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
    """A list of {"value", "text"}; a text is "label: explanation"."""
    is_reversed = models.BooleanField(default=False)
    level = models.CharField(max_length=12, choices=Level.choices, default=Level.ORDINAL)
    used_for_quality = models.BooleanField(default=True)

    objects = CriterionQuerySet.as_manager()

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

    @property
    def has_order(self) -> bool:
        """Whether its points are more than categories, so that they have a mean."""
        return has_order(self.level, self.low, self.high)

    @property
    def is_turned(self) -> bool:
        """Whether figures take its values from the other end of the scale, so that more is better."""
        return self.is_reversed and self.has_order


class Instructions(models.Model):
    """One version of what annotators read before they rate, in Markdown."""

    project = models.ForeignKey(Project, on_delete=models.PROTECT, related_name="instructions")
    version = models.PositiveIntegerField()
    text = models.TextField()
    examples = models.JSONField(db_default=models.Value([], models.JSONField()), default=list, blank=True)
    created_at = models.DateTimeField(db_default=Now())

    class Meta:
        ordering = ("-version",)
        verbose_name_plural = "instructions"
        constraints = [models.UniqueConstraint(fields=["project", "version"], name="instructions_version")]

    def __str__(self) -> str:
        return f"version {self.version}"


class InstructionsReading(models.Model):
    """An annotator's confirmation that they have read a version of the instructions."""

    membership = models.ForeignKey(
        Membership, on_delete=models.PROTECT, related_name="instructions_readings", db_index=False
    )
    instructions = models.ForeignKey(Instructions, on_delete=models.PROTECT, related_name="readings")
    confirmed_at = models.DateTimeField(db_default=Now())

    class Meta:
        ordering = ("id",)
        constraints = [models.UniqueConstraint(fields=["membership", "instructions"], name="instructions_reading_once")]

    def __str__(self) -> str:
        return f"{self.membership_id} has read {self.instructions_id}"


class Consent(models.Model):
    """One version of the consent form that annotators agree to before any work, in Markdown."""

    project = models.ForeignKey(Project, on_delete=models.PROTECT, related_name="consents", db_index=False)
    version = models.PositiveIntegerField()
    text = models.TextField()
    created_at = models.DateTimeField(db_default=Now())

    class Meta:
        ordering = ("-version",)
        constraints = [models.UniqueConstraint(fields=["project", "version"], name="consent_version")]

    def __str__(self) -> str:
        return f"version {self.version}"


class ConsentAcceptance(models.Model):
    """An annotator's agreement to a version of the consent form, until they withdraw it."""

    membership = models.ForeignKey(
        Membership, on_delete=models.PROTECT, related_name="consent_acceptances", db_index=False
    )
    consent = models.ForeignKey(Consent, on_delete=models.PROTECT, related_name="acceptances")
    accepted_at = models.DateTimeField(db_default=Now())
    withdrawn_at = models.DateTimeField(null=True, blank=True)
    is_taken_out = models.BooleanField(db_default=False, default=False)
    """Whether the annotator also removed their judgments when they withdrew."""

    class Meta:
        ordering = ("id",)
        constraints = [
            # Only one agreement at a time: somebody who has withdrawn may agree to the same text again.
            models.UniqueConstraint(
                fields=["membership", "consent"], condition=Q(withdrawn_at=None), name="consent_accepted_once"
            ),
            models.CheckConstraint(
                condition=Q(is_taken_out=False) | Q(withdrawn_at__isnull=False), name="consent_taken_out_when_withdrawn"
            ),
        ]
        indexes = [models.Index(fields=["membership", "consent"], name="consent_of_membership")]

    def __str__(self) -> str:
        return f"{self.membership_id} agrees to {self.consent_id}"
