"""The acts of the registry: adding, verifying and removing models, and who uses them."""

import subprocess
import sys
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from django.conf import settings
from django.db.models import Count, Q

from measures.neural import adding
from measures.neural.adding import Added
from measures.neural.environment import is_installed
from measures.neural.folders import ModelFolder, check_hashes, check_name, read_folder
from measures.neural.installed import Unusable, list_models
from measures.neural.model_files import BadFolder
from projects.errors import Refused
from projects.jobs.queue import Job
from results.learned import computing_time
from results.models import MetricRun

DOWNLOAD_SECONDS = 3600
"""The packages of learned metrics have gigabytes."""


@dataclass(frozen=True)
class Registered:
    """A model of the registry, and how many projects and unfinished runs use it."""

    folder: ModelFolder | Unusable
    n_projects: int
    n_runs: int
    n_live: int

    @property
    def is_usable(self) -> bool:
        return isinstance(self.folder, ModelFolder)

    @property
    def use(self) -> str:
        """Who uses it, in words."""
        if not self.n_runs:
            return "not used yet"
        projects = "1 project" if self.n_projects == 1 else f"{self.n_projects:,} projects"
        runs = "1 run" if self.n_runs == 1 else f"{self.n_runs:,} runs"
        return f"{runs} in {projects}" + (f", {self.n_live:,} unfinished" if self.n_live else "")


def list_registered() -> list[Registered]:
    """Return the models by name, each with who uses it."""
    rows = (
        MetricRun.objects.filter(origin=MetricRun.Origin.COMPUTED, settings__has_key="model")
        .values_list("settings__model")
        .annotate(
            n_projects=Count("project", distinct=True),
            n_runs=Count("pk"),
            n_live=Count("pk", filter=Q(state__in=Job.LIVE)),
        )
    )
    used = {name: counts for name, *counts in rows}
    return [Registered(each, *used.get(each.name, (0, 0, 0))) for each in list_models(settings.MODELS_DIR)]


def add_folder(path: Path, **options: Any) -> Added:
    """Copy a model into the registry, and load it once where that is possible. Raises Refused."""
    try:
        added = adding.add_folder(path, settings.MODELS_DIR, **options)
        try_to_load(added.folder)
    except BadFolder as problem:
        raise Refused(str(problem)) from problem
    except OSError as error:
        raise Refused(f"{error.filename or path} cannot be read or written: {error.strerror}.") from error
    return added


def add_packages(requirements: Sequence[str], **options: Any) -> Added:
    """Download packages with pip, without what they depend on, and add the model that they hold. Raises Refused."""
    with TemporaryDirectory(prefix="concord-packages-") as folder:
        wheels = download(requirements, Path(folder))
        try:
            with adding.unpack_packages(wheels) as (path, inner):
                named = inner if len(wheels) > 1 else _read_name(wheels[0])
                options["name"] = options.get("name") or named
                options["source"] = options.get("source") or f"Python package {', '.join(map(_read_label, wheels))}"
                return add_folder(path, **options)
        except BadFolder as problem:
            raise Refused(str(problem)) from problem


def download(requirements: Sequence[str], folder: Path) -> list[Path]:
    """Download packages as wheels, by their order. This is the only time that the network is asked. Raises Refused."""
    if wrong := next((each for each in requirements if each.startswith("-")), ""):
        raise Refused(f"“{wrong}” is not the name of a package.")
    command = [sys.executable, "-m", "pip", "download", "--quiet", "--no-deps", "--only-binary=:all:"]
    try:
        done = subprocess.run(
            [*command, "--dest", str(folder), *requirements],
            check=False,
            capture_output=True,
            text=True,
            timeout=DOWNLOAD_SECONDS,
        )
    except subprocess.TimeoutExpired:
        raise Refused(f"The packages could not be downloaded within {DOWNLOAD_SECONDS // 60} minutes.") from None
    if done.returncode:
        lines = [line for line in done.stderr.splitlines() if line.startswith("ERROR")]
        raise Refused("The packages could not be downloaded.", details=lines[-3:])
    return sorted(folder.glob("*.whl"))


def verify(name: str) -> ModelFolder:
    """Read every file of a model and compare its hash. Raises Refused if one differs."""
    try:
        check_name(name)
        folder = read_folder(settings.MODELS_DIR / name)
        check_hashes(folder)
    except BadFolder as problem:
        raise Refused(str(problem)) from problem
    return folder


def remove(name: str) -> None:
    """Delete a model; scores that were computed with it stay. Raises Refused while a run needs it."""
    try:
        check_name(name)
    except BadFolder as problem:
        raise Refused(str(problem)) from problem
    if live := MetricRun.objects.filter(settings__model=name, state__in=Job.LIVE).select_related("project").first():
        raise Refused(
            f"{live.title} is being computed with “{name}” in {live.project.name}. Wait until it ends, or cancel it."
        )
    try:
        adding.remove_model(settings.MODELS_DIR, name)
    except BadFolder as problem:
        raise Refused(str(problem)) from problem
    except OSError as error:
        raise Refused(f"{name} cannot be removed: {error.strerror}.") from error


def try_to_load(folder: ModelFolder) -> None:
    """Load a new model once and measure its speed, or remove it again if that fails. Raises Refused.

    Without torch, nothing is tried.
    """
    if not is_installed():
        return
    from measures.neural import loading

    load = {"masked": loading.load_masked, "cross": loading.load_cross, "encoder": loading.load_encoder}
    try:
        if folder.kind in load:
            computing_time.measure_speed(folder, load[folder.kind](folder).model)
    except BadFolder as problem:
        adding.remove_model(settings.MODELS_DIR, folder.name)
        raise Refused(f"The model was not added. {problem}") from problem


def count_bytes(listed: Iterable[Registered]) -> int:
    return sum(each.folder.size for each in listed if isinstance(each.folder, ModelFolder))


def _read_name(wheel: Path) -> str:
    return wheel.name.split("-")[0].replace("_", "-")


def _read_label(wheel: Path) -> str:
    return f"{_read_name(wheel)} {wheel.name.split('-')[1]}"
