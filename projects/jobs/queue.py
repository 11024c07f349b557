"""The queue of jobs: work that outlasts a request, as a row that people can see and that survives the worker.

Only the row decides whether a job runs; a message to the broker merely makes a worker look at it at once. A job that
was committed as queued is run in the end, however many messages are lost or doubled. `projects.jobs.running` runs one.
"""

import logging
from collections.abc import Iterator
from datetime import datetime, timedelta
from functools import partial
from importlib import import_module
from types import ModuleType
from typing import Any, ClassVar

from django.apps import apps
from django.conf import settings
from django.db import IntegrityError, models, transaction
from django.db.models import F, Q
from django.db.models.functions import Now
from django.utils import timezone

from projects.errors import Refused
from projects.models import Pulse

logger = logging.getLogger(__name__)

ANNOUNCE_AGAIN_AFTER = timedelta(seconds=10)
"""When a waiting job is announced again: its first message may have been lost with the broker."""
PART_EXPIRES_AFTER = timedelta(seconds=60)
"""When a worker drops the message of a part unread, by its own clock, which may differ from that of the sender."""
MOST_PARTS = 20
"""How many parts of a job are announced at once. A worker that has begun takes one after another unasked."""
DEAD_AFTER = timedelta(seconds=30)
"""Silence after which a worker is taken for dead: thirty missed beats, which a merely busy machine does not reach."""
EXPLAIN_WAIT_AFTER = timedelta(seconds=10)
"""Below this, waiting is normal and needs no explanation."""
DEFAULT_QUEUE, LONG_QUEUE, SCORING_QUEUE, NEURAL_QUEUE = "celery", "long", "scoring", "neural"
"""The queues of the broker, by kind of job. The default one is for short jobs and periodic tasks. A worker serves the
first three unless it is told otherwise. Jobs that load a model wait in one that a process of its own serves: memory
holds few models, and each computes on all cores."""
PULSES = {
    DEFAULT_QUEUE: Pulse.WORKER,
    LONG_QUEUE: Pulse.LONG,
    SCORING_QUEUE: Pulse.SCORING,
    NEURAL_QUEUE: Pulse.NEURAL,
}
"""Under which name the workers of a queue show that they are alive."""


class Job(models.Model):
    """A long act as a row: who requested it, its progress, and how it ended."""

    class State(models.TextChoices):
        QUEUED = "queued", "waiting"
        RUNNING = "running", "running"
        DONE = "done", "done"
        FAILED = "failed", "failed"
        INTERRUPTED = "interrupted", "interrupted"
        CANCELLED = "cancelled", "cancelled"

    LIVE = (State.QUEUED, State.RUNNING)
    task: ClassVar[str] = ""
    """Name of the Celery task that runs one row, given its id."""
    is_part: ClassVar[bool] = False
    """Whether a row is a part of another job, which people see instead."""

    state = models.CharField(max_length=12, choices=State.choices, default=State.QUEUED)
    requested_by = models.ForeignKey("projects.Membership", on_delete=models.PROTECT, related_name="+")
    # Raised by each claim. A worker that was taken for dead and wakes up again finds another number than its own.
    attempt = models.PositiveIntegerField(default=0)
    n_interruptions = models.PositiveSmallIntegerField(default=0)
    done = models.PositiveBigIntegerField(default=0)
    total = models.PositiveBigIntegerField(default=0)
    message = models.CharField(max_length=200, blank=True)
    error = models.TextField(blank=True)
    cancel_requested_at = models.DateTimeField(null=True, blank=True)
    created_at = models.DateTimeField(db_default=Now())
    # Unlike `created_at` set again each time the job is queued; by it a job is announced again.
    queued_at = models.DateTimeField(db_default=Now())
    started_at = models.DateTimeField(null=True, blank=True)
    beat_at = models.DateTimeField(null=True, blank=True)
    finished_at = models.DateTimeField(null=True, blank=True)

    class Meta:
        abstract = True

    @property
    def queue_name(self) -> str:
        """The queue of the broker whose workers run this job."""
        return DEFAULT_QUEUE

    @property
    def seconds_allowed(self) -> float:
        """How long the job may run; 0 means without end."""
        of_kind = {DEFAULT_QUEUE: settings.SHORT_JOB_SECONDS, SCORING_QUEUE: settings.SCORING_JOB_SECONDS}
        limits = (settings.JOB_SECONDS, of_kind.get(self.queue_name, 0))
        return min(filter(None, limits), default=0)

    @property
    def is_live(self) -> bool:
        """Whether the job waits, runs, or will be queued again without anybody's help."""
        return self.state in self.LIVE or self.will_run_again

    @property
    def will_run_again(self) -> bool:
        """Whether worker or database went away for the first time; after a second time the job may be the cause."""
        return self.state == self.State.INTERRUPTED and self.n_interruptions == 1

    @property
    def is_cancelling(self) -> bool:
        return self.state == self.State.RUNNING and self.cancel_requested_at is not None

    @property
    def time_left(self) -> str:
        """Return the estimated time left in words, from the pace so far; empty while there is too little to go by."""
        if self.state != self.State.RUNNING or self.started_at is None or not 0 < self.done < self.total:
            return ""
        elapsed = (timezone.now() - self.started_at).total_seconds()
        if elapsed < 2:  # the pace of the first moments says little
            return ""
        return _in_words(elapsed * (self.total - self.done) / self.done)


def queue(job: Job, *, only_if: dict[str, Any] | None = None, is_announced: bool = True, **changes: Any) -> None:
    """Put a job that is not live into the queue, for the first time or again, and announce it on commit.

    `changes` are stored with it. A command that runs the job itself at once does not announce it. Raises Refused if it
    waits or runs, if it has run since `job` was read, or if its fields differ from `only_if`.
    """
    # One UPDATE compares and changes, so that of two clicks only one queues the job.
    as_read = {"state": job.state, "attempt": job.attempt, **(only_if or {})}
    at_rest = type(job)._default_manager.filter(pk=job.pk, **as_read).exclude(state__in=Job.LIVE)
    fresh = {"message": "", "error": "", "done": 0, "total": 0, "n_interruptions": 0}
    n_queued = at_rest.update(
        **{**fresh, **changes},
        state=Job.State.QUEUED,
        queued_at=Now(),
        started_at=None,
        beat_at=None,
        finished_at=None,
        cancel_requested_at=None,
    )
    if not n_queued:
        raise Refused("The state has changed in the meantime. Reload the page.")
    job.refresh_from_db()
    if is_announced:
        enqueue_on_commit(job)


def cancel(job: Job) -> bool:
    """Stop a job and return whether it has ended now; a running one ends as soon as its worker notices.

    Raises Refused if it had already ended.
    """
    rows = type(job)._default_manager.filter(pk=job.pk)
    waiting = rows.filter(state__in=(Job.State.QUEUED, Job.State.INTERRUPTED))
    if waiting.update(state=Job.State.CANCELLED, finished_at=Now()):
        return True
    if rows.filter(state=Job.State.RUNNING).update(cancel_requested_at=Now()):
        return False
    raise Refused("It has already finished.")


def enqueue_on_commit(job: Job) -> None:
    """Announce the job once its row is committed.

    The hook is robust, because a broker that does not respond must not turn the committed request into an error;
    `enqueue_waiting` announces the job later.
    """
    transaction.on_commit(partial(announce, job), robust=True)


def enqueue_waiting() -> int:
    """Announce waiting jobs of every kind again and return how many; called every ten seconds.

    Only as many of a queue as the broker has too few messages for, the oldest: while its workers are busy, or where
    there are none, messages would pile up otherwise. One that was lost is replaced at the latest when the others have
    been read. Jobs whose worker died become interrupted, and interrupted ones are queued once more at the next call.
    """
    waiting: dict[str, list[Job]] = {}
    for model in job_models():
        revive(model)
        rows = model._default_manager.filter(_is_over("queued_at", ANNOUNCE_AGAIN_AFTER), state=Job.State.QUEUED)
        # The oldest; the others follow at later calls.
        for job in rows.order_by("queued_at")[: MOST_PARTS if model.is_part else 100]:
            waiting.setdefault(job.queue_name, []).append(job)
    n_announced = 0
    for queue_name, jobs in waiting.items():
        n_missing = max(0, len(jobs) - _count_messages(queue_name))
        n_announced += sum(map(announce, sorted(jobs, key=_by_wait)[:n_missing]))
    return n_announced


def revive(model: type[Job]) -> None:
    """Mark jobs of this kind as interrupted whose worker died, and queue those again that were so at the last call."""
    # In this order, so that a job stays interrupted until the next call and its page can say so before it runs again.
    _queue_interrupted(model)
    _mark_interrupted(model)


def job_models() -> Iterator[type[Job]]:
    return (model for model in apps.get_models() if issubclass(model, Job))


def explain_wait(job: Job) -> str:
    """Return why a job waits, naming the process to start; empty while waiting is normal."""
    # From the most specific cause to the most general: without a broker, for example, no worker can be blamed.
    if job.will_run_again:
        return "The job was interrupted. It will restart automatically."
    if job.state != Job.State.QUEUED or abs(timezone.now() - job.queued_at) < EXPLAIN_WAIT_AFTER:
        return ""
    if not _load_broker().is_answering():
        return (
            "The broker (Redis or Valkey) is not responding. The job will start automatically when it is "
            "available again."
        )
    if missing := _explain_missing_worker(job.queue_name):
        return missing
    if any(model._default_manager.filter(state=Job.State.RUNNING).exists() for model in job_models()):
        return "The workers are busy with other jobs. This one is next."
    if Pulse.is_missing(Pulse.BEAT):
        return "No scheduler is running. Start it with: celery -A config.celery beat"
    return "Waiting for a worker."


def announce_next(queue_name: str) -> bool:
    """Announce the job of this queue that waits longest, parts of jobs last.

    Returns False if none waits or the broker is silent.
    """
    waiting: list[Job] = []
    for model in job_models():
        # Jobs of one kind may be in several queues, so a few of each are looked at.
        rows = model._default_manager.filter(state=Job.State.QUEUED).order_by("queued_at", "pk")[:20]
        waiting += [job for job in rows if job.queue_name == queue_name]
    return bool(waiting) and announce(min(waiting, key=_by_wait))


def _by_wait(job: Job) -> tuple[bool, datetime]:
    """Sort key of waiting jobs: the longest wait first, parts of jobs last."""
    return job.is_part, job.queued_at


def _count_messages(queue_name: str) -> int:
    broker = _load_broker()
    try:
        return int(broker.count_messages(queue_name))
    except broker.ERRORS:
        return 0  # announcing says that the broker does not respond


def _explain_missing_worker(queue_name: str) -> str:
    command = "celery -A config.celery worker"
    if queue_name == NEURAL_QUEUE:
        if not Pulse.is_missing(Pulse.NEURAL):
            return ""
        return (
            f"No worker for learned metrics is running. Start it with: {command} --queues {queue_name} --concurrency 1"
        )
    if not Pulse.is_missing(PULSES[queue_name]):
        return ""
    if all(map(Pulse.is_missing, (Pulse.WORKER, Pulse.LONG, Pulse.SCORING))):
        return f"No worker is running. Start it with: {command}"
    return f"No worker serves the queue “{queue_name}”. Start it with: {command} --queues {queue_name}"


def _queue_interrupted(model: type[Job]) -> None:
    once = model._default_manager.filter(state=Job.State.INTERRUPTED, n_interruptions=1)
    for job in once:
        rows = once.filter(pk=job.pk)
        try:
            with transaction.atomic():
                n_queued = rows.update(state=Job.State.QUEUED, queued_at=Now(), done=0, finished_at=None)
        except IntegrityError:
            # Someone has started the same job again, and a unique constraint allows only one live job of that kind.
            rows.update(state=Job.State.FAILED, error="Interrupted; the same job has been started again since.")
            continue
        if n_queued:
            announce(job)


def _mark_interrupted(model: type[Job]) -> None:
    dead = model._default_manager.filter(_is_over("beat_at", DEAD_AFTER), state=Job.State.RUNNING)
    ended = {"finished_at": Now(), "n_interruptions": F("n_interruptions") + 1}
    # Cancelled ones first: the second statement would otherwise mark them as interrupted, and they would run again.
    dead.filter(cancel_requested_at__isnull=False).update(state=Job.State.CANCELLED, **ended)
    dead.update(state=Job.State.INTERRUPTED, **ended)


def _is_over(field: str, span: timedelta) -> Q:
    """Return the condition that a time is longer ago than this, or as far ahead: the clock was set back since then.

    Otherwise a job whose worker died before that would be taken for running until the clock is there again.
    """
    return Q(**{f"{field}__lt": Now() - span}) | Q(**{f"{field}__gt": Now() + span})


def announce(job: Job) -> bool:
    """Send the job's id to its queue of the broker; return False if the broker does not respond."""
    # Parts may all be done before a message is read, and are announced again if they are not.
    expires = timezone.now() + PART_EXPIRES_AFTER if job.is_part else None
    broker = _load_broker()
    try:
        broker.send(job.task, job.pk, queue=job.queue_name, expires=expires)
    except broker.ERRORS:
        logger.warning("The broker is not responding: %s %s stays queued.", job.task, job.pk)
        return False
    return True


def _load_broker() -> ModuleType:
    """Return `projects.jobs.broker`. It loads Celery, which models and most commands do without."""
    return import_module("projects.jobs.broker")


def _in_words(seconds: float) -> str:
    if seconds < 90:
        return f"{max(5, round(seconds / 5) * 5)} seconds"
    minutes = round(seconds / 60)
    if minutes < 90:
        return f"{minutes} minutes"
    return f"{round(minutes / 60)} hours"
