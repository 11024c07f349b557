"""The job that generates the controls of a batch."""

from django.db import models

from annotate.models.batch import Batch
from projects.jobs.queue import Job


class ControlJob(Job):
    """The generation of a batch's controls; queued again whenever more are asked for."""

    task = "annotate.make_controls"

    batch = models.OneToOneField(Batch, on_delete=models.CASCADE, related_name="control_job")
    report = models.JSONField(null=True, blank=True)

    def __str__(self) -> str:
        return f"controls of {self.batch_id}"
