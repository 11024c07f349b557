"""Upgrading the private database to another major version of PostgreSQL, by a dump."""

import os
import shutil
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any

import psycopg2
from django.conf import settings

from config import data_folder, file_locks, guardian
from config.backups import databases
from config.backups.postgresql_programs import Login, find_installed, find_programs
from config.servers import postgres
from projects.errors import Refused

RUNNING = "The private database is in use. Stop the site and all commands, then upgrade."
Say = Callable[[str], None]


@dataclass(frozen=True)
class Upgraded:
    """What was upgraded; the old data are kept."""

    before: int
    after: int
    n_rows: int
    kept: Path | None


def upgrade(*, say: Say = lambda _: None) -> Upgraded:
    """Move the private database to the newest PostgreSQL that this version of Concord includes.

    The old data are only read, and renamed at the end; until then a failure changes nothing. Raises Refused if the
    site runs, or if the programs of the old version are missing.
    """
    data = data_folder.data_dir()
    if not settings.IS_EMBEDDED:
        raise Refused("This site has a PostgreSQL of its own: upgrade that.")
    own = postgres.find_releases()
    if not own:
        raise Refused("There is no private PostgreSQL on this machine.")
    with _alone(data) as lifeline:
        postgres.finish_upgrade(data)
        home = data / "postgres"
        if not (home / "PG_VERSION").exists():
            raise Refused(f"There is no private database in {data}.")
        before, after = int((home / "PG_VERSION").read_text()), max(own)
        if before >= after:
            return Upgraded(before, before, 0, None)
        available = {**find_installed(), **own}
        if before not in available:
            raise Refused(
                f"The data are of PostgreSQL {before}. To read them, install it (on Debian: postgresql-{before}) or a "
                "version of Concord that includes it, then repeat this command."
            )
        return _upgrade(data, available, before, after, lifeline, say)


def _upgrade(
    data: Path, available: dict[int, Path], before: int, after: int, lifeline: IO[bytes], say: Say
) -> Upgraded:
    dump, fresh, kept = data / "upgrade.dump", data / postgres.UPGRADED, data / f"postgres-{before}"
    if kept.exists():
        raise Refused(f"{kept} exists, from an earlier upgrade. Delete it, or move it away.")
    shutil.rmtree(fresh, ignore_errors=True)  # of an upgrade that was cut off
    programs, login = find_programs(after), Login.from_settings(data_folder.database_settings())
    try:
        say(f"Reading the data with PostgreSQL {before} …")
        with _running(postgres.Postgres(data, releases=available), lifeline):
            rows = _count()
            with (
                open(os.open(dump, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), "wb") as file,
                databases.dumping(programs, login) as source,
            ):
                shutil.copyfileobj(source, file, 1 << 20)
        say(f"Writing them with PostgreSQL {after} …")
        with _running(postgres.Postgres(data, folder=postgres.UPGRADED), lifeline):
            with open(dump, "rb") as file:
                databases.load(file, programs, login, server_major=after)
            databases.compare_rows(rows, _count())
    except data_folder.NotAvailable as error:
        raise Refused(str(error)) from error
    finally:
        dump.unlink(missing_ok=True)
    # A start between the two takes the upgraded data, because there are no others.
    (data / "postgres").rename(kept)
    postgres.finish_upgrade(data)
    return Upgraded(before, after, sum(rows.values()), kept)


@contextmanager
def _alone(data: Path) -> Iterator[IO[bytes]]:
    """Keep everybody else from starting the server. Yields the file whose lock shows that one runs."""
    directory = guardian.state_dir(data, "postgres")
    with file_locks.locked(directory / "start"):
        guard, alive = file_locks.hold_if_free(directory / "guard"), file_locks.hold_if_free(directory / "alive")
        try:
            if guard is None or alive is None:
                raise Refused(RUNNING)
            yield alive
        finally:
            for file in (guard, alive):
                if file is not None:
                    file.close()


@contextmanager
def _running(server: postgres.Postgres, lifeline: IO[bytes]) -> Iterator[None]:
    server.prepare()
    server.start(lifeline)
    try:
        yield
    finally:
        server.stop()


def _count() -> dict[str, int]:
    with closing(_connect()) as link, link.cursor() as cursor:
        cursor.execute("ANALYZE")
        return databases.count_rows(cursor)


def _connect() -> Any:
    login = Login.from_settings(data_folder.database_settings())
    link = psycopg2.connect(login.address, password=login.password)
    link.autocommit = True
    return link
