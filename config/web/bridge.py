"""The site between the wire and its threads: only a complete request takes one, and a slow reader takes none.

Bodies are received into a temporary file. A body that is larger than a form is not received before the site has seen
who sends it. A response is produced as fast as its thread can, into a temporary file where it is large, and sent as
fast as its client reads; where that file is full, its thread waits for the client.
"""

import asyncio
import logging
import tempfile
from collections.abc import Awaitable, Callable, Iterable, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from http import HTTPStatus
from io import BytesIO
from typing import IO, Any

from config.web.environ import Environ, Scope, make_environ, read_length
from config.web.replies import MEMORY_BYTES, HungUp, Reply, Site, make_plain
from config.web.spills import Spills
from projects.web.body_questions import QUESTION, BodyQuestion

Message = Mapping[str, Any]
Receive = Callable[[], Awaitable[Message]]
Send = Callable[[Message], Awaitable[None]]

log = logging.getLogger(__name__)

LEAST_BYTES_PER_SECOND = 2_000
"""Average below which a body is given up, after the seconds that a client may pause."""
ASK_AGAIN_SECONDS = 30.0
"""How often it is asked whether the reader of a large response may still have it."""
LOST = frozenset({HTTPStatus.FOUND, HTTPStatus.UNAUTHORIZED, HTTPStatus.FORBIDDEN, HTTPStatus.NOT_FOUND})
"""What is answered where they may not."""
LINGER_SECONDS = 5.0
"""How long a refused body is still read, to nowhere: a client that is sending reads no answer."""
WITHOUT_BODY = frozenset({HTTPStatus.NO_CONTENT, HTTPStatus.NOT_MODIFIED})


class RequestRefused(Exception):
    """The request gets this answer, and its body is not read."""

    def __init__(self, reply: Reply) -> None:
        super().__init__()
        self.reply = reply


class Bridge:
    """An ASGI application that runs a WSGI site in threads.

    Each path of `apart` has one thread more, by itself: these are answered while all others wait for the database.
    """

    def __init__(
        self,
        site: Site,
        *,
        threads: int,
        free_bytes: int,
        stall_seconds: float,
        folder: str,
        prefix: str = "",
        apart: Iterable[str] = (),
    ) -> None:
        self.site = site
        self.prefix = prefix
        self.free_bytes = free_bytes
        self.stall_seconds = stall_seconds
        self.folder = folder
        self.spills = Spills(folder, most_waiting=threads // 2, stall_seconds=stall_seconds)
        self.threads = ThreadPoolExecutor(threads, thread_name_prefix="request")
        self.apart = {path: ThreadPoolExecutor(1, thread_name_prefix=f"request {path}") for path in apart}
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
            except RequestRefused as refused:
                await self._send(refused.reply, wire, is_refusal=True)
                return
            with body:
                environ["wsgi.input"] = body
                reply = await self._run(environ)
                await self._send(reply, wire, asked=environ)

    async def _receive(self, environ: Environ, wire: "Wire") -> IO[bytes]:
        """Return the whole body, at its beginning. Raises RequestRefused and HungUp."""
        announced = read_length(environ)
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
                        raise RequestRefused(
                            make_plain(HTTPStatus.REQUEST_ENTITY_TOO_LARGE, "The upload is too large.")
                        )
                if n_bytes <= MEMORY_BYTES:
                    body.write(piece)
                else:
                    await asyncio.get_running_loop().run_in_executor(self.disk, body.write, piece)
            body.seek(0)
            is_kept = True
        except TimeoutError:
            raise RequestRefused(make_plain(HTTPStatus.REQUEST_TIMEOUT, "The request came too slowly.")) from None
        except HungUp:
            # Who sends no more may still read.
            raise RequestRefused(make_plain(HTTPStatus.BAD_REQUEST, "The request was interrupted.")) from None
        except OSError as error:
            log.error("A body of %d bytes or more could not be stored: %s", n_bytes, error.strerror)  # noqa: TRY400
            raise RequestRefused(
                make_plain(
                    HTTPStatus.SERVICE_UNAVAILABLE, "The site can't store the upload at the moment. Try again later."
                )
            ) from None
        finally:
            if not is_kept:
                with suppress(OSError):  # closing writes what is in memory, for which there may be no room either
                    body.close()
        environ["CONTENT_LENGTH"] = str(n_bytes)
        return body

    async def _ask(self, environ: Environ) -> int:
        """Return how many bytes the sender may send. Raises RequestRefused with the site's answer otherwise."""
        question = BodyQuestion()
        reply = await self._run({**environ, QUESTION: question, "wsgi.input": BytesIO()})
        if question.most_bytes is None:
            raise RequestRefused(reply)
        reply.close()
        return question.most_bytes

    async def _run(self, environ: Environ) -> Reply:
        """Start the site in a thread, and return its reply once it can be sent: whole, or its large beginning."""
        reply = Reply(asyncio.get_running_loop(), self.spills)
        self.apart.get(environ["PATH_INFO"], self.threads).submit(reply.produce, self.site, environ)
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

    def _forget(self, reply: Reply) -> None:
        reply.close()
        if reply.file is not None:
            # In a thread: closing ends the request for the site, which may look after its database connections.
            self.threads.submit(reply.file.close)

    async def _send(
        self, reply: Reply, wire: "Wire", *, asked: Environ | None = None, is_refusal: bool = False
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
