"""`manage.py publish`: the folder, the push to a Hub on this machine, and what is refused before and during it."""

import hashlib
import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from django.core.management import CommandError, call_command
from pytest_django import Settings

from projects.models import Membership, Project
from results.models import JudgmentSet
from results.sets import freezing, retiring
from tests.factories import make_membership, make_project, make_user
from tests.results.judged_batches import answer, canonical
from tests.results.sets.fake_hub import TOKEN, Hub, Pointer, running_hub
from tests.results.sets.frozen_sets import freeze, list_names, read

# The set is frozen once, in one process.
pytestmark = pytest.mark.xdist_group("publishing")
ASKED = ("publish", "1", "--project", "bridges")
REPOSITORY = "lab/bridges"


@pytest.fixture(scope="module")
def frozen(module_transaction: None, shared_files: Path) -> JudgmentSet:
    project = make_project("bridges", name="Bridges")
    manager = make_membership(project, make_user("mara"), role=Membership.Role.MANAGER)
    canonical(project)
    return freeze(project, manager, authors=("Berg, Anna",), licence="CC-BY-4.0")


@pytest.fixture
def project(frozen: JudgmentSet, db: None) -> Project:
    return Project.objects.get(pk=frozen.project_id)


@pytest.fixture
def manager(project: Project) -> Membership:
    return project.memberships.get(user__username="mara")


@pytest.fixture
def made(frozen: JudgmentSet, project: Project, copied_files: None) -> JudgmentSet:
    return project.judgment_sets.get(pk=frozen.pk)


@pytest.fixture
def hub(settings: Settings, monkeypatch: pytest.MonkeyPatch) -> Iterator[Hub]:
    """A Hub that takes large files by LFS, whatever the environment of the tests says of the real one."""
    from huggingface_hub import constants

    monkeypatch.setattr(constants, "HF_HUB_OFFLINE", False)
    monkeypatch.setattr(constants, "HF_HUB_DISABLE_XET", True)
    with running_hub() as hub:
        settings.HF_ENDPOINT, settings.HF_TOKEN = hub.address, TOKEN
        yield hub


def refuse(*asked: str) -> str:
    with pytest.raises(CommandError) as error:
        call_command(*asked)
    return str(error.value)


def test_a_folder_is_the_archive_file_by_file(made: JudgmentSet, tmp_path: Path) -> None:
    folder = tmp_path / "deep" / "out"
    output = answer(*ASKED, "--to-folder", str(folder))
    assert (output["place"], output["added"], output["sha256"]) == (str(folder), [], made.sha256)
    assert sorted(path.name for path in folder.iterdir()) == sorted(list_names(made)) == output["files"]
    subprocess.run(["sha256sum", "--check", "--quiet", "SHA256SUMS"], cwd=folder, check=True)
    (folder / "long.csv").write_text("changed")
    (folder / "notes.txt").write_text("mine")
    answer(*ASKED, "--to-folder", str(folder))
    subprocess.run(["sha256sum", "--check", "--quiet", "SHA256SUMS"], cwd=folder, check=True)
    assert (folder / "notes.txt").read_text() == "mine", "Only the files of the set are written."
    assert not list(tmp_path.glob("**/.publishing-*"))


def test_a_folder_of_anything_else_is_refused(
    project: Project, manager: Membership, made: JudgmentSet, tmp_path: Path
) -> None:
    (tmp_path / "empty").mkdir()
    answer(*ASKED, "--to-folder", str(tmp_path / "empty"))
    other = freeze(project, manager, "Second", splits=("dev",))
    assert "holds something else" in refuse("publish", "2", *ASKED[2:], "--to-folder", str(tmp_path / "empty"))
    assert (tmp_path / "empty" / "set.json").read_bytes() == read(made, "set.json"), "not a file of the second"
    assert other.number == 2
    (tmp_path / "file").write_text("a file")
    assert "cannot be written" in refuse(*ASKED, "--to-folder", str(tmp_path / "file"))
    assert "cannot be written" in refuse(*ASKED, "--to-folder", str(tmp_path / "file" / "under"))
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "README.md").write_text("mine")
    assert "holds something else" in refuse(*ASKED, "--to-folder", str(tmp_path / "mine"))
    assert [path.name for path in (tmp_path / "mine").iterdir()] == ["README.md"]
    assert "not allowed with" in refuse(*ASKED, "--to-folder", "a", "--to-hub", REPOSITORY)
    assert "--public needs --to-hub" in refuse(*ASKED, "--to-folder", "a", "--public")
    assert "frozen" in refuse(*ASKED, "--to-folder", str(tmp_path / "new"), "--licence", "MIT")
    assert not (tmp_path / "new").exists()


def test_what_must_not_be_passed_on_is_refused(made: JudgmentSet, manager: Membership, tmp_path: Path) -> None:
    path = freezing.find_path(made)
    whole = path.read_bytes()
    path.write_bytes(whole[:-30])
    assert "has changed since it was frozen" in refuse(*ASKED, "--to-folder", str(tmp_path / "out"))
    path.write_bytes(whole)
    retiring.retire(judgment_set=made, actor=manager, why="A wrong rubric")
    assert "is retired. Publish the set that replaces it." in refuse(*ASKED, "--to-folder", str(tmp_path / "out"))
    assert not (tmp_path / "out").exists()


def test_a_set_is_pushed_in_one_commit_and_again(
    project: Project, manager: Membership, made: JudgmentSet, hub: Hub, capsys: pytest.CaptureFixture[str]
) -> None:
    output = answer(*ASKED, "--to-hub", REPOSITORY)
    assert output["place"] == f"{hub.address}/datasets/{REPOSITORY}"
    there = hub.repositories[REPOSITORY]
    assert {name: there[name] for name in list_names(made)} == {name: read(made, name) for name in list_names(made)}
    assert there.keys() - set(list_names(made)) == {".gitattributes"}
    assert {len(parts) > 1 for parts in hub.parts.values()} == {True, False}, "Tables go in one part and in several."
    assert set(hub.objects.values()) == {read(made, name) for name in list_names(made) if name.endswith(".parquet")}
    assert (hub.visibility, hub.commits) == ({REPOSITORY: "private"}, ["Judgment set 1"])
    freeze(project, manager, "Second", with_texts=False)
    output = answer("publish", "2", *ASKED[2:], "--to-hub", REPOSITORY)
    assert output["replaced"] == "judgment set 1"
    assert "passages.parquet" not in there, "What the second does not hold is gone."
    assert hub.commits == ["Judgment set 1", "Judgment set 2"]
    answer(*ASKED, "--to-hub", "lab/open", "--public")
    assert hub.visibility["lab/open"] == "public"
    hub.repositories["lab/model"] = {".gitattributes": b"", "model.safetensors": b"1"}
    hub.visibility["lab/model"] = "private"
    assert "holds something other than" in refuse(*ASKED, "--to-hub", "lab/model")
    assert hub.repositories["lab/model"].keys() == {".gitattributes", "model.safetensors"}
    assert "The Hub did not accept the set" in refuse(*ASKED, "--to-hub", "no such/name!")
    assert TOKEN not in "".join(capsys.readouterr())


def test_a_set_is_written_over_another_only_on_request(
    project: Project, manager: Membership, made: JudgmentSet, hub: Hub
) -> None:
    second = ("publish", "2", *ASKED[2:], "--to-hub", REPOSITORY)
    freeze(project, manager, "Second", with_texts=False)
    assert answer(*second)["replaced"] == ""
    assert answer(*second)["replaced"] == "", "the same set again"
    assert f"{REPOSITORY} holds judgment set 2. Choose" in refuse(*ASKED, "--to-hub", REPOSITORY)
    assert answer(*ASKED, "--to-hub", REPOSITORY, "--replace")["replaced"] == "judgment set 2"
    there = hub.repositories[REPOSITORY]
    about = there["set.json"]
    assert isinstance(about, bytes)
    there["set.json"] = about.replace(b'"slug": "bridges"', b'"slug": "tunnels"')
    assert there["set.json"] != about
    assert "judgment set 1 of another project, “tunnels”. Choose another name, or add --replace" in refuse(*second)
    assert there["set.json"] != about, "nothing is written"
    assert answer(*second, "--replace")["replaced"] == "judgment set 1 of another project, “tunnels”"
    # Another site may have a project of this address, with sets of these numbers.
    for number in (1, 2):
        elsewhere = {**json.loads(about), "set": {"number": number, "name": "First"}, "url": "https://x.example.org"}
        there["set.json"] = json.dumps(elsewhere).encode()
        assert "of another project, “bridges”. Choose" in refuse(*second)
    there["set.json"] = b"[]"
    assert "holds something other than a judgment set" in refuse(*second, "--replace")
    assert "--replace needs --to-hub" in refuse(*ASKED, "--to-folder", "a", "--replace")


def test_a_set_is_made_public_only_on_request(made: JudgmentSet, hub: Hub) -> None:
    """People create data sets on the Hub's own page too, where they are public unless one says otherwise."""
    hub.repositories[REPOSITORY] = {".gitattributes": b""}
    hub.visibility[REPOSITORY] = "public"
    assert f"{REPOSITORY} is public. Add --public" in refuse(*ASKED, "--to-hub", REPOSITORY)
    assert list(hub.repositories[REPOSITORY]) == [".gitattributes"]
    assert not hub.commits
    answer(*ASKED, "--to-hub", REPOSITORY, "--public")
    assert refuse(*ASKED, "--to-hub", REPOSITORY), "Nor may a later set follow an earlier one there by itself."
    assert hub.commits == ["Judgment set 1"]


def test_large_files_go_to_xet_where_the_library_has_it(
    made: JudgmentSet, hub: Hub, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pytest.importorskip("hf_xet", reason="hf_xet has no build for this machine.")
    from huggingface_hub import constants
    from huggingface_hub.utils import _xet

    monkeypatch.setattr(constants, "HF_HUB_DISABLE_XET", False)
    monkeypatch.setenv("HF_HOME", str(tmp_path))
    try:
        answer(*ASKED, "--to-hub", REPOSITORY)
        hub.fails_at = "xet-write-token"
        assert "The Hub did not accept the set" in refuse(*ASKED, "--to-hub", "lab/second")
    finally:
        _xet.abort_xet_session()  # it ends its threads
    there = hub.repositories[REPOSITORY]
    for name in list_names(made):
        whole = read(made, name)
        expected = Pointer(hashlib.sha256(whole).hexdigest(), len(whole)) if name.endswith(".parquet") else whole
        assert there[name] == expected, name
    assert hub.objects == {}


@pytest.mark.parametrize("place", ["repos/create", "tree", "preupload", "lfs/objects/batch", "storage/", "commit"])
def test_a_push_that_fails_half_way_says_so_and_can_be_repeated(made: JudgmentSet, hub: Hub, place: str) -> None:
    hub.fails_at = place
    said = refuse(*ASKED, "--to-hub", REPOSITORY)
    assert "The Hub did not accept the set" in said
    assert "storage limit" in said
    assert TOKEN not in said
    assert set(hub.repositories.get(REPOSITORY, {})) <= {".gitattributes"}
    hub.fails_at = ""
    answer(*ASKED, "--to-hub", REPOSITORY)
    assert hub.commits == ["Judgment set 1"]
    assert hub.repositories[REPOSITORY]["long.csv"] == read(made, "long.csv")


def test_without_a_token_a_hub_or_the_library_the_way_there_is_told(
    made: JudgmentSet, hub: Hub, settings: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    from huggingface_hub import constants

    settings.HF_TOKEN = "hf_wrong"
    assert "Invalid username or password" in refuse(*ASKED, "--to-hub", REPOSITORY)
    settings.HF_TOKEN = ""
    assert "Set HF_TOKEN in the environment" in refuse(*ASKED, "--to-hub", REPOSITORY)
    assert hub.repositories == {}
    settings.HF_TOKEN, settings.HF_ENDPOINT = TOKEN, "http://127.0.0.1:9"
    assert "The Hub did not accept the set" in refuse(*ASKED, "--to-hub", REPOSITORY)
    monkeypatch.setattr(constants, "HF_HUB_OFFLINE", True)
    assert "HF_HUB_OFFLINE" in refuse(*ASKED, "--to-hub", REPOSITORY)
    monkeypatch.setitem(sys.modules, "huggingface_hub", None)
    assert "Run make hub" in refuse(*ASKED, "--to-hub", REPOSITORY)
