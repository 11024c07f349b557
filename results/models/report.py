"""Reports: figures that take longer than a request, computed once for a state of the judgments."""

from django.db import models
from django.db.models import Q

from projects.jobs.queue import Job
from projects.models import Project


class Report(Job):
    """Figures of one kind and with these settings, over the judgments as they were when it ran."""

    task = "results.make_report"

    project = models.ForeignKey(Project, on_delete=models.CASCADE, related_name="reports")
    kind = models.CharField(max_length=20)
    settings = models.JSONField(default=dict)
    subject = models.CharField(max_length=64)
    """A hash of kind and settings: what was asked."""
    content = models.CharField(max_length=64)
    """A hash of the state of the judgments: what it was asked of."""
    result = models.JSONField(null=True, blank=True)

    class Meta:
        ordering = ("-id",)
        constraints = [
            models.UniqueConstraint(
                fields=["project", "subject"],
                condition=Q(state__in=("queued", "running")),
                name="report_under_way_once",
            ),
        ]
        indexes = [models.Index(fields=["project", "subject", "-id"], name="report_newest")]

    def __str__(self) -> str:
        return f"report {self.pk} of {self.kind}"
