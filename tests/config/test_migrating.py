"""`migrate` beside a site at work: it waits briefly for locks, tries again, and says who holds them."""

import time
from collections.abc import Iterator
from typing import Any

import pytest
from django.core.management import CommandError, call_command
from django.core.management.commands import migrate as django_migrate
from django.db import connection, transaction
from django.db.migrations.recorder import MigrationRecorder

from config import migrating
from config.management.commands import migrate
from tests import database

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture
def attempts(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """In the place of migrations a change of one table; the lock_timeout of each attempt."""
    found: list[str] = []

    def handle(self: Any, *args: Any, **options: Any) -> None:
        with transaction.atomic(), connection.cursor() as cursor:
            cursor.execute("SHOW lock_timeout")
            found.append(cursor.fetchone()[0])
            cursor.execute("ALTER TABLE projects_project ADD COLUMN is_tried boolean")
            transaction.set_rollback(True)

    monkeypatch.setattr(django_migrate.Command, "handle", handle)
    monkeypatch.setattr(migrate, "LOCK_MS", 50)
    monkeypatch.setattr(migrate, "N_ATTEMPTS", 3)
    return found


@pytest.fixture
def reader() -> Iterator[Any]:
    """Another session that has read the table and does not end its transaction."""
    with database.another_session() as link, link.cursor() as cursor:
        cursor.execute("SET application_name = 'a long export'; BEGIN; SELECT count(*) FROM projects_project")
        yield cursor


def test_a_table_in_use_is_tried_again(
    attempts: list[str], reader: Any, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(time, "sleep", lambda _: reader.execute("COMMIT"))
    call_command("migrate")
    assert attempts == ["50ms", "50ms"]
    assert "a long export" in capsys.readouterr().err
    with connection.cursor() as cursor:
        cursor.execute("SHOW lock_timeout")
        assert cursor.fetchone()[0] == "0"


def test_a_table_that_stays_in_use_ends_it_with_the_reason(
    attempts: list[str], reader: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(time, "sleep", lambda _: None)
    with pytest.raises(CommandError, match=r"process \d+, a long export, since .* UTC.*stop the web server"):
        call_command("migrate")
    assert len(attempts) == 3


def test_another_error_is_not_tried_again(attempts: list[str], monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*_args: Any, **_options: Any) -> None:
        attempts.append("")
        with connection.cursor() as cursor:
            cursor.execute("SELECT 1 / 0")

    monkeypatch.setattr(django_migrate.Command, "handle", fail)
    with pytest.raises(Exception, match="division by zero"):
        call_command("migrate")
    assert len(attempts) == 1


def test_a_database_that_a_newer_version_has_migrated_is_named() -> None:
    said: list[str] = []
    migrating.bring_up_to_date(said.append)
    assert not said
    recorder = MigrationRecorder(connection)
    recorder.record_applied("annotate", "9999_from_the_future")
    recorder.record_applied("elsewhere", "9999_of_a_package_that_is_gone")
    try:
        migrating.bring_up_to_date(said.append)
    finally:
        recorder.record_unapplied("annotate", "9999_from_the_future")
        recorder.record_unapplied("elsewhere", "9999_of_a_package_that_is_gone")
    (words,) = said
    assert words.startswith("A newer version of Concord has migrated this database (annotate 9999_from_the_future).")


def test_a_migration_that_another_one_replaces_is_no_newer_one(monkeypatch: pytest.MonkeyPatch) -> None:
    """Its file is gone, and a backup or a database may name it as the newest."""
    known = {("projects", "0001_all"): frozenset({("projects", "0002_names")})}
    monkeypatch.setattr(migrating, "read_known", lambda: known)
    found = [migrating.is_known("projects", name) for name in ("0001_all", "0002_names", "0003_next")]
    assert found == [True, True, False]
