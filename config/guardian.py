"""The guardian: a detached process for each private server, which it starts, restarts and stops.

Every user of a server holds a shared lock on `users`. The guardian holds `guard`, and stops its server when nobody
holds `users`. Locks end with their process, so no crash can leave a server running or stop one that is in use.
"""

import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import IO

from config import data_folder, env, locks
from config.servers import PROGRAMS, Server

LOOK_SECONDS = 0.2
"""Interval between checks for users and for a dead server."""
ORPHAN_SECONDS = 20.0
"""How long to wait until the server of a guardian that died has ended."""


def state_dir(data: Path, server: str) -> Path:
    """Return the folder of one server's locks, and of the log and errors of its guardian."""
    path = data / "guardians" / server
    path.mkdir(mode=0o700, parents=True, exist_ok=True)
    return path


def spawn(server: str, data: Path) -> subprocess.Popen[bytes]:
    """Start a guardian that continues after this process ends."""
    directory = state_dir(data, server)
    for name in ("ready", "trouble"):
        (directory / name).unlink(missing_ok=True)
    with open(directory / "log", "wb") as log:
        return subprocess.Popen(
            [sys.executable, "-m", "config.guardian", server],
            cwd=env.BASE_DIR,
            env={**os.environ, "DATA_DIR": str(data)},
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=log,
            start_new_session=True,
        )


def trouble(directory: Path) -> str:
    """Return why the last guardian failed; empty if it did not."""
    for name in ("trouble", "log"):
        path = directory / name
        if path.exists() and (message := path.read_text(encoding="utf-8", errors="replace").strip()):
            return message
    return ""


def guard(server: Server, directory: Path) -> None:
    """Run a server as long as somebody uses it, then end this process."""
    with _hold_soon(directory / "guard", 5.0, "Another guardian is running.") as on_guard:
        # The server inherits this lock, so a server whose guardian died still holds it.
        lifeline = _hold_soon(directory / "alive", ORPHAN_SECONDS, f"An earlier {server.name} server is still running.")
        server.prepare()
        server.start(lifeline)
        (directory / "ready").touch()
        users = open(directory / "users", "ab")  # noqa: SIM115
        while not locks.try_exclusive(users):
            time.sleep(LOOK_SECONDS)
            if server.is_dead():
                server.start(lifeline)
        # `users` is now locked exclusively: until this process ends, new users wait for it, and then find no guardian.
        (directory / "ready").unlink()
        server.stop()
        # `guard` must be free before `users`, which is released at exit. An ordinary exit releases both in any order.
        on_guard.close()
        os._exit(0)


def main(name: str) -> None:
    data = data_folder.data_dir()
    directory = state_dir(data, name)
    server = PROGRAMS[name](data)
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(0))
    try:
        guard(server, directory)
    except data_folder.NotAvailable as reason:
        (directory / "trouble").write_text(str(reason), encoding="utf-8")
        sys.exit(1)
    finally:
        (directory / "ready").unlink(missing_ok=True)
        server.stop()


def _hold_soon(path: Path, seconds: float, refusal: str) -> IO[bytes]:
    file = open(path, "ab")  # noqa: SIM115
    deadline = time.monotonic() + seconds
    while not locks.try_exclusive(file):
        if time.monotonic() > deadline:
            raise data_folder.NotAvailable(refusal)
        time.sleep(0.02)
    return file


if __name__ == "__main__":
    main(sys.argv[1])
