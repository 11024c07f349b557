"""Compiling catalogues: each django.mo that Django reads is made from the django.po beside it, and not committed."""

import logging
import os
from pathlib import Path

from django.conf import settings

log = logging.getLogger(__name__)


def compile_catalogues() -> list[Path]:
    """Compile every catalogue whose source is newer, and return the compiled files."""
    compiled = []
    for source in find_outdated():
        target = source.with_suffix(".mo")
        # Several processes may start at once. Each writes its own file and renames it, so none reads an unfinished one.
        draft = target.with_suffix(f".{os.getpid()}.mo")
        draft.write_bytes(_compile(source))
        draft.replace(target)
        compiled.append(target)
    return compiled


def try_to_compile_catalogues() -> None:
    """Compile outdated catalogues; if the folder is read-only, log a warning and continue."""
    try:
        compile_catalogues()
    except OSError as error:
        log.warning("The catalogues of translations can't be compiled: %s", error)


def find_outdated() -> list[Path]:
    """Return the sources that were never compiled, or have changed since."""
    return [
        source
        for folder in settings.LOCALE_PATHS
        for source in sorted(Path(folder).glob("*/LC_MESSAGES/django.po"))
        if not (compiled := source.with_suffix(".mo")).exists() or compiled.stat().st_mtime < source.stat().st_mtime
    ]


def _compile(source: Path) -> bytes:
    # Babel is imported here because most processes find nothing to compile, and start faster without it.
    from io import BytesIO

    from babel.messages import mofile, pofile

    with source.open("rb") as file:
        catalog = pofile.read_po(file, locale=source.parent.parent.name, abort_invalid=True)
    written = BytesIO()
    mofile.write_mo(written, catalog)
    return written.getvalue()
