"""Backups made while people submit, restored into an empty site; and files that are not restored."""

import errno
import hashlib
import json
import os
import subprocess
import sys
import tarfile
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import timedelta
from io import BytesIO, StringIO
from pathlib import Path
from typing import Any

import pytest
from allauth.mfa.models import Authenticator
from django.apps import apps
from django.conf import settings as django_settings
from django.core.exceptions import ImproperlyConfigured
from django.core.management import call_command
from django.core.management.base import CommandError
from django.db import connection
from django.utils import timezone
from pytest_django import Settings

from annotate.models import Assignment, Import, Judgment, Panel, ProlificAccount
from annotate.onboarding import erasing
from config import env, file_locks
from config.backups import archive, backing_up, databases, postgresql_programs, restoring, stored_files
from config.checks import check_settings, refuse_wrong_settings
from config.management.commands.restore import explain_other_key
from projects.database import erasures
from projects.errors import Refused
from projects.models import Project, Pulse, User
from results.models import JudgmentSet
from results.sets.archive import compute_sha256
from tests import database
from tests.annotate import shifts
from tests.annotate.open_batches import open_batch
from tests.annotate.panels.samples import make_panel
from tests.annotate.submitted_work import rate
from tests.concurrency import start_beside
from tests.conftest import Site
from tests.factories import make_membership, make_project, make_user
from tests.old_data.dumps import Dump, last_migrations
from tests.processes import wait_until
from tests.results.sets.frozen_sets import freeze

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.race]


@contextmanager
def empty_site(settings: Settings, folder: Path) -> Iterator[None]:
    """Point this process at a database without tables and an empty data folder."""
    with database.empty("restored") as link:
        link.close()  # it would count as a session of a running site
        settings.SHARED_DIR, settings.MEDIA_ROOT = folder, folder / "files"
        folder.mkdir()
        yield


@pytest.fixture
def site(settings: Settings, tmp_path: Path) -> Path:
    """A data folder of this test's own; new files go beside it."""
    settings.SHARED_DIR, settings.MEDIA_ROOT = tmp_path / "data", tmp_path / "data" / "files"
    settings.SHARED_DIR.mkdir()
    return tmp_path


@pytest.fixture
def own_site(site: Path) -> Iterator[Path]:
    """The same with a database that no web server of another test uses."""
    with database.copy("site"):
        yield site


def test_a_backup_under_load_is_restored_into_an_empty_site(
    live_site: Site, project: Project, site: Path, settings: Settings, scale: int
) -> None:
    open_batch(project, n_hits=40 * scale, judgments=3)
    rate(make_membership(project))
    actor = make_membership(project, role="owner")
    frozen = freeze(project, actor)
    stop = threading.Event()
    working = shifts.hire(project, live_site.url, stop, n=3)
    threads = shifts.start(working)
    wait_until(lambda: sum(len(shift.acknowledged) for shift in working) >= 5 or any(s.wrong for s in working))
    before = {uuid for shift in working for uuid in list(shift.acknowledged)}
    made = backing_up.make_backup(site / "site.tar")
    stop.set()
    for thread in threads:
        thread.join()
    assert [shift.wrong for shift in working if shift.wrong] == []
    after = {uuid for shift in working for uuid in shift.acknowledged}
    assert (site / "site.tar").stat().st_mode & 0o777 == 0o600
    assert {path.name for path in site.iterdir()} == {"data", "site.tar"}, "a draft is left"
    assert not list(settings.SHARED_DIR.glob("backup-*")), "links are left"

    with empty_site(settings, site / "new"):
        restored = restoring.restore(site / "site.tar")
        assert restored.problems == []
        assert restored.n_migrated == 0
        stored = {str(uuid) for uuid in Assignment.objects.submitted().values_list("uuid", flat=True)}
        assert stored >= before, "acknowledged before the backup began, and not in it"
        assert len(stored - after) <= 1 + len(working)
        assert Judgment.objects.count() == made.manifest.rows["annotate_judgment"] == 3 * len(stored)
        again = JudgmentSet.objects.get()
        assert again.sha256 == frozen.sha256
        assert compute_sha256(settings.MEDIA_ROOT / "sets" / again.stored_name) == frozen.sha256
        with connection.cursor() as cursor:
            cursor.execute("SELECT count(*) FROM django_session")
            assert cursor.fetchone()[0] == 0, "a backup holds no sessions"
            cursor.execute("SELECT count(*) FROM pg_trigger WHERE NOT tgisinternal")
            assert cursor.fetchone()[0] > 0


def add_import(project: Project, stored_name: str) -> Import:
    """An import that waits, with its file and one derived from it."""
    folder = Path(django_settings.MEDIA_ROOT) / "imports"
    folder.mkdir(parents=True, exist_ok=True)
    for name in (stored_name, f"{stored_name}.skipped.csv"):
        (folder / name).write_text(f"text of {name}")
    return Import.objects.create(
        project=project,
        number=project.imports.count() + 1,
        kind=Import.Kind.CANDIDATES,
        stored_name=stored_name,
        requested_by=make_membership(project),
    )


def rewrite(path: Path, into: Path, change: Callable[[dict[str, bytes]], None]) -> Path:
    """Another backup with changed entries, whose checksums are right again."""
    with tarfile.open(path) as archived:
        entries = {member.name: read_member(archived, member) for member in archived}
    manifest = json.loads(entries.pop("manifest.json"))
    del entries["manifest.sha256"]
    entries["manifest"] = json.dumps(manifest).encode()
    change(entries)
    manifest = json.loads(entries.pop("manifest"))
    manifest["entries"] = {
        name: {"n_bytes": len(content), "sha256": hashlib.sha256(content).hexdigest()}
        for name, content in entries.items()
    }
    text = json.dumps(manifest).encode()
    last = {"manifest.json": text, "manifest.sha256": hashlib.sha256(text).hexdigest().encode()}
    with tarfile.open(into, "w") as archived:
        for name, content in {**entries, **last}.items():
            member = tarfile.TarInfo(name)
            member.size = len(content)
            archived.addfile(member, BytesIO(content))
    return into


def read_member(archived: tarfile.TarFile, member: tarfile.TarInfo) -> bytes:
    source = archived.extractfile(member)
    assert source
    return source.read()


def in_manifest(**over: Any) -> Callable[[dict[str, bytes]], None]:
    def change(entries: dict[str, bytes]) -> None:
        entries["manifest"] = json.dumps({**json.loads(entries["manifest"]), **over}).encode()

    return change


def test_what_is_damaged_newer_or_in_the_way_is_refused_and_nothing_changes(own_site: Path, settings: Settings) -> None:
    site, project = own_site, make_project()
    add_import(project, "kept")
    good = site / "good.tar"
    call_command("backup", str(good), stdout=StringIO())
    content = good.read_bytes()
    with pytest.raises(CommandError, match="never replaces a file"):
        call_command("backup", str(good))
    assert good.read_bytes() == content

    def refusal(path: Path, **options: Any) -> str:
        with pytest.raises(Refused) as refused:
            restoring.restore(path, **options)
        return " ".join([refused.value.message, *refused.value.details])

    assert "has accounts or projects" in refusal(good)
    stored = sorted((settings.MEDIA_ROOT / "imports").iterdir())
    bad = site / "bad.tar"
    for length in (0, 100, 5_000, len(content) // 2, len(content) - 2_600):
        bad.write_bytes(content[:length])
        assert "is no backup of Concord, or is cut off" in refusal(bad, replace=True), length
    for place, found in ((1_000, "database.dump has another"), (content.index(b"text of kept."), "skipped.csv has")):
        bad.write_bytes(content[:place] + bytes([content[place] ^ 1]) + content[place + 1 :])
        assert found in refusal(bad, replace=True)
    place = content.index(b'"made_at"') + 13
    bad.write_bytes(content[:place] + b"1" + content[place + 1 :])
    assert "manifest has another checksum" in refusal(bad, replace=True)
    assert "newer version" in refusal(rewrite(good, bad, in_manifest(format=2)), replace=True)
    assert "projects: 9999_later" in refusal(
        rewrite(good, bad, in_manifest(migrations={"projects": "9999_later"})), replace=True
    )

    for name in ("files/../../x", f"files/{site}/x"):

        def outside(entries: dict[str, bytes], name: str = name) -> None:
            entries[name] = b""

        assert "outside its folders" in refusal(rewrite(good, bad, outside), replace=True)

    # A dump that ends in the middle: psql is not told to commit, and the files that were new are gone again.
    def cut(entries: dict[str, bytes]) -> None:
        entries["database.dump"] = entries["database.dump"][:-3_000]
        entries["files/imports/new"] = b"new"

    assert "pg_restore failed" in refusal(rewrite(good, bad, cut), replace=True)
    assert Project.objects.get() == project
    assert sorted((settings.MEDIA_ROOT / "imports").iterdir()) == stored

    with database.another_session():
        assert "The site is running: its database has 1 other session." in refusal(good, replace=True)
    with empty_site(settings, site / "other"), connection.cursor() as cursor:
        cursor.execute("CREATE TABLE strange (id int)")
        assert "another program" in refusal(good)


_GOOD = {
    "made_at": "2026-01-01T00:00:00Z",
    "concord": "1.0",
    "server": "16.1",
    "program": "16.1",
    "key": "0",
    "migrations": {},
    "rows": {},
    "lost": [],
    "entries": {"files/imports/a": {"n_bytes": 0, "sha256": "0"}},
    "format": 1,
}


def _write_archive(path: Path, manifest: bytes, *, kind: bytes = tarfile.REGTYPE) -> None:
    """Write an archive with one stored file, which somebody may have replaced by a link or a folder."""
    with tarfile.open(path, "w") as file:
        stored = tarfile.TarInfo("files/imports/a")
        stored.type, stored.linkname = kind, "/etc/hostname"
        file.addfile(stored)
        checksum = hashlib.sha256(manifest).hexdigest().encode()
        for name, content in (("manifest.json", manifest), ("manifest.sha256", checksum)):
            entry = tarfile.TarInfo(name)
            entry.size = len(content)
            file.addfile(entry, BytesIO(content))


@pytest.mark.parametrize(
    "manifest",
    [
        b"{",
        b"[]",
        b"1",
        b"{}",
        json.dumps(_GOOD | {"another": 1}).encode(),
        json.dumps(_GOOD | {"format": "1"}).encode(),
        json.dumps(_GOOD | {"program": "new"}).encode(),
        json.dumps(_GOOD | {"program": None}).encode(),
        json.dumps(_GOOD | {"entries": []}).encode(),
        json.dumps(_GOOD | {"entries": {"files/imports/a": {}}}).encode(),
    ],
)
def test_a_manifest_that_cannot_be_read_is_refused(tmp_path: Path, manifest: bytes) -> None:
    path = tmp_path / "written.tar"
    _write_archive(path, manifest)
    with pytest.raises(Refused, match="is damaged: its manifest cannot be read"):
        archive.read_manifest(path)


@pytest.mark.parametrize("kind", [tarfile.SYMTYPE, tarfile.LNKTYPE, tarfile.DIRTYPE, tarfile.FIFOTYPE, tarfile.CHRTYPE])
def test_an_entry_that_is_no_file_is_refused(tmp_path: Path, kind: bytes) -> None:
    path, manifest = tmp_path / "written.tar", json.dumps(_GOOD).encode()
    _write_archive(path, manifest)
    assert archive.read_manifest(path).files == ["files/imports/a"]
    _write_archive(path, manifest, kind=kind)
    with pytest.raises(Refused, match="files/imports/a is not a regular file"):
        archive.read_manifest(path)


def test_a_replaced_site_has_what_the_backup_has_and_erasures_are_repeated(
    own_site: Path, monkeypatch: pytest.MonkeyPatch, settings: Settings
) -> None:
    site, project = own_site, make_project()

    def forget(key: dict[str, Any]) -> bool:
        return User.objects.filter(username=key["username"]).exclude(first_name="").update(first_name="") > 0

    monkeypatch.setattr(erasures, "_repeats", {"name": forget})
    make_user("before", first_name="Erased Before")
    make_user("after", first_name="Erased After")
    kept = make_user("kept", first_name="Kept")
    for kind in Authenticator.Type.values:
        Authenticator.objects.create(user=kept, type=kind, data={})
    owner = make_membership(project, role="owner")
    ProlificAccount.objects.create(project=project, connected_by=owner, currency="USD", token="x")
    for platform in Panel.Platform:
        make_panel(owner, platform=platform)  # only one whose links your own system makes has signed ones
    Panel.objects.filter(pk=make_panel(owner).pk).update(ended_at=timezone.now())
    add_import(project, "kept")
    erasures.remember("name", {"username": "before"})
    User.objects.filter(username="before").update(first_name="")
    out = StringIO()
    call_command("backup", str(site), stdout=out)
    assert "SECRET_KEY and .env are not in the backup" in out.getvalue()
    assert "Prolific" in out.getvalue()
    (made,) = site.glob("concord-*.tar")

    erasures.remember("name", {"username": "after"})
    with erasures.find_path().open("ab") as file:
        file.write(b'{"kind": "na')  # a process was killed while it wrote
    erasures.remember("name", {"username": "nobody"})
    User.objects.filter(username="after").update(first_name="")
    make_user("late")
    add_import(project, "late")
    settings.SECRET_KEY = "another-key-of-fifty-characters-for-another-machine"
    out = StringIO()
    call_command("restore", str(made), replace=True, json=True, stdout=out)
    answer = json.loads(out.getvalue())
    assert (answer["n_erased"], answer["problems"], answer["n_files"]) == (1, [], 2)
    assert answer["n_people_without_second_factor"] == 1
    assert (answer["n_prolific_accounts_without_token"], answer["n_panels_without_signed_links"]) == (1, 1)
    assert dict(User.objects.exclude(username__startswith="user").values_list("username", "first_name")) == {
        "before": "",
        "after": "",
        "kept": "Kept",
    }
    assert {path.name for path in (settings.MEDIA_ROOT / "imports").iterdir()} == {"kept", "kept.skipped.csv"}

    # On a machine that knows nothing of it, the copy in the backup is the list.
    with empty_site(settings, site / "new"):
        assert restoring.restore(made).n_erased == 0
        assert b"before" in erasures.find_path().read_bytes()
    monkeypatch.setattr(erasures, "_repeats", {})
    with pytest.raises(Refused, match="erasure of the kind “name”"):
        restoring.restore(made, replace=True)


def test_only_what_needs_the_old_key_is_named() -> None:
    manifest = archive.Manifest("", "", "", "", "", {}, {})
    assert explain_other_key(restoring.Restored(manifest)) == []
    (_, line) = explain_other_key(restoring.Restored(manifest, n_panels_without_signed_links=1))
    assert line == "  open panels whose signed links no longer work: 1"


def test_a_site_whose_restore_was_cut_off_does_not_start_until_it_is_repeated(
    own_site: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The database of the backup is there, and with it the people who were erased since."""

    def cut_off(key: dict[str, Any]) -> bool:
        raise KeyboardInterrupt

    def forget(key: dict[str, Any]) -> bool:
        return bool(User.objects.filter(username=key["username"]).delete()[0])

    monkeypatch.setattr(erasures, "_repeats", {"name": forget})
    make_user("erased")
    made = backing_up.make_backup(own_site / "site.tar").path
    erasures.remember("name", {"username": "erased"})
    User.objects.filter(username="erased").delete()

    monkeypatch.setattr(erasures, "_repeats", {"name": cut_off})
    with pytest.raises(KeyboardInterrupt):
        restoring.restore(made, replace=True)
    assert User.objects.filter(username="erased").exists()
    assert [error.id for error in check_settings()] == ["concord.E010"]
    advice = f"Repeat it: manage.py restore {made} --replace"
    with pytest.raises(ImproperlyConfigured, match=advice):
        refuse_wrong_settings()
    with pytest.raises(CommandError, match=advice):
        call_command("serve")

    monkeypatch.setattr(erasures, "_repeats", {"name": forget})
    assert restoring.restore(made, replace=True).n_erased == 1
    assert not User.objects.filter(username="erased").exists()
    assert check_settings() == []


def test_erasures_of_the_backup_are_known_before_its_database_is(
    own_site: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(erasures, "_repeats", {"name": lambda key: False})
    erasures.remember("name", {"username": "erased"})
    made = backing_up.make_backup(own_site / "site.tar").path
    erasures.find_path().unlink()

    def cut_off(*_: Any) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(databases, "compare_rows", cut_off)
    with pytest.raises(KeyboardInterrupt):
        restoring.restore(made, replace=True)
    assert b"erased" in erasures.find_path().read_bytes()


def test_a_worker_that_runs_is_noticed_and_one_that_has_stopped_is_waited_for(
    own_site: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """An idle worker holds no session, and one that has just stopped has its session for a moment more."""
    make_project()
    made = backing_up.make_backup(own_site / "site.tar").path
    reports = threading.Event()

    def report(sentence: str) -> None:
        if "worker" in sentence and reports.is_set():
            start_beside(lambda: Pulse.beat(Pulse.LONG))()

    reports.set()
    Pulse.beat(Pulse.WORKER)
    Pulse.objects.create(
        process=Pulse.NEURAL, seen_at=timezone.now() + timedelta(hours=1)
    )  # before a clock was set back
    with pytest.raises(Refused, match="A worker is running"):
        restoring.restore(made, replace=True, say=report)
    reports.clear()
    Pulse.objects.update(seen_at=timezone.now() - timedelta(seconds=14))
    with database.another_session() as link:
        threading.Timer(0.2, link.close).start()
        assert restoring.restore(made, replace=True, say=report).problems == []


def test_an_account_erased_since_is_not_in_the_restored_site(own_site: Path) -> None:
    project = make_project()
    open_batch(project)
    annotator = make_membership(project)
    assert annotator.user
    rate(annotator)
    made = backing_up.make_backup(own_site / "site.tar")
    erasing.erase(user=annotator.user, removes_work=True)
    restored = restoring.restore(made.path, replace=True)
    assert (restored.n_erased, restored.problems) == (1, [])
    assert not User.objects.filter(username=annotator.user.username).exists()
    assert Judgment.objects.count() == 3
    assert not Judgment.objects.filter(is_counted=True).exists()


def test_a_backup_of_an_earlier_version_is_migrated(
    site: Path, settings: Settings, django_db_setup: None, tmp_path: Path
) -> None:
    dump = Dump.all()[0]
    with dump.restored(tmp_path / "old"):
        before = last_migrations()
        made = backing_up.make_backup(site / "old.tar")
        assert made.manifest.migrations == before
    assert made.manifest.lost == []
    with empty_site(settings, site / "new"):
        restored = restoring.restore(site / "old.tar")
        assert restored.n_migrated > 10
        assert restored.problems == []
        assert last_migrations() != before
        known = {str(number): sha256 for number, sha256 in JudgmentSet.objects.values_list("number", "sha256")}
        assert dump.facts["sets"].items() <= known.items()


def test_a_file_deleted_in_between_makes_the_backup_look_again(
    project: Project, site: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    made = add_import(project, "goes")
    add_import(project, "stays")
    add_import(project, "lost")
    for path in (Path(django_settings.MEDIA_ROOT) / "imports").glob("lost*"):
        path.unlink()
    keep = stored_files.keep
    looks: list[dict[str, stored_files.Named]] = []

    def delete_first(named: dict[str, stored_files.Named], folder: Path) -> set[str]:
        if not looks:
            for path in (Path(django_settings.MEDIA_ROOT) / "imports").glob("goes*"):
                path.unlink()
            start_beside(lambda: Import.objects.filter(pk=made.pk).update(stored_name=""))()
        looks.append(named)
        return keep(named, folder)

    monkeypatch.setattr(stored_files, "keep", delete_first)
    backup = backing_up.make_backup(site / "site.tar")
    assert [len(named) for named in looks] == [3, 2]
    assert backup.manifest.lost == ["imports/lost"]
    assert {"files/imports/stays", "files/imports/stays.skipped.csv"} <= set(backup.manifest.files)


def test_a_full_disk_and_a_second_backup_or_restore_are_refused_and_leave_nothing(
    site: Path, monkeypatch: pytest.MonkeyPatch, db: None
) -> None:
    for act in (backing_up.make_backup, restoring.restore):
        with (
            stored_files.staging(),
            pytest.raises(Refused, match="Another backup or restore of this site is under way"),
        ):
            act(site / "site.tar")
    with monkeypatch.context() as unmounted:
        unmounted.setattr(django_settings, "SHARED_DIR", site / "mount")
        with pytest.raises(Refused, match=r"/mount can't be written: No such file or directory\. Is it mounted\?"):
            backing_up.make_backup(site / "site.tar")

    def add(*_: Any) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(archive.Writer, "add", add)
    with pytest.raises(Refused, match=r"could not be written: No space left on device\. Nothing was stored"):
        backing_up.make_backup(site / "site.tar")
    assert {path.name for path in site.iterdir()} == {"data"}
    with pytest.raises(Refused, match="can't be written"):
        backing_up.make_backup(site / "missing" / "site.tar")
    with pytest.raises(CommandError, match="can't be read: File name too long"):
        call_command("backup", str(site / ("long" * 99)))


def test_what_a_killed_backup_left_goes_with_the_next_one(site: Path, db: None) -> None:
    left = [f".concord-2026-01-01T000000Z.tar-{'a' * 8}.part", f".concord-2026-01-02T000000Z.tar-{'b' * 8}.part"]
    others = [f".other.tar-{'c' * 8}.part", f"concord-2026-01-01T000000Z.tar-{'d' * 8}.part"]
    for name in left + others:
        (site / name).touch()
    with file_locks.hold(site / left[1]):  # of another site, whose backup is under way
        call_command("backup", str(site), stdout=StringIO())
        assert {path.name for path in site.glob("*.part")} == {left[1], *others}
    call_command("backup", str(site / "other.tar"), stdout=StringIO())
    assert {path.name for path in site.glob("*.part")} == {left[1], others[1]}


def test_a_database_that_is_not_of_a_site_is_not_backed_up(site: Path, settings: Settings) -> None:
    """As where the settings are missing: a private database is created, and nothing is in it."""
    with empty_site(settings, site / "new"), pytest.raises(Refused, match="has no tables of Concord"):
        backing_up.make_backup(site / "site.tar")
    assert not (site / "site.tar").exists()


@pytest.mark.drill
def test_a_whole_site_comes_back_in_an_empty_folder_by_commands_alone(tmp_path: Path) -> None:
    """The drill of the operators' guide: two data folders with private servers of their own."""

    def manage(folder: Path, *arguments: str) -> str:
        over = {"DATA_DIR": str(folder), "ENV_FILE": "", "DATABASE_URL": "", "REDIS_URL": ""}
        command = [sys.executable, "manage.py", *arguments]
        done = subprocess.run(
            command, cwd=env.BASE_DIR, env={**os.environ, **over}, capture_output=True, text=True, check=False
        )
        assert done.returncode == 0, done.stderr
        return done.stdout

    def export(folder: Path) -> list[bytes]:
        paths = [tmp_path / f"{folder.name}.{kind}" for kind in ("long", "jsonl", "mocha")]
        for path in paths:
            manage(folder, "export_judgments", "--project", "demo", "--format", path.suffix[1:], "--output", str(path))
        return [path.read_bytes() for path in paths]

    with database.servers_folder("drill") as old, database.servers_folder("drill") as new:
        manage(old, "demo")
        manage(old, "freeze", "--project", "demo", "--name", "Drill")
        manage(old, "backup", str(tmp_path / "site.tar"))
        restored = json.loads(manage(new, "restore", str(tmp_path / "site.tar"), "--json"))
        assert (restored["problems"], restored["lost"]) == ([], [])
        assert restored["n_files"] > 0
        manage(new, "verify")
        manage(new, "judgment_set", "1", "--project", "demo", "--verify")
        assert export(new) == export(old)
        wait_until(lambda: not list(new.glob("guardians/*/ready")) and not list(old.glob("guardians/*/ready")))


def test_every_model_with_stored_files_is_in_backups() -> None:
    fields = {model for model in apps.get_models() for field in model._meta.fields if field.name == "stored_name"}
    assert fields == {store.model for store in stored_files.STORES}


def test_programs_fit_the_server(tmp_path: Path) -> None:
    folder = tmp_path / "usr/lib/postgresql/99/bin"
    folder.mkdir(parents=True)
    for name in ("pg_dump", "pg_restore", "psql"):
        (folder / name).write_text("#!/bin/sh\necho 'pg_dump (PostgreSQL) 99.3 (Debian)'\n")
        (folder / name).chmod(0o755)
    assert postgresql_programs.find_programs(19, tmp_path).version == "99.3"
    assert postgresql_programs.find_programs(16, tmp_path).major < 99
    with pytest.raises(Refused, match=r"PostgreSQL 100 or newer \(found: .*99\.3.*postgresql-client-100"):
        postgresql_programs.find_programs(100, tmp_path)
    login = postgresql_programs.Login.from_settings(
        {"HOST": "db", "NAME": "a b", "PASSWORD": "se'cret", "OPTIONS": {"sslmode": "require"}}
    )
    assert login.address == "host=db dbname='a b' sslmode=require"
    assert "cret" not in login.address
