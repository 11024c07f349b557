"""Work that outlasts a request: a row that people can look at and that survives the worker."""

from django.db import models
from django.db.models.functions import Now


class Job(models.Model):
    """A long act: who asked for it, how far it is, how it ended."""

    class State(models.TextChoices):
        QUEUED = "queued", "waiting"
        RUNNING = "running", "running"
        DONE = "done", "done"
        FAILED = "failed", "failed"
        INTERRUPTED = "interrupted", "interrupted"
        CANCELLED = "cancelled", "cancelled"

    LIVE = (State.QUEUED, State.RUNNING)

    state = models.CharField(max_length=12, choices=State.choices, default=State.QUEUED)
    requested_by = models.ForeignKey("projects.Membership", on_delete=models.PROTECT, related_name="+")
    attempt = models.PositiveIntegerField(default=0)
    done = models.PositiveBigIntegerField(default=0)
    total = models.PositiveBigIntegerField(default=0)
    message = models.CharField(max_length=200, blank=True)
    error = models.TextField(blank=True)
    cancel_requested_at = models.DateTimeField(null=True, blank=True)
    created_at = models.DateTimeField(db_default=Now())
    started_at = models.DateTimeField(null=True, blank=True)
    beat_at = models.DateTimeField(null=True, blank=True)
    finished_at = models.DateTimeField(null=True, blank=True)

    class Meta:
        abstract = True

    @property
    def is_live(self) -> bool:
        return self.state in self.LIVE
