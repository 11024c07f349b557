"""The private PostgreSQL and Valkey, which run if DATABASE_URL and REDIS_URL are not set.

`ensure_running` makes this process a user of the servers; `config.guardian` keeps them running as long as they have a
user.
"""

import sys
import time
from contextlib import ExitStack
from pathlib import Path
from subprocess import Popen
from typing import IO

from config import data_folder, env
from config.data_folder import NotAvailable, data_dir, explain_disk, needed

START_SECONDS = 60.0
"""Longest wait without a new line in a server's log. The first start takes longest: it creates a database cluster."""
NETWORK_FILE_SYSTEMS = frozenset(
    {"afs", "beegfs", "ceph", "cifs", "fuse.glusterfs", "fuse.sshfs", "lustre", "nfs", "nfs4", "smb3", "smbfs"}
)

# The files keep the shared locks of this process until it ends.
_in_use: dict[str, IO[bytes]] = {}


def ensure_running() -> None:
    """Start the private servers that are needed, or join running ones, and keep them until this process ends.

    Safe to call from many processes at once. Another call restarts servers that have died. Raises NotAvailable if one
    can't run here.
    """
    if not needed():
        return
    try:
        from config import file_locks  # noqa: F401
    except ImportError as missing:  # no fcntl on this platform
        raise NotAvailable(
            "The private PostgreSQL and Valkey do not run on this platform: "
            "set DATABASE_URL and REDIS_URL to servers of your own."
        ) from missing
    try:
        _join_or_start()
    except OSError as error:
        raise NotAvailable(f"The private servers can't start: {error}. {explain_disk(data_dir())}".strip()) from error


def _join_or_start() -> None:
    from config import file_locks, guardian

    folders = {server: guardian.state_dir(data_dir(), server) for server in needed()}
    folders = {
        server: folder
        for server, folder in folders.items()
        if server not in _in_use or file_locks.is_free(folder / "guard")
    }
    with ExitStack() as starting:
        users, guardians = {}, {}
        for server, folder in folders.items():
            starting.enter_context(file_locks.locked(folder / "start"))
            users[server] = file_locks.hold(folder / "users", shared=True)
            if file_locks.is_free(folder / "guard"):
                _warn_of_network_file_system()
                _warn_of_left_data(server)
                guardians[server] = guardian.spawn(server, data_dir())
        for server, folder in folders.items():
            _wait_until_ready(server, folder, guardians.get(server))
    _in_use.update(users)


def find_trouble() -> str:
    """Return why a private server is down that its guardian tries to start again; empty if all run."""
    from config import guardian

    found = []
    for server in needed():
        folder = guardian.state_dir(data_dir(), server)
        if not (folder / "ready").exists():
            found.append(guardian.read_trouble(folder) or explain_disk(data_dir()))
    return "\n".join(reason for reason in found if reason)


def _wait_until_ready(server: str, folder: Path, spawned: Popen[bytes] | None) -> None:
    """Wait as long as the server's log gets longer. Raises NotAvailable if it did not start, or is being retried."""
    from config import file_locks, guardian
    from config.servers.server import Patience

    patience = Patience(data_dir() / f"{server}.log", START_SECONDS)
    while not (folder / "ready").exists():
        if spawned is None and file_locks.is_free(folder / "guard"):
            # The guardian that we found was about to stop its server.
            spawned = guardian.spawn(server, data_dir())
        if (spawned is not None and spawned.poll() is not None) or (folder / "trouble").exists():
            reason = guardian.trouble(folder) or f"The private {server} server did not start."
            raise NotAvailable(_add_disk(reason))
        if patience.is_over():
            raise NotAvailable(_add_disk(f"The private {server} server did not start in {START_SECONDS:.0f} seconds."))
        time.sleep(0.02)


def _add_disk(reason: str) -> str:
    """Add what is wrong with the disk: a guardian on a full one can't write down why its server did not start."""
    disk = explain_disk(data_dir())
    return reason if not disk or disk in reason else f"{reason}\n{disk}"


def _warn_of_network_file_system() -> None:
    kind = find_file_system(data_dir())
    if kind in NETWORK_FILE_SYSTEMS:
        print(
            f"Warning: {data_dir()} is on a network file system ({kind}). A database there can be damaged; "
            "set DATA_DIR to a folder on a local disk.",
            file=sys.stderr,
        )


def _warn_of_left_data(server: str) -> None:
    """Say where data are that may be those of this checkout before it was moved, if there are none here yet."""
    data_folder.record_checkout()
    if server != "postgres" or (data_dir() / "postgres" / "PG_VERSION").exists() or env.text("DATA_DIR", default=""):
        return
    for folder, checkout in data_folder.find_left_data():
        print(
            f"Warning: a new, empty site is created in {data_dir()}. There are data in {folder}, but the checkout that "
            f"they belong to is no longer in {checkout}. If you moved it here, set DATA_DIR={folder} in .env.",
            file=sys.stderr,
        )


def find_file_system(path: Path, mounts: Path = Path("/proc/self/mounts")) -> str:
    """Return the type of the file system of a path; empty if the system does not tell."""
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
