"""API tokens."""

from typing import TYPE_CHECKING

from django.db import models
from django.db.models import Q
from django.db.models.functions import Now

from projects.models.people import Membership

if TYPE_CHECKING:
    from datetime import datetime


class ApiTokenQuerySet(models.QuerySet["ApiToken"]):
    def usable(self, now: "datetime") -> "ApiTokenQuerySet":
        return self.filter(revoked_at=None, expires_at__gt=now)


class ApiToken(models.Model):
    """A secret with which a script acts for a member in one project; only its hash is stored."""

    membership = models.ForeignKey(Membership, on_delete=models.CASCADE, related_name="tokens")
    name = models.CharField(max_length=60)
    start = models.CharField(max_length=16)
    token_sha256 = models.CharField(max_length=64, unique=True)
    can_write = models.BooleanField(default=False)
    expires_at = models.DateTimeField()
    revoked_at = models.DateTimeField(null=True, blank=True)
    last_used_at = models.DateTimeField(null=True, blank=True)
    # The rate limit: when the current minute began, and the requests since then (see `projects.api.tokens.count_use`).
    minute_at = models.DateTimeField(null=True, blank=True)
    n_in_minute = models.PositiveIntegerField(db_default=0, default=0)
    created_at = models.DateTimeField(db_default=Now())

    objects = ApiTokenQuerySet.as_manager()

    class Meta:
        verbose_name = "API token"
        ordering = ("-id",)
        constraints = [
            models.CheckConstraint(condition=Q(expires_at__gt=models.F("created_at")), name="apitoken_expires_later"),
        ]

    def __str__(self) -> str:
        return f"{self.start}…"

    def state_at(self, now: "datetime") -> str:
        """Return whether the token works at this time, in a word."""
        if self.revoked_at is not None:
            return "revoked"
        return "expired" if self.expires_at <= now else "active"
