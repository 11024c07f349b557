"""Time limits of the database connections of a web process, whose requests must not wait for ever."""

from collections.abc import Callable
from typing import Any

from django.conf import settings
from django.db.backends.signals import connection_created
from psycopg2.extensions import TRANSACTION_STATUS_IDLE


def limit_statements() -> None:
    """Give each connection that this process opens from now on the limits of the settings.

    A statement that exceeds one raises OperationalError, which pages answer with 503. Workers and commands have no
    limits: their statements may take long.
    """
    connection_created.connect(_limit, dispatch_uid="timeouts")


def _limit(connection: Any, **_: Any) -> None:
    if settings.HAS_POOLER:
        if _limit_transaction not in connection.execute_wrappers:
            # First: whoever counts statements meanwhile removes the last one when they end.
            connection.execute_wrappers.insert(0, _limit_transaction)
        return
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT set_config('statement_timeout', %s, false), set_config('lock_timeout', %s, false)",
            [f"{settings.STATEMENT_SECONDS}s", f"{settings.LOCK_SECONDS}s"],
        )


def _limit_transaction(execute: Callable[..., Any], sql: str, parameters: Any, many: bool, context: Any) -> Any:
    """Send the limits with the first statement of each transaction, for that transaction alone.

    Behind a pooler, what is set for a connection stays in it for whoever gets it next. Statements that are sent
    together are one transaction, also outside of a block, and cost no journey of their own.
    """
    cursor, link = context["cursor"].cursor, context["connection"].connection
    if link.get_transaction_status() == TRANSACTION_STATUS_IDLE:
        limits = (
            f"SET LOCAL statement_timeout = '{settings.STATEMENT_SECONDS:d}s';"
            f" SET LOCAL lock_timeout = '{settings.LOCK_SECONDS:d}s'"
        )
        if cursor.name is None:
            sql = f"{limits}; {sql}"
        else:  # it is declared with its statement, and with nothing before that
            with link.cursor() as before:
                before.execute(limits)
    return execute(sql, parameters, many, context)
