"""The qualification test of a project: items, attempts, managers' decisions, and who is qualified."""

import uuid

from django.contrib.postgres.fields import ArrayField
from django.core.validators import MaxValueValidator, MinValueValidator
from django.db import models
from django.db.models import Q
from django.db.models.functions import Now
from django.utils.translation import pgettext_lazy

from projects.models import Candidate, Instructions, Membership, Project, Rubric


class QualificationTest(models.Model):
    """A project's test. Work requires it only while it is open, not as a draft or when closed."""

    class State(models.TextChoices):
        DRAFT = "draft", "draft"
        OPEN = "open", "open"
        CLOSED = "closed", "closed"

    class Feedback(models.TextChoices):
        NONE = "none", "pass or fail only"
        SCORE = "score", "score"
        FULL = "full", "score, answers and explanations"

    class OnNewRubric(models.TextChoices):
        ASK = "ask", "everyone retakes the test"
        KEEP = "keep", "people who passed stay qualified"

    project = models.OneToOneField(Project, on_delete=models.PROTECT, related_name="qualification_test")
    state = models.CharField(max_length=10, choices=State.choices, default=State.DRAFT)
    rubric = models.ForeignKey(Rubric, on_delete=models.PROTECT, related_name="+")
    instructions = models.ForeignKey(Instructions, on_delete=models.PROTECT, null=True, blank=True, related_name="+")
    n_items = models.PositiveSmallIntegerField(null=True, blank=True, validators=[MinValueValidator(1)])
    pass_share = models.FloatField(default=0.8, validators=[MinValueValidator(0.0), MaxValueValidator(1.0)])
    max_attempts = models.PositiveSmallIntegerField(default=2, validators=[MinValueValidator(1)])
    wait_hours = models.PositiveSmallIntegerField(default=0)
    time_limit_minutes = models.PositiveIntegerField(null=True, blank=True, validators=[MinValueValidator(1)])
    feedback = models.CharField(max_length=10, choices=Feedback.choices, default=Feedback.SCORE)
    valid_days = models.PositiveIntegerField(null=True, blank=True, validators=[MinValueValidator(1)])
    on_new_rubric = models.CharField(max_length=10, choices=OnNewRubric.choices, default=OnNewRubric.ASK)
    cents = models.PositiveIntegerField(default=0)
    seed = models.BigIntegerField(default=0)
    created_at = models.DateTimeField(db_default=Now())
    opened_at = models.DateTimeField(null=True, blank=True)

    class Meta:
        constraints = [
            models.CheckConstraint(
                condition=Q(pass_share__gte=0, pass_share__lte=1), name="qualification_test_pass_share"
            ),
            models.CheckConstraint(condition=Q(max_attempts__gte=1), name="qualification_test_attempts"),
        ]

    def __str__(self) -> str:
        return f"qualification of {self.project_id}"


class QualificationItem(models.Model):
    """One answer with a known correct rating, and its own copy of passage, question and references."""

    class Purpose(models.TextChoices):
        TEST = "test", pgettext_lazy("attempt", "test")
        PRACTICE = "practice", pgettext_lazy("attempt", "practice")

    test = models.ForeignKey(QualificationTest, on_delete=models.PROTECT, related_name="items", db_index=False)
    purpose = models.CharField(max_length=10, choices=Purpose.choices, default=Purpose.TEST)
    position = models.PositiveSmallIntegerField()
    passage_title = models.TextField(blank=True)
    passage_text = models.TextField(blank=True)
    question = models.TextField()
    references = models.JSONField(default=list)
    answer = models.TextField()
    expected = models.JSONField()
    tolerance = models.FloatField(default=0.0, validators=[MinValueValidator(0.0)])
    explanation = models.TextField(blank=True)
    candidate = models.ForeignKey(
        Candidate, on_delete=models.PROTECT, null=True, blank=True, related_name="qualification_items"
    )
    retired_at = models.DateTimeField(null=True, blank=True)

    class Meta:
        ordering = ("position", "id")
        indexes = [models.Index(fields=["test", "position"], name="qualification_item_order")]
        constraints = [
            models.CheckConstraint(condition=Q(tolerance__gte=0), name="qualification_item_tolerance"),
        ]

    def __str__(self) -> str:
        return f"{self.purpose} item {self.position}"


class Attempt(models.Model):
    """One annotator's attempt at the test or at practice."""

    class State(models.TextChoices):
        OPEN = "open", pgettext_lazy("attempt", "open")
        PASSED = "passed", pgettext_lazy("attempt", "passed")
        FAILED = "failed", pgettext_lazy("attempt", "failed")
        EXPIRED = "expired", pgettext_lazy("attempt", "expired")

    uuid = models.UUIDField(default=uuid.uuid4, unique=True)
    test = models.ForeignKey(QualificationTest, on_delete=models.PROTECT, related_name="attempts", db_index=False)
    annotator = models.ForeignKey(Membership, on_delete=models.PROTECT, related_name="attempts", db_index=False)
    purpose = models.CharField(
        max_length=10, choices=QualificationItem.Purpose.choices, default=QualificationItem.Purpose.TEST
    )
    n = models.PositiveIntegerField()
    state = models.CharField(max_length=10, choices=State.choices, default=State.OPEN)
    rubric = models.ForeignKey(Rubric, on_delete=models.PROTECT, related_name="+")
    # The items that were drawn for this attempt, in shown order.
    layout = ArrayField(models.BigIntegerField())
    pass_share = models.FloatField(null=True, blank=True)
    """The pass mark that the annotator was told; None for attempts of earlier versions, which have that of the test."""
    draft = models.JSONField(default=dict)
    answers = models.JSONField(null=True, blank=True)
    n_right = models.PositiveSmallIntegerField(null=True, blank=True)
    started_at = models.DateTimeField(db_default=Now())
    due_at = models.DateTimeField(null=True, blank=True)
    finished_at = models.DateTimeField(null=True, blank=True)
    active_seconds = models.FloatField(null=True, blank=True)

    class Meta:
        ordering = ("id",)
        constraints = [
            models.UniqueConstraint(fields=["test", "annotator", "purpose", "n"], name="attempt_number"),
            models.UniqueConstraint(fields=["annotator"], condition=Q(state="open"), name="attempt_one_open"),
            models.CheckConstraint(
                condition=Q(state="open", finished_at=None) | ~Q(state="open") & Q(finished_at__isnull=False),
                name="attempt_finished_at",
            ),
        ]

    def __str__(self) -> str:
        return str(self.uuid)

    @property
    def share_needed(self) -> float:
        return self.test.pass_share if self.pass_share is None else self.pass_share


class Grant(models.Model):
    """A manager's decision to grant or revoke a qualification, with the reason."""

    class Kind(models.TextChoices):
        GRANTED = "granted", "granted"
        REVOKED = "revoked", "revoked"

    annotator = models.ForeignKey(Membership, on_delete=models.PROTECT, related_name="grants")
    kind = models.CharField(max_length=10, choices=Kind.choices)
    why = models.TextField()
    given_by = models.ForeignKey(Membership, on_delete=models.PROTECT, related_name="+")
    given_at = models.DateTimeField(db_default=Now())

    class Meta:
        ordering = ("-id",)

    def __str__(self) -> str:
        return f"{self.kind} {self.annotator_id}"


class Qualification(models.Model):
    """Whether an annotator is qualified now, by the last attempt or manager's decision; serving reads this row."""

    annotator = models.OneToOneField(
        Membership, on_delete=models.PROTECT, primary_key=True, related_name="qualification"
    )
    is_qualified = models.BooleanField()
    rubric = models.ForeignKey(Rubric, on_delete=models.PROTECT, related_name="+")
    since = models.DateTimeField()
    until = models.DateTimeField(null=True, blank=True)

    def __str__(self) -> str:
        return f"{self.annotator_id} is {'qualified' if self.is_qualified else 'not qualified'}"
