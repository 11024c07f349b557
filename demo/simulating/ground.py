"""The ground of a simulation: empty copies of all tables that only one connection can see, and that vanish with it."""

import threading
import uuid
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from random import Random
from typing import TypeVar

from django.apps import apps
from django.db import connection, connections, transaction

from annotate.places.taking import NEW_UUID

T = TypeVar("T")
FIRST_ID = 2_000_000_001
"""Ids begin here, far from those of any project: nothing that is remembered by id can be mistaken."""


class Interrupted(Exception):
    """Whoever waited for the simulation waits no longer."""


def run_apart(act: Callable[[Callable[[], None]], T]) -> T:
    """Run an act on a connection of its own; it is to call what it is given now and then, and stops if we were stopped.

    A connection of one's own has no statements prepared for the real tables.
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
    """Everything within works on empty temporary tables of the same names, in one transaction that is rolled back.

    The real tables are hidden from this connection: none of them is read, written or locked, and what would be done
    on commit never is. Ids and the assignments' uuids come in the same order every time.
    """
    chance = Random(seed)  # noqa: S311 - to be repeated, not to be secret
    token = NEW_UUID.set(lambda: uuid.UUID(int=chance.getrandbits(128), version=4))
    try:
        with transaction.atomic():
            _copy_tables()
            yield
            transaction.set_rollback(True)
    finally:
        NEW_UUID.reset(token)


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
        for table, column in cursor.fetchall():
            names = connection.ops.quote_name(table), connection.ops.quote_name(column)
            cursor.execute(f"ALTER TABLE pg_temp.{names[0]} ALTER COLUMN {names[1]} RESTART WITH {FIRST_ID}")
