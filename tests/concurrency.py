"""Many real processes at once, or a thread beside the test, each with a database connection of its own."""

import gc
import multiprocessing
import threading
import traceback
from collections.abc import Callable, Sequence
from contextlib import suppress
from multiprocessing.connection import Connection
from multiprocessing.context import ForkProcess
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
    results = _collect([receiver for receiver, _ in pipes], seconds)
    for process in processes:
        process.join()
    return results


class Racers:
    """Processes that do one act after another, as those of a web server do, on connections that stay open.

    A fork of a large process and a new connection take ten times as long as most acts. The processes are forked when
    they are needed first: they know the modules and the database, and nothing that a test replaces.
    """

    def __init__(self) -> None:
        self._members: list[tuple[ForkProcess, Connection]] = []
        self._ready, self._gate = _fork.Semaphore(0), _fork.Semaphore(0)

    def all_at_once(self, act: Callable[[Any], Any], arguments: Sequence[Any], *, seconds: float = 300) -> list[Any]:
        """Call `act`, a function of a module, as the function `all_at_once` does, in these processes."""
        while len(self._members) < len(arguments):
            self._add_member()
        pipes = [pipe for _, pipe in self._members[: len(arguments)]]
        for pipe, argument in zip(pipes, arguments, strict=True):
            pipe.send((act, argument))
        for _ in pipes:
            assert self._ready.acquire(timeout=180), "A process is gone."
        for _ in pipes:
            self._gate.release()
        return _collect(pipes, seconds)

    def end(self) -> None:
        for process, _ in self._members:
            process.kill()
            process.join()

    def _add_member(self) -> None:
        connections.close_all()
        ours, theirs = _fork.Pipe()
        others = [ours, *(pipe for _, pipe in self._members)]
        process = _fork.Process(target=_work, args=(theirs, others, self._ready, self._gate), daemon=True)
        process.start()
        theirs.close()
        self._members.append((process, ours))


def has_waiter(table: str = "") -> bool:
    """Return whether somebody waits for a lock in this database: for one on the table, or for any.

    Other processes of the tests have databases of their own on the same server. Who waits for a row waits for a
    transaction, which is of no database, but has a lock on the row's table. (A transaction sees the connections of
    pg_stat_activity as they were when it first looked.)
    """
    with connection.cursor() as cursor:
        cursor.execute(
            """SELECT EXISTS (
                SELECT 1 FROM pg_locks waiting JOIN pg_locks here USING (pid)
                JOIN pg_database d ON d.oid = here.database AND d.datname = current_database()
                WHERE NOT waiting.granted AND (%(table)s = '' OR waiting.relation = to_regclass(%(table)s)))""",
            {"table": table},
        )
        return bool(cursor.fetchone()[0])


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
        return has_waiter() or not thread.is_alive()

    def finish() -> Any:
        thread.join()
        return results[0]

    thread.start()
    wait_until(is_over_or_waiting)
    return finish


def _collect(pipes: Sequence[Connection], seconds: float) -> list[Any]:
    """Return what each process has sent. Raises AssertionError with the traceback of the first that failed."""
    answers = []
    for pipe in pipes:
        if not pipe.poll(seconds):
            raise TimeoutError(f"a process gave no answer within {seconds} s")
        answers.append(pipe.recv())
    for is_error, result in answers:
        if is_error:
            raise AssertionError(result)
    return [result for _, result in answers]


def _run(act: Callable[[Any], Any], argument: Any, barrier: Any, sender: Connection) -> None:
    gc.disable()  # it would write into memory that is shared with the parent, and so copy it
    connections.close_all()
    answer = _answer(act, argument, lambda: barrier.wait(180))
    connections.close_all()
    sender.send(answer)


def _work(pipe: Connection, others: Sequence[Connection], ready: Any, gate: Any) -> None:
    gc.freeze()  # it would write into memory that is shared with the parent, and so copy it
    for other in others:
        other.close()  # a pipe ends with the parent only if nobody else holds its other side
    with suppress(EOFError):
        while True:
            act, argument = pipe.recv()
            ready.release()
            pipe.send(_answer(act, argument, gate.acquire))


def _answer(act: Callable[[Any], Any], argument: Any, wait_for_start: Callable[[], object]) -> tuple[bool, Any]:
    """Return whether the act failed, and its result or its traceback."""
    try:
        wait_for_start()
        return False, act(argument)
    except BaseException:  # noqa: BLE001 - whatever it is, the waiting test must hear of it
        return True, traceback.format_exc()
