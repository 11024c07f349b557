"""A database connection whose every step has a deadline, also if the server hangs or the network swallows packets."""

import selectors
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any

import psycopg2
from django.db import connection
from psycopg2 import extensions

_EVENTS = {extensions.POLL_READ: selectors.EVENT_READ, extensions.POLL_WRITE: selectors.EVENT_WRITE}


class Probe:
    """Statements on one connection, each committed by itself. They raise TimeoutError after the deadline."""

    def __init__(self, opened: Any, deadline: float, seconds: float) -> None:
        self._connection = opened
        self._deadline = deadline
        # A statement that waits for a lock must not be left behind in the server. The limit goes with each statement,
        # as one transaction: a pooler would give a limit of the connection to others.
        self._limit = f"SET LOCAL statement_timeout = {int(seconds * 1000)}; "

    def ask(self, sql: str, parameters: Mapping[str, Any] | None = None) -> list[tuple[Any, ...]]:
        """Run a statement and return its rows; empty for one that has none."""
        with self._connection.cursor() as cursor:
            cursor.execute(self._limit + sql, parameters)
            self.wait()
            return cursor.fetchall() if cursor.description else []

    def wait(self) -> None:
        """Wait until the server has answered."""
        while (state := self._connection.poll()) != extensions.POLL_OK:
            left = self._deadline - time.monotonic()
            if left <= 0:
                raise TimeoutError("The database does not answer.")
            with selectors.DefaultSelector() as selector:
                selector.register(self._connection, _EVENTS[state])
                selector.select(left)


@contextmanager
def probe(seconds: float) -> Iterator[Probe]:
    """Open a connection of its own for so many seconds. Raises TimeoutError, or OperationalError if it is refused.

    The connections of requests wait as long as the server hangs, and a timeout of the server hangs with it.
    """
    deadline = time.monotonic() + seconds
    parameters = connection.get_connection_params() | {"cursor_factory": extensions.cursor}
    opened = psycopg2.connect(**parameters, async_=True)
    try:
        found = Probe(opened, deadline, seconds)
        found.wait()
        yield found
    finally:
        opened.close()
