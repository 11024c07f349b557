"""Many threads at one act, each on a database connection of its own, let go at the same moment."""

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from threading import Barrier
from typing import TypeVar

from django.db import connection

T = TypeVar("T")


def race(act: Callable[[int], T], n: int) -> list[T]:
    """What each of n simultaneous calls `act(0)` … `act(n - 1)` returned."""
    barrier = Barrier(n)

    def run(number: int) -> T:
        try:
            connection.ensure_connection()
            barrier.wait(timeout=60)
            return act(number)
        finally:
            connection.close()

    with ThreadPoolExecutor(n) as pool:
        return list(pool.map(run, range(n)))
