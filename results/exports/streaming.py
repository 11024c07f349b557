"""Query results from the database as they come, in bounded memory: into a file, or as chunks of a response."""

import io
import logging
import queue
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from typing import IO, Any

import psycopg2
from django.db import connection

logger = logging.getLogger(__name__)

# At most a megabyte of a download waits in memory for a slow reader.
CHUNK_BYTES = 256 * 1024
CHUNKS_AHEAD = 4

CSV = "FORMAT csv, HEADER"
LINES = r"FORMAT csv, DELIMITER E'\x01', QUOTE E'\x02'"
"""One text a row, unquoted: JSON escapes control characters, so it holds neither of these two nor a line break."""

_FAST = """
SELECT current_setting('statement_timeout'), set_config('statement_timeout', '0', true),
       set_config('work_mem', '64MB', true), set_config('jit', 'off', true)
"""
"""SQL: sort a million rows in memory rather than on disk, do not compile a statement that runs once, and let it run as
long as its reader reads. The settings end with the transaction; those of one that goes on are reset before."""
_SLOW = "SET LOCAL work_mem TO DEFAULT; SET LOCAL jit TO DEFAULT; SET LOCAL statement_timeout = %s"


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
    """Return a statement's rows in chunks.

    COPY pushes and a response pulls, so a thread pushes into a short queue and waits while it is full. The thread
    uses this request's own connection, which nothing else touches meanwhile. A reader who goes away cancels the
    statement.
    """
    connection.ensure_connection()
    # Now, not when the first chunk is read: by then the view has returned, and with it what it read from.
    return _pull(connection.connection, statement)


def _pull(raw: Any, statement: Statement) -> Iterator[bytes]:
    sink = _Sink()
    # A daemon, so that a process that ends does not wait for a reader who is gone.
    thread = threading.Thread(target=_push, args=(raw, statement, sink), daemon=True)
    thread.start()
    has_begun = False
    try:
        while (chunk := sink.chunks.get()) is not None:
            has_begun = True
            yield chunk
        if sink.error is not None and (has_begun or not _may_run_again(raw, sink.error)):
            raise sink.error
    finally:
        if thread.is_alive():
            # In this order: what still comes is dropped, the statement is cancelled, and emptying the queue frees a
            # thread that waits for room in it.
            sink.is_abandoned = True
            raw.cancel()
            sink.drain()
        thread.join()
    if sink.error is not None:
        logger.warning("The replica failed, and the server answers instead: %s", " ".join(str(sink.error).split()))
        yield from _pull(connection.connection, statement)


def _may_run_again(raw: Any, error: Exception) -> bool:
    """Return whether a replica has failed, so that the server can run the statement instead."""
    if not isinstance(error, psycopg2.Error) or isinstance(error, psycopg2.extensions.QueryCanceledError):
        return False
    connection.ensure_connection()
    return connection.connection is not raw


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
        with _transaction(raw, cursor):
            cursor.execute(_FAST)
            (timeout, *_) = cursor.fetchone()
            cursor.copy_expert(f"COPY ({select}) TO STDOUT WITH ({statement.form})", file, CHUNK_BYTES)
            n_rows: int = cursor.rowcount
            if not raw.autocommit:
                cursor.execute(_SLOW, [timeout])
    file.write(statement.tail(n_rows))
    return n_rows


@contextmanager
def _transaction(raw: Any, cursor: Any) -> Iterator[None]:
    """Run the block in the connection's transaction, or in one of its own, which ends with the block."""
    if not raw.autocommit:
        yield
        return
    cursor.execute("BEGIN")
    try:
        yield
    finally:
        if not raw.closed:
            cursor.execute("ROLLBACK")  # it has read only
