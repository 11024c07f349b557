"""A worker that is killed in the middle of a job: the job runs in a process of its own, and is ended by SIGKILL."""

import multiprocessing
import os
import signal
from collections.abc import Callable
from datetime import timedelta
from multiprocessing.connection import Connection

from django.db import connections
from django.db.models.functions import Now

from projects.jobs import queue, running
from projects.jobs.queue import Job
from tests.processes import PATIENCE

SHARES = (0.1, 0.5, 0.9)
_fork = multiprocessing.get_context("fork")


def kill_at(share: float, job: Job, run: Callable[[int], object]) -> None:
    """Run a queued job until this share of it is done, kill its process, and let its heartbeat become too old."""
    connections.close_all()
    receiver, sender = _fork.Pipe(duplex=False)
    process = _fork.Process(target=_run_until, args=(share, job.pk, run, sender), daemon=True)
    process.start()
    sender.close()
    assert receiver.poll(PATIENCE), "It came neither to this share nor to its end."
    assert receiver.recv() == share
    os.kill(process.pid or 0, signal.SIGKILL)
    process.join()
    assert process.exitcode == -signal.SIGKILL
    rows = type(job)._default_manager.filter(pk=job.pk, state=Job.State.RUNNING)
    assert rows.update(beat_at=Now() - queue.DEAD_AFTER - timedelta(seconds=1)) == 1


def _run_until(share: float, pk: int, run: Callable[[int], object], sender: Connection) -> None:
    report = running.Heartbeat.on_progress

    def stop_at_share(heartbeat: "running.Heartbeat[Job]", done: int, total: int) -> None:
        report(heartbeat, done, total)
        if total and done >= share * total:
            sender.send(share)
            signal.pause()

    running.Heartbeat.on_progress = stop_at_share  # type: ignore[assignment,method-assign]
    run(pk)
    sender.send(None)


def start_again(job: Job, by_hand: Callable[[], None]) -> None:
    """Let the sweep find the dead worker, and the job be queued again: by itself, or after two times by a person."""
    queue.enqueue_waiting()
    job.refresh_from_db()
    assert job.state == Job.State.INTERRUPTED
    if job.will_run_again:
        queue.enqueue_waiting()
    else:
        by_hand()
    job.refresh_from_db()
    assert job.state == Job.State.QUEUED
