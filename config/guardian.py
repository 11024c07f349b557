"""The guardian: a detached process for each private server, which it starts, restarts and stops.

Every user of a server holds a shared lock on `users`. The guardian holds `guard`, and stops its server when nobody
holds `users`. Locks end with their process, so no crash can leave a server running or stop one that is in use.
"""

import math
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import IO

from config import data_folder, env, file_locks
from config.servers.postgres import Postgres
from config.servers.server import Server
from config.servers.valkey import Valkey

PROGRAMS: dict[str, type[Server]] = {"postgres": Postgres, "valkey": Valkey}
LOOK_SECONDS = 0.2
"""Interval between checks for users and for a dead server."""
ORPHAN_SECONDS = 20.0
"""How long to wait until the server of a guardian that died has ended."""
FIRST_PAUSE_SECONDS, LONGEST_PAUSE_SECONDS = 1.0, 30.0
"""Before a server that failed starts again: each pause is twice the last, up to the longest."""
STEADY_SECONDS = 60.0
"""A server that ran this long starts again at once."""


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
    return read_trouble(directory) or _read(directory / "log")


def read_trouble(directory: Path) -> str:
    """Return why a server is down that is to run; empty if it runs, or if the disk had no room for the reason."""
    return _read(directory / "trouble")


def _read(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8", errors="replace").strip()
    except FileNotFoundError:
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
        restarts = Restarts(server, lifeline, directory)
        while not file_locks.try_exclusive(users):
            time.sleep(LOOK_SECONDS)
            restarts.look()
        # `users` is now locked exclusively: until this process ends, new users wait for it, and then find no guardian.
        (directory / "ready").unlink(missing_ok=True)
        server.stop()
        # `guard` must be free before `users`, which is released at exit. An ordinary exit releases both in any order.
        on_guard.close()
        os._exit(0)


class Restarts:
    """Starts a server again that has died, at once and then after pauses that double while it keeps failing.

    Meanwhile a file says why, for those who wait for the server and for the terminal of the site.
    """

    def __init__(
        self, server: Server, lifeline: IO[bytes], directory: Path, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self.server, self.lifeline, self.directory, self.clock = server, lifeline, directory, clock
        self.pause_seconds, self.started_at, self.due_at = 0.0, -math.inf, 0.0
        self.is_down = False

    def look(self) -> None:
        """Notice that the server has died, and start it if it is time to."""
        if not self.server.is_dead():
            return
        if not self.is_down:
            self._note_death()
        if self.clock() < self.due_at:
            return
        try:
            self.server.start(self.lifeline)
            (self.directory / "trouble").unlink(missing_ok=True)
            (self.directory / "ready").touch()
        except (data_folder.NotAvailable, OSError) as reason:
            self._wait_longer()
            self._say(str(reason))
        else:
            self.is_down, self.started_at = False, self.clock()

    def _note_death(self) -> None:
        self.is_down = True
        (self.directory / "ready").unlink(missing_ok=True)
        if self.clock() - self.started_at > STEADY_SECONDS:
            self.pause_seconds, self.due_at = 0.0, self.clock()
        else:
            self._wait_longer()

    def _wait_longer(self) -> None:
        self.pause_seconds = min(max(2 * self.pause_seconds, FIRST_PAUSE_SECONDS), LONGEST_PAUSE_SECONDS)
        self.due_at = self.clock() + self.pause_seconds

    def _say(self, reason: str) -> None:
        reason = f"{reason}\nThe next attempt is in {self.pause_seconds:.0f} s."
        print(reason, file=sys.stderr, flush=True)
        with suppress(OSError):  # on a full disk; whoever reads it looks at the disk, too
            (self.directory / "trouble").write_text(reason, encoding="utf-8")


def main(name: str) -> None:
    data = data_folder.data_dir()
    directory = state_dir(data, name)
    server = PROGRAMS[name](data)
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(0))
    try:
        guard(server, directory)
    except (data_folder.NotAvailable, OSError) as error:
        reason = str(error)
        for cause in (data_folder.explain_disk(data), data_folder.explain_closed(data)):
            if cause not in reason:
                reason = f"{reason}\n{cause}"
        print(reason, file=sys.stderr, flush=True)  # the log is read where there is no file, as on a full disk
        with suppress(OSError):
            (directory / "trouble").write_text(reason, encoding="utf-8")
        sys.exit(1)
    finally:
        (directory / "ready").unlink(missing_ok=True)
        server.stop()


def _hold_soon(path: Path, seconds: float, refusal: str) -> IO[bytes]:
    file = open(path, "ab")  # noqa: SIM115
    deadline = time.monotonic() + seconds
    while not file_locks.try_exclusive(file):
        if time.monotonic() > deadline:
            raise data_folder.NotAvailable(refusal)
        time.sleep(0.02)
    return file


if __name__ == "__main__":
    main(sys.argv[1])
