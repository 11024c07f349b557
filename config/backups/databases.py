"""Databases as streams: dumped as of one snapshot, loaded in one transaction, and compared by their rows."""

import shutil
import subprocess
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from typing import IO, Any

from django.db import Error, connection

from config.backups.postgresql_programs import Login, Programs, running
from projects.errors import Refused

UNSAVED_TABLES = ("django_session",)
"""Tables whose rows a backup leaves out: a session is a key to an account, and signing in again is easy."""
HEAD_LINES = 40
"""Lines in which a script makes its settings."""
NEW_SETTINGS = (b"SET transaction_timeout",)
"""Settings of newer programs that older servers refuse, and that change nothing."""
RECOVERY_SECONDS = 20.0
"""How long a server that died may take until it answers again."""
PAUSE_SECONDS = 0.5

# Objects of extensions belong to these; everything else in the schema is the site's own. The dump brings all of it.
_CLEAR = """
DO $$ DECLARE command text; BEGIN
  FOR command IN
    SELECT format('DROP %s IF EXISTS %I.%I CASCADE',
                  CASE c.relkind WHEN 'v' THEN 'VIEW' WHEN 'm' THEN 'MATERIALIZED VIEW' WHEN 'S' THEN 'SEQUENCE'
                                 ELSE 'TABLE' END, n.nspname, c.relname)
    FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
    WHERE n.nspname = 'public' AND c.relkind IN ('r', 'p', 'v', 'm', 'S')
      AND NOT EXISTS (SELECT 1 FROM pg_depend d WHERE d.objid = c.oid AND d.deptype IN ('e', 'i', 'a'))
    UNION ALL
    SELECT format('DROP ROUTINE IF EXISTS %s CASCADE', p.oid::regprocedure)
    FROM pg_proc p JOIN pg_namespace n ON n.oid = p.pronamespace
    WHERE n.nspname = 'public'
      AND NOT EXISTS (SELECT 1 FROM pg_depend d WHERE d.objid = p.oid AND d.deptype = 'e')
  LOOP EXECUTE command; END LOOP;
END $$;
"""


@dataclass(frozen=True)
class Version:
    """The version of a server, such as 18.4."""

    text: str
    number: int

    @property
    def major(self) -> int:
        return self.number // 10_000


def read_version(cursor: Any) -> Version:
    cursor.execute("SELECT current_setting('server_version'), current_setting('server_version_num')::int")
    text, number = cursor.fetchone()
    return Version(text.partition(" ")[0], number)


@contextmanager
def dumping(programs: Programs, login: Login, *, snapshot: str = "", is_backup: bool = False) -> Iterator[IO[bytes]]:
    """Yield the dump of a database in PostgreSQL's custom format, as of an exported snapshot if one is given."""
    options = ["--format=custom", "--no-owner", "--no-privileges", "--lock-wait-timeout=60s"]
    if snapshot:
        options.append(f"--snapshot={snapshot}")
    if is_backup:
        options += [f"--exclude-table-data=public.{table}" for table in UNSAVED_TABLES]
    with running(programs, "pg_dump", *options, login=login, stdout=subprocess.PIPE) as process:
        assert process.stdout
        yield process.stdout


def load(
    dump: IO[bytes],
    programs: Programs,
    login: Login,
    *,
    server_major: int,
    prepare_commit: Callable[[str], None] = lambda _number: None,
) -> None:
    """Replace what a database holds by a dump, completely or not at all.

    The transaction is committed by the last line, so whatever ends this process or a program before it changes nothing.
    `prepare_commit` is called just before with the number of the transaction, once everything has arrived.
    """
    quiet = ("--no-psqlrc", "--quiet", "--set=ON_ERROR_STOP=1", "--file=-", "--output=/dev/null")
    script = ("--no-owner", "--no-privileges", "--no-comments", "--exit-on-error", "--file=-")
    pipes: dict[str, Any] = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE}
    with running(programs, "psql", *quiet, login=login, **pipes) as psql:
        assert psql.stdin
        assert psql.stdout
        psql.stdin.write(b"BEGIN;\n" + _CLEAR.encode())
        with running(programs, "pg_restore", *script, **pipes) as reader:
            assert reader.stdin
            assert reader.stdout
            feeder = _feed(dump, reader.stdin)
            for _ in range(HEAD_LINES):
                line = reader.stdout.readline()
                if server_major >= programs.major or not line.startswith(NEW_SETTINGS):
                    psql.stdin.write(line)
            shutil.copyfileobj(reader.stdout, psql.stdin, 1 << 20)
            feeder.join()
        psql.stdin.write(b"SELECT pg_current_xact_id() AS number \\gset\n\\echo :number\n")
        psql.stdin.flush()
        if number := psql.stdout.readline().decode().strip():  # else it has failed, and says why
            prepare_commit(number)
            psql.stdin.write(b"COMMIT;\n")


def is_rolled_back(number: str) -> bool:
    """Return whether a transaction of a load is known to have changed nothing; a server that died has a moment."""
    deadline = time.monotonic() + RECOVERY_SECONDS
    status = "in progress"
    while status == "in progress" and time.monotonic() < deadline:
        try:
            with connection.cursor() as cursor:
                cursor.execute("SELECT pg_xact_status(%s::text::xid8)", [number])
                status = cursor.fetchone()[0]
        except Error:
            connection.close()
        if status == "in progress":
            time.sleep(PAUSE_SECONDS)
    return status == "aborted"


def _feed(source: IO[bytes], target: IO[bytes]) -> threading.Thread:
    def copy() -> None:
        # A program that fails closes its end, and its exit status says so.
        with suppress(BrokenPipeError, ValueError):
            shutil.copyfileobj(source, target, 1 << 20)
            target.close()

    thread = threading.Thread(target=copy, daemon=True)
    thread.start()
    return thread


def list_tables(cursor: Any) -> list[str]:
    cursor.execute("SELECT tablename FROM pg_tables WHERE schemaname = 'public' ORDER BY tablename")
    return [name for (name,) in cursor.fetchall()]


def count_rows(cursor: Any) -> dict[str, int]:
    """Return the number of rows of each table that a backup saves."""
    tables = [table for table in list_tables(cursor) if table not in UNSAVED_TABLES]
    if not tables:
        return {}
    cursor.execute(" UNION ALL ".join(f"SELECT '{table}', count(*) FROM public.\"{table}\"" for table in tables))
    return dict(cursor.fetchall())


def compare_rows(expected: dict[str, int], found: dict[str, int]) -> None:
    """Raise Refused with each table that does not have the expected number of rows."""
    names = sorted(expected.keys() | found.keys())
    wrong = [
        f"{name}: {found.get(name, 0):,} rows, {expected.get(name, 0):,} expected"
        for name in names
        if found.get(name) != expected.get(name)
    ]
    if wrong:
        raise Refused("Not all rows arrived.", details=wrong)


def list_applied(cursor: Any) -> dict[str, str]:
    """Return the newest migration of each app that a database has; empty for a database without tables."""
    if "django_migrations" not in list_tables(cursor):
        return {}
    cursor.execute("SELECT app, max(name) FROM public.django_migrations GROUP BY app ORDER BY app")
    return dict(cursor.fetchall())


def count_migrations(cursor: Any) -> int:
    cursor.execute("SELECT count(*) FROM public.django_migrations")
    return int(cursor.fetchone()[0])


def count_others(cursor: Any) -> int:
    """Return how many other sessions use this database."""
    cursor.execute(
        "SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() AND pid <> pg_backend_pid() "
        "AND coalesce(backend_type, 'client backend') = 'client backend'"
    )
    return int(cursor.fetchone()[0])
