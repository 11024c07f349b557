"""What tests need of the machine beside Python, brought where that can be done: `python -m tests.machine`.

A test whose program or data are still missing afterwards is skipped with the reason.
"""

import shutil
import subprocess
import sys
from collections.abc import Callable
from functools import partial
from importlib.util import find_spec
from pathlib import Path

from benchmarks.chaos.site import find_faketime
from measures.metrics.meteor_jar import find_java, find_meteor
from measures.metrics.wordnet import find_wordnet
from tests import debian
from tests.browser import chromium, fonts
from tests.deploy import poolers, proxies

METEOR = "pycocoevalcap==1.2 --hash=sha256:083ed7910f1aec000b0a237ef6665f74edf19954204d0b1cbdb8399ed132228d"
WORDNET = Path(sys.prefix) / "nltk_data" / "corpora" / "wordnet"
"""One of the folders that nltk looks in."""


def find_spreadsheet() -> str | None:
    return shutil.which("soffice") or shutil.which("libreoffice")


def find_latex() -> str | None:
    return shutil.which("pdflatex")


PROGRAMS: dict[str, tuple[Callable[[], object], tuple[str, ...]]] = {
    "Java": (find_java, ("default-jre-headless",)),
    "Spreadsheet": (find_spreadsheet, ("libreoffice-calc-nogui",)),
    # with the packages that a paper loads for the tables: booktabs and siunitx
    "LaTeX": (find_latex, ("texlive-latex-recommended", "texlive-science")),
    "Clock": (find_faketime, ("faketime",)),
}
"""How each program is found, and Debian's packages that have it."""


def bring_together() -> None:
    """Install what Debian has in one run of apt, which takes half as long as one for each program.

    Where a package is missing apt installs none: each program is asked for again by itself.
    """
    missing = [name for found, names in PROGRAMS.values() if not found() for name in names]
    if chromium.is_wanted():
        missing.append(chromium.SHELL_PACKAGE)
    if missing and debian.can_install():
        debian.install(*missing)


def bring_program(name: str) -> None:
    found, packages = PROGRAMS[name]
    if not found() and debian.can_install():
        debian.install(*packages)


def bring_meteor() -> None:
    """The package alone: its dependencies are for metrics of pictures."""
    if find_meteor() is None:
        print("Installing the METEOR jar …", flush=True)
        named = Path(sys.prefix) / "meteor.txt"
        named.write_text(METEOR, encoding="ascii")
        install(named)


def bring_jieba() -> None:
    if find_spec("jieba") is None:
        print("Installing jieba …", flush=True)
        install(Path(__file__).parents[1] / "requirements-chinese.txt")


def install(requirements: Path) -> None:
    """Install from locked versions, without what they depend on; a test that lacks them says so."""
    pip = (sys.executable, "-m", "pip", "install", "--quiet", "--disable-pip-version-check")
    subprocess.run([*pip, "--no-deps", "--require-hashes", "-r", str(requirements)], check=False)


def bring_wordnet() -> None:
    if find_wordnet() is None:
        home = Path(sys.prefix) / "wordnet"
        if debian.unpack("wordnet-base", home):
            WORDNET.parent.mkdir(parents=True, exist_ok=True)
            shutil.move(home / "usr" / "share" / "wordnet", WORDNET)
            shutil.rmtree(home)


def main() -> None:
    brought: dict[str, tuple[Callable[[], object], Callable[[], object]]] = {
        **{name: (partial(bring_program, name), found) for name, (found, _packages) in PROGRAMS.items()},
        "Browser": (chromium.install, chromium.find),
        "Fonts": (fonts.install, lambda: ", ".join(fonts.find_all()) or None),
        "METEOR": (bring_meteor, find_meteor),
        "jieba": (bring_jieba, lambda: find_spec("jieba") and "installed"),
        "WordNet": (bring_wordnet, find_wordnet),
        "Pooler": (poolers.bring, poolers.find),
        "Proxies": (proxies.bring, lambda: ", ".join(filter(None, map(proxies.find, ("nginx", "caddy")))) or None),
    }
    bring_together()
    for name, (bring, find) in brought.items():
        bring()
        print(f"{name}: {find() or 'none on this machine'}")
    if chromium.find() is None:
        sys.exit("No Chromium was found: install one, or name it in CHROMIUM.")


if __name__ == "__main__":
    main()
