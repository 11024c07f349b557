"""Programs that Debian has and tests start: `python -m tests.programs` installs those that are missing.

It needs Python alone, so that they come while the environment is still being filled. Where they cannot be installed,
the tests that need them are skipped with the reason.
"""

import shutil
from collections.abc import Callable
from ctypes.util import find_library
from pathlib import Path

from tests import debian
from tests.browser import chromium


def find_java() -> str | None:
    return shutil.which("java")


def find_spreadsheet() -> str | None:
    return shutil.which("soffice") or shutil.which("libreoffice")


def find_latex() -> str | None:
    return shutil.which("pdflatex")


def find_faketime() -> Path | None:
    """Return the library that changes the clock of a program, for programs with threads."""
    return next(iter(sorted(Path("/usr/lib").glob("*/faketime/libfaketimeMT.so.1"))), None)


def find_systemd() -> str | None:
    """Return the program that checks units; a machine that starts without systemd lacks it."""
    return shutil.which("systemd-analyze")


def find_atomic() -> str | None:
    """A library without which the program that Playwright steers a browser with does not start."""
    return find_library("atomic")


PROGRAMS: dict[str, tuple[Callable[[], object], tuple[str, ...]]] = {
    "Headless shell": (chromium.find_chosen, (chromium.SHELL_PACKAGE,)),
    "Atomic": (find_atomic, ("libatomic1",)),
    "Java": (find_java, ("default-jre-headless",)),
    "Spreadsheet": (find_spreadsheet, ("libreoffice-calc-nogui",)),
    # with the packages that a paper loads for the tables: booktabs and siunitx
    "LaTeX": (find_latex, ("texlive-latex-recommended", "texlive-science")),
    "Clock": (find_faketime, ("faketime",)),
    "Units": (find_systemd, ("systemd",)),
}
"""How each program is found, and Debian's packages that have it."""


def bring_all() -> None:
    """Install them in one run of apt, which takes less than one for each.

    Where a package is missing apt installs none: then each program is asked for by itself.
    """
    missing = {name: packages for name, (find, packages) in PROGRAMS.items() if not find()}
    everything = [each for packages in missing.values() for each in packages]
    if missing and debian.can_install() and not debian.install(*everything):
        for name in missing:
            bring(name)


def bring(name: str) -> None:
    find, packages = PROGRAMS[name]
    if not find() and debian.can_install():
        debian.install(*packages)


if __name__ == "__main__":
    bring_all()
    for name, (find, _packages) in PROGRAMS.items():
        print(f"{name}: {find() or 'none on this machine'}")
