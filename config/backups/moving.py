"""Moving the database from the private server to another one; the stored files stay where they are."""

from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from typing import Any

import psycopg2
from django.conf import settings
from django.core.exceptions import ImproperlyConfigured
from django.db import connection

from config import env
from config.backups import databases
from config.backups.postgresql_programs import Login, find_programs
from projects.database.snapshots import snapshot
from projects.errors import Refused

OLDEST_SERVER = 15
TERMINATE_MS = 10_000
"""How long to wait until a session of somebody else has ended."""
MOVED = (
    "The private database is read-only: it was moved to another server, or a move was cut off. Set DATABASE_URL to "
    "that server, or run: manage.py move --cancel, to use the private database again."
)
ANOTHER_SERVER = (
    "The settings name another server, not the private database, so nothing was changed. Empty the two settings that "
    "say so: ENV_FILE= DATABASE_URL= manage.py move --cancel. If .env sets DATA_DIR, set it on the same line."
)
Say = Callable[[str], None]


def move(url: str, *, say: Say = lambda _: None) -> int:
    """Copy the private database to an empty one, and return how many rows it has.

    From the start the private database is read-only, so no answer is accepted that the copy lacks. It stays so
    afterwards, unless the move fails. Raises Refused if the target is not fit; then nothing has changed.
    """
    if not settings.IS_EMBEDDED:
        raise Refused("This site has a server of its own. To move its database, use: manage.py backup and restore.")
    if is_read_only():
        raise Refused(MOVED)
    try:
        target = env.database(url)
    except ImproperlyConfigured as error:
        raise Refused(str(error).replace("DATABASE_URL", "--to")) from error
    try:
        link = psycopg2.connect(Login.from_settings(target).address, password=target["PASSWORD"] or None)
    except psycopg2.Error as error:
        raise Refused(f"The target can't be reached: {' '.join(str(error).split())}") from error
    with closing(link):
        link.autocommit = True
        with link.cursor() as there, connection.cursor() as here:
            target_major = _check_target(there)
            source_major = databases.read_version(here).major
            programs = find_programs(max(source_major, target_major))
            with _writes_stopped(here):
                say("The site is read-only now. Copying the database …")
                source = Login.from_settings(connection.settings_dict)
                with snapshot():
                    here.execute("SELECT pg_export_snapshot()")
                    with databases.dumping(programs, source, snapshot=here.fetchone()[0]) as dump:
                        databases.load(dump, programs, Login.from_settings(target), server_major=target_major)
                    rows = databases.count_rows(here)
                databases.compare_rows(rows, databases.count_rows(there))
            there.execute("ANALYZE")
    return sum(rows.values())


def cancel() -> bool:
    """Make the private database writable again, and return whether it was read-only.

    Raises Refused if the settings name another one.
    """
    if not settings.IS_EMBEDDED:
        raise Refused(ANOTHER_SERVER)
    if not is_read_only():
        return False
    with connection.cursor() as cursor:
        _allow_writes(cursor)
    return True


def is_read_only() -> bool:
    with connection.cursor() as cursor:
        cursor.execute("SHOW default_transaction_read_only")
        return bool(cursor.fetchone()[0] == "on")


def list_settings(url: str) -> dict[str, str]:
    """Return what has to be set for the site to use the target and to stay the same otherwise.

    With DATABASE_URL, Concord has no default for the secret key and the hosts.
    """
    hosts = ",".join(settings.ALLOWED_HOSTS)
    defaults = {"SECRET_KEY": settings.SECRET_KEY, "ALLOWED_HOSTS": hosts}
    return {"DATABASE_URL": url} | {name: now for name, now in defaults.items() if not env.text(name, default="")}


def _check_target(cursor: Any) -> int:
    version = databases.read_version(cursor)
    if version.major < OLDEST_SERVER:
        raise Refused(f"The target is PostgreSQL {version.text}. Concord needs {OLDEST_SERVER} or newer.")
    cursor.execute(
        "SELECT current_setting('server_encoding'), has_schema_privilege('public', 'CREATE'), current_database()"
    )
    encoding, may_create, name = cursor.fetchone()
    if encoding != "UTF8":
        raise Refused(f"The database {name} has the encoding {encoding}. Create it with ENCODING 'UTF8'.")
    if not may_create:
        raise Refused(f"This role can't create tables in the database {name}. Make it the owner of the database.")
    if databases.list_tables(cursor):
        raise Refused(f"The database {name} has tables already. Create an empty one for Concord.")
    return version.major


@contextmanager
def _writes_stopped(cursor: Any) -> Iterator[None]:
    """Make the database read-only for good, and for nothing if the block fails."""
    name = connection.ops.quote_name(connection.settings_dict["NAME"])
    cursor.execute(f"ALTER DATABASE {name} SET default_transaction_read_only = on")
    try:
        # What an older session has committed by now is copied; what it had not is rolled back.
        _end_other_sessions(cursor)
        yield
    except BaseException:
        _allow_writes(cursor)
        raise


def _allow_writes(cursor: Any) -> None:
    name = connection.ops.quote_name(connection.settings_dict["NAME"])
    cursor.execute("SET default_transaction_read_only = off")
    cursor.execute(f"ALTER DATABASE {name} RESET default_transaction_read_only")
    _end_other_sessions(cursor)  # theirs keep what was set when they began


def _end_other_sessions(cursor: Any) -> None:
    cursor.execute(
        f"SELECT pg_terminate_backend(pid, {TERMINATE_MS}) FROM pg_stat_activity WHERE datname = current_database() "
        "AND pid <> pg_backend_pid() AND backend_type = 'client backend'"
    )
    if not all(has_ended for (has_ended,) in cursor.fetchall()):
        raise Refused("Some sessions of the database did not end. Stop the site, then try again.")
