"""What a command says instead of a traceback if the database is at fault and not the command."""

import psycopg2
from django.conf import settings
from django.db import DatabaseError, Error, InterfaceError, OperationalError, connection
from django.db.migrations.executor import MigrationExecutor
from psycopg2 import errorcodes as codes

from config import data_folder
from config.backups import moving
from config.migrating import is_behind

UNREACHABLE = frozenset(
    {None, codes.ADMIN_SHUTDOWN, codes.CRASH_SHUTDOWN, codes.CANNOT_CONNECT_NOW, codes.TOO_MANY_CONNECTIONS}
)
LACKING = frozenset({codes.UNDEFINED_TABLE, codes.UNDEFINED_COLUMN})


def explain(error: Error) -> str:
    """Return what is wrong with the database and what to do about it; empty if the statement was at fault."""
    if not isinstance(error.__cause__, psycopg2.Error):
        return ""
    code, reason = error.__cause__.pgcode, " ".join(str(error).split())
    if isinstance(error, OperationalError | InterfaceError) and code in UNREACHABLE:
        return f"The database can't be reached: {reason}\n{_advise()}"
    if code == codes.DISK_FULL:
        return f"The disk of the database is full: {reason}\nFree some space there, then repeat the command."
    if code == codes.READ_ONLY_SQL_TRANSACTION:
        return moving.MOVED if settings.IS_EMBEDDED else f"The database of DATABASE_URL is read-only: {reason}"
    if code in LACKING and _is_behind():
        return "The database lacks tables of this version of Concord. Run: manage.py migrate"
    return ""


def _advise() -> str:
    if settings.IS_EMBEDDED:
        return f"It is the private PostgreSQL, whose log is {data_folder.data_dir() / 'postgres.log'}."
    names = "DATABASE_URL or DIRECT_DATABASE_URL" if settings.HAS_POOLER else "DATABASE_URL"
    return f"Does PostgreSQL run there, and is {names} right?"


def _is_behind() -> bool:
    connection.close()
    try:
        return is_behind(MigrationExecutor(connection))
    except DatabaseError:
        return False
