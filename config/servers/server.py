"""What the private servers have in common: their user, their start and their end."""

import ctypes
import importlib.util
import os
import pwd
import signal
import stat
import subprocess
import sys
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import IO, Any

from config import data_folder

PATIENCE_SECONDS = 15.0
"""Longest time for a server to start without a new line in its log, or to stop; then it counts as failed."""
LIBC = ctypes.CDLL(None) if sys.platform == "linux" else None  # loaded before the user changes
SET_DEATH_SIGNAL = 1  # PR_SET_PDEATHSIG of prctl(2): the signal that a process gets when its parent dies


class Patience:
    """The time that a server has for its start, counted from the last line of its log.

    The recovery of a large database takes minutes, and writes a line every few seconds.
    """

    def __init__(self, log: Path, seconds: float, clock: Callable[[], float] = time.monotonic) -> None:
        self._log, self._seconds, self._clock = log, seconds, clock
        self._size, self._since = -1, clock()

    def is_over(self) -> bool:
        size = self._log.stat().st_size if self._log.exists() else 0
        if size != self._size:
            self._size, self._since = size, self._clock()
        return self._clock() - self._since > self._seconds


class Server:
    """A program that runs as an unprivileged user and ends with its guardian."""

    name = ""
    stop_signal = signal.SIGTERM

    def __init__(self, data: Path) -> None:
        self.data = data
        self.run = data_folder.run_dir()
        self.home = data / self.name
        self.log = data / f"{self.name}.log"
        self.process: subprocess.Popen[bytes] | None = None
        self.user = pwd.getpwnam("nobody") if data_folder.is_root() else None

    def prepare(self) -> None:
        """Create everything that must be on disk before a start."""
        raise NotImplementedError

    def command(self) -> list[str]:
        raise NotImplementedError

    def is_ready(self) -> bool:
        raise NotImplementedError

    def finish_start(self) -> None:
        """Do what remains once the server responds."""

    def start(self, lifeline: IO[bytes]) -> None:
        """Start the server and wait until it responds. It inherits the lifeline, whose lock shows that it runs.

        Raises NotAvailable if it does not start; then it does not run.
        """
        try:
            self.process = self._spawn(lifeline)
            patience = Patience(self.log, PATIENCE_SECONDS)
            while not self.is_ready():
                if self.process.poll() is not None or patience.is_over():
                    raise data_folder.NotAvailable(self._explain(self._last_words()))
                time.sleep(0.02)
            self.finish_start()
        except OSError as error:
            self.stop()
            raise data_folder.NotAvailable(self._explain(str(error))) from error
        except data_folder.NotAvailable:
            self.stop()
            raise

    def _spawn(self, lifeline: IO[bytes]) -> "subprocess.Popen[bytes]":
        with open(os.open(self.log, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), "wb") as log:
            os.fchmod(log.fileno(), 0o600)  # one that an earlier version created
            return subprocess.Popen(
                self.command(),
                stdout=log,
                stderr=log,
                pass_fds=[lifeline.fileno()],
                preexec_fn=self._die_with_parent,  # noqa: PLW1509  (the guardian has one thread)
                **self._as_user(),
            )

    def _explain(self, words: str) -> str:
        disk = data_folder.explain_disk(self.data)
        return "\n".join(part for part in (f"The private {self.name} server did not start.", disk, words) if part)

    def stop(self) -> None:
        if self.process is None or self.process.poll() is not None:
            return
        self.process.send_signal(self.stop_signal)
        try:
            self.process.wait(PATIENCE_SECONDS)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()

    def is_dead(self) -> bool:
        return self.process is None or self.process.poll() is not None

    def make_own_dir(self, path: Path) -> None:
        """Create a directory that only the server's user can read. Raises NotAvailable if it belongs to others."""
        path.mkdir(mode=0o700, exist_ok=True)
        owner = path.lstat()
        if not stat.S_ISDIR(owner.st_mode) or owner.st_uid not in {os.getuid(), self._uid()}:
            raise data_folder.NotAvailable(f"{path} belongs to another user. Remove it, or set DATA_DIR.")
        self.give(path)
        path.chmod(0o700)

    def give(self, path: Path) -> None:
        """Make the server's user the owner of a path."""
        if self.user:
            os.chown(path, self.user.pw_uid, self.user.pw_gid)

    def call(self, *command: str | Path, variables: Mapping[str, str] | None = None) -> str:
        """Run a program as the server's user and return what it prints. Raises NotAvailable if it fails."""
        options = self._as_user()
        options["env"] |= variables or {}
        done: subprocess.CompletedProcess[str] = subprocess.run(
            [*map(str, command)], check=False, capture_output=True, text=True, **options
        )
        if done.returncode:
            raise data_folder.NotAvailable(f"{Path(command[0]).name} failed.\n{done.stdout}{done.stderr}".strip())
        return done.stdout

    def _uid(self) -> int:
        return self.user.pw_uid if self.user else os.getuid()

    def _as_user(self) -> dict[str, Any]:
        options: dict[str, Any] = {
            "cwd": self.data,
            "stdin": subprocess.DEVNULL,
            "env": {"PATH": "/usr/bin:/bin", "LC_ALL": "C", "TZ": "UTC"},
        }
        if self.user:
            options |= {"user": self.user.pw_uid, "group": self.user.pw_gid, "extra_groups": []}
        return options

    def _die_with_parent(self) -> None:
        if LIBC:
            LIBC.prctl(SET_DEATH_SIGNAL, int(self.stop_signal))

    def _last_words(self) -> str:
        lines = self.log.read_text(encoding="utf-8", errors="replace").splitlines()
        return "\n".join(lines[-8:])


def find_package(name: str) -> Path:
    """Return the folder of an installed package without importing it; a folder that does not exist if it is missing."""
    spec = importlib.util.find_spec(name)
    return Path(spec.origin).parent if spec and spec.origin else Path("/nonexistent")
