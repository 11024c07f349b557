"""Fonts for the tests of layout: a browser that knows one sans-serif alone, a narrow or a wide one.

A page fits or does not fit by the font that the reader's machine has, and the machine of the tests has only one of
them. Each font's files are taken from the machine or unpacked into the environment; nothing is installed for others.
"""

import sys
from functools import cache
from pathlib import Path

from tests import debian

HOME = Path(sys.prefix) / "fonts"
FOLDERS = (HOME, Path("/usr/share/fonts"), Path("/usr/local/share/fonts"), Path.home() / ".local/share/fonts")
FILES: dict[str, tuple[str, ...]] = {
    "narrow": ("DejaVuSansCondensed.ttf", "DejaVuSansCondensed-Bold.ttf"),
    "wide": ("DejaVuSans.ttf", "DejaVuSans-Bold.ttf", "DejaVuSansMono.ttf"),
}
"""Both draw the marks on letters: where a font has none of them, a box for each makes one letter broad."""
PACKAGES = {"narrow": "fonts-dejavu-extra", "wide": "fonts-dejavu-core"}
CONFIGURATION = """<?xml version="1.0"?>
<!DOCTYPE fontconfig SYSTEM "urn:fontconfig:fonts.dtd">
<fontconfig>
  <dir>{fonts}</dir>
  <cachedir>{cache}</cachedir>
</fontconfig>
"""


@cache
def find(font: str) -> tuple[Path, ...]:
    """The files of a font, the regular one first; none where the machine does not have that."""
    found = (next(folder.rglob(FILES[font][0]), None) for folder in FOLDERS if folder.is_dir())
    regular = next(filter(None, found), None)
    return tuple(file for name in FILES[font] if (file := regular.with_name(name)).exists()) if regular else ()


def find_all() -> list[str]:
    return [font for font in FILES if find(font)]


def install() -> None:
    for font, package in PACKAGES.items():
        if not find(font):
            debian.unpack(package, HOME)
            find.cache_clear()


def environment(font: str, folder: Path) -> dict[str, str]:
    """Variables for a browser that finds this font and no other; none where the machine does not have it."""
    if not find(font):
        return {}
    fonts = folder / "fonts"
    fonts.mkdir()
    for file in find(font):
        (fonts / file.name).symlink_to(file)
    configuration = folder / "fonts.conf"
    configuration.write_text(CONFIGURATION.format(fonts=fonts, cache=folder / "cache"), encoding="utf-8")
    return {"FONTCONFIG_FILE": str(configuration)}
