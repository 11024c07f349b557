"""Models as folders: `concord-model.json` says what a model is, and gives the size and SHA-256 of each of its files.

A folder holds weights as safetensors, which are numbers without code. Pickles, code, links and files that are not
listed are refused, so that loading a model runs nothing but transformers itself.
"""

import hashlib
import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path, PurePosixPath
from typing import Any, Literal, get_args

from measures.neural.model_files import MANIFEST, BadFolder, check_contents, hash_file, read_json, walk_files
from measures.neural.sentence_transformers_files import (
    ACTIVATIONS,
    POOLINGS,
    read_activation,
    read_length,
    read_pooling,
)

FORMAT = 1

Kind = Literal["encoder", "cross", "masked", "lerc"]
KINDS: dict[str, str] = {
    "encoder": "encoder of texts, for BERTScore and the bi-encoder",
    "cross": "cross-encoder with one output, for SAS",
    "masked": "masked language model, for QAScore",
    "lerc": "LERC, trained on human judgments",
}
NOUNS: dict[str, str] = {
    "encoder": "an encoder of texts",
    "cross": "a cross-encoder",
    "masked": "a masked language model",
    "lerc": "a model trained for LERC",
}
"""The kinds as sentences have them."""

NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,79}")
"""What the name of a model may be."""
_SHA256 = re.compile(r"[0-9a-f]{64}")


@dataclass(frozen=True, kw_only=True)
class ModelFile:
    """A file of a model: its path below the folder, with slashes, its size in bytes and its SHA-256."""

    path: str
    size: int
    sha256: str


@dataclass(frozen=True, kw_only=True)
class ModelFolder:
    """A model as its `concord-model.json` describes it.

    Attributes
    ----------
    path : Path
        The folder.
    kind : str
        One of `KINDS`.
    source, revision, licence, trained_on : str
        Where the model comes from, and what people may do with it; empty where unknown.
    layer : int or None
        The layer whose vectors BERTScore takes, counted from 1; none for the last.
    pooling : str
        One of `POOLINGS`; empty where the folder has no pooling.
    length : int
        The most tokens that the model is meant to read; 0 for as many as it can.
    activation : str
        One of `ACTIVATIONS`, for the output of a cross-encoder.
    details : mapping
        What else a kind needs, such as the settings of a training; JSON.
    files : tuple of ModelFile
        All of its files, by path.
    """

    path: Path
    kind: Kind
    source: str = ""
    revision: str = ""
    licence: str = ""
    trained_on: str = ""
    layer: int | None = None
    pooling: str = ""
    length: int = 0
    activation: str = ""
    details: Mapping[str, Any] = field(default_factory=dict)
    files: tuple[ModelFile, ...] = ()

    @property
    def name(self) -> str:
        return self.path.name

    @property
    def size(self) -> int:
        """The bytes of all files."""
        return sum(each.size for each in self.files)

    @property
    def digest(self) -> str:
        """The SHA-256 of all that scores depend on: the files, and how they are read."""
        read = {name: getattr(self, name) for name in ("kind", "layer", "pooling", "length", "activation", "details")}
        files = {each.path: each.sha256 for each in self.files if _matters(each.path)}
        return hashlib.sha256(json.dumps({**read, "files": files}, sort_keys=True).encode()).hexdigest()

    @property
    def short_digest(self) -> str:
        """The beginning of the digest, as signatures and lists show it."""
        return self.digest[:12]


def name_kinds(kinds: Sequence[str]) -> str:
    """Return kinds of models as a sentence has them; without any, every kind will do.

    Examples
    --------
    >>> name_kinds(["encoder", "masked", "cross"])
    'an encoder of texts, a masked language model or a cross-encoder'
    """
    *first, last = [NOUNS[kind] for kind in kinds] or ["a model"]
    return f"{', '.join(first)} or {last}" if first else last


def read_folder(path: Path) -> ModelFolder:
    """Read a folder and check everything but the content of its files.

    Parameters
    ----------
    path : Path
        The folder.

    Returns
    -------
    ModelFolder
        What `concord-model.json` says, with every file present in the size that it says.

    Raises
    ------
    BadFolder
        The folder or its description is missing or wrong, a file is missing, of another size, not listed, a link or
        a pickle, or the model asks for code of its own.
    """
    check_name(path.name)
    if path.is_symlink() or not path.is_dir():
        raise BadFolder(f"{path.name} is not a folder. Links are not followed.")
    if not (path / MANIFEST).is_file():
        raise BadFolder(f"{path.name} has no {MANIFEST}. Add the model with: manage.py models add FOLDER")
    folder = _parse(path, read_json(path / MANIFEST, path))
    listed = {each.path: each for each in folder.files}
    found = dict(walk_files(path))
    found.pop(MANIFEST, None)
    if missing := sorted(listed.keys() - found.keys()):
        raise BadFolder(f"{path.name} lacks the file {missing[0]}. Copy the model again.")
    if strange := sorted(found.keys() - listed.keys()):
        raise BadFolder(f"{path.name} has the file {strange[0]}, which {MANIFEST} does not list. Remove it.")
    for each in folder.files:
        if (size := found[each.path]) != each.size:
            raise BadFolder(
                f"{path.name}/{each.path} has {size:,} bytes, but {MANIFEST} says {each.size:,}. Copy the model again."
            )
    check_contents(path, [each.path for each in folder.files])
    return folder


def check_hashes(folder: ModelFolder) -> None:
    """Read every file and compare its SHA-256.

    Raises
    ------
    BadFolder
        A file has another content than when the model was added, or cannot be read.
    """
    for each in folder.files:
        if hash_file(folder.path / each.path) != each.sha256:
            raise BadFolder(
                f"{folder.name}/{each.path} has changed since the model was added: its SHA-256 is not the one in "
                f"{MANIFEST}. Nothing was loaded. Remove the model and add it again from its source."
            )


def describe_folder(
    path: Path,
    *,
    kind: Kind,
    source: str = "",
    revision: str = "",
    licence: str = "",
    trained_on: str = "",
    layer: int | None = None,
    pooling: str | None = None,
    length: int | None = None,
    activation: str | None = None,
    details: Mapping[str, Any] | None = None,
) -> ModelFolder:
    """Hash the files of a folder, write its `concord-model.json` and return the model.

    Parameters
    ----------
    path : Path
        A folder with the files of one model and no others.
    kind, source, revision, licence, trained_on, layer, details
        As in `ModelFolder`.
    pooling, length, activation : str or int, optional
        By default what the files of sentence-transformers in the folder say.

    Raises
    ------
    BadFolder
        As `read_folder` does.
    """
    check_name(path.name)
    files = sorted(name for name, _size in walk_files(path) if name != MANIFEST)
    check_contents(path, files)
    if activation is None:
        activation = read_activation(path) if kind == "cross" else ""
    hashed = [ModelFile(path=name, size=(path / name).stat().st_size, sha256=hash_file(path / name)) for name in files]
    made = ModelFolder(
        path=path,
        kind=kind,
        source=source,
        revision=revision,
        licence=licence,
        trained_on=trained_on,
        layer=layer,
        pooling=read_pooling(path) if pooling is None else pooling,
        length=read_length(path) if length is None else length,
        activation=activation,
        details=dict(details or {}),
        files=tuple(hashed),
    )
    text = json.dumps(_to_json(made), indent=2, ensure_ascii=False) + "\n"
    temporary = path / f"{MANIFEST}.new"
    temporary.write_text(text, encoding="utf-8")
    temporary.replace(path / MANIFEST)
    return read_folder(path)


def check_name(name: str) -> None:
    """Check the name of a model. Raises BadFolder.

    Examples
    --------
    >>> check_name("all-MiniLM-L6-v2")
    """
    if not NAME.fullmatch(name):
        raise BadFolder(
            f"“{name}” can't be the name of a model: use up to 80 letters, digits, dots, hyphens and underscores, "
            "beginning with a letter or a digit."
        )


def _parse(path: Path, content: Any) -> ModelFolder:
    def fail(what: str) -> BadFolder:
        return BadFolder(f"{path.name}/{MANIFEST}: {what}.")

    if not isinstance(content, dict) or content.get("format") != FORMAT:
        raise fail(f"“format” must be {FORMAT}")
    known = {*ModelFolder.__dataclass_fields__, "format"} - {"path"}
    if strange := sorted(content.keys() - known):
        raise fail(f"“{strange[0]}” is unknown")
    for name in ("source", "revision", "licence", "trained_on"):
        if not isinstance(content.get(name, ""), str):
            raise fail(f"“{name}” must be a text")
    allowed = {"kind": get_args(Kind), "pooling": ("", *POOLINGS), "activation": ("", *ACTIVATIONS)}
    for name, values in allowed.items():
        if content.get(name, "") not in values:
            raise fail(f"“{name}” must be one of {', '.join(filter(None, values))}")
    layer, length = content.get("layer"), content.get("length", 0)
    if layer is not None and not (type(layer) is int and 0 < layer < 1000):
        raise fail("“layer” must be a whole number from 1, or null")
    if not (type(length) is int and 0 <= length < 1_000_000):
        raise fail("“length” must be a whole number of tokens")
    if not isinstance(content.get("details", {}), dict):
        raise fail("“details” must be an object")
    files = content.get("files")
    if not isinstance(files, dict) or not files:
        raise fail("“files” must be an object with the size and the SHA-256 of each file")
    given = {name: content[name] for name in known - {"format", "files"} if name in content}
    return ModelFolder(path=path, files=tuple(_parse_file(path, *each) for each in sorted(files.items())), **given)


def _parse_file(folder: Path, name: str, content: Any) -> ModelFile:
    parts = PurePosixPath(name)
    if parts.is_absolute() or ".." in parts.parts or "\\" in name or str(parts) != name or name == MANIFEST:
        raise BadFolder(f"{folder.name}/{MANIFEST} lists “{name}”, which is not a path inside the folder.")
    size, sha256 = (content.get("size"), content.get("sha256")) if isinstance(content, dict) else (None, None)
    if type(size) is not int or size < 0 or not isinstance(sha256, str) or not _SHA256.fullmatch(sha256):
        raise BadFolder(f"{folder.name}/{MANIFEST}: “{name}” needs its size in bytes and its SHA-256.")
    return ModelFile(path=name, size=size, sha256=sha256)


def _to_json(folder: ModelFolder) -> dict[str, Any]:
    plain = ("kind", "source", "revision", "licence", "trained_on", "layer", "pooling", "length", "activation")
    return {
        "format": FORMAT,
        **{name: getattr(folder, name) for name in plain},
        "details": dict(folder.details),
        "files": {each.path: {"size": each.size, "sha256": each.sha256} for each in folder.files},
    }


def _matters(path: str) -> bool:
    """Whether scores depend on a file: all but texts for people."""
    return PurePosixPath(path).suffix in {".safetensors", ".json"} or path in {"vocab.txt", "merges.txt"}
