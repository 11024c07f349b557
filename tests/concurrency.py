"""Many real processes at once, or a thread beside the test, each with a database connection of its own."""

import gc
import multiprocessing
import threading
import traceback
from collections.abc import Callable, Sequence
from typing import Any

from django.db import connection, connections

from tests.processes import wait_until

_fork = multiprocessing.get_context("fork")


def all_at_once(act: Callable[[Any], Any], arguments: Sequence[Any], *, seconds: float = 300) -> list[Any]:
    """Call `act` in one process per argument, all let go by one barrier; what each returned, in order.

    An exception in any of them is raised here, with its traceback.
    """
    connections.close_all()
    barrier = _fork.Barrier(len(arguments))
    pipes = [_fork.Pipe(duplex=False) for _ in arguments]
    processes = [
        _fork.Process(target=_run, args=(act, argument, barrier, sender), daemon=True)
        for argument, (_, sender) in zip(arguments, pipes, strict=True)
    ]
    for process in processes:
        process.start()
    results = []
    for process, (receiver, _) in zip(processes, pipes, strict=True):
        if not receiver.poll(seconds):
            raise TimeoutError(f"a process gave no answer within {seconds} s")
        is_error, result = receiver.recv()
        process.join()
        if is_error:
            raise AssertionError(result)
        results.append(result)
    return results


def start_beside(act: Callable[[], Any]) -> Callable[[], Any]:
    """Start `act` in a thread with a connection of its own, and go on once it has ended or waits for a lock.

    The function that comes back waits for its end and returns its result, or the exception that it raised.
    """
    results: list[Any] = []

    def run() -> None:
        try:
            results.append(act())
        except Exception as error:  # noqa: BLE001 - the test looks at it
            results.append(error)
        finally:
            connections.close_all()

    thread = threading.Thread(target=run)

    def is_over_or_waiting() -> bool:
        with connection.cursor() as cursor:
            cursor.execute("SELECT EXISTS (SELECT 1 FROM pg_locks WHERE NOT granted)")
            return not thread.is_alive() or cursor.fetchone()[0]

    def finish() -> Any:
        thread.join()
        return results[0]

    thread.start()
    wait_until(is_over_or_waiting)
    return finish


def _run(act: Callable[[Any], Any], argument: Any, barrier: Any, sender: Any) -> None:
    gc.disable()  # it would write into memory that is shared with the parent, and so copy it
    try:
        connections.close_all()
        barrier.wait(180)
        answer = (False, act(argument))
    except BaseException:  # noqa: BLE001 - whatever it is, the waiting test must hear of it
        answer = (True, traceback.format_exc())
    connections.close_all()
    sender.send(answer)
