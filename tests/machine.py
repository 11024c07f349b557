"""What tests need besides packages and the programs of programs.py: `python -m tests.machine` installs what it can.

That is METEOR, jieba, WordNet, a browser and its fonts, a pooler and proxies.

A test whose program or data are still missing afterwards is skipped with the reason.
"""

import shutil
import subprocess
import sys
from collections.abc import Callable
from importlib.util import find_spec
from pathlib import Path

from measures.metrics.meteor_jar import find_meteor
from measures.metrics.wordnet import find_wordnet
from tests import debian
from tests.browser import chromium, fonts
from tests.deploy import poolers, proxies

METEOR = "pycocoevalcap==1.2 --hash=sha256:083ed7910f1aec000b0a237ef6665f74edf19954204d0b1cbdb8399ed132228d"
WORDNET = Path(sys.prefix) / "nltk_data" / "corpora" / "wordnet"
"""One of the folders that nltk looks in."""


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
        "Browser": (chromium.install, chromium.find),
        "Fonts": (fonts.install, lambda: ", ".join(fonts.find_all()) or None),
        "METEOR": (bring_meteor, find_meteor),
        "jieba": (bring_jieba, lambda: find_spec("jieba") and "installed"),
        "WordNet": (bring_wordnet, find_wordnet),
        "Pooler": (poolers.bring, poolers.find),
        "Proxies": (proxies.bring, lambda: ", ".join(filter(None, map(proxies.find, ("nginx", "caddy")))) or None),
    }
    for name, (bring, find) in brought.items():
        bring()
        print(f"{name}: {find() or 'none on this machine'}")
    if chromium.find() is None:
        sys.exit("No Chromium was found: install one, or name it in CHROMIUM.")


if __name__ == "__main__":
    main()
