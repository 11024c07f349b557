"""Freezing a set: what it holds, that it stays as it is, and what is left where it does not come about."""

import hashlib
import zipfile
from pathlib import Path

import pytest
from django.db import InternalError, transaction
from django.db.models import F

from annotate.models import Judgment
from projects.errors import Refused
from projects.jobs import queue
from projects.jobs.running import Cancelled
from projects.models import LogEntry, Membership, Project
from results.models import JudgmentSet
from results.sets import building, freezing
from results.sets.settings import Settings
from tests.factories import make_candidates, make_dataset, make_membership, make_passage, make_question
from tests.results.judged_batches import canonical, judge
from tests.results.sets.frozen_sets import freeze, list_names, read, table


def test_a_set_is_numbered_whole_and_as_its_hashes_say(project: Project, manager: Membership) -> None:
    canonical(project)
    made = freeze(project, manager, "Bridges, spring")
    assert (made.number, made.name, made.facts["n_included"]) == (1, "Bridges, spring", 41)
    assert freezing.verify(made) == []
    assert hashlib.sha256(freezing.find_path(made).read_bytes()).hexdigest() == made.sha256
    sums = read(made, "SHA256SUMS").decode().splitlines()
    assert {line.split("  ")[1] for line in sums} == {each["name"] for each in made.files} - {"SHA256SUMS"}
    for line in sums:
        sha256, name = line.split("  ")
        assert hashlib.sha256(read(made, name)).hexdigest() == sha256
    with zipfile.ZipFile(freezing.find_path(made)) as archive:
        assert {entry.date_time for entry in archive.infolist()} == {(1980, 1, 1, 0, 0, 0)}
        assert archive.namelist() == sorted(archive.namelist())
    assert [path.name for path in freezing.folder().iterdir()] == [made.stored_name], "Nothing else is left."
    assert LogEntry.objects.filter(act="freeze judgment set", object_id=str(made.pk)).exists()
    second = freeze(project, manager, "Again")
    assert second.number == 2
    differing = {
        *("README.md", "datasheet.md", "manifest.json", "set.json", "SHA256SUMS"),
        *("CITATION.cff", "citation.bib", "croissant.json"),
    }
    again = {file["name"]: file for file in second.files}
    assert again.keys() == {*list_names(made), "changes.json"}
    for file in made.files:
        assert file == again[file["name"]] or file["name"] in differing, "The same judgments are the same bytes."


def test_files_are_made_of_the_canonical_ones_alone(project: Project, manager: Membership, tmp_path: Path) -> None:
    canonical(project)
    made = freeze(project, manager)
    canonical_ones = ("long.jsonl", "long.csv", "candidates.jsonl", "passages.jsonl", "annotators.csv", "set.json")
    folder = tmp_path / "again"
    folder.mkdir()
    for name in canonical_ones:
        (folder / name).write_bytes(read(made, name))
    Judgment.objects.update(value=F("value") - 1)
    building.derive(folder, building.Progress(lambda done, total: None, 41))
    for path in folder.iterdir():
        assert path.read_bytes() == read(made, path.name), path.name
    assert len(list(folder.iterdir())) == len(made.files) - 2, "All but the manifest and the sums."


def test_what_is_judged_later_changes_nothing(project: Project, manager: Membership) -> None:
    batch = canonical(project)
    made = freeze(project, manager)
    before = {file["name"]: read(made, file["name"]) for file in made.files}
    Judgment.objects.update(value=1)
    batch.rubric.criteria.update(statement="Another one")
    assert freezing.verify(made) == []
    assert {name: read(made, name) for name in before} == before


@pytest.mark.parametrize(
    "change", [{"name": "Other"}, {"sha256": "0" * 64}, {"facts": {}}, {"state": "failed"}, {"frozen_at": None}]
)
def test_the_database_refuses_changes_of_a_frozen_set(
    project: Project, manager: Membership, change: dict[str, object]
) -> None:
    canonical(project)
    made = freeze(project, manager)
    with pytest.raises(InternalError, match="immutable"), transaction.atomic():
        JudgmentSet.objects.filter(pk=made.pk).update(**change)
    with pytest.raises(InternalError, match="immutable"), transaction.atomic():
        JudgmentSet.objects.filter(pk=made.pk).delete()
    with pytest.raises(Refused, match="frozen already"):
        freezing.start_again(judgment_set=made)
    JudgmentSet.objects.filter(pk=made.pk).update(retired_why="A reason", retired_at=F("frozen_at"))


@pytest.mark.parametrize("name", ["long.csv", "README.md"])
def test_a_changed_byte_is_found(project: Project, manager: Membership, name: str) -> None:
    canonical(project)
    made = freeze(project, manager)
    path = freezing.find_path(made)
    with zipfile.ZipFile(path) as archive:
        entry = archive.getinfo(f"{made.facts['folder']}/{name}")
        at = entry.header_offset + 30 + len(entry.filename) + entry.compress_size // 2
    data = bytearray(path.read_bytes())
    data[at] ^= 1
    path.write_bytes(data)
    breaches = freezing.verify(made)
    assert len(breaches) == 2
    assert name in breaches[1]
    path.unlink()
    assert freezing.verify(made) == ["The archive is missing."]


def test_refusals_say_why(project: Project, manager: Membership) -> None:
    def ask(name: str = "Name", **over: object) -> None:
        freezing.request_set(project=project, actor=manager, name=name, settings=Settings(**over))  # type: ignore[arg-type]

    with pytest.raises(Refused, match="no batch yet"):
        ask()
    canonical(project)
    for name, reason in ((" \t", "Enter a name for the set"), ("x" * 121, "longer than 120")):
        with pytest.raises(Refused, match=reason):
            ask(name)
    for over, reason in (
        ({"criteria": ("taste",)}, "no criterion “taste”"),
        ({"batches": (7,)}, "no batch 7"),
        ({"datasets": ("elsewhere",)}, "No judgments are included"),
        ({"splits": ("",)}, "No judgments are included"),
    ):
        with pytest.raises(Refused, match=reason):
            ask(**over)
    assert not JudgmentSet.objects.exists()


def test_a_set_that_is_cancelled_leaves_nothing_and_can_be_frozen_again(
    project: Project, manager: Membership, monkeypatch: pytest.MonkeyPatch
) -> None:
    canonical(project)
    made = freezing.request_set(project=project, actor=manager, name="First", settings=Settings())
    derive = building.derive

    def stop_here(*arguments: object) -> None:
        assert len(list(freezing.folder().iterdir())) == 1
        raise Cancelled

    monkeypatch.setattr(building, "derive", stop_here)
    assert freezing.run(made.pk) == JudgmentSet.State.CANCELLED
    assert list(freezing.folder().iterdir()) == []
    monkeypatch.setattr(building, "derive", derive)
    made.refresh_from_db()
    assert (made.state, made.files, made.stored_name) == ("cancelled", [], "")
    freezing.start_again(judgment_set=made)
    assert freezing.run(made.pk) == JudgmentSet.State.DONE
    assert freezing.run(made.pk) is None, "A second message does nothing."
    with pytest.raises(Refused, match="already finished"):
        queue.cancel(made)


def test_a_name_with_path_characters_names_no_file(project: Project, manager: Membership) -> None:
    dataset = make_dataset(project, "../../etc")
    question = make_question(make_passage(dataset, "../p", split="../../test"), "..")
    (candidate,) = make_candidates(question, 1, external_id="/etc/passwd", source="..\\x")
    judge(project, {candidate: {make_membership(project): 3.0}}, name="../batch")
    made = freeze(project, manager, "../../name")
    with zipfile.ZipFile(freezing.find_path(made)) as archive:
        assert all(name.startswith("bridges-set-1/") and ".." not in name for name in archive.namelist())
    assert "mocha-other.json" in [file["name"] for file in made.files]
    assert table(made, "long.csv")[0]["candidate_id"] == "/etc/passwd"


def test_what_a_killed_worker_left_goes_when_it_is_old(project: Project, manager: Membership) -> None:
    import os

    canonical(project)
    made = freeze(project, manager)
    stray = freezing.folder() / f"{made.pk}-0-aa"
    stray.mkdir()
    (stray / "long.csv").write_text("half")
    freezing.delete_files()
    assert stray.exists()
    os.utime(stray, (1, 1))
    os.utime(freezing.find_path(made), (1, 1))
    notes = [freezing.folder() / name for name in ("notes.txt", ".DS_Store", "1-x", f"{2**70}-1-a")]
    for path in notes:
        path.write_text("Put here by somebody.")
        os.utime(path, (1, 1))
    freezing.delete_files()
    assert {path.name for path in freezing.folder().iterdir()} == {made.stored_name, *(path.name for path in notes)}
