"""The log: who did what to what, and why; rows are only ever added."""

from django.db import models
from django.db.models.functions import Now

from projects.models.people import Membership, Project


class LogEntry(models.Model):
    """One act by a member, or by the system. A trigger refuses changes; no personal data stands here."""

    project = models.ForeignKey(Project, on_delete=models.PROTECT, related_name="log", db_index=False)
    actor = models.ForeignKey(
        Membership, on_delete=models.PROTECT, null=True, blank=True, related_name="+", db_index=False
    )
    act = models.CharField(max_length=60)
    object_type = models.CharField(max_length=40, blank=True)
    object_id = models.CharField(max_length=60, blank=True)
    before = models.JSONField(null=True, blank=True)
    after = models.JSONField(null=True, blank=True)
    why = models.TextField(blank=True)
    at = models.DateTimeField(db_default=Now())

    class Meta:
        ordering = ("-id",)
        verbose_name_plural = "log entries"
        indexes = [models.Index(fields=["project", "-id"], name="log_newest")]

    def __str__(self) -> str:
        return f"{self.act} {self.object_type} {self.object_id}"
