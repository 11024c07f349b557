"""Forks of this process: programs that share the memory of its modules, and work that leaves nothing behind in it."""

import multiprocessing
import os
import runpy
import signal
import sys
import traceback
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from multiprocessing.connection import Connection
from multiprocessing.process import BaseProcess
from typing import Generic, TypeVar

import setproctitle
from django.core.management import CommandError

from config.servers.server import LIBC, SET_DEATH_SIGNAL

T = TypeVar("T")
CONTEXT = multiprocessing.get_context("fork")
SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


def start_program(command: Sequence[str]) -> BaseProcess:
    """Run a module as `python -m` does, in a fork of this process, which must have no threads of its own."""
    process = CONTEXT.Process(target=_run_program, args=(command, os.getpid()))
    with _signals_held():
        process.start()
    return process


def _run_program(command: Sequence[str], parent: int) -> None:
    for number in SIGNALS:
        signal.signal(number, signal.default_int_handler if number == signal.SIGINT else signal.SIG_DFL)
    _end_with(parent)
    # In a new session, so that Ctrl+C reaches only the supervisor, which chooses the signal for its children.
    os.setsid()
    os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
    signal.pthread_sigmask(signal.SIG_UNBLOCK, SIGNALS)
    setproctitle.setproctitle(" ".join(command))
    sys.argv = [*command]
    runpy.run_module(command[0], run_name="__main__", alter_sys=True)


class Task(Generic[T]):
    """An act in a fork of this process. What it loads, opens and forgets to close ends with it."""

    def __init__(self, act: Callable[[], T]) -> None:
        self._receiver, sender = CONTEXT.Pipe(duplex=False)
        self._process = CONTEXT.Process(target=_answer, args=(act, sender, os.getpid()))
        self._process.start()
        sender.close()

    def wait(self) -> T:
        """Return what the act returns. Raises CommandError as the act does; other errors have been shown."""
        try:
            result, refusal = self._receiver.recv()
        except EOFError:
            result, refusal = None, CommandError("The start failed.")
        self._process.join()
        if refusal is not None:
            raise refusal
        return result  # type: ignore[no-any-return]


def _answer(act: Callable[[], T], sender: Connection, parent: int) -> None:
    _end_with(parent)
    try:
        sender.send((act(), None))
    except CommandError as refusal:
        sender.send((None, refusal))
    except KeyboardInterrupt:
        sys.exit(130)  # the parent says so
    except Exception:  # noqa: BLE001 - shown where it happened; the parent has no more to say
        traceback.print_exc()
        sys.exit(1)


@contextmanager
def _signals_held() -> Iterator[None]:
    """Let signals wait: one that comes between a fork and the child's own handlers would run those of the parent."""
    before = signal.pthread_sigmask(signal.SIG_BLOCK, SIGNALS)
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


def _end_with(parent: int) -> None:
    """Get SIGTERM when the parent ends, however it does."""
    if LIBC:
        LIBC.prctl(SET_DEATH_SIGNAL, int(signal.SIGTERM))
        if os.getppid() != parent:
            sys.exit(1)
