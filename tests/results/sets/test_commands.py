"""The commands `freeze` and `judgment_set`."""

import errno
import hashlib
import json
import subprocess
import zipfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from django.core.management import CommandError, call_command

from projects.models import Membership, Project
from results.models import JudgmentSet
from results.sets import archive, freezing, retiring
from tests.results.judged_batches import answer, canonical

PROJECT = ("--project", "bridges")


@pytest.fixture(autouse=True)
def _judged(project: Project, owner: Membership) -> None:
    canonical(project)


def test_freeze_and_download(project: Project, tmp_path: Path) -> None:
    output = answer(
        "freeze", *PROJECT, "--name", "From the shell", "--split", "dev", "--gold", "z", "--bootstrap", "50"
    )
    assert (output["set"], output["n_included"], output["n_excluded"], output["n_total"]) == (1, 23, 18, 41)
    made = JudgmentSet.objects.get()
    assert made.settings["gold"] == "z"
    assert output["sha256"] == made.sha256
    shown = answer("judgment_set", "1", *PROJECT, "--verify", "--download", str(tmp_path / "out"))
    assert shown["verified"] is True
    folder = tmp_path / "out" / "bridges-set-1"
    assert shown["folder"] == str(folder)
    checked = subprocess.run(["sha256sum", "--check", "SHA256SUMS"], cwd=folder, capture_output=True, check=True)
    assert checked.stdout.count(b": OK") == len(made.files) - 1
    assert json.loads((folder / "manifest.json").read_text())["set"]["number"] == 1
    with pytest.raises(CommandError, match="cannot be written"):
        call_command("judgment_set", "1", *PROJECT, "--download", str(tmp_path / "out"))
    packed = answer("judgment_set", "1", *PROJECT, "--zip", "--download", str(tmp_path))["folder"]
    assert hashlib.sha256(Path(packed).read_bytes()).hexdigest() == made.sha256


def test_any_earlier_set_can_be_compared_with(project: Project) -> None:
    for name, splits in (("A", ("dev",)), ("B", ("test",)), ("C", ("dev", "test"))):
        answer("freeze", *PROJECT, "--name", name, "--split", *splits)
    changes = answer("judgment_set", "3", *PROJECT, "--against", "1")["changes"]
    assert changes["against"]["name"] == "A"
    assert (changes["judgments"]["added"], changes["judgments"]["gone"], changes["judgments"]["same"]) == (18, 0, 23)
    assert changes == answer("judgment_set", "3", *PROJECT, "--against", "1")["changes"]
    stored = JudgmentSet.objects.get(number=3).facts["changes"]
    assert stored == answer("judgment_set", "3", *PROJECT, "--against", "2")["changes"]
    with pytest.raises(CommandError, match=r"no frozen judgment set 9\. It has: 1, 2, 3"):
        call_command("judgment_set", "3", *PROJECT, "--against", "9")


def test_sets_with_and_without_answers_to_surveys_are_compared(project: Project) -> None:
    for name, *more in (("A",), ("B", "--surveys"), ("C",)):
        answer("freeze", *PROJECT, "--name", name, *more)
    stored = [each.facts["changes"] for each in JudgmentSet.objects.order_by("number")]
    assert [changes and changes["settings"] for changes in stored] == [
        None,
        [{"name": "Answers to surveys", "before": "no", "after": "yes"}],
        [{"name": "Answers to surveys", "before": "yes", "after": "no"}],
    ]
    assert answer("judgment_set", "2", *PROJECT, "--against", "1")["changes"] == stored[1]
    assert answer("judgment_set", "3", *PROJECT, "--against", "2")["changes"] == stored[2]
    assert answer("judgment_set", "3", *PROJECT, "--against", "1")["changes"]["settings"] == []


@pytest.mark.parametrize("flags", [(), ("--zip",)])
def test_a_download_that_fails_leaves_nothing(
    project: Project, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, flags: tuple[str, ...]
) -> None:
    answer("freeze", *PROJECT, "--name", "First")

    def fill(*_: Any) -> Iterator[bytes]:
        yield b"the beginning"
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(archive, "read_archive", fill)
    monkeypatch.setattr(archive, "read_file", fill)
    for _ in range(2):  # nothing is in the way of the second attempt
        with pytest.raises(CommandError, match="No space left on device"):
            call_command("judgment_set", "1", *PROJECT, *flags, "--download", str(tmp_path / "out"))
    assert list((tmp_path / "out").iterdir()) == []


def test_downloads_of_a_retired_set_say_so(project: Project, owner: Membership, tmp_path: Path) -> None:
    for name in ("A", "B"):
        answer("freeze", *PROJECT, "--name", name)
    made, later = JudgmentSet.objects.order_by("number")
    shown = answer("judgment_set", "1", *PROJECT)
    assert (shown["retired_at"], shown["retired_why"], shown["successor"]) == (None, "", None)
    retiring.retire(judgment_set=made, actor=owner, why="Wrong rubric.", replacement=later)
    shown = answer("judgment_set", "1", *PROJECT, "--verify", "--download", str(tmp_path))
    assert shown["verified"] is True
    assert (shown["retired_at"], shown["retired_why"], shown["successor"]) == (
        made.retired_at and made.retired_at.isoformat(), "Wrong rubric.", 2,
    )  # fmt: skip
    note = (Path(shown["folder"]) / retiring.NOTE).read_bytes()
    assert b"Wrong rubric." in note
    assert "judgment set 2, “B”".encode() in note
    packed = Path(answer("judgment_set", "1", *PROJECT, "--zip", "--download", str(tmp_path))["folder"])
    assert packed.name == "bridges-set-1-retired.zip", "Its name and its bytes are those of the page's download."
    with zipfile.ZipFile(packed) as archive:
        assert archive.testzip() is None
        assert archive.read(f"bridges-set-1/{retiring.NOTE}") == note
        assert len(archive.namelist()) == len(made.files) + 1
    with pytest.raises(CommandError, match="cannot be written"):
        call_command("judgment_set", "1", *PROJECT, "--zip", "--download", str(tmp_path))


def test_verify_ends_with_1_where_a_byte_differs(project: Project) -> None:
    answer("freeze", *PROJECT, "--name", "A")
    path = freezing.find_path(JudgmentSet.objects.get())
    path.write_bytes(path.read_bytes()[:-30])
    with pytest.raises(CommandError, match="has changed since it was frozen") as error:
        call_command("judgment_set", "1", *PROJECT, "--verify")
    assert error.value.returncode == 1


@pytest.mark.parametrize(
    ("arguments", "words", "code"),
    [
        (("--name", " "), "Enter a name for the set", 1),
        (("--name", "A", "--criterion", "taste"), "no criterion “taste”", 1),
        (("--name", "A", "--batch", "9"), "no batch 9", 1),
        (("--name", "A", "--dataset", "none"), "No judgments are included", 1),
        (("--name", "A", "--bootstrap", "0"), "--bootstrap", 2),
        (("--name", "A", "--seed", "-4"), "--seed", 2),
    ],
)
def test_freeze_says_what_is_wrong(project: Project, arguments: tuple[str, ...], words: str, code: int) -> None:
    with pytest.raises(CommandError, match=words) as error:
        call_command("freeze", *PROJECT, *arguments)
    assert error.value.returncode == code
    assert not JudgmentSet.objects.exists()


def test_a_set_that_is_not_there_is_named_with_those_that_are(project: Project) -> None:
    with pytest.raises(CommandError, match=r"no frozen judgment set 3\. It has: none yet"):
        call_command("judgment_set", "3", *PROJECT)
    with pytest.raises(CommandError, match="--zip needs"):
        call_command("judgment_set", "3", *PROJECT, "--zip")
