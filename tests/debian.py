"""Debian's packages for tests: installed where we are root, or unpacked into a folder without touching the machine."""

import os
import shutil
import subprocess
import tempfile
from functools import cache
from pathlib import Path

ENVIRONMENT = {**os.environ, "DEBIAN_FRONTEND": "noninteractive"}


def can_install() -> bool:
    return os.geteuid() == 0 and shutil.which("apt-get") is not None


def install(*packages: str) -> bool:
    """Install packages; False if that failed, with the output of apt on the terminal."""
    print(f"Installing Debian's {', '.join(packages)} …", flush=True)
    _update_lists()
    # Not every file is written to the disk at once: after a crash, a machine for tests is set up again.
    options = ("-y", "-qq", "--no-install-recommends", "-o", "Dpkg::Options::=--force-unsafe-io")
    return _runs("apt-get", "install", *options, *packages)


def unpack(package: str, folder: Path) -> bool:
    """Unpack the files of a package into a folder; False where there is no such package."""
    if shutil.which("apt-get") is None or shutil.which("dpkg-deb") is None:
        return False
    print(f"Unpacking Debian's {package} …", flush=True)
    if can_install():
        _update_lists()
    with tempfile.TemporaryDirectory() as here:
        if not _runs("apt-get", "download", "-qq", package, cwd=here, is_quiet=True):
            return False
        return all(_runs("dpkg-deb", "-x", str(file), str(folder)) for file in Path(here).glob("*.deb"))


@cache
def _update_lists() -> None:
    _runs("apt-get", "update", "-qq")


def _runs(*command: str, cwd: str | None = None, is_quiet: bool = False) -> bool:
    errors = subprocess.DEVNULL if is_quiet else None
    done = subprocess.run(command, cwd=cwd, env=ENVIRONMENT, stdout=subprocess.DEVNULL, stderr=errors, check=False)
    return done.returncode == 0
