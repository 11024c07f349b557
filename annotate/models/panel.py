"""Panels: people whom a recruitment platform sends, the places kept for them, and their sessions."""

import secrets
from typing import Self

from django.core.validators import MaxValueValidator, MinValueValidator, RegexValidator
from django.db import models
from django.db.models import OuterRef, Q, Subquery
from django.db.models.functions import Now

from annotate.models.batch import Hit
from projects.models import Membership, Project

LONGEST_ID = 128
"""Of the platforms' ids, which they choose themselves; those of Prolific have 24 characters."""
MOST_UNITS = 100_000_000
"""Of the smallest unit of a currency: in some, 100,000 are a few dollars."""


def _draw_token() -> str:
    return secrets.token_urlsafe(24)


class Outcome(models.TextChoices):
    """How a session ends; the platform has a completion code for each."""

    COMPLETED = "completed", "completed"
    SCREENED_OUT = "screened_out", "screened out"
    NO_CONSENT = "no_consent", "no consent"
    FAILED_CHECK = "failed_check", "failed check"
    NOTHING_LEFT = "nothing_left", "nothing left"


class PanelQuerySet(models.QuerySet["Panel"]):
    """Panels that know the same people."""

    def sharing_ids_with(self, panel: "Panel") -> Self:
        """Return the panel and the others of its project in which an id names the same person."""
        if panel.platform not in GLOBAL_IDS:
            return self.filter(pk=panel.pk)
        return self.filter(project=panel.project_id, platform=panel.platform)


class Panel(models.Model):
    """People whom a platform sends to a project by one link, with its parameters, completion codes and limits."""

    class Platform(models.TextChoices):
        PROLIFIC = "prolific", "Prolific"
        CONNECT = "connect", "CloudResearch Connect"
        SONA = "sona", "SONA"
        GENERIC = "generic", "another platform"

    class Payer(models.TextChoices):
        PLATFORM = "platform", "the platform"
        PROJECT = "project", "this project"

    project = models.ForeignKey(Project, on_delete=models.PROTECT, related_name="panels")
    number = models.PositiveIntegerField()
    name = models.CharField(max_length=120)
    platform = models.CharField(max_length=10, choices=Platform.choices)
    # Part of the link, which every participant sees: it keeps strangers out, and is no proof of who somebody is.
    token = models.CharField(max_length=40, unique=True, default=_draw_token)
    participant_parameter = models.CharField(max_length=40)
    session_parameter = models.CharField(max_length=40, blank=True)
    study_parameter = models.CharField(max_length=40, blank=True)
    study_id = models.CharField(max_length=LONGEST_ID, blank=True)
    """The study whose participants are let in; empty for any."""
    code_completed = models.CharField(max_length=60, blank=True)
    code_screened_out = models.CharField(max_length=60, blank=True)
    code_no_consent = models.CharField(max_length=60, blank=True)
    code_failed_check = models.CharField(max_length=60, blank=True)
    code_nothing_left = models.CharField(max_length=60, blank=True)
    has_own_codes = models.BooleanField(default=False)
    """Whether each session that is completed gets a random code of its own instead of the code above."""
    return_url = models.CharField(max_length=500, blank=True)
    paid_by = models.CharField(max_length=10, choices=Payer.choices, default=Payer.PLATFORM)
    currency = models.CharField(
        max_length=3, default="USD", db_default="USD", validators=[RegexValidator(r"\A[A-Z]{3}\Z")]
    )
    """The platform's currency, by its code of three letters."""
    reward_cents = models.PositiveIntegerField(null=True, blank=True, validators=[MaxValueValidator(MOST_UNITS)])
    """What the platform pays for a completed session, in the currency's smallest unit; None where it pays no money."""
    screened_out_cents = models.PositiveIntegerField(null=True, blank=True, validators=[MaxValueValidator(MOST_UNITS)])
    """What it pays to who is screened out by a survey; None for nothing."""
    fee_share = models.FloatField(
        default=0.0, db_default=0.0, validators=[MinValueValidator(0.0), MaxValueValidator(1.0)]
    )
    """What the platform charges the project on top of what it pays, as a share of it."""
    minutes_expected = models.PositiveSmallIntegerField(
        null=True, blank=True, validators=[MinValueValidator(1), MaxValueValidator(600)]
    )
    """How long a session takes, as the platform announces it."""
    hits_per_session = models.PositiveSmallIntegerField(
        null=True, blank=True, validators=[MinValueValidator(1), MaxValueValidator(100)]
    )
    minutes_per_session = models.PositiveSmallIntegerField(
        null=True, blank=True, validators=[MinValueValidator(1), MaxValueValidator(600)]
    )
    minutes_allowed = models.PositiveIntegerField(
        default=120, validators=[MinValueValidator(5), MaxValueValidator(60 * 24 * 14)]
    )
    counts_unfinished = models.BooleanField(default=True)
    """Whether HITs count that were submitted in sessions returned or timed out."""
    created_by = models.ForeignKey(Membership, on_delete=models.PROTECT, related_name="+", db_index=False)
    created_at = models.DateTimeField(db_default=Now())
    ended_at = models.DateTimeField(null=True, blank=True)

    objects = PanelQuerySet.as_manager()

    class Meta:
        ordering = ("-number",)
        constraints = [
            models.UniqueConstraint(fields=["project", "number"], name="panel_number"),
            models.CheckConstraint(
                condition=Q(hits_per_session__gte=1, minutes_per_session=None)
                | Q(hits_per_session=None, minutes_per_session__gte=1),
                name="panel_one_length",
            ),
        ]

    def __str__(self) -> str:
        return self.name

    def code_for(self, outcome: str) -> str:
        """Return the completion code of an outcome, the same for all sessions; "" if the platform has none."""
        return str(getattr(self, f"code_{outcome}"))


GLOBAL_IDS = (Panel.Platform.PROLIFIC, Panel.Platform.CONNECT)
"""Platforms whose id of a person is the same in every study. Others may give one to two people, or change it."""


class PanelParticipant(models.Model):
    """A member whom a panel sent, with the platform's id of them. Only this row and its sessions hold such ids.

    A member whom several panels sent has a row, and a set, in each, and belongs to the one that they joined last.
    """

    panel = models.ForeignKey(Panel, on_delete=models.PROTECT, related_name="participants", db_index=False)
    membership = models.ForeignKey(Membership, on_delete=models.PROTECT, related_name="participants")
    external_id = models.CharField(max_length=LONGEST_ID)
    n_hits_due = models.PositiveSmallIntegerField(default=0)
    """The HITs of their one set: the places kept on arrival. With a length in minutes it counts nothing."""
    joined_at = models.DateTimeField(db_default=Now())
    work_after = models.BigIntegerField(default=0, db_default=0, null=True, blank=True)
    """The id of their newest assignment when they joined; None while nobody has shown that they are who they say."""

    class Meta:
        ordering = ("id",)
        constraints = [
            models.UniqueConstraint(fields=["panel", "external_id"], name="panel_participant"),
            models.UniqueConstraint(fields=["panel", "membership"], name="panel_participant_once"),
        ]

    def __str__(self) -> str:
        return str(self.membership)


class FormerParticipant(models.Model):
    """That somebody who deleted their account took part in a panel: a keyed hash of their id, and nothing else."""

    panel = models.ForeignKey(Panel, on_delete=models.PROTECT, related_name="former_participants", db_index=False)
    id_hash = models.CharField(max_length=64)

    class Meta:
        constraints = [models.UniqueConstraint(fields=["panel", "id_hash"], name="former_participant")]

    def __str__(self) -> str:
        return f"former participant {self.pk}"


class PanelSession(models.Model):
    """One coming of a participant, from arrival to what the platform decided."""

    class State(models.TextChoices):
        ARRIVED = "arrived", "arrived"
        WORKING = "working", "working"
        FINISHED = "finished", "finished"
        SUBMITTED = "submitted", "submitted"
        APPROVED = "approved", "approved"
        RETURNED = "returned", "returned"
        TIMED_OUT = "timed_out", "timed out"
        REJECTED = "rejected", "rejected"
        SCREENED_OUT = "screened_out", "screened out"

    class Access(models.TextChoices):
        """Whether its browser was let in: a known participant's id alone is no proof, since anybody can type it."""

        OPEN = "open", "let in"
        OWN = "own", "let in by the sign-in alone"
        HELD = "held", "not let in"
        TRUSTED = "trusted", "let in by a manager"

    panel = models.ForeignKey(Panel, on_delete=models.PROTECT, related_name="sessions", db_index=False)
    participant = models.ForeignKey(PanelParticipant, on_delete=models.CASCADE, related_name="sessions")
    external_id = models.CharField(max_length=LONGEST_ID, blank=True)
    study_id = models.CharField(max_length=LONGEST_ID, blank=True)
    state = models.CharField(max_length=12, choices=State.choices, default=State.ARRIVED)
    access = models.CharField(max_length=8, choices=Access.choices, default=Access.OPEN)
    refused_at = models.DateTimeField(null=True, blank=True)
    """When a browser was last turned away that could not show it is the participant's."""
    outcome = models.CharField(max_length=12, choices=Outcome.choices, blank=True)
    code = models.CharField(max_length=60, blank=True)
    """The code that was shown, kept so that a change of the panel's codes changes none that is out."""
    arrived_at = models.DateTimeField(db_default=Now())
    due_at = models.DateTimeField()
    ended_at = models.DateTimeField(null=True, blank=True)
    """When its outcome was known."""
    told_at = models.DateTimeField(null=True, blank=True)
    """The platform's own time of the newest event it told of; an older one changes nothing."""

    class Meta:
        ordering = ("id",)
        constraints = [
            models.UniqueConstraint(
                fields=["panel", "external_id"], condition=~Q(external_id=""), name="panel_session"
            ),
            # A platform without ids of sessions sends each participant once.
            models.UniqueConstraint(fields=["participant"], condition=Q(external_id=""), name="panel_session_nameless"),
            models.CheckConstraint(
                condition=~Q(state__in=("finished", "screened_out")) | ~Q(outcome=""), name="panel_session_outcome"
            ),
        ]
        indexes = [
            models.Index(fields=["due_at"], condition=Q(state__in=("arrived", "working")), name="panel_session_due"),
            models.Index(fields=["panel", "-id"], name="panel_session_newest"),
        ]

    def __str__(self) -> str:
        return f"session {self.pk}"


class ReservationQuerySet(models.QuerySet["Reservation"]):
    """Places kept for participants."""

    def for_lists(self) -> Self:
        """Join what a list shows, the first to lapse first; `panel_name` and `panel_number` say who sent them last."""
        joined = PanelParticipant.objects.filter(membership=OuterRef("annotator"), work_after__isnull=False)
        newest = joined.order_by("-joined_at")
        return (
            self.select_related("hit", "annotator")
            .annotate(
                panel_name=Subquery(newest.values("panel__name")[:1]),
                panel_number=Subquery(newest.values("panel__number")[:1]),
            )
            .order_by("until", "pk")
        )


class Reservation(models.Model):
    """A place kept for a participant who has yet to begin the HIT. Only `annotate/places/` writes it."""

    hit = models.ForeignKey(Hit, on_delete=models.PROTECT, related_name="reservations", db_index=False)
    annotator = models.ForeignKey(Membership, on_delete=models.PROTECT, related_name="reservations")
    until = models.DateTimeField(db_index=True)

    objects = ReservationQuerySet.as_manager()

    class Meta:
        ordering = ("id",)
        constraints = [models.UniqueConstraint(fields=["hit", "annotator"], name="reservation_once")]

    def __str__(self) -> str:
        return f"place of {self.annotator_id} on HIT {self.hit_id}"
