"""Snapshots: numbers that stand side by side are read at one moment."""

from collections.abc import Iterator
from contextlib import contextmanager

from django.db import connection, transaction


@contextmanager
def snapshot() -> Iterator[None]:
    """Read everything within as of one moment, whatever others write meanwhile; writing is refused.

    A page or a command that counts in several statements is decorated with it. Inside a transaction, which has its
    moments already, it changes nothing.
    """
    if connection.in_atomic_block:
        yield
        return
    with transaction.atomic():
        with connection.cursor() as cursor:
            cursor.execute("SET TRANSACTION ISOLATION LEVEL REPEATABLE READ READ ONLY")
        yield
