"""Test databases: one template, migrated once, and a copy of it for each test process."""

import hashlib
import os
import shutil
import time
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any

import django
import psycopg2
from django.apps import apps
from django.core.management import call_command
from django.db import OperationalError, connection, connections
from django.test import TransactionTestCase
from psycopg2 import sql
from psycopg2.errors import DeadlockDetected

from config import data_folder, env
from projects.database import identity

TEMPLATE_LOCK = 7_301_552
FIRST_TO_CLEAR_STATISTICS = 180_000
"""The release of PostgreSQL that can take a table's statistics away, as `server_version` has it."""
SMALL = 65_536
MOST_FLUSHES = 5
KEPT_TABLES = {"django_migrations", "django_content_type", "auth_permission"}

_copies: list[str] = []
"""This process's database, once a test has asked for one."""


@contextmanager
def own_copy() -> Iterator[None]:
    """Point Django's connection at a fresh copy of the template, and drop it at the end."""
    home = connection.settings_dict["NAME"]
    run = os.environ.get("PYTEST_XDIST_TESTRUNUID", str(os.getpid()))[:12]
    worker = os.environ.get("PYTEST_XDIST_WORKER", "main")
    prefix = f"test_{home}_"
    template, copy = f"{prefix}template", f"{prefix}{run}_{worker}"
    with _maintenance() as cursor:
        cursor.execute("SELECT pg_advisory_lock(%s)", [TEMPLATE_LOCK])
        if "postgres" in data_folder.needed():
            _drop_leftovers(cursor, prefix, keep=(template, f"{prefix}{run}"))
        if _comment(cursor, template) != _fingerprint():
            _make_template(cursor, template)
        _drop(cursor, copy)
        cursor.execute(sql.SQL("CREATE DATABASE {} TEMPLATE {}").format(sql.Identifier(copy), sql.Identifier(template)))
        cursor.execute("SELECT pg_advisory_unlock(%s)", [TEMPLATE_LOCK])
    _use(copy)
    identity.take_files()  # of an earlier template
    _copies.append(copy)
    try:
        yield
    finally:
        _copies.remove(copy)
        _use(home)
        with _maintenance() as cursor:
            _drop(cursor, copy)


@contextmanager
def empty(name: str) -> Iterator[Any]:
    """Point Django's connection at a database without any table, and drop it at the end; yields a link of its own."""
    before = connection.settings_dict["NAME"]
    fresh = f"{before}_{name}"
    with _maintenance() as cursor:
        _drop(cursor, fresh)
        cursor.execute(sql.SQL("CREATE DATABASE {} ENCODING 'UTF8' TEMPLATE template0").format(sql.Identifier(fresh)))
    _use(fresh)
    try:
        with closing(_link(fresh)) as link:
            yield link
    finally:
        _use(before)
        with _maintenance() as cursor:
            _drop(cursor, fresh)


@contextmanager
def copy(name: str) -> Iterator[None]:
    """Point Django's connection at a migrated database that nobody else uses, and drop it at the end."""
    before = connection.settings_dict["NAME"]
    fresh = f"{before}_{name}"
    with _maintenance() as cursor:
        _drop(cursor, fresh)
        template = sql.Identifier(f"{before[: before.index('_', before.index('_') + 1)]}_template")
        cursor.execute(sql.SQL("CREATE DATABASE {} TEMPLATE {}").format(sql.Identifier(fresh), template))
    _use(fresh)
    try:
        yield
    finally:
        _use(before)
        with _maintenance() as cursor:
            _drop(cursor, fresh)


@contextmanager
def another_session() -> Iterator[Any]:
    """Hold a second session of the database that Django's connection points at."""
    with closing(_link(connection.settings_dict["NAME"])) as link:
        yield link


@contextmanager
def pointed_at(address: str) -> Iterator[None]:
    """Point Django's connection at the database of an address."""
    before = dict(connection.settings_dict)
    connection.close()
    connection.settings_dict.update(env.database(address))
    try:
        yield
    finally:
        connection.close()
        connection.settings_dict.update(before)


@contextmanager
def servers_folder(name: str) -> Iterator[Path]:
    """A folder below that of the tests, which the unprivileged user of the servers can reach."""
    path = data_folder.data_dir() / f"{name}-{time.monotonic_ns()}"
    path.mkdir(mode=0o711)
    try:
        yield path
    finally:
        shutil.rmtree(path)


def flush_by_delete() -> None:
    """Empty every table: on small tables forty times as fast as TRUNCATE.

    A request that a closed page has left behind may lock rows in another order: then one of the two has to try again.
    """
    for n_left in reversed(range(MOST_FLUSHES)):
        try:
            return _delete_all_rows()
        except OperationalError as error:
            if not n_left or not isinstance(error.__cause__, DeadlockDetected):
                raise
    return None


def _delete_all_rows() -> None:
    """Constraints are deferred, so the order of the tables does not matter.

    The log lets its rows go only in a transaction that says that it purges. A lock held by a forgotten connection is an
    error, not a wait without end.
    """
    tables = sorted(set(connection.introspection.django_table_names(only_existing=True)) - KEPT_TABLES)
    deletes = "; ".join(f"DELETE FROM {connection.ops.quote_name(table)}" for table in tables)
    with connection.cursor() as cursor:
        cursor.execute("BEGIN")
        try:
            cursor.execute(
                "SELECT set_config('lock_timeout', '15s', true), set_config('concord.purging', 'on', true);"
                f"SET CONSTRAINTS ALL DEFERRED; {deletes}"
            )
            cursor.execute("COMMIT")
        except BaseException:
            cursor.execute("ROLLBACK")
            raise


def use_flush_by_delete() -> None:
    """From now on a test with transactions of its own leaves empty tables, and the connection that it has used.

    A new connection for each test would have to learn every table again: with it, a test that does nothing takes
    40 ms of CPU.
    """

    def teardown(_: TransactionTestCase) -> None:
        flush_by_delete()

    TransactionTestCase._fixture_teardown = teardown  # type: ignore[attr-defined]
    TransactionTestCase._should_reload_connections = lambda _: False  # type: ignore[attr-defined]


def remove_dead_rows(least_bytes: int = SMALL) -> None:
    """Remove the rows that tests have undone or deleted, and the statistics that an ANALYZE has left.

    Both stay where a test's transaction is rolled back. The planner goes by the size of a table without statistics, and
    by old ones with them: after some hundred tests it takes a few rows for tens of thousands, and a walk over every
    page three times as long.
    """
    if not _copies:
        return
    with closing(_link(_copies[0])) as link, link.cursor() as cursor:
        if link.server_version < FIRST_TO_CLEAR_STATISTICS:
            return
        cursor.execute("SET lock_timeout = '15s'")
        public = "relnamespace = 'public'::regnamespace"
        cursor.execute(
            "SELECT string_agg(quote_ident(relname), ', ') FROM pg_class "
            f"WHERE {public} AND relkind = 'r' AND pg_relation_size(oid) > {least_bytes}"
        )
        if tables := cursor.fetchone()[0]:
            cursor.execute(f"VACUUM (SKIP_LOCKED) {tables}")
        cursor.execute(
            "SELECT count(pg_clear_relation_stats('public', relname::text)) FROM pg_class "
            f"WHERE {public} AND relkind IN ('r', 'i') AND reltuples >= 0"
        )
        cursor.execute(
            "SELECT count(pg_clear_attribute_stats('public', tablename::text, attname::text, inherited)) "
            "FROM pg_stats WHERE schemaname = 'public'"
        )


def _use(name: str) -> None:
    connections.close_all()
    connection.settings_dict["NAME"] = name
    connections.databases["default"]["NAME"] = name


@contextmanager
def _maintenance() -> Iterator[Any]:
    link = _link("postgres")
    try:
        with link.cursor() as cursor:
            yield cursor
    finally:
        link.close()


def _link(name: str) -> Any:
    """A connection of our own, in which every statement is its own transaction."""
    found = connection.settings_dict
    link = psycopg2.connect(
        host=found["HOST"],
        port=found["PORT"] or None,
        user=found["USER"],
        password=found["PASSWORD"],
        dbname=name,
        **found.get("OPTIONS", {}),
    )
    link.autocommit = True
    return link


def _make_template(cursor: Any, template: str) -> None:
    home = connection.settings_dict["NAME"]
    _drop(cursor, template)
    cursor.execute(sql.SQL("CREATE DATABASE {} ENCODING 'UTF8' TEMPLATE template0").format(sql.Identifier(template)))
    _use(template)
    try:
        call_command("migrate", verbosity=0, interactive=False)
        _stop_autovacuum()
    finally:
        _use(home)
    cursor.execute(sql.SQL("COMMENT ON DATABASE {} IS %s").format(sql.Identifier(template)), [_fingerprint()])


def _stop_autovacuum() -> None:
    """Keep away the statistics of empty tables: between two tests, and seen from outside of one, they have no rows.

    With them the planner expects a single row in each table, and its nested loops over the hundreds that a test has
    take seconds, now and then minutes. Without statistics it goes by the size of a table.
    """
    tables = connection.introspection.django_table_names(only_existing=True)
    with connection.cursor() as cursor:
        for table in tables:
            cursor.execute(f"ALTER TABLE {connection.ops.quote_name(table)} SET (autovacuum_enabled = off)")


def _comment(cursor: Any, database: str) -> str | None:
    cursor.execute("SELECT shobj_description(oid, 'pg_database') FROM pg_database WHERE datname = %s", [database])
    row = cursor.fetchone()
    return row[0] if row else None


def _drop(cursor: Any, database: str) -> None:
    cursor.execute(sql.SQL("DROP DATABASE IF EXISTS {} WITH (FORCE)").format(sql.Identifier(database)))


def _drop_leftovers(cursor: Any, prefix: str, keep: tuple[str, ...]) -> None:
    cursor.execute("SELECT datname FROM pg_database WHERE starts_with(datname, %s)", [prefix])
    for (name,) in cursor.fetchall():
        if not name.startswith(keep):
            _drop(cursor, name)


def _fingerprint() -> str:
    """What the template follows from: this module, the migrations and the release of Django."""
    digest = hashlib.sha256(django.__version__.encode() + Path(__file__).read_bytes())
    for app in apps.get_app_configs():
        if Path(app.path).parent == env.BASE_DIR:
            for path in sorted(Path(app.path, "migrations").glob("*.py")):
                digest.update(str(path.relative_to(env.BASE_DIR)).encode() + path.read_bytes())
    return digest.hexdigest()
