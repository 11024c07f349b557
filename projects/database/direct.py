"""A connection to the database server itself, where other connections lead to a pooler."""

from collections.abc import Iterator
from contextlib import contextmanager

from django.conf import settings
from django.db import DEFAULT_DB_ALIAS, connections


@contextmanager
def direct_connection() -> Iterator[None]:
    """Let this thread talk to the server itself during the block, which may keep a session: locks, settings, dumps.

    A pooler in transaction mode gives each transaction another connection. Without one, nothing changes.
    """
    if not settings.HAS_POOLER:
        yield
        return
    pooled = connections[DEFAULT_DB_ALIAS]
    connections[DEFAULT_DB_ALIAS] = type(pooled)({**pooled.settings_dict, **settings.DIRECT_DATABASE}, DEFAULT_DB_ALIAS)
    try:
        yield
    finally:
        connections[DEFAULT_DB_ALIAS].close()
        connections[DEFAULT_DB_ALIAS] = pooled
