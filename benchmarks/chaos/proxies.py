"""A TCP proxy before a server that listens on a socket of this machine, which can be slow, silent or gone."""

import asyncio
import threading
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager, suppress
from enum import Enum
from pathlib import Path

PIECE_BYTES = 64 * 1024
DELAY_SECONDS = 0.5


class Weather(Enum):
    FAIR = "passes everything on"
    SLOW = "holds everything back for half a second"
    SILENT = "passes nothing on, and closes nothing"
    BROKEN = "resets every connection"


class Proxy:
    """Listens on a free port and passes everything on to a UNIX socket, as well as its weather allows."""

    def __init__(self, target: Path) -> None:
        self.target = target
        self.port = 0
        self._weather = Weather.FAIR
        self._links: set[asyncio.StreamWriter] = set()
        self._loop = asyncio.new_event_loop()

    @contextmanager
    def running(self) -> Iterator[None]:
        is_open = threading.Event()
        thread = threading.Thread(target=lambda: self._loop.run_until_complete(self._serve(is_open)), daemon=True)
        thread.start()
        is_open.wait()
        try:
            yield
        finally:
            self._loop.call_soon_threadsafe(self._ended.set)
            thread.join()

    @contextmanager
    def weather(self, weather: Weather) -> Iterator[None]:
        """Hold the proxy in another weather during the block."""
        self._loop.call_soon_threadsafe(self._change, weather)
        try:
            yield
        finally:
            self._loop.call_soon_threadsafe(self._change, Weather.FAIR)

    def _change(self, weather: Weather) -> None:
        self._weather = weather
        (self._passes.clear if weather is Weather.SILENT else self._passes.set)()
        if weather is Weather.BROKEN:
            for link in self._links:
                link.transport.abort()

    async def _serve(self, is_open: threading.Event) -> None:
        self._ended, self._passes = asyncio.Event(), asyncio.Event()
        self._passes.set()
        server = await asyncio.start_server(self._join, "127.0.0.1", 0)
        self.port = server.sockets[0].getsockname()[1]
        is_open.set()
        await self._ended.wait()
        server.close()
        for link in self._links:
            link.transport.abort()

    async def _join(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        async with self._known(writer):
            if self._weather is Weather.BROKEN:
                return
            try:
                there = await asyncio.open_unix_connection(str(self.target))
            except OSError:  # the server is away
                return
            async with self._known(there[1]):
                both = [
                    asyncio.create_task(self._pass_on(reader, there[1])),
                    asyncio.create_task(self._pass_on(there[0], writer)),
                ]
                await asyncio.wait(both, return_when=asyncio.FIRST_COMPLETED)
                for task in both:
                    task.cancel()

    @asynccontextmanager
    async def _known(self, writer: asyncio.StreamWriter) -> AsyncIterator[None]:
        self._links.add(writer)
        try:
            yield
        finally:
            self._links.discard(writer)
            writer.transport.abort()

    async def _pass_on(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with suppress(OSError):
            while piece := await reader.read(PIECE_BYTES):
                if self._weather is Weather.SLOW:
                    await asyncio.sleep(DELAY_SECONDS)
                await self._passes.wait()
                writer.write(piece)
                await writer.drain()
