"""Imports of files."""

from django.db import models
from django.db.models import Q

from annotate.models.batch import Batch
from projects.jobs.queue import DEFAULT_QUEUE, LONG_QUEUE, Job
from projects.models import Project


class Import(Job):
    """One file, validated row by row, then imported completely or not at all."""

    class Kind(models.TextChoices):
        CANDIDATES = "candidates", "candidates"
        JUDGMENTS = "judgments", "judgments"

    class Step(models.TextChoices):
        UPLOADED = "uploaded", "uploaded"
        CHECK = "check", "check"
        WRITE = "write", "write"

    task = "annotate.run_import"

    project = models.ForeignKey(Project, on_delete=models.PROTECT, related_name="imports")
    number = models.PositiveIntegerField()
    kind = models.CharField(max_length=12, choices=Kind.choices)
    step = models.CharField(max_length=10, choices=Step.choices, default=Step.UPLOADED)
    file_name = models.CharField(max_length=300)
    stored_name = models.CharField(max_length=80, blank=True)
    n_bytes = models.PositiveBigIntegerField(default=0)
    sha256 = models.CharField(max_length=64)
    options = models.JSONField(default=dict)
    report = models.JSONField(null=True, blank=True)
    batch = models.ForeignKey(Batch, on_delete=models.PROTECT, null=True, blank=True, related_name="imports")

    class Meta:
        ordering = ("-number",)
        constraints = [
            models.UniqueConstraint(fields=["project", "number"], name="import_number"),
            # The hash covers the file and its options. Imports that failed or were cancelled don't block another
            # attempt.
            models.UniqueConstraint(
                fields=["project", "kind", "sha256"],
                condition=Q(step="write", state__in=("queued", "running", "done")),
                name="import_once",
            ),
        ]

    def __str__(self) -> str:
        return f"import {self.number}"

    @property
    def queue_name(self) -> str:
        return LONG_QUEUE if self.step == self.Step.WRITE else DEFAULT_QUEUE

    @property
    def state_in_words(self) -> str:
        """The status as lists show it: after a step, it names what is still to be done."""
        if self.state == self.State.FAILED and self.stored_name:
            return "needs correction"
        if self.state != self.State.DONE:
            return str(self.get_state_display())
        if self.step == self.Step.WRITE:
            return "imported"
        is_checked = self.step == self.Step.CHECK
        return "validated, not imported yet" if is_checked else "not validated yet"

    @property
    def display_state(self) -> str:
        """The state that decides the colour: only completed imports are done."""
        return "paused" if self.state == self.State.DONE and self.step != self.Step.WRITE else self.state
