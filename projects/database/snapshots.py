"""Snapshots: several statements that see the database at one moment."""

from collections.abc import Iterator
from contextlib import contextmanager

from django.db import connection, transaction


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
