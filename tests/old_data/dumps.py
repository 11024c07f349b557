"""Dumps of whole sites as some version left them: written once, opened by every version after it."""

import gzip
import io
import json
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from django.db import connection
from django.test import override_settings

from tests import archives, database
from tests.old_data.walking import Address

FOLDER = Path(__file__).parent
SKIPPED = ("--", "SET transaction_timeout", "\\restrict", "\\unrestrict")
"""Comments, and what an older server or another program than psql does not know."""


@dataclass(frozen=True)
class Dump:
    """One folder: the database as SQL, the files of the data folder, and what the site answered."""

    folder: Path

    @classmethod
    def all(cls) -> list["Dump"]:
        return [cls(path.parent) for path in sorted(FOLDER.glob("*/database.sql.gz"))]

    def __str__(self) -> str:
        return self.folder.name

    @property
    def facts(self) -> dict[str, Any]:
        """Passwords and tokens whose hashes the database holds, and the SHA-256 of each frozen set by its number."""
        found: dict[str, Any] = json.loads((self.folder / "facts.json").read_text(encoding="utf-8"))
        return found

    @property
    def addresses(self) -> list[Address]:
        """Every address that answered, with the status that it gave."""
        lines = (self.folder / "addresses.txt").read_text(encoding="utf-8").splitlines()
        return [Address.read(line) for line in lines]

    @contextmanager
    def restored(self, folder: Path) -> Iterator[None]:
        """Point Django at a database and a folder of files of their own, as they were dumped."""
        with database.empty(f"old_{self}") as link:
            with link.cursor() as cursor:
                for sql, rows in self._statements():
                    if rows is not None:
                        cursor.copy_expert(sql, rows)
                    elif sql.strip():
                        cursor.execute(sql)
            archives.unpack(self.folder / "files.tar.gz", folder)
            with override_settings(MEDIA_ROOT=folder / "files"):
                yield

    def _statements(self) -> Iterator[tuple[str, io.StringIO | None]]:
        """What is executed in order: SQL, or a COPY with its rows."""
        sql: list[str] = []
        with gzip.open(self.folder / "database.sql.gz", "rt", encoding="utf-8", newline="\n") as lines:
            for line in lines:
                if line.startswith("COPY "):
                    yield "".join(sql), None
                    sql = []
                    yield line, io.StringIO("".join(iter(lambda: next(lines), "\\.\n")), newline="\n")
                elif not line.startswith(SKIPPED):
                    sql.append(line)
        yield "".join(sql), None


def last_migrations() -> dict[str, str]:
    """The newest migration of each app that the database has."""
    with connection.cursor() as cursor:
        cursor.execute("SELECT app, max(name) FROM django_migrations GROUP BY app")
        return dict(cursor.fetchall())
