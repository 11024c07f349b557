"""Tables brought up to date before anything uses them."""

from django.core.management import call_command
from django.db import connection
from django.db.migrations.executor import MigrationExecutor

from projects.database.locks import MIGRATIONS


def bring_up_to_date() -> None:
    """Apply what migrations are missing; of several processes at once, one does and the rest find it done."""
    if not _is_behind():
        return
    with connection.cursor() as cursor:
        cursor.execute("SELECT pg_advisory_lock(%s)", [MIGRATIONS])
        try:
            if _is_behind():
                call_command("migrate", interactive=False, verbosity=0)
        finally:
            cursor.execute("SELECT pg_advisory_unlock(%s)", [MIGRATIONS])


def _is_behind() -> bool:
    executor = MigrationExecutor(connection)
    return bool(executor.migration_plan(executor.loader.graph.leaf_nodes()))
