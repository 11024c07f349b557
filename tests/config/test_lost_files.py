"""Stored files that are lost: `verify` and the worker name them, until their loss is accepted."""

import json
import os
from contextlib import suppress
from io import StringIO
from pathlib import Path
from typing import Any

import pytest
from django.core.management import CommandError, call_command
from pytest_django import Settings

from annotate.models import Import
from config import tasks
from config.backups import losses, stored_files
from projects import tasks as project_tasks
from projects.database import identity
from projects.errors import Refused
from projects.models import Project
from results import tasks as result_tasks
from tests.factories import make_membership

pytestmark = pytest.mark.django_db


@pytest.fixture(autouse=True)
def folder(settings: Settings, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The folder of imports of a data folder of this test's own."""
    settings.SHARED_DIR, settings.MEDIA_ROOT = tmp_path, tmp_path / "files"
    monkeypatch.setattr(stored_files, "PAUSE_SECONDS", 0)
    path = tmp_path / "files" / "imports"
    path.mkdir(parents=True)
    return path


def add_import(project: Project, name: str, **over: Any) -> Import:
    columns = {"kind": Import.Kind.CANDIDATES, "n_bytes": 4, "requested_by": make_membership(project)}
    number = project.imports.count() + 1
    return Import.objects.create(project=project, number=number, stored_name=name, **{**columns, **over})


def verify() -> list[str]:
    """Return what `verify` says of files; it fails if there is anything."""
    out = StringIO()
    with suppress(CommandError):
        call_command("verify", "--json", "--no-count", stdout=out)
    found: list[str] = json.loads(out.getvalue())["files"]
    return found


def test_missing_and_shortened_files_are_named(
    folder: Path, project: Project, caplog: pytest.LogCaptureFixture
) -> None:
    for name in ("gone", "short", "sound", "old"):
        add_import(project, name, n_bytes=0 if name == "old" else 4)
        (folder / name).write_text("abcd", encoding="utf-8")
    add_import(project, "cancelled", state=Import.State.CANCELLED)
    assert verify() == []
    (folder / "gone").unlink()
    (folder / "short").write_text("ab", encoding="utf-8")
    said = [
        "The stored file imports/gone is missing.",
        "The stored file imports/short has 2 bytes instead of 4.",
    ]
    assert verify() == said
    with pytest.raises(CommandError, match=said[0]) as failed:
        call_command("verify", "--no-count", stdout=StringIO())
    assert failed.value.returncode == 1
    tasks.verify_files()
    assert [record.message for record in caplog.records if record.name == "config.tasks"] == said


def test_what_is_deleted_just_now_is_not_lost(folder: Path, project: Project, monkeypatch: pytest.MonkeyPatch) -> None:
    """The site deletes a file, then the name in its row."""
    job = add_import(project, "going")
    monkeypatch.setattr("time.sleep", lambda _: Import.objects.filter(pk=job.pk).update(stored_name=""))
    assert verify() == []


def test_a_loss_is_accepted_until_the_file_is_back(folder: Path, project: Project) -> None:
    for name in ("one", "two", "sound"):
        add_import(project, name)
    (folder / "sound").write_text("abcd", encoding="utf-8")
    for wrong in ("imports/sound", "imports/none"):
        with pytest.raises(CommandError, match=f"{wrong} is not lost: .*\nLost: imports/one\nLost: imports/two"):
            call_command("accept_loss", "imports/one", wrong)
    assert len(verify()) == 2, "Nothing was accepted."
    call_command("accept_loss", "imports/one", stdout=StringIO())
    assert verify() == ["The stored file imports/two is missing."]
    (folder / "one").write_text("abcd", encoding="utf-8")
    call_command("accept_loss", "imports/two", stdout=StringIO())
    assert verify() == []
    (folder / "one").unlink()
    assert verify() == ["The stored file imports/one is missing."]


def test_a_site_on_another_database_deletes_no_stored_files(
    folder: Path, project: Project, caplog: pytest.LogCaptureFixture
) -> None:
    """As one whose DATABASE_URL names an empty database by mistake: to it, all of them are left over."""
    sets, trainings = folder.parent / "sets", folder.parent / "trainings"
    left = [sets / f"7-1-{'a' * 32}.zip", trainings / ("b" * 32), folder / "0123456789"]
    for path in left:
        path.parent.mkdir(exist_ok=True)
        path.touch()
        os.utime(path, (0, 0))

    def tidy() -> list[Path]:
        result_tasks.tidy_sets()
        result_tasks.tidy_trainings()
        project_tasks.clear_sessions()
        return [path for path in left if path.exists()]

    (folder.parent / "database").write_text("2026-01-01T00:00:00+00:00", encoding="ascii")
    assert tidy() == left
    assert caplog.text.count("belong to another database than that of the site") == len(left)
    (said,) = verify()
    assert said.endswith(f"Is DATABASE_URL right? If it is, delete {folder.parent}/database.")
    identity.take_files()
    assert (tidy(), verify()) == ([], [])


def test_a_check_does_not_say_whose_the_files_are(folder: Path, project: Project) -> None:
    """The worker could not read what root has written."""
    assert (verify(), [*folder.parent.glob("database*")]) == ([], [])
    result_tasks.tidy_trainings()
    assert [path.name for path in folder.parent.glob("database*")] == ["database"]


def test_a_check_before_there_are_files_creates_no_folder(folder: Path) -> None:
    """It would belong to root, if root runs it."""
    folder.rmdir()
    folder.parent.rmdir()
    assert verify() == []
    assert not folder.parent.exists()


def test_where_the_list_can_not_be_written_nothing_is_accepted(project: Project, tmp_path: Path) -> None:
    add_import(project, "one")
    (tmp_path / "accepted-losses.new").mkdir()
    with pytest.raises(Refused, match=r"can't be written: Is a directory\. Nothing was changed"):
        losses.accept(["imports/one"])
    assert len(verify()) == 1
