"""The private PostgreSQL and Valkey that run where no DATABASE_URL and REDIS_URL are set.

This half decides paths and secrets and is safe to call from settings: it starts nothing.
`ensure_running` makes this process a user of the servers; `config.guardian` keeps them alive
for as long as there is one.
"""

import hashlib
import os
import secrets
import sys
import tempfile
import time
from contextlib import ExitStack
from pathlib import Path
from subprocess import Popen
from typing import IO
from urllib.parse import quote

from django.core.exceptions import ImproperlyConfigured

from config import env

SERVERS = ("postgres", "valkey")
NAME = "concord"
START_SECONDS = 60.0
SOCKET_BYTES = 100
NETWORK_FILE_SYSTEMS = frozenset(
    {"afs", "beegfs", "ceph", "cifs", "fuse.glusterfs", "fuse.sshfs", "lustre", "nfs", "nfs4", "smb3", "smbfs"}
)

_in_use: dict[str, IO[bytes]] = {}


class NotAvailable(ImproperlyConfigured):
    """The private servers cannot run here; the message says why and what to do."""


def data_dir() -> Path:
    """Where everything lives that must survive a restart; made on the first call.

    As root it is outside the checkout, because PostgreSQL then runs as another user, who must reach it.
    """
    if chosen := env.text("DATA_DIR", default=""):
        path = (env.BASE_DIR / chosen).resolve()
    elif is_root():
        path = Path("/var/lib/concord") / _short_hash(env.BASE_DIR)
    else:
        path = env.BASE_DIR / "var"
    if not path.is_dir():
        path.parent.mkdir(mode=0o755, parents=True, exist_ok=True)
        path.mkdir(mode=0o711 if is_root() else 0o700, exist_ok=True)
    return path


def upload_dir() -> Path:
    path = data_dir() / "uploads"
    path.mkdir(mode=0o700, exist_ok=True)
    return path


def database_settings() -> dict[str, str]:
    """What Django needs to reach the private PostgreSQL, whether it runs or not."""
    return {
        "HOST": str(run_dir()),
        "PORT": "5432",
        "USER": NAME,
        "PASSWORD": _secret("postgres_password"),
        "NAME": NAME,
    }


def redis_url() -> str:
    """The address of the private Valkey, in the form that Celery reads."""
    return f"redis+socket://:{valkey_password()}@{quote(str(run_dir() / 'valkey.sock'))}"


def valkey_password() -> str:
    return _secret("valkey_password")


def secret_key() -> str:
    """The key of the development default, made at first use."""
    return _secret("secret_key")


def run_dir() -> Path:
    """The directory of the sockets, whose path may have 107 bytes at most."""
    path = data_dir() / "run"
    if len(os.fsencode(path)) + len("/.s.PGSQL.5432") > SOCKET_BYTES:
        path = Path("/tmp") / f"concord-{os.getuid()}-{_short_hash(data_dir())}"  # noqa: S108  (private, and its owner is checked)
    return path


def is_root() -> bool:
    return hasattr(os, "geteuid") and os.geteuid() == 0


def needed() -> tuple[str, ...]:
    """The private servers that this configuration uses."""
    variables = {"postgres": "DATABASE_URL", "valkey": "REDIS_URL"}
    return tuple(server for server in SERVERS if not env.text(variables[server], default=""))


def ensure_running() -> None:
    """Start the private servers that are needed, or join those that run; they stay until this process ends.

    Safe to call from many processes at once. Called again it starts what has died meanwhile.
    """
    if not needed():
        return
    try:
        from config import guardian
    except ImportError as missing:  # no fcntl on this platform
        raise NotAvailable(
            "The private PostgreSQL and Valkey do not run on this platform: "
            "set DATABASE_URL and REDIS_URL to servers of your own."
        ) from missing
    places = {server: guardian.state_dir(data_dir(), server) for server in needed()}
    places = {
        server: place for server, place in places.items() if server not in _in_use or guardian.is_free(place / "guard")
    }
    with ExitStack() as starting:
        users, guardians = {}, {}
        for server, place in places.items():
            starting.enter_context(guardian.locked(place / "start"))
            users[server] = guardian.hold(place / "users", shared=True)
            if guardian.is_free(place / "guard"):
                _warn_of_network_file_system()
                guardians[server] = guardian.spawn(server, data_dir())
        for server, place in places.items():
            _wait_until_ready(server, place, guardians.get(server))
    _in_use.update(users)


def _wait_until_ready(server: str, place: Path, spawned: Popen[bytes] | None) -> None:
    from config import guardian

    deadline = time.monotonic() + START_SECONDS
    while not (place / "ready").exists():
        if spawned is None and guardian.is_free(place / "guard"):
            # The guardian that we found on duty was on its way out.
            spawned = guardian.spawn(server, data_dir())
        if spawned is not None and spawned.poll() is not None:
            raise NotAvailable(guardian.trouble(place) or f"The private {server} server did not start.")
        if time.monotonic() > deadline:
            raise NotAvailable(f"The private {server} server did not start in {START_SECONDS:.0f} seconds.")
        time.sleep(0.02)


def _secret(name: str) -> str:
    """A random secret in a file of mode 0600; of several processes that make it at once, one wins."""
    path = data_dir() / name
    try:
        return path.read_text(encoding="ascii")
    except FileNotFoundError:
        pass
    handle, draft = tempfile.mkstemp(dir=path.parent, prefix=f".{name}-")  # mode 0600
    with os.fdopen(handle, "w", encoding="ascii") as file:
        file.write(secrets.token_urlsafe(48))
    try:
        os.link(draft, path)
    except FileExistsError:
        pass
    finally:
        Path(draft).unlink()
    return path.read_text(encoding="ascii")


def _short_hash(path: Path) -> str:
    return hashlib.sha256(os.fsencode(path)).hexdigest()[:12]


def _warn_of_network_file_system() -> None:
    kind = file_system_of(data_dir())
    if kind in NETWORK_FILE_SYSTEMS:
        print(
            f"Warning: {data_dir()} is on a network file system ({kind}). A database there can be damaged; "
            "set DATA_DIR to a folder on a local disk.",
            file=sys.stderr,
        )


def file_system_of(path: Path, mounts: Path = Path("/proc/self/mounts")) -> str:
    """The kind of the file system that holds a path; empty where the machine does not say."""
    try:
        lines = mounts.read_text(encoding="utf-8", errors="replace").splitlines()
    except OSError:
        return ""
    found, kind = -1, ""
    for line in lines:
        fields = line.split()
        point = Path(fields[1].replace("\\040", " "))
        if path.is_relative_to(point) and len(point.parts) >= found:
            found, kind = len(point.parts), fields[2]
    return kind
