"""The database of the private server moved to another one, and upgraded to another release of PostgreSQL."""

import json
import time
from collections.abc import Iterator
from contextlib import contextmanager
from io import StringIO
from pathlib import Path
from typing import Any
from urllib.parse import quote

import pytest
from django.core.management import call_command
from django.core.management.base import CommandError
from django.db import InternalError, connection
from pytest_django import Settings

from annotate.integrity import verifying
from config import env, file_locks, guardian
from config.backups import moving, postgresql_programs, upgrading
from config.management.commands import serve
from config.servers import postgres
from projects.errors import Refused
from projects.models import Project, User
from tests import database
from tests.annotate.open_batches import open_batch
from tests.annotate.submitted_work import rate
from tests.config import other_servers
from tests.factories import make_membership, make_project, make_user

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.race]


@pytest.fixture
def folder() -> Iterator[Path]:
    """A data folder that the unprivileged user of the servers can reach."""
    with database.servers_folder("moving") as path:
        yield path


@contextmanager
def empty_target(folder: Path, monkeypatch: pytest.MonkeyPatch, *, is_long: bool) -> Iterator[str]:
    """An empty database; in the long run of an older release with another order of letters, if the machine has one."""
    if is_long and (older := postgresql_programs.find_installed()):
        major = min(older)
        with other_servers.running(folder, major, older[major], monkeypatch) as address:
            yield address
        return
    with database.empty("target") as link:
        link.close()
        found = connection.settings_dict
        login = f"{found['USER']}:{quote(found['PASSWORD'], safe='')}"
        address = f"postgres://{login}@/{found['NAME']}?host={quote(found['HOST'])}"
        with database.pointed_at(address.replace(found["NAME"], found["NAME"].removesuffix("_target"))):
            yield address


def export(project: Project, folder: Path) -> dict[str, bytes]:
    """The bytes of exports in each format."""
    found = {}
    for kind in ("long", "jsonl", "aggregated"):
        path = folder / f"{time.monotonic_ns()}.{kind}"
        call_command("export_judgments", project=project.slug, format=kind, output=str(path), stdout=StringIO())
        found[kind] = path.read_bytes()
    return found


def test_a_move_gives_the_same_files_and_leaves_no_writer_behind(
    folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, settings: Settings, scale: int
) -> None:
    settings.IS_EMBEDDED = True
    file = tmp_path / ".env"
    file.write_text("# Ours\nSECRET_KEY=\nexport DATABASE_URL=\nSITE_URL=https://x.example\n")
    monkeypatch.setenv("ENV_FILE", str(file))
    for name in ("SECRET_KEY", "ALLOWED_HOSTS"):
        monkeypatch.delenv(name)
    with database.copy("site"), empty_target(folder, monkeypatch, is_long=scale > 1) as address:
        out = StringIO()
        call_command("move", cancel=True, stdout=out)
        assert out.getvalue().startswith("There is no move to cancel")
        project = make_project("bridges")
        for name in ("b", "B", "ä", "_a", "a b"):
            open_batch(project, n_hits=1)
            make_user(name, first_name=name)
        rate(make_membership(project), 3)
        before = export(project, tmp_path)
        with database.another_session() as other:
            out = StringIO()
            call_command("move", to=address, write_env=True, stdout=out)
            with pytest.raises(Exception, match=r"terminating connection|closed the connection"):
                other.cursor().execute("SELECT 1")
        connection.close()
        with pytest.raises(InternalError, match="read-only"):
            make_user("late")
        assert moving.is_read_only()
        with pytest.raises(CommandError, match="The private database is read-only"):
            serve.Command().handle(host="127.0.0.1", port=None, workers=1, demo=False)
        assert "The private database stays, read-only" in out.getvalue()
        assert env.read_file(file) == {
            "SITE_URL": "https://x.example",
            "DATABASE_URL": address,
            "SECRET_KEY": settings.SECRET_KEY,
            "ALLOWED_HOSTS": ",".join(settings.ALLOWED_HOSTS),
        }
        assert file.read_text().startswith("# Ours\n")
        assert file.stat().st_mode & 0o777 == 0o600
        with database.pointed_at(address):
            assert export(project, tmp_path) == before
            assert verifying.verify() == []
            make_user("new")  # ids go on where they were

        with pytest.raises(CommandError, match=r"it was moved to another server, or a move was cut off\."):
            call_command("move", to=address)
        out = StringIO()
        call_command("move", cancel=True, stdout=out)
        assert "with the rows that it had when the move began" in out.getvalue()
        connection.close()
        make_user("late")
        with pytest.raises(CommandError, match="has tables already"):
            call_command("move", to=address)
        with pytest.raises(CommandError, match="can't be reached"):
            call_command("move", to="postgres://nobody@127.0.0.1:1/none")
        with pytest.raises(CommandError, match="--to must start with postgres"):
            call_command("move", to="mysql://x")

        # A failure in the middle undoes what stopped the writes.
        other_servers.ask(address, "DROP SCHEMA public CASCADE; CREATE SCHEMA public")

        def fail(*_: Any, **__: Any) -> None:
            raise Refused("psql failed")

        monkeypatch.setattr("config.backups.databases.load", fail)
        with pytest.raises(Refused, match="psql failed"):
            moving.move(address)
        connection.close()
        make_user("later")
        assert User.objects.filter(username__startswith="late").count() == 2
    settings.IS_EMBEDDED = False
    with pytest.raises(Refused, match="server of its own"):
        moving.move("postgres://x@y/z")
    with pytest.raises(CommandError, match="not the private database"):
        call_command("move", cancel=True)


def test_data_of_an_older_release_are_upgraded_and_kept(
    folder: Path, monkeypatch: pytest.MonkeyPatch, settings: Settings, scale: int
) -> None:
    settings.IS_EMBEDDED = True
    own = postgres.find_releases()
    oldest = {**own, **(postgresql_programs.find_installed() if scale > 1 else {})}
    before, after = min(oldest), max(own)
    if before == after:
        pytest.skip("This machine has one release of PostgreSQL.")
    fill = "CREATE TABLE kept AS SELECT n, md5(n::text) AS text FROM generate_series(1, 1000) n"
    with other_servers.running(folder, before, oldest[before], monkeypatch) as address:
        other_servers.ask(address, fill)
        rows = other_servers.ask(address, "SELECT n, text FROM kept ORDER BY n")
    monkeypatch.setenv("DATA_DIR", str(folder))
    directory = guardian.state_dir(folder, "postgres")
    with file_locks.hold(directory / "guard"), pytest.raises(Refused, match="is in use"):
        upgrading.upgrade()
    out = StringIO()
    call_command("upgrade_database", json=True, stdout=out)
    assert json.loads(out.getvalue()) == {"before": before, "after": after, "n_rows": 1000}
    assert (folder / "postgres" / "PG_VERSION").read_text().strip() == str(after)
    assert (folder / f"postgres-{before}" / "PG_VERSION").read_text().strip() == str(before)
    assert not list(folder.glob("upgrade*"))

    # Ended between the two names: the next start takes the upgraded data and creates no empty ones.
    (folder / "postgres").rename(folder / postgres.UPGRADED)
    with other_servers.running(folder, after, own[after], monkeypatch) as address:
        assert other_servers.ask(address, "SELECT n, text FROM kept ORDER BY n") == rows
    assert upgrading.upgrade().kept is None


def test_data_whose_programs_are_gone_are_left_alone(
    folder: Path, monkeypatch: pytest.MonkeyPatch, settings: Settings
) -> None:
    settings.IS_EMBEDDED = True
    monkeypatch.setenv("DATA_DIR", str(folder))
    with pytest.raises(Refused, match="There is no private database"):
        upgrading.upgrade()
    (folder / "postgres").mkdir()
    (folder / "postgres" / "PG_VERSION").write_text("12\n")
    monkeypatch.setattr(upgrading, "find_installed", dict)
    with pytest.raises(Refused, match=r"PostgreSQL 12\. To read them, install it \(on Debian: postgresql-12\)"):
        upgrading.upgrade()
