"""PostgreSQL servers of other major versions, as the private one of a data folder of their own."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from urllib.parse import quote

import psycopg2
import pytest

from config import data_folder
from config.servers import postgres


@contextmanager
def running(data: Path, major: int, release: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    """Run a server of this release in a data folder; yields the address of its database. A new one is created."""
    with monkeypatch.context() as patch, open(data / "lifeline", "ab") as lifeline:
        patch.setenv("DATA_DIR", str(data))
        server = postgres.Postgres(data, releases={major: release})
        if not server.home.exists() and not (data / postgres.UPGRADED).exists():
            _create(server, release)
        server.prepare()
        server.start(lifeline)
        found = data_folder.database_settings()
        try:
            yield f"postgres://{found['USER']}:{found['PASSWORD']}@/{found['NAME']}?host={quote(found['HOST'])}"
        finally:
            server.stop()


def _create(server: postgres.Postgres, release: Path) -> None:
    """Create a cluster as any release can: the private one's locale provider is of PostgreSQL 17.

    Where the programs can, it sorts texts as in English and not by their bytes.
    """
    server.make_own_dir(server.run)
    server.make_own_dir(server.home)
    programs = release / "bin"
    order: tuple[str, ...] = ("--locale-provider=icu", "--icu-locale=en-US")
    if release in postgres.find_releases().values():
        programs, order = server._readable_copy(release) if server.user else programs, ()
    password = server.run / "password"
    password.write_text(data_folder.database_settings()["PASSWORD"])
    server.give(password)
    login = ("-U", data_folder.NAME, "-A", "scram-sha-256", f"--pwfile={password}")
    server.call(programs / "initdb", "-D", server.home, "--no-sync", "-E", "UTF8", "--locale=C.UTF-8", *order, *login)
    password.unlink()


def ask(address: str, statement: str) -> list[tuple[object, ...]]:
    link = psycopg2.connect(address)
    try:
        with link, link.cursor() as cursor:
            cursor.execute(statement)
            return cursor.fetchall() if cursor.description else []
    finally:
        link.close()
