"""A program that forks itself for each request, so that none waits for its imports, and each has limits of its own.

The parent sends two sockets for each request: the child answers on the first, and this program writes on the second how
the child ended. A child whose request the parent has given up, by closing its side of the second, is killed.
"""

import gc
import json
import os
import resource
import select
import signal
import socket
import sys
import traceback
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass

from projects.processes.framing import send_frame

IDLE_SECONDS = 300
"""After this time without a request the program ends, and its memory is free."""
ENDED = b"E"


@dataclass(frozen=True, kw_only=True)
class Budget:
    """What one child may use. Its peak of memory in use stays below `memory_mb`; both times end it."""

    memory_mb: int
    cpu_seconds: int
    wall_seconds: int
    file_mb: int = 4096
    """The size of each file that it writes."""

    PROGRAM_MB = 44
    """Code of programs and libraries in memory, which the limit of the system does not count; most of it is Arrow's."""

    def apply(self) -> None:
        """Limit the process that calls it.

        The limit is of writable private memory (RLIMIT_DATA). That of addresses (RLIMIT_AS) would count 220 MB of
        libraries that are mapped and hardly used, and would be no measure of what a file needs.
        """
        _limit(resource.RLIMIT_DATA, (self.memory_mb - self.PROGRAM_MB) << 20)
        _limit(resource.RLIMIT_CPU, self.cpu_seconds)
        _limit(resource.RLIMIT_FSIZE, self.file_mb << 20)
        for number in (signal.SIGXCPU, signal.SIGALRM):
            signal.signal(number, signal.SIG_DFL)  # ends the process, even within native code
        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)  # writing raises OSError instead
        signal.alarm(self.wall_seconds)


def _limit(kind: int, most: int) -> None:
    """Lower a limit of this process; one that is lower already stays."""
    _, hard = resource.getrlimit(kind)
    # At the first of the two the process gets a signal that says why, at the second it is killed.
    second = most + 1 if hard == resource.RLIM_INFINITY else min(most + 1, hard)
    resource.setrlimit(kind, (min(most, second), second))


def serve(parent: socket.socket, run: Callable[[socket.socket], None]) -> None:
    """Fork for each request, and call `run` with the socket of the request in the child; return when it is over."""
    children: dict[int, socket.socket] = {}
    woken, wake = socket.socketpair()
    woken.setblocking(False)
    wake.setblocking(False)
    signal.set_wakeup_fd(wake.fileno())
    signal.signal(signal.SIGCHLD, lambda *_: None)
    gc.freeze()  # what all children share is not touched by their collections
    poll = select.poll()
    for each in (parent, woken):
        poll.register(each, select.POLLIN)
    try:
        while events := poll.poll(None if children else IDLE_SECONDS * 1000):
            for number, _event in events:
                if number == woken.fileno():
                    woken.recv(4096)
                elif number != parent.fileno():
                    # The parent writes nothing here, so it has closed its side.
                    poll.unregister(number)
                    _kill(*(pid for pid, status in children.items() if status.fileno() == number))
                elif (sockets := _accept(parent)) is None:
                    return
                else:
                    connection, status = sockets
                    with connection:
                        pid = os.fork()
                        if not pid:
                            _be_child(run, connection, [parent, wake, woken, status, *children.values()])
                    children[pid] = status
                    poll.register(status, select.POLLIN)
            _report_ended(children, poll)
    finally:
        _kill(*children)


def _accept(parent: socket.socket) -> tuple[socket.socket, socket.socket] | None:
    """Return the two sockets of a request, or None if the parent is gone."""
    _, numbers, _, _ = socket.recv_fds(parent, 1, 2)
    return (socket.socket(fileno=numbers[0]), socket.socket(fileno=numbers[1])) if len(numbers) == 2 else None


def _be_child(run: Callable[[socket.socket], None], connection: socket.socket, others: list[socket.socket]) -> None:
    """Do the work of a request and end the process."""
    code = 1
    try:
        signal.set_wakeup_fd(-1)
        signal.signal(signal.SIGCHLD, signal.SIG_DFL)
        for each in others:
            each.close()
        run(connection)
        code = 0
    except BrokenPipeError:
        pass  # the parent has given up
    except BaseException:  # noqa: BLE001 - nothing may go on in the program that was forked
        with suppress(BaseException):
            traceback.print_exc()
    finally:
        os._exit(code)


def _report_ended(children: dict[int, socket.socket], poll: select.poll) -> None:
    while children:
        pid, status, usage = os.wait4(-1, os.WNOHANG)
        if not pid:
            return
        connection = children.pop(pid)
        with suppress(KeyError):
            poll.unregister(connection)
        peak = usage.ru_maxrss if sys.platform == "darwin" else usage.ru_maxrss * 1024
        ended = {
            "code": os.waitstatus_to_exitcode(status),
            "peak_bytes": peak,
            "cpu_seconds": usage.ru_utime + usage.ru_stime,
        }
        with connection, suppress(OSError):
            send_frame(connection, ENDED, json.dumps(ended).encode())


def _kill(*pids: int) -> None:
    for pid in pids:
        with suppress(ProcessLookupError):
            os.kill(pid, signal.SIGKILL)
