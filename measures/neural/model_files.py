"""The files that a model may have: weights as safetensors, descriptions and texts, and nothing that runs."""

import hashlib
import json
import stat
from collections.abc import Iterator
from pathlib import Path, PurePosixPath
from typing import Any

from measures.metrics.metric import Broken

MANIFEST = "concord-model.json"
_SUFFIXES = {".safetensors", ".json", ".txt", ".md"}
_PICKLES = {".bin", ".pt", ".pth", ".pkl", ".pickle", ".ckpt", ".h5", ".msgpack", ".npy", ".npz", ".joblib"}
_LARGEST_JSON = 50_000_000
"""Tokenisers with a quarter of a million words have up to 20 MB."""
_LARGEST_HEADER = 100_000_000
"""The limit of the format safetensors itself."""
_DEPTH = 2


class BadFolder(Broken):
    """A folder is no model that can be used; the message says why, and what to do."""


def is_pickle(path: str) -> bool:
    """Return whether a file is of a kind that can hold code, by its name.

    Examples
    --------
    >>> is_pickle("pytorch_model.bin"), is_pickle("model.safetensors")
    (True, False)
    """
    return PurePosixPath(path).suffix.lower() in _PICKLES


def is_model_file(path: str) -> bool:
    """Return whether a file may be part of a model, by its name.

    Examples
    --------
    >>> is_model_file("1_Pooling/config.json"), is_model_file("modeling.py"), is_model_file("onnx/a/model.json")
    (True, False, False)
    """
    parts = PurePosixPath(path)
    named = parts.suffix.lower() in _SUFFIXES or parts.name.upper() in {"LICENSE", "LICENCE", "NOTICE"}
    return named and len(parts.parts) <= _DEPTH and not any(part.startswith(".") for part in parts.parts)


def hash_file(path: Path) -> str:
    """Return the SHA-256 of a file. Raises BadFolder if it cannot be read."""
    try:
        with open(path, "rb") as file:
            return hashlib.file_digest(file, "sha256").hexdigest()
    except OSError as error:
        raise BadFolder(f"{path.parent.name}/{path.name} cannot be read: {error.strerror}.") from error


def walk_files(folder: Path) -> Iterator[tuple[str, int]]:
    """Yield the path and the size of every file below a folder. Raises BadFolder for what may not be there."""
    for path in sorted(folder.rglob("*")):
        name = path.relative_to(folder).as_posix()
        status = path.lstat()
        if stat.S_ISDIR(status.st_mode):
            continue
        if not stat.S_ISREG(status.st_mode):
            raise BadFolder(f"{folder.name}/{name} is a link or a special file. A model holds plain files only.")
        if is_pickle(name):
            raise BadFolder(
                f"{folder.name}/{name} is of a kind that can hold code (pickle), and is never loaded. Use the model's "
                "safetensors, and remove this file."
            )
        if name not in (MANIFEST, f"{MANIFEST}.new") and not is_model_file(name):
            raise BadFolder(
                f"{folder.name}/{name} is not a file of a model. Models have {', '.join(sorted(_SUFFIXES))} files only."
            )
        yield name, status.st_size


def check_contents(folder: Path, files: list[str]) -> None:
    """Check that these files make a model, and name no code of its own. Raises BadFolder."""
    if "config.json" not in files:
        raise BadFolder(f"{folder.name} has no config.json, so it is no model of transformers.")
    weights = [name for name in files if name.endswith(".safetensors")]
    if not any("/" not in name for name in weights):
        raise BadFolder(f"{folder.name} has no weights as safetensors. Other kinds of weights are not loaded.")
    for name in weights:
        _check_safetensors(folder, name)
    for name in files:
        if name.endswith(".json"):
            _check_code(folder, name, read_json(folder / name, folder))


def _check_safetensors(folder: Path, name: str) -> None:
    """Check the header of a file of weights: its length in eight bytes, then JSON."""
    path = folder / name
    with open(path, "rb") as file:
        length = int.from_bytes(file.read(8), "little")
        header = file.read(length) if 0 < length <= min(_LARGEST_HEADER, path.stat().st_size) else b""
    try:
        is_valid = isinstance(json.loads(header), dict)
    except ValueError:
        is_valid = False
    if not is_valid:
        raise BadFolder(f"{folder.name}/{name} is not a file of safetensors, whatever its name. It is not loaded.")


def _check_code(folder: Path, name: str, content: Any) -> None:
    if not isinstance(content, dict | list):
        return
    entries = content if isinstance(content, list) else [content]
    for entry in entries:
        if not isinstance(entry, dict):
            continue
        if "auto_map" in entry or "custom_pipelines" in entry:
            raise BadFolder(
                f"{folder.name}/{name} names code of the model's own (auto_map), which is never run. Use a model whose "
                "architecture transformers has."
            )
        if "quantization_config" in entry:
            raise BadFolder(f"{folder.name}/{name} asks for quantised weights, which are not supported.")
        if name == "modules.json" and not str(entry.get("type", "")).startswith("sentence_transformers."):
            raise BadFolder(f"{folder.name}/modules.json names a module that sentence-transformers does not have.")
    if name == "adapter_config.json":
        raise BadFolder(f"{folder.name} is an adapter of another model. Merge it with that model first.")


def read_json(path: Path, folder: Path) -> Any:
    """Return what a description in the folder of a model says. Raises BadFolder if it cannot be read."""
    name = path.relative_to(folder).as_posix()
    try:
        if path.stat().st_size > _LARGEST_JSON:
            raise BadFolder(f"{folder.name}/{name} is too large to be a description.")
        return json.loads(path.read_bytes())
    except (ValueError, RecursionError):
        raise BadFolder(f"{folder.name}/{name} is not valid JSON.") from None
    except OSError as error:
        raise BadFolder(f"{folder.name}/{name} cannot be read: {error.strerror}.") from error
