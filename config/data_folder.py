"""The data folder: its paths and secrets, and the addresses of the private servers in it.

Safe to call from settings: nothing here starts a server.
"""

import errno
import hashlib
import os
import secrets
import tempfile
from contextlib import suppress
from pathlib import Path
from urllib.parse import quote

from django.core.exceptions import ImproperlyConfigured

from config import env

SERVERS = ("postgres", "valkey")
NAME = "concord"
CHECKOUT = "checkout"
FULL_BYTES = 1024**2
"""Below this, hardly a file can be written."""
LEAST_FREE_BYTES = 48 * 1024**2
"""What a server needs at a start: PostgreSQL writes its log of changes in files of 16 MB."""
SOCKET_BYTES = 100
"""Longest path of a socket. The system allows 107 bytes on Linux and 103 on macOS."""


class NotAvailable(ImproperlyConfigured):
    """The private servers can't run here; the message says why and what to do."""


def data_dir() -> Path:
    """Return the folder of everything that must survive a restart, created on the first call.

    For root it is outside the checkout, because PostgreSQL then runs as another user, who needs access to it.
    """
    if chosen := env.text("DATA_DIR", default=""):
        path = (env.BASE_DIR / chosen).resolve()
    elif is_root():
        path = Path("/var/lib/concord") / _short_hash(env.BASE_DIR)
    else:
        path = env.BASE_DIR / "var"
    if not path.is_dir():
        try:
            path.parent.mkdir(mode=0o755, parents=True, exist_ok=True)
            path.mkdir(mode=0o711 if is_root() else 0o700, exist_ok=True)
        except OSError as error:
            raise ImproperlyConfigured(
                f"The data folder {path} can't be created: {error.strerror}. Set DATA_DIR to another one."
            ) from error
    return path


def record_checkout() -> None:
    """Write into the data folder which checkout it belongs to, so that its data are found when that is moved."""
    path = data_dir() / CHECKOUT
    if not path.exists() or path.read_text(encoding="utf-8") != str(env.BASE_DIR):
        path.write_text(str(env.BASE_DIR), encoding="utf-8")


def find_left_data() -> list[tuple[Path, Path]]:
    """Return the data folders beside this one whose checkout is gone, with the place where that was."""
    found = []
    for record in sorted(data_dir().parent.glob(f"*/{CHECKOUT}")):
        checkout = Path(record.read_text(encoding="utf-8"))
        if not checkout.exists() and (record.parent / "postgres" / "PG_VERSION").exists():
            found.append((record.parent, checkout))
    return found


def upload_dir() -> Path:
    """Return the folder of uploads in progress, created on the first call."""
    path = data_dir() / "uploads"
    path.mkdir(mode=0o700, exist_ok=True)
    return path


def database_settings() -> dict[str, str]:
    """Return Django's settings for the private PostgreSQL, whether it runs or not."""
    return {
        "HOST": str(run_dir()),
        "PORT": "5432",
        "USER": NAME,
        "PASSWORD": _secret("postgres_password"),
        "NAME": NAME,
    }


def redis_url() -> str:
    """Return the address of the private Valkey for Celery."""
    return f"redis+socket://:{valkey_password()}@{quote(str(run_dir() / 'valkey.sock'))}"


def valkey_password() -> str:
    return _secret("valkey_password")


def secret_key() -> str:
    """Return the secret key of the development default, created at first use."""
    return _secret("secret_key")


def run_dir() -> Path:
    """Return the directory of the sockets: in the data folder, or below /tmp if its path is too long for a socket."""
    path = data_dir() / "run"
    if len(os.fsencode(path)) + len("/.s.PGSQL.5432") > SOCKET_BYTES:
        path = Path("/tmp") / f"concord-{os.getuid()}-{_short_hash(data_dir())}"  # noqa: S108  (private, and its owner is checked)
    return path


def is_root() -> bool:
    return hasattr(os, "geteuid") and os.geteuid() == 0


def explain_disk(path: Path) -> str:
    """Return what is wrong with the disk of a path, and what to do about it; empty if nothing is."""
    try:
        disk = os.statvfs(path)
    except OSError as error:
        return f"{path} can't be read: {error.strerror}."
    free = disk.f_bavail * disk.f_frsize
    if disk.f_flag & os.ST_RDONLY:
        return f"The disk of {path} is read-only. Look at the system's log for errors of the disk."
    if free < FULL_BYTES:
        return f"The disk is full: {free / 1e6:,.0f} MB free in {path}. Free some space there."
    if free < LEAST_FREE_BYTES:
        least = f"{LEAST_FREE_BYTES / 1e6:,.0f} MB"
        return (
            f"Only {free / 1e6:,.0f} MB are free in {path}. A server may need {least} to start: free some space there."
        )
    if disk.f_files and not disk.f_favail:
        return f"The disk of {path} has no room for more files. Delete some there."
    return ""


def explain_rights(error: PermissionError) -> str:
    """Return what a file's refusal means for a command; empty if the error names no file."""
    if not error.filename:
        return ""
    return f"This user may not use {error.filename}. Run commands as the user of the site, to whom its files belong."


def explain_full(error: OSError) -> str:
    """Return what a full disk means for a command; empty for other errors."""
    if error.errno not in (errno.ENOSPC, errno.EDQUOT):
        return ""
    what = error.filename or "what the command prints or stores"
    return f"The disk is full, so {what} could not be written whole. Free some space there."


def explain_closed(path: Path) -> str:
    """Return which folder keeps the private servers of root from a path, and what to do; empty if none does.

    Root's servers run as `nobody`. Rights that go beyond the mode, such as access control lists, are not looked at.
    """
    if not is_root():
        return ""
    import pwd  # not on every platform on which the settings are read

    for folder in (path, *path.parents):
        try:
            found = folder.stat()
        except OSError:  # it is gone, which others say
            continue
        if not found.st_mode & 0o001 and found.st_uid != pwd.getpwnam("nobody").pw_uid:
            return (
                f"The private servers of root run as nobody, who can't enter {folder}. Run: chmod o+x {folder}, or set "
                "DATA_DIR to another folder."
            )
    return ""


def needed() -> tuple[str, ...]:
    """Return the names of the private servers that this configuration uses."""
    variables = {"postgres": "DATABASE_URL", "valkey": "REDIS_URL"}
    return tuple(server for server in SERVERS if not env.text(variables[server], default=""))


def _secret(name: str) -> str:
    """Return a random secret from a file of mode 0600, created at first use."""
    path = data_dir() / name
    try:
        return path.read_text(encoding="ascii")
    except FileNotFoundError:
        pass
    handle, draft = tempfile.mkstemp(dir=path.parent, prefix=f".{name}-")  # mode 0600
    with os.fdopen(handle, "w", encoding="ascii") as file:
        file.write(secrets.token_urlsafe(48))
        file.flush()
        os.fsync(file.fileno())  # a name without its content after a power cut would lock the site out of its database
    # A link never replaces a file: of several processes that create the secret at once, one wins and all read its file.
    try:
        os.link(draft, path)
    except FileExistsError:
        pass
    finally:
        Path(draft).unlink()
    sync_folder(path.parent)
    return path.read_text(encoding="ascii")


def sync_folder(path: Path) -> None:
    """Wait until the disk has the names in a folder."""
    with suppress(OSError):  # some file systems cannot
        handle = os.open(path, os.O_RDONLY)
        try:
            os.fsync(handle)
        finally:
            os.close(handle)


def _short_hash(path: Path) -> str:
    return hashlib.sha256(os.fsencode(path)).hexdigest()[:12]
