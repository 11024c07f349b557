"""The connection that Django uses. Before each request its health is checked, by a system call where that will do."""

import select
from typing import Any

from django.db.backends.postgresql import base
from psycopg2.extensions import TRANSACTION_STATUS_IDLE

READABLE = select.POLLIN | select.POLLHUP | select.POLLERR | select.POLLNVAL


class DatabaseWrapper(base.DatabaseWrapper):
    """A connection to PostgreSQL."""

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
