"""Metrics trained on a frozen judgment set: what is trained, what it costs, and the result."""

from django.db import models
from django.db.models import Q
from django.urls import reverse

from projects.jobs.queue import NEURAL_QUEUE, Job
from projects.models import Project
from results.models.judgment_set import JudgmentSet


class TrainingQuerySet(models.QuerySet["Training"]):
    def usable(self) -> "TrainingQuerySet":
        """Return those whose model scores answers."""
        return self.filter(state=Job.State.DONE, step=Training.Step.TRAIN).exclude(stored_name="")


class Training(Job):
    """A metric trained on the judgments of a set: its cost is measured first, and it starts when asked to."""

    class Step(models.TextChoices):
        ESTIMATE = "estimate", "estimate"
        TRAIN = "train", "train"

    class Table(models.TextChoices):
        ALL = "all", "One model of all datasets"
        OOD = "ood", "Each dataset left out in turn"
        ABLATIONS = "ablations", "Ablations of the input"
        LEARNING_CURVE = "learning-curve", "Learning curve"

    task = "results.train_metric"

    project = models.ForeignKey(Project, on_delete=models.CASCADE, related_name="trainings", db_index=False)
    number = models.PositiveIntegerField()
    name = models.CharField(max_length=40)
    """The metric is `lerc:` with this name."""
    judgment_set = models.ForeignKey(JudgmentSet, on_delete=models.PROTECT, related_name="trainings")
    criterion = models.CharField(max_length=40)
    table = models.CharField(max_length=20, choices=Table.choices, default=Table.ALL)
    step = models.CharField(max_length=10, choices=Step.choices, default=Step.ESTIMATE)
    settings = models.JSONField(default=dict)
    """What `results.training.training_plan.TrainingPlan.as_dict` returns."""
    estimate = models.JSONField(null=True, blank=True)
    """Rows of each part, rows learned from in a second on the machine of the worker, and seconds for all."""
    result = models.JSONField(null=True, blank=True)
    stored_name = models.CharField(max_length=80, blank=True)
    """The folder of the model; empty for tables, which keep none."""
    sha256 = models.CharField(max_length=64, blank=True)
    """Of the weights."""
    n_bytes = models.PositiveBigIntegerField(default=0)

    objects = TrainingQuerySet.as_manager()

    class Meta:
        ordering = ("-number",)
        constraints = [
            models.UniqueConstraint(fields=["project", "number"], name="training_number"),
            models.UniqueConstraint(fields=["project", "name"], name="training_name"),
            models.CheckConstraint(condition=Q(stored_name="") | Q(sha256__gt=""), name="training_model_with_hash"),
        ]

    def __str__(self) -> str:
        return f"training {self.number}"

    def get_absolute_url(self) -> str:
        return reverse("results:training-show", args=[self.project.slug, self.number])

    @property
    def queue_name(self) -> str:
        return NEURAL_QUEUE

    @property
    def metric(self) -> str:
        """The name under which its model is offered as a metric."""
        return f"lerc:{self.name}"

    @property
    def is_estimated(self) -> bool:
        """Whether its cost is known and it waits to be started."""
        return self.step == self.Step.ESTIMATE and self.state == self.State.DONE
