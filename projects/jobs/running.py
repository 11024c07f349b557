"""Running one queued job: claim it, keep its heart beating, do its act, and store how it ended."""

import logging
import secrets
import threading
from collections.abc import Callable
from types import TracebackType
from typing import Any, Generic, Self, TypeVar

from django.db import DatabaseError, OperationalError, connection, transaction
from django.db.models.functions import Now
from psycopg2.errorcodes import LOCK_NOT_AVAILABLE, QUERY_CANCELED

from projects.database.snapshots import snapshot
from projects.errors import Refused
from projects.jobs.queue import Job

logger = logging.getLogger(__name__)

BEAT_SECONDS = 1.0
"""Between two heartbeats: progress is shown and cancelling noticed within about a second."""

J = TypeVar("J", bound=Job)
OnProgress = Callable[[int, int], None]
"""Called by an act with what is done and the total; it may raise Cancelled."""


class Cancelled(Exception):
    """Somebody wants this work to stop."""


class AttemptSuperseded(Exception):
    """This attempt was taken for dead, and another one has the job now."""


class RefusedWithChanges(Refused):
    """A refusal that leaves more than its sentence: `changes` are stored with the failed job."""

    def __init__(self, refusal: Refused, **changes: Any) -> None:
        super().__init__(refusal.message, details=refusal.details)
        self.changes = changes


def run(
    model: type[J],
    pk: int,
    act: Callable[[J, OnProgress], dict[str, Any] | None],
    *,
    only_reads: bool = False,
    finish: Callable[[J, dict[str, Any]], None] | None = None,
) -> str | None:
    """Claim the job and do its act in one transaction, whose last statement marks the job as done.

    An act that only reads does so as of one moment, before that transaction; `finish` may write in it, given the job
    and what is to be stored.

    The act is given the job and a function to report progress to, and returns what to store in the job. A job that
    is not queued any more is left alone: messages may come twice. Returns the state it ended in, None if it was not
    this call that ended it.
    """
    attempt = _claim(model, pk)
    if attempt is None:
        return None
    job = model._default_manager.get(pk=pk)
    with Heartbeat(model, pk, attempt) as heart:
        try:
            changes: dict[str, Any] = {}
            if only_reads:
                with snapshot():
                    changes = act(job, heart.on_progress) or {}
            with transaction.atomic():
                if not only_reads:
                    changes = act(job, heart.on_progress) or {}
                if finish is not None:
                    finish(job, changes)
                heart.stop()
                done = {"done": heart.total, "total": heart.total, "message": "", **changes}
                if not _end(model, pk, attempt, Job.State.DONE, **done):
                    raise AttemptSuperseded
        except Exception as error:  # noqa: BLE001 - every end is stored in the row
            heart.stop()
            if heart.is_lost or isinstance(error, AttemptSuperseded):
                logger.warning("%s %s: attempt %s finished too late and was rolled back.", model.__name__, pk, attempt)
                return None
            state, changes = _why_ended(model, pk, heart, error)
            return state if _end(model, pk, attempt, state, **changes) else None
    return Job.State.DONE


def _claim(model: type[J], pk: int) -> int | None:
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
    rows = model._default_manager.filter(pk=pk, state=Job.State.RUNNING, attempt=attempt)
    return rows.update(state=state, finished_at=Now(), **changes) == 1


def _why_ended(model: type[J], pk: int, heart: "Heartbeat[J]", error: Exception) -> tuple[Job.State, dict[str, Any]]:
    if isinstance(error, Cancelled) or (heart.is_cancelled and _is_query_cancelled(error)):
        return Job.State.CANCELLED, {}
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


def _is_query_cancelled(error: Exception) -> bool:
    return isinstance(error, OperationalError) and getattr(error.__cause__, "pgcode", "") == QUERY_CANCELED


class Heartbeat(Generic[J]):
    """Beats on a database connection of its own, so that a long statement of the act does not look dead.

    Every beat stores the progress and hears whether somebody wants to cancel. A statement that still runs a beat
    after that is cancelled in the database.
    """

    def __init__(self, model: type[J], pk: int, attempt: int) -> None:
        self.is_cancelled = False
        self.is_lost = False
        self._rows = model._default_manager.filter(pk=pk, state=Job.State.RUNNING, attempt=attempt)
        self._progress = (0, 0)
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._live, name=f"heart of {model.__name__} {pk}", daemon=True)
        self._backend = _backend_pid()

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.stop()

    def on_progress(self, done: int, total: int) -> None:
        self._progress = (done, total)
        if self.is_lost:
            raise AttemptSuperseded
        if self.is_cancelled:
            raise Cancelled

    @property
    def total(self) -> int:
        return self._progress[1]

    def stop(self) -> None:
        """Fall silent. May be called twice."""
        self._stop.set()
        self._thread.join()

    def _live(self) -> None:
        try:
            with connection.cursor() as cursor:
                # Near its end the act may itself have locked the row. It is alive then, so that this beat is skipped
                # rather than waited for.
                cursor.execute("SET lock_timeout = '100ms'")
            while not self._stop.wait(BEAT_SECONDS):
                self._beat()
        finally:
            connection.close()

    def _beat(self) -> None:
        was_cancelled = self.is_cancelled
        done, total = self._progress
        try:
            found = self._rows.update(beat_at=Now(), done=done, total=total)
            asked = self._rows.values_list("cancel_requested_at", flat=True).first()
            self.is_lost = not found
            self.is_cancelled = was_cancelled or asked is not None
            if (was_cancelled or self.is_lost) and not self._stop.is_set():
                with connection.cursor() as cursor:
                    cursor.execute("SELECT pg_cancel_backend(%s)", [self._backend])
        except DatabaseError as error:
            if getattr(error.__cause__, "pgcode", "") != LOCK_NOT_AVAILABLE:
                logger.warning("A heartbeat was missed.", exc_info=True)
                connection.close()


def _backend_pid() -> int:
    with connection.cursor() as cursor:
        cursor.execute("SELECT pg_backend_pid()")
        return int(cursor.fetchone()[0])
