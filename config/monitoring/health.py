"""Whether the site is ready to work: the database, its migrations, the worker, the disk and the clock."""

import logging
import os
import shutil
import threading
import time
from collections.abc import Iterable
from dataclasses import dataclass

import psycopg2
from django.conf import settings

from config import migrating
from config.monitoring.probing import Probe, probe
from projects.models import Pulse

logger = logging.getLogger(__name__)

ANSWER_SECONDS = 3.0
"""How long the database may take to answer all questions."""
KEPT_SECONDS = 2.0
"""How long a result counts, so that requests by strangers cost the database nothing."""
WORKER_SECONDS = 60.0
"""The longest silence of the workers; each reports every five seconds."""
LEAST_FREE_SHARE = 0.05
"""Of the disk. PostgreSQL stops where it is full, so the warning has to come while there is time."""
MOST_SKEW_SECONDS = 5.0
"""Times in rows come from the database, deadlines in signed links and sessions from this process."""
PROBE = "probe"
"""The row that a check writes, in the table of the signs of life."""


@dataclass(frozen=True)
class Check:
    """The outcome of one check; `detail` is for the log and for metrics, never for strangers."""

    name: str
    is_ok: bool
    detail: str = ""
    value: float | None = None
    """What was measured, in seconds or as a share."""


@dataclass(frozen=True)
class Health:
    checks: tuple[Check, ...]
    checked_at: float

    @property
    def is_ok(self) -> bool:
        return all(check.is_ok for check in self.checks)

    @property
    def failing(self) -> tuple[str, ...]:
        return tuple(check.name for check in self.checks if not check.is_ok)


_lock = threading.Lock()
_last = Health((), -KEPT_SECONDS)


def check_health() -> Health:
    """Return the outcome of all checks, a few seconds old at most, within a few seconds even if the database hangs."""
    if not _lock.acquire(blocking=False):
        # Another thread asks just now. Waiting for it would let strangers fill the threads while the database hangs.
        if time.monotonic() - _last.checked_at < KEPT_SECONDS + 2 * ANSWER_SECONDS:
            return _last
        _lock.acquire()
    try:
        return _last if time.monotonic() - _last.checked_at < KEPT_SECONDS else _check_all()
    finally:
        _lock.release()


def _check_all() -> Health:
    global _last  # noqa: PLW0603 - one result for all threads
    before = _last
    _last = Health((*_check_database(), _check_disk()), time.monotonic())
    if _last.failing != before.failing:
        _log_change(_last)
    return _last


def _check_database() -> Iterable[Check]:
    names = ("database", "migrations", "worker", "clock")
    found: list[Check] = []
    try:
        with probe(ANSWER_SECONDS) as database:
            found.append(_check_write(database))
            found.append(_check_migrations(database))
            found.append(_check_worker(database))
            found.append(_check_clock(database))
    except (psycopg2.Error, TimeoutError) as error:
        # What could not be asked is not known, and nobody should rely on it.
        found += [Check(name, is_ok=False, detail=type(error).__name__) for name in names[len(found) :]]
    return found


def _check_write(database: Probe) -> Check:
    database.ask(
        f"INSERT INTO {Pulse._meta.db_table} (process, seen_at) VALUES (%(probe)s, clock_timestamp())"
        " ON CONFLICT (process) DO UPDATE SET seen_at = excluded.seen_at",
        {"probe": PROBE},
    )
    return Check("database", is_ok=True)


def _check_migrations(database: Probe) -> Check:
    applied = {(app, name) for app, name in database.ask("SELECT app, name FROM django_migrations")}
    missing = find_missing_migrations(applied)
    return Check("migrations", is_ok=not missing, detail=", ".join(".".join(each) for each in missing[:3]))


def find_missing_migrations(applied: set[tuple[str, str]]) -> list[tuple[str, str]]:
    """Return the migrations of the code that the database lacks. One that replaces others counts as those do."""
    missing = []
    for key, replaces in migrating.read_known().items():
        is_replaced = any(key in others and other in applied for other, others in migrating.read_known().items())
        if key not in applied and not is_replaced and not (replaces and replaces <= applied):
            missing.append(key)
    return sorted(missing)


def _check_worker(database: Probe) -> Check:
    sql = f"SELECT extract(epoch FROM clock_timestamp() - seen_at) FROM {Pulse._meta.db_table} WHERE process = %(name)s"
    rows = database.ask(sql, {"name": Pulse.WORKER})
    if not rows:
        return Check("worker", is_ok=False, detail="No worker has ever run.")
    silence = float(rows[0][0])
    # One that was seen in the future was seen before the clock was set back: it may have died since.
    when = f"{silence:.0f} s ago" if silence >= 0 else f"{-silence:.0f} s ahead of the clock"
    return Check("worker", is_ok=abs(silence) < WORKER_SECONDS, detail=f"last seen {when}", value=silence)


def _check_clock(database: Probe) -> Check:
    before = time.time()
    ((there,),) = database.ask("SELECT extract(epoch FROM clock_timestamp())")
    after = time.time()
    # The server read its clock somewhere between the two, which is all that is known.
    here = min(max(float(there), before), after)
    skew = float(there) - here
    return Check("clock", is_ok=abs(skew) <= MOST_SKEW_SECONDS, detail=f"{skew:+.1f} s to the database", value=skew)


def _check_disk() -> Check:
    folders = {settings.DATA_DIR, settings.SHARED_DIR}
    try:
        disks = map(shutil.disk_usage, folders)
        free = min(disk.free / disk.total if disk.total else 0.0 for disk in disks)
    except OSError as error:
        return Check("disk", is_ok=False, detail=str(error.strerror))
    if not all(os.access(folder, os.W_OK) for folder in folders):
        return Check("disk", is_ok=False, detail="read-only", value=free)
    return Check("disk", is_ok=free > LEAST_FREE_SHARE, detail=f"{free:.1%} free", value=free)


def _log_change(health: Health) -> None:
    if health.is_ok:
        logger.info("The site is ready.")
    else:
        failing = [f"{check.name} ({check.detail})" for check in health.checks if not check.is_ok]
        logger.warning("The site is not ready: %s", ", ".join(failing))
