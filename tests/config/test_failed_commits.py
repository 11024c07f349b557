"""Restores whose last statement fails: one that is known to have changed nothing leaves nothing behind."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import psycopg2
import pytest
from django.db import connection
from pytest_django import Settings

from annotate.models import Import
from config import unfinished_restore
from config.backups import backing_up, databases, restoring
from projects.errors import Refused
from projects.models import User
from tests import database
from tests.factories import make_membership, make_project, make_user

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.race]


@pytest.fixture
def backup(settings: Settings, tmp_path: Path) -> Iterator[Path]:
    """A backup with one stored file, of a site that has lost the file and got an account since."""
    settings.SHARED_DIR, settings.MEDIA_ROOT = tmp_path / "data", tmp_path / "data" / "files"
    stored = settings.MEDIA_ROOT / "imports" / "stored"
    stored.parent.mkdir(parents=True)
    with database.copy("site"):
        stored.write_text("rows", encoding="utf-8")
        member = make_membership(make_project())
        Import.objects.create(
            project=member.project,
            number=1,
            kind=Import.Kind.CANDIDATES,
            stored_name=stored.name,
            requested_by=member,
        )
        made = backing_up.make_backup(tmp_path / "site.tar").path
        stored.unlink()
        make_user("newer")
        yield made


def cut_the_line(monkeypatch: pytest.MonkeyPatch) -> None:
    """End the session of the restore just before its last statement."""
    mark = unfinished_restore.mark
    address = connection.get_connection_params()

    def mark_and_cut(path: Path) -> None:
        mark(path)
        with psycopg2.connect(**address) as link, link.cursor() as cursor:
            cursor.execute(
                "SELECT pg_terminate_backend(pid) FROM pg_stat_activity"
                " WHERE application_name = 'psql' AND datname = current_database()"
            )
            assert cursor.fetchone() == (True,)

    monkeypatch.setattr(unfinished_restore, "mark", mark_and_cut)


def test_a_restore_that_was_not_committed_leaves_no_mark_and_no_files(
    backup: Path, settings: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    cut_the_line(monkeypatch)
    with pytest.raises(Refused, match=r"^psql failed \(exit 2\)\.$"):
        restoring.restore(backup, replace=True)
    assert User.objects.filter(username="newer").exists()
    assert unfinished_restore.explain() == ""
    assert not (settings.MEDIA_ROOT / "imports" / "stored").exists()


def test_the_mark_of_an_earlier_restore_stays(backup: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    unfinished_restore.mark(backup)
    cut_the_line(monkeypatch)
    with pytest.raises(Refused):
        restoring.restore(backup, replace=True)
    assert str(backup) in unfinished_restore.explain()


def test_a_restore_that_may_have_been_committed_is_to_be_repeated(
    backup: Path, settings: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The answer to the last statement is lost, and the database names the files."""
    load = databases.load

    def load_and_lose_the_answer(*arguments: Any, **options: Any) -> None:
        load(*arguments, **options)
        raise Refused("psql failed (exit 2).")

    monkeypatch.setattr(databases, "load", load_and_lose_the_answer)
    with pytest.raises(Refused, match="Repeat the restore"):
        restoring.restore(backup, replace=True)
    assert not User.objects.filter(username="newer").exists()
    assert str(backup) in unfinished_restore.explain()
    assert (settings.MEDIA_ROOT / "imports" / "stored").exists()
