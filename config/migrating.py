"""Applying missing migrations before anything uses the tables."""

import time
from collections.abc import Callable
from typing import Any

from django.core.management import call_command
from django.db import connection
from django.db.migrations.executor import MigrationExecutor

from projects.database.direct import direct_connection
from projects.database.locks import MIGRATIONS

PAUSE_SECONDS = 0.2


@direct_connection()
def bring_up_to_date(say: Callable[[str], object] = lambda _text: None) -> None:
    """Apply missing migrations; of several processes at once, one applies them while the others wait.

    It takes seconds, so `say` is told first, if there are any.
    """
    if not _is_behind():
        return
    say("Preparing the database …")
    with connection.cursor() as cursor:
        # Waiting within a statement would keep up an index that is built concurrently: it waits for statements to end.
        while not _try_lock(cursor):
            time.sleep(PAUSE_SECONDS)
        try:
            # Another process may have migrated while this one waited for the lock.
            if _is_behind():
                call_command("migrate", interactive=False, verbosity=0)
        finally:
            cursor.execute("SELECT pg_advisory_unlock(%s)", [MIGRATIONS])


def _try_lock(cursor: Any) -> bool:
    cursor.execute("SELECT pg_try_advisory_lock(%s)", [MIGRATIONS])
    return bool(cursor.fetchone()[0])


def _is_behind() -> bool:
    executor = MigrationExecutor(connection)
    return bool(executor.migration_plan(executor.loader.graph.leaf_nodes()))
