"""Scores by automatic metrics, computed here or uploaded; one run for each metric with its settings."""

from django.contrib.postgres.fields import ArrayField
from django.db import models
from django.db.models import Q

from projects.database.figures_field import FiguresField
from projects.jobs.queue import DEFAULT_QUEUE, LONG_QUEUE, NEURAL_QUEUE, SCORING_QUEUE, Job
from projects.models import Candidate, Project

HASH_LENGTH = 12
"""Characters of a file's SHA-256 that a signature shows, enough to tell files apart."""


class ScoreFile(Job):
    """An uploaded file of metric scores: it is checked and reported on, then imported as runs or discarded."""

    class Step(models.TextChoices):
        CHECK = "check", "check"
        TAKE = "take", "import"

    task = "results.read_scores"

    project = models.ForeignKey(Project, on_delete=models.CASCADE, related_name="score_files", db_index=False)
    number = models.PositiveIntegerField()
    step = models.CharField(max_length=5, choices=Step.choices, default=Step.CHECK)
    file_name = models.CharField(max_length=300)
    stored_name = models.CharField(max_length=80, blank=True)
    """The name of the stored file; it is deleted after the import, the list of its problems beside it is kept."""
    n_bytes = models.PositiveBigIntegerField(default=0)
    sha256 = models.CharField(max_length=64)
    options = models.JSONField(default=dict)
    """How the file is read and, once its import was requested, the columns with the names of their metrics."""
    report = FiguresField(null=True, blank=True)

    class Meta:
        ordering = ("-number",)
        constraints = [models.UniqueConstraint(fields=["project", "number"], name="score_file_number")]

    def __str__(self) -> str:
        return f"file of scores {self.number}"

    @property
    def queue_name(self) -> str:
        return LONG_QUEUE if self.step == self.Step.TAKE else DEFAULT_QUEUE


class MetricRunQuerySet(models.QuerySet["MetricRun"]):
    def done(self) -> "MetricRunQuerySet":
        return self.filter(state=Job.State.DONE)

    def newest(self) -> "MetricRunQuerySet":
        """Return for each metric with its settings the run whose scores count: the newest that is done."""
        return self.done().order_by("subject", "-id").distinct("subject")


class MetricRun(Job):
    """One metric with its settings over the candidates of a project, or the uploaded scores of one metric."""

    class Origin(models.TextChoices):
        COMPUTED = "computed", "computed here"
        UPLOADED = "uploaded", "from a file"

    task = "results.run_metric"

    project = models.ForeignKey(Project, on_delete=models.CASCADE, related_name="metric_runs", db_index=False)
    origin = models.CharField(max_length=10, choices=Origin.choices)
    metric = models.CharField(max_length=60)
    """The name under which it is registered, or the one that was given to an uploaded column."""
    title = models.CharField(max_length=80)
    settings = models.JSONField(default=dict)
    """Every setting of the metric."""
    subject = models.CharField(max_length=64)
    """A hash of origin, metric and settings: runs that share it are of the same metric."""
    file = models.ForeignKey(ScoreFile, on_delete=models.SET_NULL, null=True, blank=True, related_name="runs")
    """The file that uploaded scores came from."""
    n_scored = models.PositiveIntegerField(default=0)
    n_refused = models.PositiveIntegerField(default=0)
    report = FiguresField(default=dict)
    """The summary of the scores, refusals by reason, notes such as the number of candidates that had a bonus, and what
    the scores depend on, such as the version of a library."""

    objects = MetricRunQuerySet.as_manager()

    class Meta:
        ordering = ("-id",)
        constraints = [
            models.UniqueConstraint(
                # Two clicks at once must not compute the same metric twice.
                fields=["project", "subject"],
                condition=Q(state__in=("queued", "running")),
                name="metric_run_once",
            ),
        ]
        # Lists, evaluations and sets all look up the newest run of each metric.
        indexes = [models.Index(fields=["project", "subject", "-id"], name="metric_run_newest")]

    def __str__(self) -> str:
        return f"run {self.pk} of {self.title}"

    @property
    def queue_name(self) -> str:
        """That of learned metrics for a run that loads a model; `results.metrics.computing` notes it in the report.

        Reports of earlier versions name the default queue for all others.
        """
        return NEURAL_QUEUE if self.report.get("queue") == NEURAL_QUEUE else SCORING_QUEUE

    @property
    def signature(self) -> str:
        """The metric with every setting and version on one line; of uploaded scores, their column and file."""
        # Loading every metric takes a while, which most commands need not wait for.
        from measures.metrics import format_signature

        if self.origin == self.Origin.UPLOADED:
            named = {"column": self.report.get("column", ""), "sha256": self.report.get("sha256", "")[:HASH_LENGTH]}
            return format_signature(self.metric, named, origin="file")
        versions = dict((self.report.get("about") or {}).get("versions", {}))
        # Without the commit, which changes where no score does.
        version = versions.pop("Concord", "").partition(" ")[0]
        return format_signature(self.metric, self.settings, version=version, packages=versions)


class MetricChunk(Job):
    """Some candidates of an unfinished run, for whichever worker is free; its scores are written when it ends."""

    task = "results.score_chunk"
    is_part = True

    # The unique constraint begins with the run and is the index.
    run = models.ForeignKey(MetricRun, on_delete=models.CASCADE, related_name="chunks", db_index=False)
    number = models.PositiveIntegerField()
    first_question = models.BigIntegerField()
    last_question = models.BigIntegerField()
    """The range of questions, by id, whose candidates it scores."""
    n_candidates = models.PositiveIntegerField()
    snapshot = models.CharField(max_length=60)
    """The name of the snapshot of the database that all workers of the run read from."""
    edition = models.CharField(max_length=64)
    """A hash of the metric and of the versions that it is computed with; a worker with others leaves it alone."""
    digest = models.CharField(max_length=64, blank=True)
    """A hash of the answers whose scores are stored; empty before."""
    report = FiguresField(default=dict)
    """How many have a score and how many have none and why, and the sums of their statistics."""

    class Meta:
        constraints = [models.UniqueConstraint(fields=["run", "number"], name="metric_chunk_number")]

    def __str__(self) -> str:
        return f"chunk {self.number} of run {self.run_id}"

    @property
    def queue_name(self) -> str:
        return SCORING_QUEUE


class MetricScore(models.Model):
    """The score of a candidate in a run, or the reason why it has none."""

    # The unique constraint begins with the run and is the index.
    run = models.ForeignKey(MetricRun, on_delete=models.CASCADE, related_name="scores", db_index=False)
    candidate = models.ForeignKey(Candidate, on_delete=models.CASCADE, related_name="metric_scores")
    value = models.FloatField(null=True, blank=True)
    reason = models.CharField(max_length=200, blank=True, db_default="")
    counts = ArrayField(models.FloatField(), null=True, blank=True)
    """Sufficient statistics where the score of a corpus is not the mean of its scores, such as those of BLEU."""

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["run", "candidate"], name="metric_score_once"),
            models.CheckConstraint(
                condition=Q(value__isnull=False, reason="") | Q(value=None) & ~Q(reason=""),
                name="metric_score_or_reason",
            ),
            models.CheckConstraint(
                # PostgreSQL sorts NaN above every number, so the upper bound keeps out NaN as well as the infinities.
                condition=Q(value=None) | Q(value__gt=-1e300, value__lt=1e300),
                name="metric_score_finite",
            ),
        ]

    def __str__(self) -> str:
        return f"score of {self.candidate_id} by run {self.run_id}"
