import doctest
import json
import os
import pickle
from pathlib import Path
from typing import Any

import pytest

from measures.neural import environment, installed
from measures.neural.environment import SETUP, Environment
from measures.neural.folders import ModelFolder, check_hashes, describe_folder, read_folder
from measures.neural.installed import Unusable, explain_missing, find_model, list_models
from measures.neural.model_files import MANIFEST, BadFolder
from tests.measures.neural.model_folders import write_model, write_safetensors


@pytest.fixture
def model(tmp_path: Path) -> ModelFolder:
    return describe_folder(write_model(tmp_path / "tiny"), kind="encoder", source="a test", licence="MIT")


def edit(folder: Path, **changes: Any) -> None:
    content = json.loads((folder / MANIFEST).read_text())
    (folder / MANIFEST).write_text(json.dumps({**content, **changes}))


def test_a_described_folder_is_read_as_it_was_described(model: ModelFolder) -> None:
    assert read_folder(model.path) == model
    assert (model.name, model.kind, model.pooling, model.length) == ("tiny", "encoder", "mean", 128)
    assert [each.path for each in model.files] == [
        "1_Pooling/config.json",
        "config.json",
        "model.safetensors",
        "sentence_bert_config.json",
        "vocab.txt",
    ]
    assert model.size == sum((model.path / each.path).stat().st_size for each in model.files)
    check_hashes(model)


def test_the_digest_is_of_what_scores_depend_on(model: ModelFolder) -> None:
    edit(model.path, licence="GPL-3.0", source="elsewhere")
    assert read_folder(model.path).digest == model.digest
    edit(model.path, pooling="cls")
    assert read_folder(model.path).digest != model.digest
    edit(model.path, pooling="mean", layer=1)
    assert read_folder(model.path).digest != model.digest


def test_a_file_that_changed_since_is_found_by_its_hash_and_by_its_size(model: ModelFolder) -> None:
    weights = model.path / "model.safetensors"
    changed = bytearray(weights.read_bytes())
    changed[-1] ^= 1
    weights.write_bytes(changed)
    read_folder(model.path)  # the size is the same
    with pytest.raises(BadFolder, match=r"tiny/model\.safetensors has changed since the model was added"):
        check_hashes(model)
    weights.write_bytes(bytes(changed[:-1]))
    with pytest.raises(BadFolder, match=r"has \d+ bytes, but concord-model.json says \d+\. Copy the model again"):
        read_folder(model.path)
    weights.unlink()
    with pytest.raises(BadFolder, match=r"tiny lacks the file model\.safetensors"):
        read_folder(model.path)
    with pytest.raises(BadFolder, match="cannot be read: No such file"):
        check_hashes(model)


def test_pickles_code_links_and_files_that_are_not_listed_are_refused(model: ModelFolder, tmp_path: Path) -> None:
    (tmp_path / "secret.json").write_text("{}")
    for name, why in (
        ("pytorch_model.bin", "can hold code"),
        ("optimizer.pt", "can hold code"),
        ("1_Pooling/data.PKL", "can hold code"),
        ("modeling_own.py", "not a file of a model"),
        (".hidden.json", "not a file of a model"),
        ("extra.json", "does not list"),
    ):
        (model.path / name).write_bytes(pickle.dumps({}) if why == "can hold code" else b"{}")
        with pytest.raises(BadFolder, match=why):
            read_folder(model.path)
        (model.path / name).unlink()
    (model.path / "vocab.txt").unlink()
    (model.path / "vocab.txt").symlink_to(tmp_path / "secret.json")
    with pytest.raises(BadFolder, match="is a link or a special file"):
        read_folder(model.path)
    (model.path / "vocab.txt").unlink()
    os.mkfifo(model.path / "vocab.txt")
    with pytest.raises(BadFolder, match="is a link or a special file"):
        read_folder(model.path)


def test_a_linked_folder_and_paths_outside_are_refused(model: ModelFolder, tmp_path: Path) -> None:
    (tmp_path / "linked").symlink_to(model.path)
    with pytest.raises(BadFolder, match="Links are not followed"):
        read_folder(tmp_path / "linked")
    files = json.loads((model.path / MANIFEST).read_text())["files"]
    for outside in ("../tiny/vocab.txt", "/etc/passwd", "a\\..\\b.json", "./vocab.txt", "1_Pooling//config.json"):
        edit(model.path, files={**files, outside: {"size": 1, "sha256": "0" * 64}})
        with pytest.raises(BadFolder, match="not a path inside the folder"):
            read_folder(model.path)


def test_a_pickle_under_the_name_of_safetensors_is_refused(model: ModelFolder) -> None:
    weights = model.path / "model.safetensors"
    weights.write_bytes(pickle.dumps(list(range(100))))
    with pytest.raises(BadFolder, match="not a file of safetensors, whatever its name"):
        describe_folder(model.path, kind="encoder")
    weights.write_bytes((2**40).to_bytes(8, "little"))
    with pytest.raises(BadFolder, match="not a file of safetensors"):
        describe_folder(model.path, kind="encoder")


def test_code_of_the_model_and_modules_from_elsewhere_are_refused(tmp_path: Path) -> None:
    mapped = write_model(tmp_path / "mapped", auto_map={"AutoModel": "modeling.Own"})
    with pytest.raises(BadFolder, match=r"names code of the model's own \(auto_map\)"):
        describe_folder(mapped, kind="encoder")
    module = write_model(tmp_path / "module")
    (module / "modules.json").write_text(json.dumps([{"type": "own.Pooling", "path": ""}]))
    with pytest.raises(BadFolder, match="a module that sentence-transformers does not have"):
        describe_folder(module, kind="encoder")
    quantised = write_model(tmp_path / "quantised", quantization_config={})
    with pytest.raises(BadFolder, match="quantised weights"):
        describe_folder(quantised, kind="encoder")


@pytest.mark.parametrize(
    ("changes", "why"),
    [
        ({"format": 2}, "“format” must be 1"),
        ({"kind": "generator"}, "“kind” must be one of encoder, cross, masked, lerc"),
        ({"pooling": "sum"}, "“pooling” must be one of mean, cls, max"),
        ({"layer": 0}, "“layer” must be a whole number from 1"),
        ({"length": True}, "“length” must be a whole number"),
        ({"licence": 3}, "“licence” must be a text"),
        ({"details": []}, "“details” must be an object"),
        ({"command": "rm"}, "“command” is unknown"),
        ({"files": {}}, "“files” must be an object"),
        ({"files": {"vocab.txt": {"size": 1, "sha256": "0"}}}, "needs its size in bytes and its SHA-256"),
    ],
)
def test_a_wrong_description_says_which_value_is_wrong(model: ModelFolder, changes: dict[str, Any], why: str) -> None:
    edit(model.path, **changes)
    with pytest.raises(BadFolder, match=why):
        read_folder(model.path)


def test_descriptions_that_are_no_json_are_refused(model: ModelFolder) -> None:
    for text in ("", "[]", "[" * 100_000, "null", "{"):
        (model.path / MANIFEST).write_text(text)
        with pytest.raises(BadFolder):
            read_folder(model.path)
    (model.path / MANIFEST).unlink()
    with pytest.raises(BadFolder, match="has no concord-model"):
        read_folder(model.path)


def test_the_activation_of_a_cross_encoder_comes_from_its_folder(tmp_path: Path) -> None:
    named = {"activation_fn": "torch.nn.modules.linear.Identity"}
    folder = write_model(tmp_path / "identity", sentence_transformers=named)
    assert describe_folder(folder, kind="cross").activation == "identity"
    assert describe_folder(write_model(tmp_path / "silent"), kind="cross").activation == "sigmoid"
    folder = write_model(tmp_path / "other", sbert_ce_default_activation_function="torch.nn.Softplus")
    with pytest.raises(BadFolder, match=r"has the activation torch\.nn\.Softplus"):
        describe_folder(folder, kind="cross")


def test_the_registry_lists_every_folder_with_what_is_wrong(
    model: ModelFolder, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write_safetensors(tmp_path / "loose.safetensors")
    (tmp_path / ".adding").mkdir()
    (tmp_path / "empty").mkdir()
    monkeypatch.setattr(environment, "_current", Environment(models_dir=tmp_path))
    empty, tiny = list_models()
    assert tiny == model
    assert isinstance(empty, Unusable)
    assert empty.problem.startswith("empty has no concord-model.json")
    assert find_model("tiny", "encoder", "masked") == model
    monkeypatch.setattr(installed, "is_installed", lambda: True)
    assert explain_missing("tiny", "encoder") == ""
    assert explain_missing("tiny", "cross") == "the model “tiny” is an encoder of texts: choose a cross-encoder"
    for name in ("absent", "../tiny", "tiny/../tiny", ".adding", "loose.safetensors"):
        assert "there is no model" in explain_missing(name, "encoder")
    assert explain_missing("", "encoder") == "no model is chosen: set model to tiny"
    assert explain_missing("", "cross", "masked") == (
        "it needs a cross-encoder or a masked language model, and none has been added: whoever runs the server can add "
        "one with manage.py models add"
    )
    assert "it needs a model trained for LERC, and" in explain_missing("", "lerc")
    assert find_model("tiny") == model
    monkeypatch.setattr(installed, "is_installed", lambda: False)
    assert explain_missing("tiny", "encoder") == SETUP
    monkeypatch.setattr(environment, "_current", Environment())
    assert list_models() == []


def test_the_examples_run() -> None:
    for module in (environment, installed):
        failed, n_examples = doctest.testmod(module, raise_on_error=False)
        assert n_examples
        assert not failed
