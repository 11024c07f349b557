"""Time limits of the database connections of a web process, whose requests must not wait for ever."""

from typing import Any

from django.conf import settings
from django.db.backends.signals import connection_created


def limit_statements() -> None:
    """Give each connection that this process opens from now on the limits of the settings.

    A statement that exceeds one raises OperationalError, which pages answer with 503. Workers and commands have no
    limits: their statements may take long.
    """
    connection_created.connect(_limit, dispatch_uid="timeouts")


def _limit(connection: Any, **_: Any) -> None:
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT set_config('statement_timeout', %s, false), set_config('lock_timeout', %s, false)",
            [f"{settings.STATEMENT_SECONDS}s", f"{settings.LOCK_SECONDS}s"],
        )
