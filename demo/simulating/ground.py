"""Temporary tables for a simulation: empty copies of all tables, visible to one connection and dropped at its end."""

import threading
import uuid
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from random import Random
from typing import TypeVar

from django.apps import apps
from django.db import connection, connections, transaction

from annotate.places.seeds import HIDE
from annotate.places.taking import NEW_UUID

T = TypeVar("T")
FIRST_ID = 2_000_000_001
"""Ids start far above those of real projects, so that no cache by id can mix them up."""


class Interrupted(Exception):
    """The process that waits for the simulation was stopped."""


def run_apart(act: Callable[[Callable[[], None]], T]) -> T:
    """Run a function in a thread with a new database connection, and return its result.

    A new connection has no prepared statements that refer to the real tables. The function has to call its argument now
    and then, which raises Interrupted after Ctrl+C: Python delivers that only to the main thread.
    """
    stopped = threading.Event()

    def check() -> None:
        if stopped.is_set():
            raise Interrupted

    def run() -> T:
        try:
            return act(check)
        finally:
            connections.close_all()

    with ThreadPoolExecutor(max_workers=1, thread_name_prefix="simulation") as pool:
        running = pool.submit(run)
        try:
            return running.result()
        except BaseException:
            stopped.set()
            raise


@contextmanager
def throw_away_tables(seed: int) -> Iterator[None]:
    """Run the block on empty temporary tables of the same names, in one transaction that is rolled back.

    They hide the real tables from this connection, so that none of these is read, written or locked, and callbacks on
    commit never run. Ids, the UUIDs of assignments and what is drawn from them are the same for the same seed.
    """
    chance = Random(seed)  # noqa: S311 - must be reproducible, not secret
    token = NEW_UUID.set(lambda: uuid.UUID(int=chance.getrandbits(128), version=4))
    # Nobody is to be surprised by a simulation, and its figures must not depend on the site's secret key.
    shown = HIDE.set(str)
    try:
        with transaction.atomic():
            _copy_tables()
            yield
            transaction.set_rollback(True)
    finally:
        NEW_UUID.reset(token)
        HIDE.reset(shown)


def _copy_tables() -> None:
    models = [model for model in apps.get_models(include_auto_created=True) if model._meta.managed]
    with connection.cursor() as cursor:
        for table in sorted({model._meta.db_table for model in models}):
            name = connection.ops.quote_name(table)
            cursor.execute(f"CREATE TEMPORARY TABLE {name} (LIKE public.{name} INCLUDING ALL) ON COMMIT DROP")
        cursor.execute(
            """SELECT table_name, column_name FROM information_schema.columns
               WHERE table_schema = (SELECT nspname FROM pg_namespace WHERE oid = pg_my_temp_schema())
                 AND is_identity = 'YES'"""
        )
        # LIKE copies identity columns with a sequence that starts at 1.
        for table, column in cursor.fetchall():
            names = connection.ops.quote_name(table), connection.ops.quote_name(column)
            cursor.execute(f"ALTER TABLE pg_temp.{names[0]} ALTER COLUMN {names[1]} RESTART WITH {FIRST_ID}")
