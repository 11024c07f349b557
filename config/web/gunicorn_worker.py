"""The worker of gunicorn: its connections have deadlines and bounds."""

import asyncio
import os
import resource
from collections import Counter
from contextlib import suppress
from typing import Any

from django.conf import settings
from gunicorn.asgi.parser import ParseError, UnsupportedTransferCoding
from gunicorn.asgi.protocol import ASGIProtocol
from gunicorn.workers.gasgi import ASGIWorker

HEADER_SECONDS = 10.0
"""From the connection to the end of the first request's headers. Later ones have until the end of keep-alive."""
MOST_TINY_CHUNKS = 4_000
LEAST_CHUNK_BYTES = 32
"""Average below which a body is refused once it has more chunks than that: each costs as much as a kilobyte."""
SPARE_FILES = 200
"""Open files that are no connections."""


class Connection(ASGIProtocol):  # type: ignore[misc]
    """A connection that is given up when its client is too slow."""

    worker: "Worker"

    def __init__(self, worker: "Worker") -> None:
        super().__init__(worker)
        self.address = ""
        self._has_ended = False
        self._deadline: asyncio.TimerHandle | None = None
        self._chunks: list[bytes] = []
        """What was read of a body since it was last handed over."""
        self._n_chunks = self._n_chunk_bytes = 0

    def connection_made(self, transport: Any) -> None:
        super().connection_made(transport)
        peer = transport.get_extra_info("peername")
        self.address = peer[0] if isinstance(peer, tuple) else ""  # a UNIX socket has no addresses
        self._deadline = self.worker.loop.call_later(min(HEADER_SECONDS, settings.STALL_SECONDS), self.abort)
        self.worker.admit(self)

    def _on_headers_complete(self) -> Any:
        self._forget_deadline()
        self.worker.waiting.pop(self, None)
        self._n_chunks = self._n_chunk_bytes = 0
        self._check_headers()
        return super()._on_headers_complete()

    def _check_headers(self) -> None:
        """Refuse what HTTP/1.1 forbids and the parser accepts: no host or several, and bodies that nobody decodes."""
        found = [(name.lower(), value.lower()) for name, value in self._callback_parser.headers]
        n_hosts = sum(name == b"host" for name, _ in found)
        if n_hosts > 1 or (n_hosts == 0 and self._callback_parser.http_version >= (1, 1)):
            raise ParseError("A request names one host.")
        codings = b",".join(value for name, value in found if name == b"transfer-encoding")
        if unknown := {each.strip(b" \t") for each in codings.split(b",")} - {b"", b"chunked"}:
            raise UnsupportedTransferCoding(min(unknown).decode("latin-1"))

    def _on_body(self, chunk: bytes) -> None:
        """Keep a chunk until all that has arrived with it is parsed: each piece that is handed over has its cost."""
        self._chunks.append(chunk)
        self._n_chunks += 1
        self._n_chunk_bytes += len(chunk)
        has_tiny_chunks = self._n_chunks > MOST_TINY_CHUNKS + self._n_chunk_bytes // LEAST_CHUNK_BYTES
        if has_tiny_chunks and self._callback_parser.is_chunked:
            raise ParseError("The body has too many small chunks.")

    def _on_message_complete(self) -> None:
        self._hand_over()
        super()._on_message_complete()

    def _feed_callback_parser(self, data: bytes) -> bool:
        is_open: bool = super()._feed_callback_parser(data)
        self._hand_over()
        return is_open

    def _hand_over(self) -> None:
        if self._chunks:
            super()._on_body(b"".join(self._chunks))
            self._chunks = []

    def _arm_keepalive_timer(self) -> None:
        super()._arm_keepalive_timer()
        self.worker.waiting[self] = None
        if self._has_ended:
            self._keepalive_timeout()

    def eof_received(self) -> bool:
        """Keep the connection of a client that says that it sends no more, for its answer."""
        if self._body_receiver is None:
            return False
        self._has_ended = True
        if not self._callback_parser.is_complete:
            self._body_receiver.signal_disconnect()
        return True

    def connection_lost(self, exc: Exception | None) -> None:
        super().connection_lost(exc)
        self._forget_deadline()
        self.worker.dismiss(self)

    def abort(self) -> None:
        self.transport.abort()

    def _close_transport(self) -> None:
        super()._close_transport()
        if self.transport is None:
            return
        if not self.transport.is_closing():
            self.abort()  # half a close fails where the client has gone already
        elif self.transport.get_write_buffer_size():
            # A transport waits for its last bytes to be read, however long that takes.
            self._deadline = self.worker.loop.call_later(settings.STALL_SECONDS, self.abort)

    def _forget_deadline(self) -> None:
        if self._deadline is not None:
            self._deadline.cancel()


class Worker(ASGIWorker):  # type: ignore[misc]
    """A process that serves connections, as many as it can hold open."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.waiting: dict[Connection, None] = {}
        """Connections without a request, the one that waits longest first."""
        self._n_by_address: Counter[str] = Counter()
        self._most = int(self.cfg.worker_connections)
        # The addresses behind a proxy are unknown here: the proxy bounds them.
        self._most_by_address = 0 if settings.N_PROXIES else settings.MAX_CONNECTIONS_PER_ADDRESS

    def init_process(self) -> None:
        _, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
        soft = self._most + SPARE_FILES if hard == resource.RLIM_INFINITY else min(hard, self._most + SPARE_FILES)
        with suppress(OSError, ValueError):
            resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))
        self._most = resource.getrlimit(resource.RLIMIT_NOFILE)[0] - SPARE_FILES
        super().init_process()

    def admit(self, connection: Connection) -> None:
        """Count a new connection. If it is one too many, close the one that waits longest: of its address, or of all.

        A browser opens up to six and keeps them, so that a workshop behind one address has more than it uses.
        """
        self.waiting[connection] = None
        self._n_by_address[connection.address] += 1
        if connection.address and 0 < self._most_by_address < self._n_by_address[connection.address]:
            theirs = (each for each in self.waiting if each.address == connection.address)
            next(theirs, connection).abort()
        elif self.nr_conns > self._most:
            next(iter(self.waiting)).abort()

    def dismiss(self, connection: Connection) -> None:
        self.waiting.pop(connection, None)
        self._n_by_address[connection.address] -= 1
        if not self._n_by_address[connection.address]:
            del self._n_by_address[connection.address]

    async def _serve(self) -> None:
        for listener in self.sockets:
            self.servers.append(await self.loop.create_server(lambda: Connection(self), sock=listener.sock))
        while self.alive and self.ppid == os.getppid():
            self.notify()
            await asyncio.sleep(1)
        await self._shutdown()

    async def _shutdown(self) -> None:
        """Stop accepting, close what is idle, and give requests under way the time to finish."""
        for server in self.servers:
            server.close()
        for connection in list(self.waiting):
            connection.abort()
        await super()._shutdown()
