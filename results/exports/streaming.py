"""Query results from the database as they come, in bounded memory: into a file, or as chunks of a response."""

import io
import queue
import threading
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import IO, Any

from django.db import connection
from psycopg2 import Error

# At most a megabyte of a download waits in memory for a slow reader.
CHUNK_BYTES = 256 * 1024
CHUNKS_AHEAD = 4

CSV = "FORMAT csv, HEADER"
LINES = r"FORMAT csv, DELIMITER E'\x01', QUOTE E'\x02'"
"""One text a row, unquoted: JSON escapes control characters, so it holds neither of these two nor a line break."""

_FAST = """
SELECT current_setting('statement_timeout'), set_config('statement_timeout', '0', false),
       set_config('work_mem', '64MB', false), set_config('jit', 'off', false)
"""
"""SQL: sort a million rows in memory rather than on disk, do not compile a statement that runs once, and let it run as
long as its reader reads. The settings outlast the transaction, as a download has none of its own, and are reset
afterwards."""


@dataclass(frozen=True, kw_only=True)
class Statement:
    """A SELECT whose rows are a file: one statement, hence one snapshot."""

    select: str
    parameters: Mapping[str, object]
    form: str = CSV
    head: bytes = b""
    tail: Callable[[int], bytes] = lambda _: b""


def write(statement: Statement, file: IO[bytes] | io.RawIOBase) -> int:
    """Write a statement's rows into a file and return their number."""
    connection.ensure_connection()
    return _copy(connection.connection, statement, file)


def stream(statement: Statement) -> Iterator[bytes]:
    """Yield a statement's rows in chunks.

    COPY pushes and a response pulls, so a thread pushes into a short queue and waits while it is full. The thread
    uses this request's own connection, which nothing else touches meanwhile. A reader who goes away cancels the
    statement.
    """
    connection.ensure_connection()
    raw = connection.connection
    sink = _Sink()
    # A daemon, so that a process that ends does not wait for a reader who is gone.
    thread = threading.Thread(target=_push, args=(raw, statement, sink), daemon=True)
    thread.start()
    try:
        while (chunk := sink.chunks.get()) is not None:
            yield chunk
        if sink.error is not None:
            raise sink.error
    finally:
        if thread.is_alive():
            # In this order: what still comes is dropped, the statement is cancelled, and emptying the queue frees a
            # thread that waits for room in it.
            sink.is_abandoned = True
            raw.cancel()
            sink.drain()
        thread.join()


class _Sink(io.RawIOBase):
    """The end of a pipe that COPY writes into."""

    def __init__(self) -> None:
        super().__init__()
        self.chunks: queue.Queue[bytes | None] = queue.Queue(CHUNKS_AHEAD)
        self.error: Exception | None = None
        self.is_abandoned = False

    def writable(self) -> bool:
        return True

    def write(self, data: Any) -> int:
        if not self.is_abandoned:
            # The buffer is reused after the call, so the chunk has to be a copy.
            self.chunks.put(bytes(data))
        return len(data)

    def drain(self) -> None:
        while not self.chunks.empty():
            self.chunks.get_nowait()


def _push(raw: Any, statement: Statement, sink: _Sink) -> None:
    try:
        file = io.BufferedWriter(sink, CHUNK_BYTES)
        _copy(raw, statement, file)
        file.flush()
    except Exception as error:  # noqa: BLE001 - raised again where the chunks are read
        sink.error = error
    finally:
        if not sink.is_abandoned:
            sink.chunks.put(None)


def _copy(raw: Any, statement: Statement, file: IO[bytes] | io.RawIOBase) -> int:
    file.write(statement.head)
    with raw.cursor() as cursor:
        # COPY takes no parameters, so they are written into the statement, quoted by the driver.
        select = cursor.mogrify(statement.select, statement.parameters).decode()
        cursor.execute(_FAST)
        (timeout, *_) = cursor.fetchone()
        try:
            cursor.copy_expert(f"COPY ({select}) TO STDOUT WITH ({statement.form})", file, CHUNK_BYTES)
            n_rows: int = cursor.rowcount
        finally:
            _reset_settings(raw, cursor, timeout)
    file.write(statement.tail(n_rows))
    return n_rows


def _reset_settings(raw: Any, cursor: Any, timeout: str) -> None:
    try:
        if not raw.closed:
            cursor.execute("RESET work_mem; RESET jit; SET statement_timeout = %s", [timeout])
    except Error:
        # A failed transaction has undone the settings itself.
        return
