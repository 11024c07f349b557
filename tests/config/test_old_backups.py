"""Which older backups the command deletes once it has made a new one."""

import json
import os
import re
import shutil
from contextlib import suppress
from datetime import timedelta
from io import StringIO
from pathlib import Path
from typing import Any

import pytest
from django.conf import settings as django_settings
from django.core.management import call_command
from django.core.management.base import CommandError
from django.utils import timezone
from pytest_django import Settings

from annotate.models import Import
from config import env
from config.management.commands.backup import INCOMPLETE
from projects.models import Project
from tests.factories import make_membership

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.race]


@pytest.fixture
def folder(settings: Settings, tmp_path: Path) -> Path:
    """A folder of backups beside a data folder of this test's own."""
    settings.SHARED_DIR, settings.MEDIA_ROOT = tmp_path / "data", tmp_path / "data" / "files"
    settings.SHARED_DIR.mkdir()
    (tmp_path / "backups").mkdir()
    return tmp_path / "backups"


def name_backup(days: float) -> str:
    """Return the name of a backup that was made so many days ago."""
    return f"concord-{timezone.now() - timedelta(days=days):%Y-%m-%dT%H%M%SZ}.tar"


def back_up(folder: Path, days: int = 30) -> dict[str, Any]:
    """Run the command and return its answer, whether files are missing or not."""
    out = StringIO()
    with suppress(CommandError):
        call_command("backup", str(folder), keep_days=days, json=True, stdout=out)
    answer: dict[str, Any] = json.loads(out.getvalue())
    return answer


def add_file(project: Project, name: str) -> Path:
    """Store the file of an import that waits."""
    path = Path(django_settings.MEDIA_ROOT) / "imports" / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(name, encoding="utf-8")
    Import.objects.create(
        project=project,
        number=project.imports.count() + 1,
        kind=Import.Kind.CANDIDATES,
        stored_name=name,
        requested_by=make_membership(project),
    )
    return path


def test_old_backups_are_deleted_once_a_new_one_is_there(folder: Path) -> None:
    old, new = name_backup(31), name_backup(29)
    for name in (old, new, "concord-before-the-move.tar"):
        (folder / name).touch()
    os.utime(folder / new, (0, 0))  # a copy may have any time
    with pytest.raises(CommandError, match="needs a folder"):
        call_command("backup", str(folder / "x.tar"), keep_days=30)
    with pytest.raises(CommandError, match=r"/none is no folder\. To create one: install -d"):
        call_command("backup", f"{folder}/none/")
    assert not (folder / "none").exists()
    for wrong in ("0", "99999999"):
        with pytest.raises(CommandError, match="--keep-days: must be at"):
            call_command("backup", str(folder), f"--keep-days={wrong}")
    assert back_up(folder)["deleted"] == [old]
    assert len(list(folder.glob("*.tar"))) == 3


def test_a_clock_that_is_years_ahead_leaves_the_newest_of_the_older_backups(folder: Path) -> None:
    names = [name_backup(days) for days in (902, 901, 900)]
    for name in names:
        (folder / name).touch()
    answer = back_up(folder)
    assert answer["deleted"] == names[:2]
    assert {path.name for path in folder.iterdir()} == {names[2], Path(answer["file"]).name}


def test_a_clock_that_is_a_month_ahead_deletes_three_of_thirty_backups(folder: Path) -> None:
    names = sorted(name_backup(days) for days in range(31, 61))
    for name in names:
        (folder / name).touch()
    assert back_up(folder)["deleted"] == names[:3]
    assert len(list(folder.iterdir())) == 28


def test_a_backup_without_all_files_keeps_the_older_ones_that_have_them(folder: Path, project: Project) -> None:
    lost = add_file(project, "lost")
    full = Path(back_up(folder)["file"])
    complete = full.rename(folder / name_backup(40))
    lost.unlink()
    (folder / name_backup(41)).write_text("It can't be read.", encoding="utf-8")
    with pytest.raises(CommandError, match="so were older backups that have them") as failed:
        call_command("backup", str(folder), stdout=StringIO())
    assert failed.value.returncode == INCOMPLETE
    (incomplete,) = (path for path in folder.iterdir() if path.name > complete.name)
    without = incomplete.rename(folder / name_backup(39))
    shutil.copy(without, folder / name_backup(38))
    answer = back_up(folder)
    assert (answer["deleted"], answer["lost"]) == ([without.name], ["imports/lost"])
    assert len(list(folder.iterdir())) == 4

    Path(answer["file"]).rename(folder / name_backup(37))  # the next may be of the same second
    call_command("accept_loss", "imports/lost", stdout=StringIO())
    call_command("backup", str(folder), keep_days=30, stdout=StringIO())  # it doesn't fail any more
    assert complete.name not in {path.name for path in folder.iterdir()}, "It would be kept for ever."


def test_the_service_makes_an_incomplete_backup_once_a_night() -> None:
    unit = (env.BASE_DIR / "deploy" / "systemd" / "concord-backup.service").read_text(encoding="utf-8")
    assert re.findall(r"^RestartPreventExitStatus=(.*)$", unit, re.MULTILINE) == [str(INCOMPLETE)]
