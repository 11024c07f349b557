"""Restoring a backup: everything is checked first, then database and files are replaced, then the result is checked."""

import time
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from allauth.mfa.models import Authenticator
from django.conf import settings
from django.db import connection, transaction

from annotate.integrity import verifying
from annotate.models import Panel, ProlificAccount
from annotate.panels import panel_links
from config import data_folder, unfinished_restore
from config.backups import archive, databases, stored_files
from config.backups.backing_up import fingerprint_key
from config.backups.postgresql_programs import Login, Programs, find_programs
from config.migrating import bring_up_to_date, is_known
from projects.database import erasures, identity
from projects.database.direct import direct_connection
from projects.errors import Refused
from projects.models import Pulse, Webhook
from results.models import JudgmentSet

PEOPLE_AND_PROJECTS = ("projects_user", "projects_project")
WORKER_SECONDS = 15
"""A worker reports every five seconds."""
ENDING_SECONDS = 1.0
"""A process that was just stopped has a session for some milliseconds more."""
PAUSE_SECONDS = 0.5
Say = Callable[[str], None]


@dataclass
class Restored:
    """What a restore came to."""

    manifest: archive.Manifest
    n_migrated: int = 0
    n_erased: int = 0
    n_webhooks_without_secret: int = 0
    n_people_without_second_factor: int = 0
    n_prolific_accounts_without_token: int = 0
    n_panels_without_signed_links: int = 0
    """What needs the SECRET_KEY of the backup, where this site has another."""
    problems: list[str] = field(default_factory=list)
    """What `verify` found, and archives of judgment sets that are not as they were frozen."""


@direct_connection()
def restore(path: Path, *, replace: bool = False, say: Say = lambda _: None) -> Restored:
    """Replace the site's database and stored files by those of a backup.

    Raises Refused, with nothing changed, for a damaged backup or one of a newer version, while the site runs, and
    where the site has accounts or projects, unless `replace` is true. Erasures that this data folder or the backup
    knows of are repeated; until then, a mark keeps the site from starting.
    """
    with stored_files.alone():
        return _restore(path, replace=replace, say=say)


def _restore(path: Path, *, replace: bool, say: Say) -> Restored:
    manifest = archive.read_manifest(path)
    _refuse_newer(manifest)
    with connection.cursor() as cursor:
        server = databases.read_version(cursor)
        _refuse_busy(cursor)
        _refuse_worker(cursor, say)
        if not replace:
            _refuse_filled(cursor)
    programs = find_programs(max(server.major, int(manifest.program.partition(".")[0])))
    say("Checking the backup …")
    archive.check_entries(path, manifest)
    known = _read_erasures(path, manifest)
    say("Restoring the files and the database …")
    connection.close()
    _put_back(path, programs, server.major, known)
    result = Restored(manifest)
    with connection.cursor() as cursor:
        databases.compare_rows(manifest.rows, databases.count_rows(cursor))
        before = databases.count_migrations(cursor)
        bring_up_to_date()
        cursor.execute("ANALYZE")
        result.n_migrated = databases.count_migrations(cursor) - before
    with transaction.atomic():
        result.n_erased = erasures.repeat_all()
    identity.take_files()
    if replace:
        stored_files.delete_others(stored_files.list_with_derived())
    unfinished_restore.unmark()
    if manifest.key != fingerprint_key():
        result.n_webhooks_without_secret = Webhook.objects.count()
        encrypted = Authenticator.objects.exclude(type=Authenticator.Type.WEBAUTHN)
        result.n_people_without_second_factor = encrypted.values("user").distinct().count()
        result.n_prolific_accounts_without_token = ProlificAccount.objects.exclude(token="", secret="").count()
        result.n_panels_without_signed_links = _count_panels_with_signed_links()
    say("Checking the result …")
    result.problems = _find_problems(manifest)
    return result


def _count_panels_with_signed_links() -> int:
    """Count the open panels whose links are signed; all other links rest on no key."""
    return Panel.objects.filter(platform=panel_links.SIGNED_PLATFORM, ended_at=None).count()


def _refuse_newer(manifest: archive.Manifest) -> None:
    newer = [f"{app}: {name}" for app, name in manifest.migrations.items() if not is_known(app, name)]
    if newer:
        raise Refused(
            f"This backup was made by a newer version of Concord ({manifest.concord}). Update Concord, then restore.",
            details=[f"Unknown migration of {name}" for name in newer],
        )


def _refuse_busy(cursor: Any) -> None:
    """Raise Refused if others use the database; the session of a process that just ended goes within a moment."""
    deadline = time.monotonic() + ENDING_SECONDS
    while (n_others := databases.count_others(cursor)) and time.monotonic() < deadline:
        time.sleep(PAUSE_SECONDS)
    if n_others:
        raise Refused(
            f"The site is running: its database has {n_others} other session{'s' if n_others > 1 else ''}. "
            "Stop the web server and the worker, then restore."
        )


def _refuse_worker(cursor: Any, say: Say) -> None:
    """Raise Refused if a worker reports while we watch: an idle one has no session. One may just have stopped."""
    if Pulse._meta.db_table not in databases.list_tables(cursor):
        return
    before, is_young = _read_pulse(cursor)
    if is_young:
        say("Making sure that no worker is running …")
    deadline = time.monotonic() + WORKER_SECONDS
    while is_young and time.monotonic() < deadline:
        time.sleep(PAUSE_SECONDS)
        seen_at, is_young = _read_pulse(cursor)
        if seen_at != before:
            raise Refused("A worker is running. Stop the web server and the worker, then restore.")


def _read_pulse(cursor: Any) -> tuple[Any, bool]:
    """Return when each worker was last seen, and whether one may still run.

    Not the newest time alone: a worker that ended before the clock was set back has the newest one for ever.
    """
    cursor.execute(
        f"SELECT array_agg(seen_at ORDER BY process), "
        f"coalesce(max(seen_at) > now() - interval '{WORKER_SECONDS} seconds', false) FROM {Pulse._meta.db_table}"
    )
    seen_at, is_young = cursor.fetchone()
    return seen_at, is_young


def _refuse_filled(cursor: Any) -> None:
    tables = databases.list_tables(cursor)
    if tables and "django_migrations" not in tables:
        raise Refused("This database has tables of another program. Name a database for Concord alone.")
    for table in PEOPLE_AND_PROJECTS:
        if table in tables:
            cursor.execute(f"SELECT EXISTS (SELECT 1 FROM {table})")
            if cursor.fetchone()[0]:
                raise Refused(
                    "This site has accounts or projects. A restore deletes them: make a backup first, then repeat the "
                    "command with --replace."
                )


def _read_erasures(path: Path, manifest: archive.Manifest) -> bytes:
    """Return the erasures of the backup. Raises Refused for any, there or here, that this version cannot repeat."""
    here = erasures.find_path()
    erasures.read_erasures(here.read_bytes() if here.exists() else b"")
    if erasures.FILE_NAME not in manifest.entries:
        return b""
    content = b"".join(source.read() for _, source in archive.open_entries(path, erasures.FILE_NAME))
    erasures.read_erasures(content)
    return content


def _put_back(path: Path, programs: Programs, server_major: int, known: bytes) -> None:
    """Put the files in their place, then commit the database that names them; if that fails, remove them again.

    Where nobody knows whether it was committed, the files stay, and the mark that asks for another restore.
    """
    root = Path(settings.MEDIA_ROOT)
    root.mkdir(mode=0o700, parents=True, exist_ok=True)
    fresh: list[Path] = []
    transactions: list[str] = []
    was_unfinished = bool(unfinished_restore.explain())

    def prepare_commit(number: str) -> None:
        transactions.append(number)
        erasures.add_lines(known.split(b"\n"))
        unfinished_restore.mark(path)

    try:
        for name, source in archive.open_entries(path, archive.FILES):
            target = root / name.removeprefix(archive.FILES)
            if not target.exists():
                fresh.append(target)
            archive.extract(source, target)
        for folder in {target.parent for target in fresh}:
            data_folder.sync_folder(folder)
        for _, dump in archive.open_entries(path, archive.DATABASE):
            login = Login.from_settings(connection.settings_dict)
            databases.load(dump, programs, login, server_major=server_major, prepare_commit=prepare_commit)
    except BaseException as error:
        if transactions and not databases.is_rolled_back(transactions[0]):
            if isinstance(error, Refused):
                advice = "The database may have been replaced all the same. Repeat the restore."
                raise Refused(f"{error.message} {advice}", details=error.details) from error
            raise
        if transactions and not was_unfinished:
            unfinished_restore.unmark()
        for target in fresh:
            target.unlink(missing_ok=True)
        if isinstance(error, OSError):
            raise Refused(f"{root} can't be written: {error.strerror}. Nothing was changed.") from error
        raise


def _find_problems(manifest: archive.Manifest) -> list[str]:
    problems = [
        f"{breach.rule}: {breach.sentence} Broken by {breach.n:,}: {breach.of} {', '.join(breach.ids)}"
        for breach in verifying.verify()
    ]
    for frozen in JudgmentSet.objects.frozen().select_related("project").order_by("pk"):
        # The archive was checked against the manifest; the database says what it was when it was frozen.
        entry = manifest.entries.get(f"{archive.FILES}sets/{frozen.stored_name}")
        if entry is None:
            problems.append(f"Judgment set {frozen.number} of {frozen.project.slug}: its archive was lost before.")
        elif entry.sha256 != frozen.sha256:
            problems.append(f"Judgment set {frozen.number} of {frozen.project.slug}: its archive has another checksum.")
    return problems
