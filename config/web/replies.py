"""Replies of the site: produced in a thread, and read by the loop while they come, from memory or a temporary file."""

import asyncio
import logging
import sys
import threading
from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from http import HTTPStatus
from typing import Any

from config.web.environ import PIECE_BYTES, Environ, FileBody
from config.web.spills import Spill, Spills
from projects.processes.frame_memory import takes_one_piece

Headers = list[tuple[bytes, bytes]]
Site = Callable[[Environ, Callable[..., Any]], Iterable[bytes]]

log = logging.getLogger(__name__)
MEMORY_BYTES = 1 << 18
"""What of a body or a response is kept in memory; all of a larger one is in a temporary file."""


class HungUp(Exception):
    """The client has gone, or is too slow."""


class Reply:
    """The answer of the site: produced by a thread, sent by the loop."""

    def __init__(self, loop: asyncio.AbstractEventLoop, spills: Spills | None = None) -> None:
        self.loop = loop
        self.spills = spills
        self.ready: asyncio.Future[None] = loop.create_future()
        self.status = 500
        self.headers: Headers = []
        self.pieces: list[bytes] = []
        self.file: FileBody | None = None
        self.is_whole = False
        """Whether all of it is in `pieces`."""
        self._spill: Spill | None = None
        self._is_done = self._is_closed = self._has_failed = False
        self._more = asyncio.Event()
        self._lock = threading.Lock()

    @takes_one_piece
    def produce(self, site: Site, environ: Environ) -> None:
        """Run the site. In a thread."""
        environ["wsgi.errors"] = sys.stderr
        try:
            self._collect(site(environ, self._start))
        except BaseException:
            log.exception("The site failed outside its own handling of errors.")
            self._has_failed = True
            # What has been spilled is being sent: its end will be missing.
            self.status, self.headers, self.pieces = HTTPStatus.INTERNAL_SERVER_ERROR, [], []
        self._is_done = True
        self.is_whole = self._spill is None and self.file is None
        self._tell()

    def close(self) -> None:
        """Forget what is left of it. A thread that still produces it stops."""
        with self._lock:
            self._is_closed = True
            if self._spill is not None:
                self._spill.close()

    async def read(self, disk: ThreadPoolExecutor) -> Any:
        """Yield the pieces of a reply that is not whole, as they come. Raises HungUp if the site failed within it."""
        if self.file is not None:
            while piece := await self.loop.run_in_executor(disk, self.file.read, PIECE_BYTES):
                yield piece
            return
        while True:
            self._more.clear()
            is_done = self._is_done
            while self._spill and (piece := await self.loop.run_in_executor(disk, self._spill.read)):
                yield piece
            if is_done:
                break
            await self._more.wait()
        if self._has_failed:
            raise HungUp

    def _start(self, status: str, headers: list[tuple[str, str]], exc_info: Any = None) -> None:
        self.status = int(status.partition(" ")[0])
        self.headers = [(name.lower().encode("latin-1"), value.encode("latin-1")) for name, value in headers]

    def _collect(self, body: Iterable[bytes]) -> None:
        if isinstance(body, FileBody) and not self._is_small_file():
            self.file = body
            return
        try:
            n_bytes = 0
            for piece in body:
                n_bytes += len(piece)
                if n_bytes <= MEMORY_BYTES:
                    self.pieces.append(piece)
                elif not self._write(piece):
                    return
        finally:
            if close := getattr(body, "close", None):
                close()

    def _is_small_file(self) -> bool:
        length = dict(self.headers).get(b"content-length", b"")
        return length.isdigit() and int(length) <= MEMORY_BYTES

    def _write(self, piece: bytes) -> bool:
        """Append to the temporary file; False once nobody waits for it."""
        with self._lock:
            if self._is_closed or self.spills is None:
                return False
            if self._spill is None:
                self._spill = Spill(self.spills)
                piece = b"".join([*self.pieces, piece])
                self.pieces = []
        for at in range(0, len(piece), MEMORY_BYTES):
            if not self._spill.write(piece[at : at + MEMORY_BYTES]):
                self._has_failed = True  # a reader who was too slow must not take this for the whole
                return False
            self._tell()
        return True

    def _tell(self) -> None:
        with suppress(RuntimeError):  # the loop has ended
            self.loop.call_soon_threadsafe(self._wake)

    def _wake(self) -> None:
        if not self.ready.done():
            self.ready.set_result(None)
        self._more.set()


def make_plain(status: HTTPStatus, text: str) -> Reply:
    """Return a reply of one line, which the site has no part in."""
    reply = Reply(asyncio.get_running_loop())
    content = f"{text}\n".encode()
    reply.status, reply.pieces, reply.is_whole = status, [content], True
    reply.headers = [(b"content-type", b"text/plain; charset=utf-8"), (b"content-length", b"%d" % len(content))]
    return reply
