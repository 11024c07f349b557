"""Generating controls as a job: a large batch takes minutes, and its page shows the progress."""

from dataclasses import asdict
from typing import Any

from django.db import transaction

from annotate.controls.making import check_can_make, make_pool
from annotate.models import Batch, ControlJob
from projects.errors import Refused
from projects.jobs import queue
from projects.jobs.running import OnProgress
from projects.models import Membership


@transaction.atomic
def start(*, batch: Batch, actor: Membership) -> ControlJob:
    """Queue the generation of a batch's controls. Raises Refused as generating does, or while it is under way."""
    # Read again: the plan may have been saved since the caller read the batch.
    batch = Batch.objects.get(pk=batch.pk)
    check_can_make(batch)
    job, is_new = ControlJob.objects.get_or_create(batch=batch, defaults={"requested_by": actor})
    if is_new:
        queue.enqueue_on_commit(job)
    elif job.is_live:
        raise Refused("The controls are being generated already.")
    else:
        queue.queue(job, requested_by=actor, report=None)
    return job


def run(job: ControlJob, on_progress: OnProgress) -> dict[str, Any]:
    """Generate the controls in the worker's transaction, and return their numbers for the job's row."""
    added = make_pool(batch=job.batch, actor=job.requested_by, on_progress=on_progress)
    return {"report": {"n": added.n, **asdict(added)}}
