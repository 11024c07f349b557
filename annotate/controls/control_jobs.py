"""Generating controls as a job: a large batch takes minutes, and its page shows the progress."""

from dataclasses import asdict
from typing import Any

from django.db import transaction

from annotate.controls import making
from annotate.models import Batch, ControlJob
from projects.errors import Refused
from projects.jobs import queue, running
from projects.jobs.running import OnProgress
from projects.models import Membership


@transaction.atomic
def start(*, batch: Batch, actor: Membership) -> ControlJob:
    """Queue the generation of a batch's controls. Raises Refused as generating does, or while it is under way."""
    # Read again: the plan may have been saved since the caller read the batch.
    batch = Batch.objects.get(pk=batch.pk)
    making.check_can_make(batch)
    job, is_new = ControlJob.objects.get_or_create(batch=batch, defaults={"requested_by": actor})
    if is_new:
        queue.enqueue_on_commit(job)
    elif job.is_live:
        raise Refused("The controls are being generated already.")
    else:
        queue.queue(job, requested_by=actor, report=None)
    return job


def run(pk: int) -> str | None:
    """Do the job: generate as of one moment, without a lock, then add. Return the state in which it ended."""
    return running.run(ControlJob, pk, generate, only_reads=True, finish=add)


def generate(job: ControlJob, on_progress: OnProgress) -> dict[str, Any]:
    """Generate the controls; the act of the job."""
    return {"generated": making.generate(job.batch, on_progress)}


def add(job: ControlJob, changes: dict[str, Any]) -> None:
    """Add the controls, in the transaction that marks the job as done, and put their numbers into its row."""
    added = making.add(changes.pop("generated"), batch=job.batch, actor=job.requested_by)
    changes["report"] = {"n": added.n, **asdict(added)}
