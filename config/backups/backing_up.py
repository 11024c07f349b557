"""Making a backup while the site runs."""

import time
from dataclasses import dataclass
from pathlib import Path

from django.db import connection
from django.utils import timezone
from django.utils.crypto import salted_hmac

from config.backups import archive, databases, stored_files
from config.backups.postgresql_programs import Login, find_programs
from projects.database import erasures
from projects.database.direct import direct_connection
from projects.database.snapshots import snapshot
from projects.errors import Refused
from results.metrics.code_version import code_version

ATTEMPTS = 10
PAUSE_SECONDS = 0.2
"""How often files are listed again where one disappeared while they were linked, and the pause between."""


@dataclass(frozen=True)
class Backup:
    """A backup that was made."""

    path: Path
    n_bytes: int
    manifest: archive.Manifest


@direct_connection()
def make_backup(path: Path) -> Backup:
    """Write a backup of the site to a new file. Raises Refused if that is not possible; then nothing is stored.

    The database is dumped as of one moment, and the files that it names at that moment are linked into a folder of
    their own before the dump begins. The site stores a file before it commits the row that names it; if it deletes one
    in between, another moment is chosen. A file that is missing twice was lost before.
    """
    with connection.cursor() as cursor:
        if not databases.list_applied(cursor):
            raise Refused(
                "This database has no tables of Concord. Are the settings of the site missing here, such as "
                "DATABASE_URL and DATA_DIR?"
            )
    with stored_files.staging() as folder, archive.creating(path) as writer:
        missing: set[str] = set()
        for _ in range(ATTEMPTS):
            before = missing
            with snapshot():
                missing = stored_files.keep(stored_files.list_named(), folder)
                if missing <= before:
                    manifest = _write(writer, folder, missing)
                    break
            time.sleep(PAUSE_SECONDS)
    return Backup(path, path.stat().st_size, manifest)


def _write(writer: archive.Writer, folder: Path, lost: set[str]) -> archive.Manifest:
    """Write everything, inside the snapshot that pg_dump shares."""
    with connection.cursor() as cursor:
        cursor.execute("SET LOCAL statement_timeout = 0; SET LOCAL idle_in_transaction_session_timeout = 0")
        server = databases.read_version(cursor)
        programs = find_programs(server.major)
        cursor.execute("SELECT pg_export_snapshot()")
        login = Login.from_settings(connection.settings_dict)
        with databases.dumping(programs, login, snapshot=cursor.fetchone()[0], is_backup=True) as dump:
            writer.add(archive.DATABASE, dump)
        for name in stored_files.list_files(folder):
            with open(folder / name, "rb") as file:
                writer.add(f"{archive.FILES}{name}", file)
        if erasures.find_path().exists():
            with open(erasures.find_path(), "rb") as file:
                writer.add(erasures.FILE_NAME, file)
        manifest = archive.Manifest(
            made_at=timezone.now().isoformat(timespec="seconds"),
            concord=code_version(),
            server=server.text,
            program=programs.version,
            key=fingerprint_key(),
            migrations=databases.list_applied(cursor),
            rows=databases.count_rows(cursor),
            lost=sorted(lost),
        )
    writer.finish(manifest)
    return manifest


def fingerprint_key() -> str:
    """Return what tells whether two sites have the same SECRET_KEY, and nothing else about it."""
    # A constant, whatever this module is called: it is compared with what backups hold.
    return salted_hmac("config.backups.backing_up", "key", algorithm="sha256").hexdigest()[:16]
