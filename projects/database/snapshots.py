"""Snapshots: several statements that see the database at one moment."""

from collections.abc import Iterator
from contextlib import contextmanager

from django.db import Error, connection, transaction
from psycopg2.errorcodes import INVALID_PARAMETER_VALUE, OBJECT_NOT_IN_PREREQUISITE_STATE, UNDEFINED_OBJECT


@contextmanager
def snapshot() -> Iterator[None]:
    """Read everything inside the block as of one moment, whatever others write meanwhile; writing raises an error.

    Decorate a page or a command with it if numbers from several statements have to agree. Inside a transaction it has
    no effect, because the isolation level can only be set before the first statement.
    """
    if connection.in_atomic_block:
        yield
        return
    with transaction.atomic():
        with connection.cursor() as cursor:
            cursor.execute("SET TRANSACTION ISOLATION LEVEL REPEATABLE READ READ ONLY")
        yield


class SnapshotGone(Exception):
    """The transaction that shared its snapshot has ended."""


def export_snapshot() -> str | None:
    """Return under which name other connections can join the snapshot of this transaction, until it ends.

    None within a transaction that a caller began: it is no snapshot, and others do not see what it wrote.
    """
    with connection.cursor() as cursor:
        cursor.execute("SELECT current_setting('transaction_isolation')")
        if cursor.fetchone() != ("repeatable read",):
            return None
        cursor.execute("SELECT pg_export_snapshot()")
        return str(cursor.fetchone()[0])


@contextmanager
def join_snapshot(name: str) -> Iterator[None]:
    """Read everything inside the block as of the moment of a snapshot that another connection shares.

    Raises SnapshotGone if that has ended.
    """
    with transaction.atomic(), connection.cursor() as cursor:
        cursor.execute("SET TRANSACTION ISOLATION LEVEL REPEATABLE READ READ ONLY")
        try:
            cursor.execute("SET TRANSACTION SNAPSHOT %s", [name])
        except Error as error:
            # The server refused the name; else the connection was lost, which is another matter.
            if getattr(error.__cause__, "pgcode", None) in _GONE:
                raise SnapshotGone from error
            raise
        yield


_GONE = (UNDEFINED_OBJECT, INVALID_PARAMETER_VALUE, OBJECT_NOT_IN_PREREQUISITE_STATE)
"""What PostgreSQL says of a snapshot that is no longer shared; it differs between versions."""
