"""The child process that draws the charts of this process, restarted when it fails."""

import logging
import time
from typing import Any

import orjson

from projects.charts.drawing_program import HEAD, REQUEST
from projects.processes.programs import ChildProgram

LIMIT_SECONDS = 15
"""For one attempt, including the start of the process, which takes about a second."""
ATTEMPTS = 2

logger = logging.getLogger(__name__)


class Undrawable(Exception):
    """A chart could not be drawn: the process failed or took too long at each attempt, or the library refused it."""


class DrawingProcess(ChildProgram):
    """A process that draws one chart after another: its library takes about a second to start."""

    module = "projects.charts.drawing_program"

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
        connection = self._connect()
        deadline = time.monotonic() + LIMIT_SECONDS
        connection.settimeout(LIMIT_SECONDS)
        connection.sendall(request)
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


drawing_process = DrawingProcess()
