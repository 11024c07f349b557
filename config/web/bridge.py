"""The site between the wire and its threads: only a complete request takes one, and a slow reader takes none.

Bodies are received into a temporary file. A body that is larger than a form is not received before the site has seen
who sends it. A response is produced as fast as its thread can, into a temporary file where it is large, and sent as
fast as its client reads; where that file is full, its thread waits for the client.
"""

import asyncio
import logging
import sys
import tempfile
import threading
from collections.abc import Awaitable, Callable, Iterable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass
from http import HTTPStatus
from io import BytesIO
from typing import IO, Any
from urllib.parse import unquote_to_bytes

from config.web.spills import Spill, Spills
from projects.processes.frame_memory import takes_one_piece
from projects.web.body_questions import QUESTION, Question

Scope = Mapping[str, Any]
Message = Mapping[str, Any]
Receive = Callable[[], Awaitable[Message]]
Send = Callable[[Message], Awaitable[None]]
Environ = dict[str, Any]
Headers = list[tuple[bytes, bytes]]
Site = Callable[[Environ, Callable[..., Any]], Iterable[bytes]]

log = logging.getLogger(__name__)
PIECE_BYTES = 1 << 16
MEMORY_BYTES = 1 << 18
"""What of a body or a response is kept in memory; all of a larger one is in a temporary file."""
LEAST_BYTES_PER_SECOND = 2_000
"""Average below which a body is given up, after the seconds that a client may pause."""
ASK_AGAIN_SECONDS = 30.0
"""How often it is asked whether the reader of a large response may still have it."""
LOST = frozenset({HTTPStatus.FOUND, HTTPStatus.UNAUTHORIZED, HTTPStatus.FORBIDDEN, HTTPStatus.NOT_FOUND})
"""What is answered where they may not."""
LINGER_SECONDS = 5.0
"""How long a refused body is still read, to nowhere: a client that is sending reads no answer."""
WITHOUT_BODY = frozenset({HTTPStatus.NO_CONTENT, HTTPStatus.NOT_MODIFIED})


class HungUp(Exception):
    """The client has gone, or is too slow."""


class Refused(Exception):
    """The request gets this answer, and its body is not read."""

    def __init__(self, reply: "Reply") -> None:
        super().__init__()
        self.reply = reply


class Bridge:
    """An ASGI application that runs a WSGI site in threads."""

    def __init__(
        self, site: Site, *, threads: int, free_bytes: int, stall_seconds: float, folder: str, prefix: str = ""
    ) -> None:
        self.site = site
        self.prefix = prefix
        self.free_bytes = free_bytes
        self.stall_seconds = stall_seconds
        self.folder = folder
        self.spills = Spills(folder, most_waiting=threads // 2, stall_seconds=stall_seconds)
        self.threads = ThreadPoolExecutor(threads, thread_name_prefix="request")
        self.disk = ThreadPoolExecutor(2, thread_name_prefix="disk")

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "websocket":
            return  # the server answers 403 where one is not accepted
        if scope["type"] != "http":
            raise ValueError(f"This site has no {scope['type']}.")
        environ = make_environ(scope, self.prefix)
        wire = Wire(receive, send, self.stall_seconds, takes_body=scope["method"] != "HEAD")
        with suppress(HungUp):
            try:
                body = await self._receive(environ, wire)
            except Refused as refused:
                await self._send(refused.reply, wire, is_refusal=True)
                return
            with body:
                environ["wsgi.input"] = body
                reply = await self._run(environ)
                await self._send(reply, wire, asked=environ)

    async def _receive(self, environ: Environ, wire: "Wire") -> IO[bytes]:
        """Return the whole body, at its beginning. Raises Refused and HungUp."""
        announced = _read_length(environ)
        if announced == 0:
            return BytesIO()
        most = self.free_bytes
        if announced is not None and announced > most:
            most = await self._ask(environ)
        body = tempfile.SpooledTemporaryFile(MEMORY_BYTES, dir=self.folder)  # noqa: SIM115
        n_bytes, is_kept = 0, False
        try:
            async for piece in wire.read():
                n_bytes += len(piece)
                if n_bytes > most:
                    # Only a body of unknown length gets here.
                    most = await self._ask(environ) if most == self.free_bytes else 0
                    if n_bytes > most:
                        raise Refused(_plain(HTTPStatus.REQUEST_ENTITY_TOO_LARGE, "The upload is too large."))
                if n_bytes <= MEMORY_BYTES:
                    body.write(piece)
                else:
                    await asyncio.get_running_loop().run_in_executor(self.disk, body.write, piece)
            body.seek(0)
            is_kept = True
        except TimeoutError:
            raise Refused(_plain(HTTPStatus.REQUEST_TIMEOUT, "The request came too slowly.")) from None
        except HungUp:
            # Who sends no more may still read.
            raise Refused(_plain(HTTPStatus.BAD_REQUEST, "The request was interrupted.")) from None
        finally:
            if not is_kept:
                body.close()
        environ["CONTENT_LENGTH"] = str(n_bytes)
        return body

    async def _ask(self, environ: Environ) -> int:
        """Return how many bytes the sender may send. Raises Refused with the site's answer otherwise."""
        question = Question()
        reply = await self._run({**environ, QUESTION: question, "wsgi.input": BytesIO()})
        if question.most_bytes is None:
            raise Refused(reply)
        reply.close()
        return question.most_bytes

    async def _run(self, environ: Environ) -> "Reply":
        """Start the site in a thread, and return its reply once it can be sent: whole, or its large beginning."""
        reply = Reply(asyncio.get_running_loop(), self.spills)
        self.threads.submit(reply.produce, self.site, environ)
        try:
            await reply.ready
        except asyncio.CancelledError:
            reply.close()
            raise
        return reply

    async def _may_still_read(self, environ: Environ) -> bool:
        """Ask for the headers of the same response, so that no rule of access is written twice."""
        if environ["REQUEST_METHOD"] != "GET":
            return True
        reply = await self._run({**environ, "REQUEST_METHOD": "HEAD", "wsgi.input": BytesIO()})
        self._forget(reply)
        return reply.status not in LOST

    def _forget(self, reply: "Reply") -> None:
        reply.close()
        if reply.file is not None:
            # In a thread: closing ends the request for the site, which may look after its database connections.
            self.threads.submit(reply.file.close)

    async def _send(
        self, reply: "Reply", wire: "Wire", *, asked: Environ | None = None, is_refusal: bool = False
    ) -> None:
        now = asyncio.get_running_loop().time
        try:
            has_body = wire.takes_body and reply.status not in WITHOUT_BODY
            headers = [*reply.headers, *([(b"connection", b"close")] if is_refusal else [])]
            await wire.send({"type": "http.response.start", "status": reply.status, "headers": headers})
            last = b""
            if has_body and reply.is_whole:
                last = b"".join(reply.pieces)
            elif has_body:
                ask_at = now() + ASK_AGAIN_SECONDS
                async for piece in reply.read(self.disk):
                    if asked is not None and now() >= ask_at:
                        if not await self._may_still_read(asked):
                            raise HungUp
                        ask_at = now() + ASK_AGAIN_SECONDS
                    await wire.send({"type": "http.response.body", "body": piece, "more_body": True})
            await wire.send({"type": "http.response.body", "body": last, "more_body": False})
            if is_refusal:
                await wire.drop_body()
        finally:
            self._forget(reply)


class Wire:
    """The two directions of a request, with an end to patience."""

    def __init__(self, receive: Receive, send: Send, stall_seconds: float, *, takes_body: bool) -> None:
        self._receive = receive
        self._send = send
        self._stall_seconds = stall_seconds
        self.takes_body = takes_body

    async def read(self) -> Any:
        """Yield the pieces of the body. Raises TimeoutError if they come too slowly, HungUp if no more will come."""
        now = asyncio.get_running_loop().time
        began, n_bytes, has_more = now(), 0, True
        while has_more:
            left = began + self._stall_seconds + n_bytes / LEAST_BYTES_PER_SECOND - now()
            async with asyncio.timeout(max(0.0, min(self._stall_seconds, left))):
                message = await self._receive()
            if message["type"] != "http.request":
                raise HungUp
            has_more = message.get("more_body", False)
            if piece := message.get("body", b""):
                n_bytes += len(piece)
                yield piece

    async def drop_body(self) -> None:
        """Read what is still sent, so that the client reads its answer."""
        with suppress(TimeoutError):
            async with asyncio.timeout(LINGER_SECONDS):
                while (await self._receive()).get("more_body", False):
                    pass

    async def send(self, message: Message) -> None:
        """Send a part of the response, once the client has read most of what was sent. Raises HungUp if it does not."""
        try:
            async with asyncio.timeout(self._stall_seconds):
                await self._send(message)
        except (TimeoutError, OSError):
            raise HungUp from None


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


@dataclass
class FileBody:
    """A file as the body of a response (`wsgi.file_wrapper`)."""

    source: Any
    block_size: int = PIECE_BYTES

    def __iter__(self) -> Iterator[bytes]:
        while piece := self.source.read(self.block_size):
            yield piece

    def read(self, n_bytes: int) -> bytes:
        found: bytes = self.source.read(n_bytes)
        return found

    def close(self) -> None:
        if close := getattr(self.source, "close", None):
            close()


def make_environ(scope: Scope, prefix: str = "") -> Environ:
    """Return the WSGI environ of a request, without its body; proxies may pass the prefix of the site on, or not."""
    raw_path: bytes = scope.get("raw_path") or scope["path"].encode()
    path = unquote_to_bytes(raw_path.partition(b"?")[0]).decode("latin-1")
    if prefix and f"{path}/".startswith(f"{prefix}/"):
        path = path.removeprefix(prefix) or "/"
    server = scope.get("server") or ("localhost", None)
    client = scope.get("client")
    environ: Environ = {
        "REQUEST_METHOD": scope["method"],
        "SCRIPT_NAME": "",
        "PATH_INFO": path,
        "QUERY_STRING": scope["query_string"].decode("latin-1"),
        "SERVER_PROTOCOL": f"HTTP/{scope['http_version']}",
        "SERVER_NAME": str(server[0]),
        "SERVER_PORT": str(server[1] or 0),
        "REMOTE_ADDR": str(client[0]) if client else "",
        "wsgi.version": (1, 0),
        "wsgi.url_scheme": "http",  # TLS ends at the proxy, whose header Django reads if the operator trusts it
        "wsgi.multithread": True,
        "wsgi.multiprocess": True,
        "wsgi.run_once": False,
        "wsgi.file_wrapper": FileBody,
    }
    for raw_name, raw_value in scope["headers"]:
        name, value = raw_name.decode("latin-1"), raw_value.decode("latin-1")
        if "_" in name:
            continue  # “x_forwarded_for” would be taken for the header of a proxy
        key = name.upper().replace("-", "_")
        if key not in {"CONTENT_LENGTH", "CONTENT_TYPE"}:
            key = f"HTTP_{key}"
        if key in environ:
            value = f"{environ[key]}{';' if key == 'HTTP_COOKIE' else ','}{value}"
        environ[key] = value
    return environ


def _read_length(environ: Environ) -> int | None:
    """Return the announced length of the body; None if there is one of unknown length."""
    announced = environ.get("CONTENT_LENGTH", "")
    if announced.isdecimal():
        return int(announced)
    return None if "HTTP_TRANSFER_ENCODING" in environ else 0


def _plain(status: HTTPStatus, text: str) -> Reply:
    reply = Reply(asyncio.get_running_loop())
    content = f"{text}\n".encode()
    reply.status, reply.pieces, reply.is_whole = status, [content], True
    reply.headers = [(b"content-type", b"text/plain; charset=utf-8"), (b"content-length", b"%d" % len(content))]
    return reply
