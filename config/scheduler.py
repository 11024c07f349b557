"""The scheduler of periodic tasks, which goes on where the clock was set back and is one of several hosts."""

from datetime import timedelta
from typing import Any

from celery.beat import PersistentScheduler

LEAST_APART = timedelta(seconds=50)
"""Between two runs of a task that has an hour and a minute; clocks of two hosts differ by less."""


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

    def _take(self, entry: Any) -> bool:
        """Return whether this is the first scheduler for which the task is due. The broker knows, which all share."""
        apart = 0.9 * getattr(entry.schedule, "run_every", LEAST_APART / 0.9)
        try:
            channel: Any = self.connection.default_channel
            return bool(
                channel.client.set(f"concord.beat.{entry.name}", 1, nx=True, px=int(1000 * apart.total_seconds()))
            )
        except self.connection.recoverable_connection_errors:
            return True  # sending fails too, and is logged

    def populate_heap(self, *args: Any, **options: Any) -> None:
        entries: dict[str, Any] = self.schedule
        for entry in entries.values():
            entry.last_run_at = min(entry.last_run_at, entry.default_now())
        super().populate_heap(*args, **options)
