"""Apply migrations without holding up the site: waits for locks are short, and tried again."""

import time
from typing import Any

from django.core.management import CommandError
from django.core.management.commands import migrate
from django.db import OperationalError, connections
from psycopg2 import errors

from projects.database.direct import direct_connection

LOCK_MS = 2_000
"""How long a migration waits for a lock of a table. All who want to read the table wait behind it for as long."""
N_ATTEMPTS = 20
PAUSE_SECONDS = 5.0
"""Attempts and the time between them: more than two minutes in all, in which most jobs that hold a lock end."""

_OLDEST = """
SELECT pid, application_name, to_char(xact_start AT TIME ZONE 'UTC', 'YYYY-MM-DD HH24:MI:SS') FROM pg_stat_activity
WHERE datname = current_database() AND pid <> pg_backend_pid() AND xact_start IS NOT NULL
ORDER BY xact_start LIMIT 1
"""


class Command(migrate.Command):
    help = "Apply missing migrations. Waits briefly for a table in use and tries again, so that the site keeps running."

    @direct_connection()
    def handle(self, *args: Any, **options: Any) -> None:
        connection = connections[options["database"]]
        with connection.cursor() as cursor:
            cursor.execute(
                "SELECT current_setting('lock_timeout'), set_config('lock_timeout', %s, false)", [f"{LOCK_MS}ms"]
            )
            before = cursor.fetchone()[0]
        try:
            self._migrate(*args, **options)
        finally:
            with connection.cursor() as cursor:
                cursor.execute("SELECT set_config('lock_timeout', %s, false)", [before])

    def _migrate(self, *args: Any, **options: Any) -> None:
        """Run Django's command until it ends: each migration is one transaction, so what was applied stays applied."""
        for attempt in range(1, N_ATTEMPTS + 1):
            try:
                super().handle(*args, **options)
            except OperationalError as error:
                if not isinstance(error.__cause__, errors.LockNotAvailable | errors.DeadlockDetected):
                    raise
                holder = _describe_oldest_transaction(options["database"])
                if attempt == N_ATTEMPTS:
                    raise CommandError(
                        f"A migration needs tables that other transactions use{holder}. Earlier migrations are "
                        "applied, this one has changed nothing. Wait until they end, or stop the web server and the "
                        "worker; then run migrate again."
                    ) from error
                self.stderr.write(
                    f"A migration waits for tables that other transactions use{holder}. Trying again in "
                    f"{PAUSE_SECONDS:.0f} seconds ({attempt} of {N_ATTEMPTS})."
                )
                time.sleep(PAUSE_SECONDS)
            else:
                return


def _describe_oldest_transaction(database: str) -> str:
    with connections[database].cursor() as cursor:
        cursor.execute(_OLDEST)
        row = cursor.fetchone()
    if row is None:
        return ""
    pid, name, since = row
    return f" (the oldest is of process {pid}{f', {name}' if name else ''}, since {since} UTC)"
