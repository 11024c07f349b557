"""The threads of a worker, shared among the kinds of jobs, so that a short one never waits behind long ones."""

import logging
import threading
from collections import Counter
from collections.abc import Collection, Iterator
from contextlib import contextmanager

from django.db import Error

from projects.jobs import queue
from projects.jobs.queue import DEFAULT_QUEUE, LONG_QUEUE, SCORING_QUEUE

logger = logging.getLogger(__name__)

SLOW = (LONG_QUEUE, SCORING_QUEUE)

is_ending = threading.Event()
"""Set when this worker is told to end: a job that goes from one part to the next then begins no other."""


class Slots:
    """How many jobs of the slow queues one worker runs at once.

    Of the threads of a worker that serves short jobs too, one is kept for these, and where there are three or more,
    one for each of the slow queues. A job that finds no thread stays queued: only its row decides whether it runs.
    """

    def __init__(self, n_threads: int, queues: Collection[str]) -> None:
        self._lock = threading.Lock()
        self._running: Counter[str] = Counter()
        self._has_turned_away = False
        is_mixed = DEFAULT_QUEUE in queues
        self._limit = max(1, n_threads - 1) if is_mixed else n_threads
        self._limit_of_each = max(1, n_threads - 2) if is_mixed and {*SLOW} <= {*queues} else n_threads
        self._served = tuple(name for name in SLOW if name in queues)
        self._senders = threading.BoundedSemaphore(max(1, n_threads // 2))

    @contextmanager
    def take(self, queue_name: str) -> Iterator[bool]:
        """Context in which a job of this queue runs; False if there is no thread for it now."""
        if queue_name not in SLOW:
            yield True
            return
        if not self._take(queue_name):
            yield False
            return
        try:
            yield True
        finally:
            if self._give_back(queue_name):
                self._announce_waiting()

    @contextmanager
    def take_to_send(self) -> Iterator[bool]:
        """Context in which messages to other hosts are sent; False if half of the threads do so already.

        Each message may take seconds, because its receiver decides when to answer.
        """
        is_free = self._senders.acquire(blocking=False)
        try:
            yield is_free
        finally:
            if is_free:
                self._senders.release()

    def _take(self, queue_name: str) -> bool:
        with self._lock:
            is_free = self._running.total() < self._limit and self._running[queue_name] < self._limit_of_each
            self._running[queue_name] += is_free
            self._has_turned_away = self._has_turned_away or not is_free
            return is_free

    def _give_back(self, queue_name: str) -> bool:
        with self._lock:
            self._running[queue_name] -= 1
            has_turned_away, self._has_turned_away = self._has_turned_away, False
            return has_turned_away

    def _announce_waiting(self) -> None:
        """Announce what was turned away: it would otherwise wait until it is announced again, up to ten seconds."""
        try:
            announced = [queue.announce_next(name) for name in self._served]
        except Error:
            logger.warning("Waiting jobs could not be announced; they will be within ten seconds.", exc_info=True)
            return
        if any(announced):  # more of them may wait
            self._has_turned_away = True


_slots: Slots | None = None


def limit(*, n_threads: int, queues: Collection[str]) -> None:
    """Share this many threads of this process among these queues; called when a worker starts."""
    global _slots  # noqa: PLW0603 - a process is one worker
    _slots = Slots(n_threads, queues)


@contextmanager
def take(queue_name: str) -> Iterator[bool]:
    """Context in which a job of this queue runs; False if this worker has no thread for it now.

    Commands and tests, which run a job in a process that is no worker, always have one.
    """
    if _slots is None:
        yield True
        return
    with _slots.take(queue_name) as is_free:
        yield is_free


@contextmanager
def take_to_send() -> Iterator[bool]:
    """Context in which messages to other hosts are sent; False if this worker has no thread for it now."""
    if _slots is None:
        yield True
        return
    with _slots.take_to_send() as is_free:
        yield is_free
