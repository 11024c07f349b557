"""Metric evaluations: how automatic metrics agree with human judgments, computed once and kept with their settings."""

from django.db import models
from django.urls import reverse

from projects.database.figures_field import FiguresField
from projects.jobs.queue import LONG_QUEUE, Job
from projects.models import Candidate, Membership, Project


class Study(Job):
    """A metric evaluation: metrics compared with gold scores, with its settings, seed and result."""

    class Kind(models.TextChoices):
        CORRELATION = "correlation", "Segment-level correlation"
        GROUPS = "groups", "Within-group correlation"
        PAIRWISE = "pairwise", "Pairwise accuracy"
        SYSTEMS = "systems", "System-level correlation"
        SOFT = "soft", "Soft pairwise accuracy"
        SIGNIFICANCE = "significance", "Metric comparison (significance)"
        SWEEP = "sweep", "Bonus-weight sweep"
        PAIRS = "pairs", "Minimal pairs"
        TOP_N = "top_n", "Top-N accuracy"
        REDUNDANCY = "redundancy", "Redundancy"
        ERRORS = "errors", "Largest errors"

    task = "results.run_study"

    project = models.ForeignKey(Project, on_delete=models.CASCADE, related_name="studies", db_index=False)
    number = models.PositiveIntegerField()
    kind = models.CharField(max_length=20, choices=Kind.choices)
    name = models.CharField(max_length=120)
    settings = models.JSONField(default=dict)
    """Criterion, gold rule, stage, filters, minimum number of judgments, metrics by their keys, and more."""
    seed = models.BigIntegerField()
    result = FiguresField(null=True, blank=True)

    class Meta:
        ordering = ("-number",)
        constraints = [models.UniqueConstraint(fields=["project", "number"], name="study_number")]

    def __str__(self) -> str:
        return f"metric evaluation {self.number}"

    @property
    def queue_name(self) -> str:
        return LONG_QUEUE

    def get_absolute_url(self) -> str:
        return reverse("results:study-show", args=[self.project.slug, self.number])


# Not tied to an evaluation: a cause is shown by every later one that lists the candidate.
class ErrorCause(models.Model):
    """The cause of a large error of a metric on a candidate, named by a person."""

    project = models.ForeignKey(Project, on_delete=models.CASCADE, related_name="error_causes", db_index=False)
    candidate = models.ForeignKey(Candidate, on_delete=models.CASCADE, related_name="error_causes")
    compared = models.CharField(max_length=130)
    """The subject of the metric that is compared with human scores, or those of two metrics with a bar between them."""
    cause = models.CharField(max_length=60)
    by = models.ForeignKey(Membership, on_delete=models.PROTECT, related_name="+", db_index=False)
    at = models.DateTimeField(auto_now=True)

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["project", "candidate", "compared"], name="error_cause_once"),
            models.CheckConstraint(condition=~models.Q(cause=""), name="error_cause_said"),
        ]

    def __str__(self) -> str:
        return self.cause
