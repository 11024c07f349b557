"""The scheduler of periodic tasks, which goes on where the clock was set back."""

from typing import Any

from celery.beat import PersistentScheduler


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

    def populate_heap(self, *args: Any, **options: Any) -> None:
        entries: dict[str, Any] = self.schedule
        for entry in entries.values():
            entry.last_run_at = min(entry.last_run_at, entry.default_now())
        super().populate_heap(*args, **options)
