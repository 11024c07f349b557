"""Assignments, drafts, judgments, comments and their revisions.

Only `annotate/places/` writes an assignment's state and hold, a judgment's count, or a HIT's counters.
"""

import uuid

from django.contrib.postgres.fields import ArrayField
from django.db import models
from django.db.models import Exists, F, Func, OuterRef, Q, Value
from django.db.models.functions import Now
from django.utils.translation import pgettext_lazy

from annotate.models.batch import Hit, Item
from projects.models import Candidate, Criterion, Membership

ALREADY_COUNTED = "already counted"
"""Why a judgment doesn't count that was restored while the same one, imported again, counts."""
TAKEN_OUT = "consent withdrawn"
"""The reason of work that its annotator has removed for good, and of its judgments, which never count again."""


class AssignmentQuerySet(models.QuerySet["Assignment"]):
    def open(self) -> "AssignmentQuerySet":
        return self.filter(state=Assignment.State.OPEN)

    def expired(self) -> "AssignmentQuerySet":
        return self.filter(state=Assignment.State.EXPIRED)

    def submitted(self) -> "AssignmentQuerySet":
        """Return those that were submitted, whatever was decided on them."""
        return self.filter(state__in=Assignment.SUBMITTED_STATES)

    def not_rejected(self) -> "AssignmentQuerySet":
        """Return those that were submitted and not rejected."""
        return self.filter(state__in=(Assignment.State.SUBMITTED, Assignment.State.APPROVED))

    def noting_ratings(self) -> "AssignmentQuerySet":
        """Note on each, as `has_ratings`, whether its draft has a rating or a reason why there is none."""
        return self.annotate(has_ratings=Exists(Draft.objects.filter(_IS_RATED, assignment=OuterRef("pk"))))


def _has_answer(path: str) -> Q:
    """Return whether a draft, as `annotate.rating.draft_merge` describes it, has an answer at a path in its JSON."""
    return Q(Func(F("answers"), Value(path), function="jsonb_path_exists", output_field=models.BooleanField()))


# A cleared answer is an entry too, without a value.
_IS_RATED = _has_answer("$.answers.*.*[0] ? (@ != null)") | _has_answer('$.cannot.*[0] ? (@ != null && @ != "")')


class Assignment(models.Model):
    """One annotator's work on one HIT. There is at most one row for the two, and it is never deleted."""

    class State(models.TextChoices):
        OPEN = "open", pgettext_lazy("HIT", "open")
        SUBMITTED = "submitted", pgettext_lazy("HIT", "submitted")
        APPROVED = "approved", pgettext_lazy("HIT", "approved")
        REJECTED = "rejected", pgettext_lazy("HIT", "rejected")
        RETURNED = "returned", pgettext_lazy("HIT", "returned")
        EXPIRED = "expired", pgettext_lazy("HIT", "expired")
        WITHDRAWN = "withdrawn", pgettext_lazy("HIT", "withdrawn")

    SUBMITTED_STATES = (State.SUBMITTED, State.APPROVED, State.REJECTED)

    class Mark(models.TextChoices):
        COUNTED = "counted", pgettext_lazy("HIT", "counted")
        LATE = "late", pgettext_lazy("HIT", "late, counted")
        SURPLUS = "surplus", pgettext_lazy("HIT", "surplus, not counted")
        EXCLUDED = "excluded", pgettext_lazy("HIT", "excluded")

    # The uuid is public; the layout is drawn from it with the secret key. The foreign keys below need no indexes of
    # their own where a constraint or an index of Meta begins with the same column.
    uuid = models.UUIDField(default=uuid.uuid4, unique=True)
    hit = models.ForeignKey(Hit, on_delete=models.PROTECT, related_name="assignments", db_index=False)
    annotator = models.ForeignKey(Membership, on_delete=models.PROTECT, related_name="assignments", db_index=False)
    state = models.CharField(max_length=10, choices=State.choices, default=State.OPEN)
    holds_place = models.BooleanField(default=True)
    mark = models.CharField(max_length=10, choices=Mark.choices, blank=True, db_default="")
    mark_reason = models.TextField(blank=True, db_default="")
    layout = ArrayField(models.BigIntegerField())
    not_blind = models.BooleanField(db_default=False)
    opened_at = models.DateTimeField(db_default=Now())
    due_at = models.DateTimeField(null=True, blank=True)
    extended_at = models.DateTimeField(null=True, blank=True)
    ended_at = models.DateTimeField(null=True, blank=True)
    submitted_at = models.DateTimeField(null=True, blank=True)
    answers_sha256 = models.CharField(max_length=64, blank=True, db_default="")
    active_seconds = models.FloatField(null=True, blank=True)
    wall_seconds = models.FloatField(null=True, blank=True)
    item_seconds = ArrayField(models.FloatField(), null=True, blank=True)
    has_odd_times = models.BooleanField(db_default=False)
    return_reason = models.TextField(blank=True, db_default="")
    decided_at = models.DateTimeField(null=True, blank=True)
    decided_by = models.ForeignKey(
        Membership, on_delete=models.PROTECT, null=True, blank=True, related_name="+", db_index=False
    )
    decision_reason = models.TextField(blank=True, db_default="")
    is_unpaid = models.BooleanField(db_default=False)
    reply = models.TextField(blank=True, db_default="")
    replied_at = models.DateTimeField(null=True, blank=True)

    objects = AssignmentQuerySet.as_manager()

    class Meta:
        ordering = ("id",)
        constraints = [
            models.UniqueConstraint(fields=["hit", "annotator"], name="assignment_once_per_hit"),
            models.UniqueConstraint(fields=["annotator"], condition=Q(state="open"), name="assignment_one_open"),
            # Submitted work holds a place unless it is surplus or excluded, which its mark says.
            models.CheckConstraint(
                condition=Q(state="open", holds_place=True)
                | Q(state__in=("returned", "expired", "withdrawn", "rejected"), holds_place=False)
                | Q(state__in=("submitted", "approved")),
                name="assignment_state_holds",
            ),
            models.CheckConstraint(
                condition=~Q(state__in=("submitted", "approved")) | Q(submitted_at__isnull=False),
                name="assignment_submitted_at",
            ),
        ]
        indexes = [
            models.Index(fields=["annotator", "-submitted_at"], name="assignment_of_annotator"),
            models.Index(fields=["due_at"], condition=Q(state="open"), name="assignment_due"),
        ]

    def __str__(self) -> str:
        return str(self.uuid)

    @property
    def is_of_controls(self) -> bool:
        """Whether its mark lets it count, but its HIT has controls alone, so that no rating enters the results."""
        return self.mark in (self.Mark.COUNTED, self.Mark.LATE) and self.hit.purpose != Hit.Purpose.WORK

    @property
    def is_taken_out(self) -> bool:
        """Whether its annotator has withdrawn consent to its use."""
        return self.mark == self.Mark.EXCLUDED and self.mark_reason == TAKEN_OUT


class Draft(models.Model):
    """Answers that are not submitted yet; the newest stamp wins. Deleted at submission."""

    assignment = models.OneToOneField(Assignment, on_delete=models.CASCADE, primary_key=True, related_name="draft")
    answers = models.JSONField(default=dict)
    updated_at = models.DateTimeField(db_default=Now())

    def __str__(self) -> str:
        return f"draft of {self.assignment_id}"


class Judgment(models.Model):
    """One annotator's rating of one item on one criterion; NULL only for "cannot be judged"."""

    assignment = models.ForeignKey(Assignment, on_delete=models.PROTECT, related_name="judgments", db_index=False)
    item = models.ForeignKey(Item, on_delete=models.PROTECT, related_name="judgments", db_index=False)
    # Annotator and candidate repeat what assignment and item say, so that results need no joins. They have no foreign
    # key in the database: those of assignment and item guard them, and each key costs an import about 1.5 s for 400,000
    # rows.
    annotator = models.ForeignKey(
        Membership, on_delete=models.PROTECT, related_name="judgments", db_index=False, db_constraint=False
    )
    candidate = models.ForeignKey(
        Candidate,
        on_delete=models.PROTECT,
        null=True,
        blank=True,
        related_name="judgments",
        db_index=False,
        db_constraint=False,
    )
    criterion = models.ForeignKey(Criterion, on_delete=models.PROTECT, related_name="judgments", db_index=False)
    value = models.FloatField(null=True, blank=True)
    is_counted = models.BooleanField(db_default=True)
    not_counted_reason = models.CharField(max_length=20, blank=True, db_default="")
    # Only imported judgments may have this time; others were judged when their HIT was submitted.
    judged_at = models.DateTimeField(null=True, blank=True)

    class Meta:
        ordering = ("id",)
        constraints = [
            models.UniqueConstraint(fields=["assignment", "item", "criterion"], name="judgment_once"),
            models.UniqueConstraint(
                fields=["annotator", "candidate", "criterion"],
                condition=Q(is_counted=True),
                name="judgment_counted_once",
            ),
            # The scale itself is checked against the rubric. This wide range keeps out NaN, which PostgreSQL orders
            # above every number.
            models.CheckConstraint(
                condition=Q(value=None) | Q(value__gte=-1_000_000, value__lte=1_000_000), name="judgment_value_range"
            ),
            models.CheckConstraint(
                condition=Q(is_counted=True, not_counted_reason="") | Q(is_counted=False) & ~Q(not_counted_reason=""),
                name="judgment_reason_when_not_counted",
            ),
        ]
        indexes = [
            # It includes the value, so that scores are computed from the index alone.
            models.Index(
                fields=["criterion", "candidate"],
                include=["value"],
                condition=Q(is_counted=True, candidate__isnull=False),
                name="judgment_counted",
            ),
            # They are few, so that a page counts them by reason without reading the others.
            models.Index(
                fields=["criterion", "not_counted_reason"],
                condition=Q(is_counted=False),
                name="judgment_not_counted",
            ),
            # Whether an item has judgments is asked for each item that is deleted.
            models.Index(fields=["item"], name="judgment_item"),
        ]

    def __str__(self) -> str:
        return f"{self.value}"


class Remark(models.Model):
    """What an annotator wrote about an item: a flag, a comment, or why it cannot be judged."""

    assignment = models.ForeignKey(Assignment, on_delete=models.PROTECT, related_name="remarks", db_index=False)
    item = models.ForeignKey(Item, on_delete=models.PROTECT, related_name="remarks")
    is_flagged = models.BooleanField(default=False)
    comment = models.TextField(blank=True)
    cannot_judge_reason = models.TextField(blank=True)
    resolved_at = models.DateTimeField(null=True, blank=True)

    class Meta:
        ordering = ("id",)
        constraints = [models.UniqueConstraint(fields=["assignment", "item"], name="remark_once")]

    def __str__(self) -> str:
        return self.comment or "flag"


class JudgmentRevision(models.Model):
    """A version of a judgment that its annotator changed: the first is number 0."""

    judgment = models.ForeignKey(Judgment, on_delete=models.PROTECT, related_name="revisions", db_index=False)
    n = models.PositiveSmallIntegerField()
    value = models.FloatField(null=True, blank=True)
    revised_at = models.DateTimeField()

    class Meta:
        ordering = ("judgment", "n")
        constraints = [models.UniqueConstraint(fields=["judgment", "n"], name="judgment_revision_number")]

    def __str__(self) -> str:
        return f"version {self.n} of {self.judgment_id}"


class RemarkRevision(models.Model):
    """A version of an annotator's comment or flag that was changed: the first is number 0."""

    assignment = models.ForeignKey(
        Assignment, on_delete=models.PROTECT, related_name="remark_revisions", db_index=False
    )
    item = models.ForeignKey(Item, on_delete=models.PROTECT, related_name="+")
    n = models.PositiveSmallIntegerField()
    is_flagged = models.BooleanField(default=False)
    comment = models.TextField(blank=True)
    cannot_judge_reason = models.TextField(blank=True)
    revised_at = models.DateTimeField()

    class Meta:
        ordering = ("assignment", "item", "n")
        constraints = [models.UniqueConstraint(fields=["assignment", "item", "n"], name="remark_revision_number")]

    def __str__(self) -> str:
        return f"version {self.n} of the comment on {self.item_id}"
