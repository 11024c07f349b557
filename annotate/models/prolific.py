"""Prolific: a project's account, a panel's study there, its submissions, messages and bonuses."""

import secrets
import uuid

from django.core.validators import MaxValueValidator, MinValueValidator
from django.db import models
from django.db.models import Q
from django.db.models.functions import Now

from annotate.models.panel import LONGEST_ID, Panel, PanelSession
from projects.models import Membership, Project


def draw_address() -> str:
    return secrets.token_urlsafe(24)


class ProlificAccount(models.Model):
    """The account that a project uses. Token and secrets are encrypted; without a token the site's own is used."""

    project = models.OneToOneField(Project, on_delete=models.PROTECT, related_name="prolific_account")
    token = models.TextField(blank=True)
    workspace_id = models.CharField(max_length=LONGEST_ID, blank=True)
    currency = models.CharField(max_length=3)
    address = models.CharField(max_length=40, unique=True, default=draw_address)
    """Part of the address that messages are sent to."""
    secret = models.TextField(blank=True)
    secret_before = models.TextField(blank=True)
    """Still accepted: messages may be on their way when the secret is renewed."""
    connected_by = models.ForeignKey(Membership, on_delete=models.PROTECT, related_name="+", db_index=False)
    connected_at = models.DateTimeField(db_default=Now())

    class Meta:
        ordering = ("id",)

    def __str__(self) -> str:
        return f"Prolific account of {self.project_id}"


class ProlificStudy(models.Model):
    """What a panel asks for on Prolific, what it costs, and how far the platform is with it."""

    class Status(models.TextChoices):
        """The platform's own words."""

        UNPUBLISHED = "UNPUBLISHED", "draft"
        SCHEDULED = "SCHEDULED", "scheduled"
        PUBLISHING = "PUBLISHING", "being published"
        ACTIVE = "ACTIVE", "active"
        PAUSED = "PAUSED", "paused"
        AWAITING_REVIEW = "AWAITING REVIEW", "awaiting review"
        COMPLETED = "COMPLETED", "completed"

    panel = models.OneToOneField(Panel, on_delete=models.PROTECT, related_name="prolific")
    uuid = models.UUIDField(default=uuid.uuid4, unique=True)
    """The name of the study on the platform for its owner, by which a draft is found again whose answer was lost."""
    external_id = models.CharField(max_length=LONGEST_ID, blank=True)
    title = models.CharField(max_length=120)
    description = models.TextField(max_length=5_000)
    reward_cents = models.PositiveIntegerField(validators=[MinValueValidator(1), MaxValueValidator(100_000)])
    estimated_minutes = models.PositiveSmallIntegerField(validators=[MinValueValidator(1), MaxValueValidator(600)])
    places = models.PositiveIntegerField(validators=[MinValueValidator(1), MaxValueValidator(10_000)])
    """Places to begin with."""
    most_places = models.PositiveIntegerField(validators=[MinValueValidator(1), MaxValueValidator(10_000)])
    """As far as places rise by themselves: what this costs was shown to whoever allowed it."""
    filters = models.JSONField(default=list, blank=True)
    cost_cents = models.PositiveBigIntegerField(null=True, blank=True)
    most_cost_cents = models.PositiveBigIntegerField(null=True, blank=True)
    currency = models.CharField(max_length=3, blank=True)
    status = models.CharField(max_length=20, blank=True)
    """Empty until there is a draft on the platform. A word that is not in Status is kept as it is."""
    total_places = models.PositiveIntegerField(default=0)
    """The places that the platform has now."""
    is_paused_here = models.BooleanField(default=False)
    """Paused because no place was left, so that it starts again by itself; never if a person has paused it."""
    published_by = models.ForeignKey(
        Membership, on_delete=models.PROTECT, null=True, blank=True, related_name="+", db_index=False
    )
    published_at = models.DateTimeField(null=True, blank=True)
    polled_at = models.DateTimeField(null=True, blank=True)
    retry_at = models.DateTimeField(null=True, blank=True)
    """After a failure nothing is asked before this time."""
    leased_until = models.DateTimeField(null=True, blank=True)
    """While one worker tends to the study, no other does."""
    error = models.TextField(blank=True)
    qualified_group = models.CharField(max_length=LONGEST_ID, blank=True)
    removed_group = models.CharField(max_length=LONGEST_ID, blank=True)

    class Meta:
        ordering = ("id",)
        verbose_name_plural = "Prolific studies"

    def __str__(self) -> str:
        return self.title

    @property
    def is_draft(self) -> bool:
        return self.status in ("", self.Status.UNPUBLISHED)

    @property
    def status_label(self) -> str:
        return str(self.Status(self.status).label) if self.status in self.Status.values else self.status.lower()

    @property
    def tone(self) -> str:
        """The colour of its status."""
        if self.is_draft:
            return "draft"
        tones: dict[str, str] = {self.Status.ACTIVE: "good", self.Status.PAUSED: "paused"}
        return tones.get(self.status, "done")


class ProlificSubmission(models.Model):
    """A submission as the platform lists it; its session, if it arrived here. Erasing a participant deletes it."""

    class Status(models.TextChoices):
        """The platform's own words."""

        RESERVED = "RESERVED", "reserved"
        ACTIVE = "ACTIVE", "active"
        TIMED_OUT = "TIMED-OUT", "timed out"
        AWAITING_REVIEW = "AWAITING REVIEW", "awaiting review"
        APPROVED = "APPROVED", "approved"
        PARTIALLY_APPROVED = "PARTIALLY APPROVED", "partially approved"
        RETURNED = "RETURNED", "returned"
        REJECTED = "REJECTED", "rejected"
        SCREENED_OUT = "SCREENED OUT", "screened out"

    study = models.ForeignKey(ProlificStudy, on_delete=models.PROTECT, related_name="submissions", db_index=False)
    external_id = models.CharField(max_length=LONGEST_ID)
    session = models.OneToOneField(
        PanelSession, on_delete=models.CASCADE, null=True, blank=True, related_name="submission"
    )
    status = models.CharField(max_length=20)
    entered_code = models.CharField(max_length=60, blank=True)
    told_at = models.DateTimeField()
    """The platform's own time of the newest status."""
    approval_wanted_at = models.DateTimeField(null=True, blank=True)
    approval_tried_at = models.DateTimeField(null=True, blank=True)

    class Meta:
        ordering = ("id",)
        constraints = [models.UniqueConstraint(fields=["study", "external_id"], name="prolific_submission")]
        indexes = [
            models.Index(
                fields=["study"],
                condition=Q(approval_wanted_at__isnull=False) & ~Q(status="APPROVED"),
                name="prolific_approvals_wanted",
            )
        ]

    def __str__(self) -> str:
        return f"submission {self.pk}"

    @property
    def can_be_approved(self) -> bool:
        """Return whether the platform takes an approval; a rejection can be taken back."""
        return self.status in (self.Status.AWAITING_REVIEW, self.Status.REJECTED)

    @property
    def can_be_rejected(self) -> bool:
        return self.status == self.Status.AWAITING_REVIEW

    @property
    def status_label(self) -> str:
        return str(self.Status(self.status).label) if self.status in self.Status.values else self.status.lower()


class ProlificEvent(models.Model):
    """A message of the platform, kept once by its id; what it says is dropped when it has been done."""

    account = models.ForeignKey(ProlificAccount, on_delete=models.CASCADE, related_name="events", db_index=False)
    event_id = models.CharField(max_length=LONGEST_ID)
    kind = models.CharField(max_length=60, blank=True)
    resource_id = models.CharField(max_length=LONGEST_ID, blank=True)
    status = models.CharField(max_length=60, blank=True)
    at = models.DateTimeField()
    """The platform's own time."""
    received_at = models.DateTimeField(db_default=Now(), db_index=True)
    is_waiting = models.BooleanField(default=True)

    class Meta:
        ordering = ("id",)
        constraints = [models.UniqueConstraint(fields=["account", "event_id"], name="prolific_event_once")]
        indexes = [models.Index(fields=["id"], condition=Q(is_waiting=True), name="prolific_events_waiting")]

    def __str__(self) -> str:
        return self.event_id


class ProlificBonus(models.Model):
    """Bonuses that are paid together. The platform pays twice if asked twice, so a sent one waits for a person."""

    class State(models.TextChoices):
        NEW = "new", "not set up"
        SET_UP = "set_up", "set up, not paid"
        SENT = "sent", "sent, not confirmed"
        PAID = "paid", "paid"
        CANCELLED = "cancelled", "cancelled"

    study = models.ForeignKey(ProlificStudy, on_delete=models.PROTECT, related_name="bonuses")
    number = models.PositiveIntegerField()
    state = models.CharField(max_length=10, choices=State.choices, default=State.NEW)
    external_id = models.CharField(max_length=LONGEST_ID, blank=True)
    cents = models.PositiveBigIntegerField()
    fee_cents = models.PositiveBigIntegerField(default=0)
    currency = models.CharField(max_length=3)
    why = models.TextField(max_length=500)
    made_by = models.ForeignKey(Membership, on_delete=models.PROTECT, related_name="+", db_index=False)
    made_at = models.DateTimeField(db_default=Now())
    sent_at = models.DateTimeField(null=True, blank=True)
    paid_at = models.DateTimeField(null=True, blank=True)

    class Meta:
        ordering = ("-number",)
        verbose_name_plural = "Prolific bonuses"
        constraints = [
            models.UniqueConstraint(fields=["study", "number"], name="prolific_bonus_number"),
            models.CheckConstraint(
                condition=Q(state__in=("new", "cancelled")) | ~Q(external_id=""), name="prolific_bonus_set_up"
            ),
            models.CheckConstraint(
                condition=~Q(state__in=("sent", "paid")) | Q(sent_at__isnull=False), name="prolific_bonus_sent_once"
            ),
        ]

    def __str__(self) -> str:
        return f"bonus {self.number}"


class ProlificBonusLine(models.Model):
    """One participant's bonus. The key is that of its ledger entry, and is stored before anything is sent."""

    bonus = models.ForeignKey(ProlificBonus, on_delete=models.PROTECT, related_name="lines", db_index=False)
    annotator = models.ForeignKey(Membership, on_delete=models.PROTECT, related_name="+", db_index=False)
    cents = models.PositiveIntegerField(validators=[MinValueValidator(1)])
    key = models.CharField(max_length=80, unique=True)

    class Meta:
        ordering = ("id",)
        constraints = [models.UniqueConstraint(fields=["bonus", "annotator"], name="prolific_bonus_line_once")]

    def __str__(self) -> str:
        return self.key
