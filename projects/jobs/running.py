"""Running one queued job: claim it, send heartbeats, do its act, and store how it ended."""

import logging
import secrets
import threading
import time
from collections.abc import Callable
from types import TracebackType
from typing import Any, Generic, Self, TypeVar

from django.conf import settings
from django.db import DEFAULT_DB_ALIAS, Error, connection, connections, transaction
from django.db.models import F, QuerySet
from django.db.models.functions import Now
from psycopg2.errorcodes import LOCK_NOT_AVAILABLE

from projects.database.outages import is_query_cancelled, is_unavailable
from projects.database.replica import note_write
from projects.database.snapshots import snapshot
from projects.database.statement_count import count_statements
from projects.errors import Refused
from projects.jobs import slots
from projects.jobs.queue import DEFAULT_QUEUE, Job
from projects.processes.frame_memory import takes_one_piece

logger = logging.getLogger(__name__)
job_logger = logging.getLogger("concord.jobs")

BEAT_SECONDS = 1.0
"""Seconds between two heartbeats: progress is shown, and cancelling noticed, within about a second."""
OVERDUE_SECONDS = 300.0
"""Seconds after its limit in which a job has to stop by itself; then it is taken away from its worker."""

J = TypeVar("J", bound=Job)
OnProgress = Callable[[int, int], None]
"""Called by an act with the number done and the total; it raises Cancelled if the job is to stop."""


class Cancelled(Exception):
    """Somebody has cancelled this job."""


class AttemptSuperseded(Exception):
    """This attempt was taken for dead, and the job has been marked as interrupted or started again."""


class RefusedWithChanges(Refused):
    """A refusal with fields to store in the failed job besides its sentence, such as a list of problems."""

    def __init__(self, refusal: Refused, **changes: Any) -> None:
        super().__init__(refusal.message, details=refusal.details)
        self.changes = changes


def run(
    model: type[J],
    pk: int,
    act: Callable[[J, OnProgress], dict[str, Any] | None],
    *,
    only_reads: bool = False,
    is_outside: bool = False,
    has_thread: bool = False,
    finish: Callable[[J, dict[str, Any]], None] | None = None,
) -> str | None:
    """Claim the job and do its act in one transaction, whose last statement marks the job as done.

    The act gets the job and a function to report progress to, and returns the fields to store in the job. With
    `only_reads` it runs in a snapshot before that transaction, and `finish`, given the job and those fields, may then
    write. With `is_outside` it runs before that transaction in none at all: hours of computing must not keep the
    database from cleaning up after itself. A job that is no longer queued is left alone, because messages may come
    twice, and so is one for which this worker has no thread now, unless it `has_thread` from its caller. Return the
    state in which the job ended, or None if this call did not end it.
    """
    with slots.take(DEFAULT_QUEUE if has_thread else _find_queue(model, pk)) as is_free:
        attempt = _claim(model, pk) if is_free else None
        if attempt is None:
            return None
        started = time.perf_counter()
        with count_statements() as count:
            state = _run_claimed(model, pk, attempt, act, only_reads, is_outside, finish)
        _note_writing(model, pk)
        _log_end(model, pk, attempt, state, seconds=time.perf_counter() - started, n_statements=count.n)
        return state


def _find_queue(model: type[J], pk: int) -> str:
    job = model._default_manager.filter(pk=pk).first()
    return job.queue_name if job else DEFAULT_QUEUE


@takes_one_piece
def _run_claimed(
    model: type[J],
    pk: int,
    attempt: int,
    act: Callable[[J, OnProgress], dict[str, Any] | None],
    only_reads: bool,
    is_outside: bool,
    finish: Callable[[J, dict[str, Any]], None] | None,
) -> str | None:
    job = model._default_manager.get(pk=pk)
    with Heartbeat(model, pk, attempt, job.seconds_allowed) as heartbeat:
        try:
            changes: dict[str, Any] = {}
            if only_reads:
                with snapshot():
                    changes = act(job, heartbeat.on_progress) or {}
            elif is_outside:
                changes = act(job, heartbeat.on_progress) or {}
            with transaction.atomic():
                if not (only_reads or is_outside):
                    changes = act(job, heartbeat.on_progress) or {}
                if finish is not None:
                    finish(job, changes)
                # The heartbeat writes the same row from another connection: stop it before this transaction locks it.
                heartbeat.stop()
                done = {"done": heartbeat.total, "total": heartbeat.total, "message": "", **changes}
                # If it was cancelled, or this attempt was taken for dead, the row no longer matches; everything the act
                # wrote is undone.
                if not _end(model, pk, attempt, Job.State.DONE, **done):
                    raise Cancelled if _find_running(model, pk, attempt).exists() else AttemptSuperseded
        except Exception as error:  # noqa: BLE001 - every end is stored in the row
            heartbeat.stop()
            if heartbeat.is_lost or isinstance(error, AttemptSuperseded):
                logger.warning("%s %s: attempt %s finished too late and was rolled back.", model.__name__, pk, attempt)
                return None
            state, changes = _explain_end(model, pk, heartbeat, error)
            return state if _end(model, pk, attempt, state, **changes) else None
    return Job.State.DONE


def _note_writing(model: type[J], pk: int) -> None:
    """Let whoever requested the job read what it wrote as soon as it has ended, though a replica may lack it."""
    if settings.HAS_REPLICA:
        account = model._default_manager.filter(pk=pk).values_list("requested_by__user_id", flat=True).first()
        if account is not None:
            note_write(account)


def _claim(model: type[J], pk: int) -> int | None:
    """Mark a queued job as running and return the number of the attempt, None if it is not queued.

    One statement compares and changes, so that of two workers with the same message one gets the job. The number tells
    this attempt from a later one after this worker was taken for dead.
    """
    table = connection.ops.quote_name(model._meta.db_table)
    with connection.cursor() as cursor:
        cursor.execute(
            f"UPDATE {table} SET state = 'running', attempt = attempt + 1, started_at = now(), beat_at = now(),"
            " finished_at = NULL, done = 0, total = 0 WHERE id = %s AND state = 'queued' RETURNING attempt",
            [pk],
        )
        row = cursor.fetchone()
    return row[0] if row else None


def _end(model: type[J], pk: int, attempt: int, state: Job.State, **changes: Any) -> bool:
    """Store how this attempt ended; return False if the job no longer belongs to it, or is done although cancelled.

    Whoever cancels was told that nothing will be stored. Their UPDATE and this one decide in the row which came first.
    """
    rows = _find_running(model, pk, attempt)
    if state == Job.State.DONE:
        rows = rows.filter(cancel_requested_at=None)
    return rows.update(state=state, finished_at=Now(), **changes) == 1


def _find_running(model: type[J], pk: int, attempt: int) -> "QuerySet[J]":
    return model._default_manager.filter(pk=pk, state=Job.State.RUNNING, attempt=attempt)


def _log_end(model: type[Job], pk: int, attempt: int, state: str | None, *, seconds: float, n_statements: int) -> None:
    """Write the line of a job into the log, if jobs are logged: what it cost and how it ended, without its texts."""
    if not job_logger.isEnabledFor(logging.INFO):
        return
    kind, how = model._meta.model_name, state or "superseded"
    by = model._default_manager.filter(pk=pk).values_list("requested_by__project_id", "requested_by__pseudonym")
    project, pseudonym = by.first() or (None, None)
    fields = {
        "job": f"{kind} {pk}",
        "attempt": attempt,
        "state": how,
        "ms": round(1000 * seconds, 1),
        "statements": n_statements,
        "user": pseudonym,
        "project": project,
    }
    job_logger.info("%s %s %s", kind, pk, how, extra={"fields": fields})


def _explain_end(
    model: type[J], pk: int, heartbeat: "Heartbeat[J]", error: Exception
) -> tuple[Job.State, dict[str, Any]]:
    """Return the state and the fields to store for an error.

    A refusal is stored as its sentence. After an outage the job is interrupted, as if its worker had died. Any other
    error is logged, and people get a reference number only: its text may contain data or SQL.
    """
    # A cancelled statement ends in a database error, which is a cancellation only if somebody asked for one.
    if isinstance(error, Cancelled) or (heartbeat.is_cancelled and is_query_cancelled(error)):
        return Job.State.CANCELLED, {}
    if heartbeat.is_too_long and is_query_cancelled(error):
        return Job.State.FAILED, {"error": explain_too_long(heartbeat.seconds_allowed)}
    if is_unavailable(error) and not is_query_cancelled(error):
        logger.warning("%s %s was interrupted: %s", model.__name__, pk, " ".join(str(error).split()))
        return Job.State.INTERRUPTED, {"n_interruptions": F("n_interruptions") + 1}
    if isinstance(error, RefusedWithChanges):
        return Job.State.FAILED, {**error.changes, "error": "\n".join([error.message, *error.details])}
    if isinstance(error, Refused):
        return Job.State.FAILED, {"error": "\n".join([error.message, *error.details])}
    reference = secrets.token_hex(4)
    logger.error("%s %s failed, reference %s", model.__name__, pk, reference, exc_info=error)
    sentence = (
        f"An unexpected error occurred. Nothing was stored. Give the site administrator this reference: {reference}"
    )
    return Job.State.FAILED, {"error": sentence}


def explain_too_long(seconds: float) -> str:
    span = f"{seconds / 3600:.3g} hours" if seconds >= 7200 else f"{seconds / 60:.3g} minutes"
    return f"The job was stopped because it ran longer than {span}. Nothing was stored."


class Heartbeat(Generic[J]):
    """Heartbeats of a job from a thread with its own database connection, so that a long statement does not look dead.

    Every beat stores the progress and checks whether the job was cancelled. If a statement still runs one beat after
    that, it is cancelled in the database.
    """

    def __init__(self, model: type[J], pk: int, attempt: int, seconds_allowed: float = 0) -> None:
        self.seconds_allowed = seconds_allowed
        self.is_cancelled = False
        self.is_lost = False
        self.is_too_long = False
        self._started = time.monotonic()
        self._rows = _find_running(model, pk, attempt)
        self._progress = (0, 0)
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._live, name=f"heartbeat of {model.__name__} {pk}", daemon=True)
        # Of this thread. What it is connected by may change, so that is asked for at the time.
        self._connection = connections[DEFAULT_DB_ALIAS]
        # Within a transaction of the caller nobody else sees the job: nobody can cancel it or take it for dead, and a
        # beat from another connection would not find it.
        self._beats = not connection.in_atomic_block

    def __enter__(self) -> Self:
        if self._beats:
            self._thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.stop()

    def on_progress(self, done: int, total: int) -> None:
        """Note the progress; the next beat stores it.

        Raises Cancelled, AttemptSuperseded or Refused if the act has to stop.
        """
        self._progress = (done, total)
        if self.is_lost:
            raise AttemptSuperseded
        if self.is_cancelled:
            raise Cancelled
        if self.is_too_long:
            raise Refused(explain_too_long(self.seconds_allowed))

    @property
    def total(self) -> int:
        return self._progress[1]

    def stop(self) -> None:
        """Stop beating. May be called twice."""
        self._stop.set()
        if self._beats:
            self._thread.join()

    def _live(self) -> None:
        try:
            while not self._stop.wait(BEAT_SECONDS):
                self._beat()
        finally:
            connection.close()

    def _beat(self) -> None:
        has_to_stop = self.is_cancelled or self.is_too_long
        done, total = self._progress
        try:
            found = self._store(beat_at=Now(), done=done, total=total)
            asked = self._rows.values_list("cancel_requested_at", flat=True).first()
            self.is_lost = not found
            self.is_cancelled = self.is_cancelled or asked is not None
            elapsed = time.monotonic() - self._started
            self.is_too_long = 0 < self.seconds_allowed < elapsed
            if self.is_too_long and elapsed > self.seconds_allowed + OVERDUE_SECONDS:
                self._take_away()
            # Only now, one beat after the request: an act that reports its progress has stopped by itself meanwhile.
            if (has_to_stop or self.is_lost) and not self._stop.is_set():
                self._cancel_statement()
        except Error as error:
            if getattr(error.__cause__, "pgcode", "") != LOCK_NOT_AVAILABLE:
                logger.warning("A heartbeat was missed.", exc_info=True)
                connection.close()

    def _store(self, **changes: Any) -> int:
        """Change the job's row, if it still belongs to this attempt, and return how many rows that were.

        The act may itself have locked the row near its end. It is alive then, so this beat is skipped instead of
        waiting for the lock.
        """
        with transaction.atomic(), connection.cursor() as cursor:
            cursor.execute("SET LOCAL lock_timeout = '100ms'")
            return self._rows.update(**changes)

    def _take_away(self) -> None:
        """Mark the job as interrupted, for good: its act does not stop. What it still writes will be rolled back."""
        error = f"{explain_too_long(self.seconds_allowed)} Its worker did not stop in time: restart the worker."
        ended = {"state": Job.State.INTERRUPTED, "n_interruptions": 2, "finished_at": Now(), "error": error}
        if self._store(**ended):
            self.is_lost = True
            logger.error("%s does not stop, and was taken away from this worker.", self._thread.name)

    def _cancel_statement(self) -> None:
        """Ask the server to cancel what the act's connection runs, if anything.

        The driver asks, not a statement with the number of a backend: behind a pooler, that may serve others by now.
        """
        link = self._connection.connection
        with connection.wrap_database_errors:
            if link is not None and not link.closed:
                link.cancel()
