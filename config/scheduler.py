"""The worker, and its scheduler of periodic tasks: a thread, which goes on where the clock was set back.

Of several hosts' schedulers one sends each task.
"""

import dbm
import logging
from contextlib import suppress
from datetime import timedelta
from typing import Any

from celery.apps import worker
from celery.beat import EmbeddedService, PersistentScheduler
from celery.worker import WorkController, components

from config.checks import refuse_wrong_settings
from projects.database import shared_memory

logger = logging.getLogger(__name__)

LONGEST_END_SECONDS = 2.0
"""A scheduler that waits for a broker which doesn't answer is left to end with its process."""
CLOCKS_DIFFER_BY = timedelta(seconds=50)
"""Less than this, from one host to another."""


class Scheduler(PersistentScheduler):
    """Runs each task when it is due by the clock as it is now.

    Celery's own scheduler notes when a task ran and runs it next, and waits for these times: after a clock was set back
    an hour, no job would be announced and no assignment end for an hour.
    """

    _looked_at: Any = None

    def tick(self, *args: Any, **options: Any) -> float:
        now = self.app.now()
        if self._looked_at is not None and now < self._looked_at:
            self._heap = None  # it is filled again, with times that are not over an interval away
        self._looked_at = now
        delay: float = super().tick(*args, **options)
        return delay

    def apply_entry(self, entry: Any, producer: Any = None) -> None:
        """Send a task, unless the scheduler of another host has just done so."""
        if self._take(entry):
            super().apply_entry(entry, producer=producer)

    def apply_async(self, entry: Any, *args: Any, **options: Any) -> Any:
        try:
            return super().apply_async(entry, *args, **options)
        except Exception:
            with suppress(shared_memory.MemoryUnavailable):  # the scheduler of another host may be luckier
                shared_memory.forget(f"beat.{entry.name}")
            raise

    def _take(self, entry: Any) -> bool:
        """Return whether this is the first scheduler for which the task is due. The broker knows, which all share."""
        left = entry.schedule.remaining_estimate(entry.schedule.now())
        # Almost until it is due again, so that a scheduler that comes late, or was started again, doesn't repeat it.
        kept = max(0.9 * left, left - CLOCKS_DIFFER_BY)
        try:
            return shared_memory.remember(
                f"beat.{entry.name}", seconds=kept.total_seconds(), longest=left.total_seconds()
            )
        except shared_memory.MemoryUnavailable:
            return True  # sending fails too, and is logged

    def sync(self) -> None:
        """Store when tasks ran, for the next start. A full disk ends the scheduler as little as it ends the worker."""
        try:
            super().sync()
        except dbm.error:  # OSError too
            logger.warning("The times of periodic tasks could not be stored.", exc_info=True)

    def populate_heap(self, *args: Any, **options: Any) -> None:
        entries: dict[str, Any] = self.schedule
        for entry in entries.values():
            entry.last_run_at = min(entry.last_run_at, entry.default_now())
        super().populate_heap(*args, **options)


class ThreadStep(components.Beat):
    """Runs the scheduler of `--beat` in a thread. Celery’s own step forks a process, which grows to 25 MB."""

    def create(self, parent: Any) -> Any:
        names = {"schedule_filename": parent.schedule_filename, "scheduler_cls": parent.scheduler}
        parent.beat = EmbeddedService(parent.app, thread=True, **names)
        return parent.beat

    def stop(self, parent: Any) -> None:
        parent.beat.service.stop()
        parent.beat.join(LONGEST_END_SECONDS)

    def terminate(self, parent: Any) -> None:
        self.stop(parent)


class Worker(worker.Worker):
    """Celery's worker, which checks the settings as the web server does, and the scheduler as a thread."""

    class Blueprint(WorkController.Blueprint):
        default_steps = {
            *(WorkController.Blueprint.default_steps - {"celery.worker.components:Beat"}),
            "config.scheduler:ThreadStep",
        }

    def on_before_init(self, quiet: bool = False, **options: Any) -> None:
        refuse_wrong_settings()
        super().on_before_init(quiet=quiet, **options)
