"""Webhooks: addresses that are told of events, what they are told, and every attempt."""

import uuid

from django.contrib.postgres.fields import ArrayField
from django.db import models
from django.db.models import Q
from django.db.models.functions import Now

from projects.models.people import Membership, Project


class Event(models.TextChoices):
    """What an address can be told of; the values are part of the messages."""

    HIT_SUBMITTED = "hit.submitted", "HIT submitted"
    BATCH_COMPLETE = "batch.complete", "batch complete"
    FINDING_OPENED = "finding.opened", "alert opened"
    SET_FROZEN = "set.frozen", "judgment set frozen"


class Webhook(models.Model):
    """An address of a project that gets signed messages about its events."""

    project = models.ForeignKey(Project, on_delete=models.PROTECT, related_name="webhooks")
    url = models.CharField(max_length=500)
    events = ArrayField(models.CharField(max_length=30, choices=Event.choices))
    # The secret is derived from this and SECRET_KEY, so that neither the database nor a backup contains it.
    key = models.UUIDField(default=uuid.uuid4)
    is_active = models.BooleanField(default=True)
    # After a failure nothing is sent to this address until `retry_at`; a day after `failing_since` it is turned off.
    n_failures = models.PositiveIntegerField(default=0)
    failing_since = models.DateTimeField(null=True, blank=True)
    retry_at = models.DateTimeField(null=True, blank=True)
    turned_off_at = models.DateTimeField(null=True, blank=True)
    """When it was turned off because of failures, and not by a person."""
    created_by = models.ForeignKey(Membership, on_delete=models.PROTECT, related_name="+", db_index=False)
    created_at = models.DateTimeField(db_default=Now())

    class Meta:
        ordering = ("id",)

    def __str__(self) -> str:
        return self.url


class Delivery(models.Model):
    """One message to one address. Written in the transaction of its event, so that no event is lost."""

    class State(models.TextChoices):
        WAITING = "waiting", "waiting"
        DELIVERED = "delivered", "delivered"
        FAILED = "failed", "failed"

    webhook = models.ForeignKey(Webhook, on_delete=models.CASCADE, related_name="deliveries", db_index=False)
    uuid = models.UUIDField()
    event = models.CharField(max_length=30)
    # What the message is about: the same event is written once for an address.
    key = models.CharField(max_length=80)
    data = models.JSONField()
    state = models.CharField(max_length=10, choices=State.choices, db_default=State.WAITING, default=State.WAITING)
    is_prompt = models.BooleanField(db_default=False, default=False)
    """Sent by a person: once, at once, also while the address is paused or off."""
    leased_until = models.DateTimeField(null=True, blank=True)
    """While a worker sends it no other takes it; if the worker dies, another one does afterwards."""
    created_at = models.DateTimeField(db_default=Now())

    class Meta:
        db_table = "projects_webhookdelivery"
        ordering = ("-id",)
        constraints = [models.UniqueConstraint(fields=["webhook", "key"], name="webhook_delivery_once")]
        indexes = [
            models.Index(fields=["webhook", "id"], condition=Q(state="waiting"), name="webhook_deliveries_waiting"),
            models.Index(fields=["created_at"], name="webhook_deliveries_by_age"),
        ]

    def __str__(self) -> str:
        return str(self.uuid)

    @property
    def tone(self) -> str:
        """The colour of its status."""
        return {self.State.DELIVERED: "good", self.State.FAILED: "failed"}.get(self.State(self.state), "queued")


class DeliveryAttempt(models.Model):
    """One attempt to deliver a message: the status of the answer, or why there was none."""

    delivery = models.ForeignKey(Delivery, on_delete=models.CASCADE, related_name="attempts")
    at = models.DateTimeField(db_default=Now())
    status = models.PositiveSmallIntegerField(null=True, blank=True)
    ms = models.PositiveIntegerField()
    error = models.CharField(max_length=200, blank=True)

    class Meta:
        db_table = "projects_webhookattempt"
        ordering = ("-id",)

    def __str__(self) -> str:
        return f"{self.status or self.error}"
