"""Signs of life of the background processes."""

from datetime import timedelta

from django.db import models
from django.db.models.functions import Now
from django.utils import timezone


class Pulse(models.Model):
    """When a worker or the scheduler was last seen, so that a page can say which of them is not running."""

    WORKER = "worker"
    """A worker of short jobs and periodic tasks."""
    LONG = "long"
    SCORING = "scoring"
    NEURAL = "neural"
    """A worker of learned metrics, which only some sites have."""
    BEAT = "beat"
    PURGE = "purge"
    """No process: up to which time deleted projects have been purged."""
    EVERY_SECONDS = 5.0
    # A worker reports every five seconds. The scheduler shows only by a task that it sends every ten seconds and a
    # worker runs, so it gets more time.
    MISSING_AFTER = {
        **dict.fromkeys((WORKER, LONG, SCORING, NEURAL), timedelta(seconds=15)),
        BEAT: timedelta(seconds=30),
    }

    process = models.CharField(max_length=10, primary_key=True)
    seen_at = models.DateTimeField()

    def __str__(self) -> str:
        return f"{self.process} at {self.seen_at}"

    @classmethod
    def beat(cls, process: str) -> None:
        cls.objects.update_or_create(process=process, defaults={"seen_at": Now()})

    @classmethod
    def is_missing(cls, process: str) -> bool:
        # A sign of life from the future is older than a clock that was set back.
        now, span = timezone.now(), cls.MISSING_AFTER[process]
        return not cls.objects.filter(process=process, seen_at__range=(now - span, now + span)).exists()
