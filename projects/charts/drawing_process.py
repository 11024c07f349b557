"""The child process that draws the charts of this process, restarted when it fails."""

import atexit
import logging
import os
import socket
import subprocess
import sys
import threading
import time
from contextlib import suppress
from pathlib import Path
from typing import Any

import orjson

from projects.charts.drawing_program import HEAD, REQUEST

LIMIT_SECONDS = 15
"""For one attempt, including the start of the process, which takes about a second."""
ATTEMPTS = 2

logger = logging.getLogger(__name__)


class Undrawable(Exception):
    """A chart could not be drawn: the process failed or took too long at each attempt, or the library refused it."""


class DrawingProcess:
    """A process that is started with the first drawing and draws one after another.

    The parent has threads: one of them at a time holds the process. A fork of the parent starts a process of its own.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._process: subprocess.Popen[bytes] | None = None
        self._socket: socket.socket | None = None
        os.register_at_fork(after_in_child=self._forget)
        atexit.register(self._end)

    def _forget(self) -> None:
        """Leave the process to the parent of a fork. The lock may be held by a thread that the fork doesn't have."""
        self._lock = threading.Lock()
        if self._process is not None:
            self._process.returncode = 0  # it is nobody's to wait for here
        if self._socket is not None:
            self._socket.close()
        self._process = self._socket = None

    @property
    def pid(self) -> int | None:
        return self._process.pid if self._process else None

    def draw(self, spec: dict[str, Any] | str, form: str) -> bytes:
        """Return the drawing of a specification, or of an SVG, as SVG, PNG or PDF. Raises Undrawable."""
        request = orjson.dumps({"spec": spec, "form": form, "seconds": LIMIT_SECONDS})
        if not self._lock.acquire(timeout=LIMIT_SECONDS * ATTEMPTS):
            raise Undrawable("Other charts took too long.")
        try:
            return self._draw(REQUEST.pack(len(request)) + request)
        finally:
            self._lock.release()

    def _draw(self, request: bytes) -> bytes:
        for attempt in range(1, ATTEMPTS + 1):
            try:
                is_drawn, answer = self._exchange(request)
            except OSError as error:
                code = self._end()
                logger.warning("The drawing process failed (exit %s, attempt %s): %r", code, attempt, error)
                continue
            if not is_drawn:
                raise Undrawable(answer.decode())
            return answer
        raise Undrawable("The drawing process failed.")

    def _exchange(self, request: bytes) -> tuple[bool, bytes]:
        """Send a request and return the answer. Raises OSError if the process is gone or out of time."""
        if self._process is None or self._process.poll() is not None:
            self._end()
            self._start()
        assert self._socket is not None
        deadline = time.monotonic() + LIMIT_SECONDS
        self._socket.settimeout(LIMIT_SECONDS)
        self._socket.sendall(request)
        is_drawn, size = HEAD.unpack(self._read(HEAD.size, deadline))
        return is_drawn, self._read(size, deadline)

    def _read(self, size: int, deadline: float) -> bytes:
        assert self._socket is not None
        parts = bytearray()
        while len(parts) < size:
            self._socket.settimeout(max(0.001, deadline - time.monotonic()))
            part = self._socket.recv(size - len(parts))
            if not part:
                raise ConnectionError("The process ended.")
            parts += part
        return bytes(parts)

    def _start(self) -> None:
        ours, theirs = socket.socketpair()
        program = Path(__file__).with_name("drawing_program.py")
        with theirs:
            try:
                self._process = subprocess.Popen(
                    [sys.executable, "-I", str(program)], stdin=theirs.fileno(), stdout=subprocess.DEVNULL
                )
            except BaseException:
                ours.close()
                raise
        self._socket = ours

    def _end(self) -> int | None:
        """Kill the process, if there is one, and return how it ended."""
        if self._socket is not None:
            self._socket.close()
        process, self._process, self._socket = self._process, None, None
        if process is None:
            return None
        with suppress(ProcessLookupError):
            process.kill()
        return process.wait()


drawing_process = DrawingProcess()
