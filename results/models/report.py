"""Reports: figures that take longer than a request, computed once for each version of the judgments."""

from django.db import models
from django.db.models import Q

from projects.database.figures_field import FiguresField
from projects.jobs.queue import Job
from projects.models import Project


class Report(Job):
    """Figures of one kind with these settings, computed from the judgments as they were when the job ran."""

    task = "results.make_report"

    project = models.ForeignKey(Project, on_delete=models.CASCADE, related_name="reports")
    kind = models.CharField(max_length=20)
    settings = models.JSONField(default=dict)
    subject = models.CharField(max_length=64)
    """A hash of kind and settings: reports that share it answer the same question."""
    content = models.CharField(max_length=64)
    """A hash of the version of the judgments; while it is the present one, the figures are current."""
    result = FiguresField(null=True, blank=True)

    class Meta:
        ordering = ("-id",)
        constraints = [
            models.UniqueConstraint(
                fields=["project", "subject"],
                # One unfinished job for each question: who asks meanwhile gets that one.
                condition=Q(state__in=("queued", "running")),
                name="report_under_way_once",
            ),
        ]
        indexes = [models.Index(fields=["project", "subject", "-id"], name="report_newest")]

    def __str__(self) -> str:
        return f"report {self.pk} of {self.kind}"
