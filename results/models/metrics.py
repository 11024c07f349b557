"""Scores by automatic metrics: computed here or brought from outside, one run for each metric as it was set up."""

from django.contrib.postgres.fields import ArrayField
from django.db import models
from django.db.models import Q

from projects.jobs.queue import Job
from projects.models import Candidate, Project


class ScoreFile(Job):
    """A file of scores by metrics from outside: read and reported on, then taken as runs or left."""

    class Step(models.TextChoices):
        CHECK = "check", "check"
        TAKE = "take", "take"

    task = "results.read_scores"

    project = models.ForeignKey(Project, on_delete=models.CASCADE, related_name="score_files", db_index=False)
    number = models.PositiveIntegerField()
    step = models.CharField(max_length=5, choices=Step.choices, default=Step.CHECK)
    file_name = models.CharField(max_length=300)
    stored_name = models.CharField(max_length=80, blank=True)
    """The file while it waits; what was wrong with it is kept beside it, and stays."""
    n_bytes = models.PositiveBigIntegerField(default=0)
    sha256 = models.CharField(max_length=64)
    options = models.JSONField(default=dict)
    """How it is read, and once it is taken: the columns, each with the name that its metric goes by."""
    report = models.JSONField(null=True, blank=True)

    class Meta:
        ordering = ("-number",)
        constraints = [models.UniqueConstraint(fields=["project", "number"], name="score_file_number")]

    def __str__(self) -> str:
        return f"file of scores {self.number}"


class MetricRunQuerySet(models.QuerySet["MetricRun"]):
    def done(self) -> "MetricRunQuerySet":
        return self.filter(state=Job.State.DONE)

    def newest(self) -> "MetricRunQuerySet":
        """Of each metric as it was set up, the run whose scores stand."""
        return self.done().order_by("subject", "-id").distinct("subject")


class MetricRun(Job):
    """One metric with its settings over the candidates of a project, or the scores of a metric from outside."""

    class Origin(models.TextChoices):
        COMPUTED = "computed", "computed here"
        UPLOADED = "uploaded", "from a file"

    task = "results.run_metric"

    project = models.ForeignKey(Project, on_delete=models.CASCADE, related_name="metric_runs", db_index=False)
    origin = models.CharField(max_length=10, choices=Origin.choices)
    metric = models.CharField(max_length=60)
    """The name under which it is registered, or the one that a file of scores goes by."""
    title = models.CharField(max_length=80)
    settings = models.JSONField(default=dict)
    """Every setting of the metric."""
    subject = models.CharField(max_length=64)
    """A hash of origin, metric and settings: runs that share it are of the same metric."""
    file = models.ForeignKey(ScoreFile, on_delete=models.SET_NULL, null=True, blank=True, related_name="runs")
    """Where scores from outside came from."""
    n_scored = models.PositiveIntegerField(default=0)
    n_refused = models.PositiveIntegerField(default=0)
    report = models.JSONField(default=dict)
    """What to say of the run: its summary, reasons of refusals with their counts, notes such as answers that had a
    bonus, and what the scores depend on, such as the version of a library."""

    objects = MetricRunQuerySet.as_manager()

    class Meta:
        ordering = ("-id",)
        constraints = [
            models.UniqueConstraint(
                fields=["project", "subject"], condition=Q(state__in=("queued", "running")), name="metric_run_once"
            ),
        ]
        indexes = [models.Index(fields=["project", "subject", "-id"], name="metric_run_newest")]

    def __str__(self) -> str:
        return f"run {self.pk} of {self.title}"


class MetricScore(models.Model):
    """What a run says of a candidate: a score, or why there is none."""

    run = models.ForeignKey(MetricRun, on_delete=models.CASCADE, related_name="scores", db_index=False)
    candidate = models.ForeignKey(Candidate, on_delete=models.CASCADE, related_name="metric_scores")
    value = models.FloatField(null=True, blank=True)
    reason = models.CharField(max_length=200, blank=True, db_default="")
    counts = ArrayField(models.FloatField(), null=True, blank=True)
    """The statistics behind a score that is more than their mean over many answers, such as those of BLEU."""

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["run", "candidate"], name="metric_score_once"),
            models.CheckConstraint(
                condition=Q(value__isnull=False, reason="") | Q(value=None) & ~Q(reason=""),
                name="metric_score_or_reason",
            ),
            models.CheckConstraint(
                condition=Q(value=None) | Q(value__gt=-1e300, value__lt=1e300), name="metric_score_finite"
            ),
        ]

    def __str__(self) -> str:
        return f"score of {self.candidate_id} by run {self.run_id}"
