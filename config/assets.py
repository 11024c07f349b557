"""Collecting static files: once, and again when one of them has changed."""

import hashlib
from pathlib import Path, PurePath
from typing import Any

from django.apps import apps
from django.conf import settings
from django.contrib.staticfiles import finders
from django.contrib.staticfiles.storage import staticfiles_storage
from django.core.exceptions import ImproperlyConfigured
from django.core.management import call_command

from config import file_locks


def collect() -> None:
    """Collect the static files if any has changed; of several processes, one collects and the others wait."""
    root = Path(settings.STATIC_ROOT)
    root.mkdir(parents=True, exist_ok=True)
    stamp = root.with_name("static.stamp")
    with file_locks.locked(root.with_name("static.lock")):
        found = _fingerprint()
        if not stamp.exists() or stamp.read_text(encoding="ascii") != found:
            call_command("collectstatic", interactive=False, clear=True, verbosity=0)
            stamp.write_text(found, encoding="ascii")


def refuse_uncollected() -> None:
    """Raise ImproperlyConfigured if a static file has not been collected: every page that names it would fail.

    Not while developing, when files are found where they are.
    """
    if settings.DEBUG:
        return
    storage: Any = staticfiles_storage
    app: Any = apps.get_app_config("staticfiles")
    found = (each for finder in finders.get_finders() for each in finder.list(app.ignore_patterns))
    names = (PurePath(getattr(place, "prefix", None) or "", name).as_posix() for name, place in found)
    if missing := next((name for name in names if name not in storage.hashed_files), ""):
        raise ImproperlyConfigured(
            f"Static files of this version, such as {missing}, are not in {settings.STATIC_ROOT}. "
            "Run: manage.py collectstatic --noinput"
        )


def _fingerprint() -> str:
    digest = hashlib.sha256(repr(settings.STORAGES["staticfiles"]).encode())
    for finder in finders.get_finders():
        for name, storage in finder.list([]):
            file = Path(storage.path(name)).stat()
            digest.update(f"{name} {file.st_size} {file.st_mtime_ns}\n".encode())
    return digest.hexdigest()
