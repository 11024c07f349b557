"""The models in the folder of this site, listed and found by name."""

from dataclasses import dataclass
from pathlib import Path

from measures.neural.environment import SETUP, get_environment, is_installed
from measures.neural.folders import NAME, Kind, ModelFolder, name_kinds, read_folder
from measures.neural.model_files import BadFolder


@dataclass(frozen=True, kw_only=True)
class Unusable:
    """A folder of the registry that is no model that can be used, and why."""

    path: Path
    problem: str

    @property
    def name(self) -> str:
        return self.path.name


def list_models(models_dir: Path | None = None) -> list[ModelFolder | Unusable]:
    """Return every folder of the registry by name, those that cannot be used with their reason.

    Parameters
    ----------
    models_dir : Path, optional
        By default that of the environment.
    """
    models_dir = models_dir or get_environment().models_dir
    if models_dir is None or not models_dir.is_dir():
        return []
    found: list[ModelFolder | Unusable] = []
    for path in sorted(models_dir.iterdir()):
        # Files in progress and notes of the registry itself start with a dot.
        if path.name.startswith(".") or not (path.is_dir() or path.is_symlink()):
            continue
        try:
            found.append(read_folder(path))
        except BadFolder as problem:
            found.append(Unusable(path=path, problem=str(problem)))
    return found


def find_model(name: str, *kinds: Kind) -> ModelFolder:
    """Return a model of the registry by name.

    Raises
    ------
    BadFolder
        No model is chosen, there is none of this name, it is of another kind, or it cannot be used.
    """
    models_dir = get_environment().models_dir
    wanted = name_kinds(kinds)
    if not name:
        fitting = [each.name for each in list_models() if isinstance(each, ModelFolder) and each.kind in kinds]
        if not fitting:
            raise BadFolder(
                f"it needs {wanted}, and none has been added: whoever runs the server can add one with "
                "manage.py models add"
            )
        raise BadFolder(f"no model is chosen: set model to {' or '.join(fitting)}")
    if models_dir is None or not NAME.fullmatch(name) or not (models_dir / name).is_dir():
        raise BadFolder(f"there is no model “{name}”: add it with manage.py models add")
    folder = read_folder(models_dir / name)
    if kinds and folder.kind not in kinds:
        raise BadFolder(f"the model “{name}” is {name_kinds([folder.kind])}: choose {wanted}")
    return folder


def explain_missing(name: str, *kinds: Kind) -> str:
    """Return why a metric cannot use this model here, as a clause for `Metric.lacks`; empty if it can.

    Examples
    --------
    >>> explain_missing("", "encoder") != ""
    True
    """
    if not is_installed():
        return SETUP
    try:
        find_model(name, *kinds)
    except BadFolder as problem:
        return str(problem).removesuffix(".")
    return ""
