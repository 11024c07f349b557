"""Requests to a program that forks: sent, waited for, given up, and what each used in the end."""

import json
import select
import socket
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from types import TracebackType
from typing import Self

from projects.processes.forking import ENDED
from projects.processes.framing import HEAD, receive_frame
from projects.processes.programs import ChildProgram

TICK = 0.5
"""Seconds between two looks at whether a request is still wanted."""
GRACE_SECONDS = 10
"""Longer than its own limit a child may only take if it is stopped: it is killed then."""
AT_ONCE = 2
"""Children of one process at the same time; further requests wait."""


@dataclass(frozen=True)
class Ended:
    """How a child ended: its exit code, or its signal as a negative number; its peak of memory, its CPU time."""

    code: int
    peak_bytes: int
    cpu_seconds: float


class ProgramGone(ConnectionError):
    """The program that forks has ended."""


class ForkingProgram(ChildProgram):
    """A program that answers each request from a process of its own."""

    def __init__(self, module: str) -> None:
        super().__init__()
        self.module = module
        self._room = threading.BoundedSemaphore(AT_ONCE)
        self.on_end: Callable[[Ended], None] | None = None
        """Called with how each child ended, by tests and benchmarks."""

    def _forget(self) -> None:
        super()._forget()
        self._room = threading.BoundedSemaphore(AT_ONCE)

    def request(self, *, wall_seconds: float) -> "Request":
        """Return a new request, to be used in a `with`. Raises OSError if the program can't be started."""
        return Request(self, self._room, wall_seconds)

    def send_sockets(self, *sockets: socket.socket) -> None:
        """Send the other side's sockets of a request. Raises OSError."""
        numbers = [each.fileno() for each in sockets]
        with self._lock:
            try:
                socket.send_fds(self._connect(), [b"F"], numbers)
            except (BrokenPipeError, ConnectionResetError):
                self._end()  # it was ending
                socket.send_fds(self._connect(), [b"F"], numbers)


class Request:
    """One request in a child of its own, which is killed if the block is left before it has ended."""

    def __init__(self, program: ForkingProgram, room: threading.BoundedSemaphore, wall_seconds: float) -> None:
        self._program, self._room, self._seconds = program, room, wall_seconds
        self.ended: Ended | None = None
        self.is_late = False

    def __enter__(self) -> Self:
        self._room.acquire()
        try:
            self._data, theirs = socket.socketpair()
            self._status, their_status = socket.socketpair()
            with theirs, their_status:
                self._program.send_sockets(theirs, their_status)
        except BaseException:
            self._room.release()
            raise
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        try:
            with self._data, self._status:
                if self.ended is None:
                    self._give_up()
            if self.ended is not None and self._program.on_end is not None:
                self._program.on_end(self.ended)
        finally:
            self._room.release()

    def exchange(self, content: bytes, on_wait: Callable[[], None]) -> Iterator[tuple[bytes, bytes]]:
        """Send the request and yield the messages of the child until it has ended; `ended` says how.

        `on_wait` is called about twice a second, and may raise to give up. Raises ProgramGone if the program that forks
        ends before the child does.
        """
        deadline = time.monotonic() + self._seconds + GRACE_SECONDS
        received = bytearray()
        try:
            self._data.settimeout(GRACE_SECONDS)
            self._data.sendall(HEAD.pack(b"Q", len(content)) + content)
        except (BrokenPipeError, TimeoutError):
            pass  # it ended before it had read the request: its end says why
        poll = select.poll()
        for each in (self._data, self._status):
            poll.register(each, select.POLLIN)
        next_look = time.monotonic() + TICK
        is_open = True
        while is_open or self.ended is None:
            ready = {number for number, _ in poll.poll(TICK * 1000)}
            if self._status.fileno() in ready:
                self.ended = self._read_end()
                poll.unregister(self._status)
            if self._data.fileno() in ready:
                part = self._receive()
                received += part
                yield from _split_frames(received)
                if not part:
                    is_open = False
                    poll.unregister(self._data)
            now = time.monotonic()
            if now >= next_look:
                next_look = now + TICK
                on_wait()
                if now > deadline:
                    self.is_late = True
                    return

    def _receive(self) -> bytes:
        try:
            return self._data.recv(1 << 18)
        except ConnectionResetError:
            return b""  # it ended before it had read the request

    def _read_end(self) -> Ended:
        frame = receive_frame(self._status)
        if frame is None or frame[0] != ENDED:
            raise ProgramGone
        return Ended(**json.loads(frame[1]))

    def _give_up(self) -> None:
        """Have the child killed, and wait until it is, so that it writes nothing afterwards."""
        try:
            self._status.shutdown(socket.SHUT_WR)
            self._status.settimeout(GRACE_SECONDS)
            self.ended = self._read_end()
        except OSError:
            return  # the program is gone, and its children with it


def _split_frames(received: bytearray) -> Iterator[tuple[bytes, bytes]]:
    """Yield the whole messages at the beginning of what was received, and remove them."""
    while len(received) >= HEAD.size:
        kind, size = HEAD.unpack_from(received)
        if len(received) < HEAD.size + size:
            return
        content = bytes(received[HEAD.size : HEAD.size + size])
        del received[: HEAD.size + size]
        yield kind, content
