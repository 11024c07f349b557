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

from config.data_folder import NotAvailable, data_dir, needed

START_SECONDS = 60.0
"""The first start takes longest, because it creates a database cluster."""
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
        from config import guardian, locks
    except ImportError as missing:  # no fcntl on this platform
        raise NotAvailable(
            "The private PostgreSQL and Valkey do not run on this platform: "
            "set DATABASE_URL and REDIS_URL to servers of your own."
        ) from missing
    folders = {server: guardian.state_dir(data_dir(), server) for server in needed()}
    folders = {
        server: folder for server, folder in folders.items() if server not in _in_use or locks.is_free(folder / "guard")
    }
    with ExitStack() as starting:
        users, guardians = {}, {}
        for server, folder in folders.items():
            starting.enter_context(locks.locked(folder / "start"))
            users[server] = locks.hold(folder / "users", shared=True)
            if locks.is_free(folder / "guard"):
                _warn_of_network_file_system()
                guardians[server] = guardian.spawn(server, data_dir())
        for server, folder in folders.items():
            _wait_until_ready(server, folder, guardians.get(server))
    _in_use.update(users)


def _wait_until_ready(server: str, folder: Path, spawned: Popen[bytes] | None) -> None:
    from config import guardian, locks

    deadline = time.monotonic() + START_SECONDS
    while not (folder / "ready").exists():
        if spawned is None and locks.is_free(folder / "guard"):
            # The guardian that we found was about to stop its server.
            spawned = guardian.spawn(server, data_dir())
        if spawned is not None and spawned.poll() is not None:
            raise NotAvailable(guardian.trouble(folder) or f"The private {server} server did not start.")
        if time.monotonic() > deadline:
            raise NotAvailable(f"The private {server} server did not start in {START_SECONDS:.0f} seconds.")
        time.sleep(0.02)


def _warn_of_network_file_system() -> None:
    kind = find_file_system(data_dir())
    if kind in NETWORK_FILE_SYSTEMS:
        print(
            f"Warning: {data_dir()} is on a network file system ({kind}). A database there can be damaged; "
            "set DATA_DIR to a folder on a local disk.",
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
