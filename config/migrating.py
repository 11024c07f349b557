"""Applying missing migrations before anything uses the tables."""

from django.core.management import call_command
from django.db import connection
from django.db.migrations.executor import MigrationExecutor

from projects.database.locks import MIGRATIONS


def bring_up_to_date() -> None:
    """Apply missing migrations; of several processes at once, one applies them while the others wait."""
    if not _is_behind():
        return
    with connection.cursor() as cursor:
        cursor.execute("SELECT pg_advisory_lock(%s)", [MIGRATIONS])
        try:
            # Another process may have migrated while this one waited for the lock.
            if _is_behind():
                call_command("migrate", interactive=False, verbosity=0)
        finally:
            cursor.execute("SELECT pg_advisory_unlock(%s)", [MIGRATIONS])


def _is_behind() -> bool:
    executor = MigrationExecutor(connection)
    return bool(executor.migration_plan(executor.loader.graph.leaf_nodes()))
