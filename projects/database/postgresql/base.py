"""The connection that Django uses.

Before each request its health is checked, by a system call where that will do. It works through a pooler in transaction
mode, too.
"""

import select
from typing import Any

from django.db.backends.postgresql import base
from psycopg2.extensions import TRANSACTION_STATUS_IDLE

READABLE = select.POLLIN | select.POLLHUP | select.POLLERR | select.POLLNVAL


class DatabaseWrapper(base.DatabaseWrapper):
    """A connection to PostgreSQL."""

    def chunked_cursor(self) -> Any:
        """Return a cursor of the server inside a transaction, and a plain one outside.

        One that outlives its transaction belongs to the connection, which a pooler changes then. Forms ask for their
        few choices in this way; whoever reads many rows begins a transaction.
        """
        return super().chunked_cursor() if self.in_atomic_block else self.cursor()

    def is_usable(self) -> bool:
        """Return whether the connection can be used.

        A server that ends, or ends a connection, closes the socket, and a closed socket is readable; an idle one is
        not. So no statement is sent unless there is something to read. A server that vanished without a word shows
        only in the next statement, as it would in a statement sent to find out.
        """
        if self.connection is not None and _is_idle(self.connection) and not _is_readable(self.connection):
            return True
        return bool(super().is_usable())


def _is_idle(connection: Any) -> bool:
    """Return whether the connection is open, and outside of a transaction, which might have failed."""
    return not connection.closed and connection.get_transaction_status() == TRANSACTION_STATUS_IDLE


def _is_readable(connection: Any) -> bool:
    poll = select.poll()
    poll.register(connection.fileno(), READABLE)
    return bool(poll.poll(0))
