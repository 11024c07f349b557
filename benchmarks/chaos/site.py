"""The site under test: `manage.py serve` on private servers behind proxies, in a folder on a small disk of its own."""

import os
import re
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from urllib.parse import quote

from benchmarks import ground
from benchmarks.chaos.proxies import Proxy
from config import data_folder
from config.servers.postgres import Postgres, find_releases
from config.servers.server import LIBC
from tests.programs import find_faketime

DISK_MB = 2_000
NEW_MOUNTS = 0x00020000  # CLONE_NEWNS of unshare(2)
READY_SECONDS = 120.0


@dataclass
class Site:
    """A running site; `url` leads to its database directly, past the proxy."""

    folder: Path
    url: str
    environment: dict[str, str]
    postgres: Proxy
    valkey: Proxy
    disk: "Disk"
    clock: "Clock"
    port: int = 0
    process: "subprocess.Popen[bytes] | None" = None
    said: list[str] = field(default_factory=list)

    def manage(self, *arguments: str) -> None:
        """Run a command beside the site, on the database itself."""
        ground.manage({**self.environment, "DATABASE_URL": self.url}, *arguments)

    def copy(self, url: str) -> None:
        """Fill the database with a copy of another one."""
        programs = max(find_releases().items())[1] / "bin"
        dump = subprocess.Popen([programs / "pg_dump", "--no-owner", url], stdout=subprocess.PIPE)
        read = [str(programs / "psql"), "--quiet", "--set=ON_ERROR_STOP=1", "--output=/dev/null", self.url]
        subprocess.run(read, stdin=dump.stdout, check=True)
        if dump.wait():
            raise RuntimeError("the database can't be copied")

    def find_processes(self, word: str, *, depth: int) -> list[int]:
        """Return the processes so many generations below `serve` whose command contains a word."""
        assert self.process is not None
        found = [self.process.pid]
        for _ in range(depth):
            found = [child for pid in found for child in list_children(pid)]
        return [pid for pid in found if word in read_command(pid)]

    def find_server(self, program: str) -> list[int]:
        """Return the process of a private server, the one whose parent is its guardian."""
        return find_commands(program, str(self.folder))


class Disk:
    """The file system of the folder, if it is small and our own."""

    def __init__(self, folder: Path, obstacle: str) -> None:
        self.folder, self.obstacle = folder, obstacle

    @contextmanager
    def full(self) -> Iterator[None]:
        filler = self.folder / "filler"
        try:
            with filler.open("wb") as file, suppress(OSError):
                while room := self._count_free_bytes():
                    os.posix_fallocate(file.fileno(), file.seek(0, os.SEEK_END), room)
            yield
        finally:
            filler.unlink(missing_ok=True)

    def _count_free_bytes(self) -> int:
        disk = os.statvfs(self.folder)
        return disk.f_bavail * disk.f_frsize


class Clock:
    """The clock of every process of the site, if libfaketime is there and can be loaded into them."""

    def __init__(self, library: Path | None, file: Path) -> None:
        self.library, self.file = library, file
        self.obstacle = "" if library else "the library libfaketime is missing (Debian: faketime)"
        if library and not data_folder.is_root():
            self.obstacle = "PostgreSQL's program can be wrapped by root only"
        self._write(0)

    @property
    def variables(self) -> dict[str, str]:
        if self.obstacle:
            return {}
        # Only the time of day steps: clocks that measure how long something takes do not, on a real machine either.
        return {
            "LD_PRELOAD": str(self.library),
            "FAKETIME_TIMESTAMP_FILE": str(self.file),
            "FAKETIME_CACHE_DURATION": "1",
            "FAKETIME_DONT_FAKE_MONOTONIC": "1",
            # Else a thread that waits for Python's lock, by the monotonic clock, asks for it without a pause.
            "FAKETIME_FORCE_MONOTONIC_FIX": "0",
            "NO_FAKE_STAT": "1",
            "PYTHONPATH": f"{Path(__file__).parent / 'clock'}:{ground.ROOT}",
        }

    @contextmanager
    def set_back(self, seconds: int) -> Iterator[None]:
        self._write(-seconds)
        try:
            yield
        finally:
            self._write(0)

    def wrap(self, program: Path) -> None:
        """Let a program that gets an environment of its own have this clock too."""
        if self.obstacle or program.with_name(f"{program.name}-itself").exists():
            return
        itself = program.rename(program.with_name(f"{program.name}-itself"))
        variables = " ".join(f"{name}={value}" for name, value in self.variables.items())
        program.write_text(f'#!/bin/sh\nexec env {variables} {itself} "$@"\n', encoding="ascii")
        program.chmod(0o755)

    def _write(self, seconds: int) -> None:
        draft = self.file.with_suffix(".new")
        draft.write_text(f"{seconds:+d}\n", encoding="ascii")
        draft.chmod(0o644)
        draft.replace(self.file)


@contextmanager
def running() -> Iterator[Site]:
    """Run a site in an empty folder, and remove everything at the end."""
    with ExitStack() as stack:
        home = Path(tempfile.mkdtemp(prefix="concord-chaos-"))
        stack.callback(shutil.rmtree, home)
        home.chmod(0o711)  # the servers run as a user of their own
        folder = home / "data"
        folder.mkdir(mode=0o711)
        disk = Disk(folder, mount_small_disk(folder))
        if not disk.obstacle:
            stack.callback(subprocess.run, ["umount", "--lazy", str(folder)], check=True)
        clock = Clock(find_faketime(), home / "clock")
        # A server that is killed keeps only what it has written through.
        os.environ.update(DATA_DIR=str(folder), ENV_FILE="", EMBEDDED_FSYNC="1")
        for name in ("DATABASE_URL", "REDIS_URL", "SITE_URL"):
            os.environ.pop(name, None)
        if sys.dont_write_bytecode:  # every start would compile thousands of modules again
            del os.environ["PYTHONDONTWRITEBYTECODE"]
            os.environ["PYTHONPYCACHEPREFIX"] = str(home / "bytecode")
        stack.enter_context(private_servers(folder, clock))
        sockets = data_folder.run_dir()
        postgres, valkey = Proxy(sockets / ".s.PGSQL.5432"), Proxy(sockets / "valkey.sock")
        stack.enter_context(postgres.running())
        stack.enter_context(valkey.running())
        database = data_folder.database_settings()
        login = f"postgres://{database['USER']}:{quote(database['PASSWORD'], safe='')}"
        environment = {
            **ground.site_environment("config.settings", f"{login}@127.0.0.1:{postgres.port}/{database['NAME']}"),
            "REDIS_URL": f"redis://:{quote(data_folder.valkey_password(), safe='')}@127.0.0.1:{valkey.port}/0",
            "DATA_DIR": str(folder),
            "MAX_CONNECTIONS_PER_ADDRESS": "0",  # everybody comes from here
            "API_REQUESTS_PER_MINUTE": "100000",
        }
        url = f"{login}@/{database['NAME']}?host={quote(database['HOST'])}"
        yield Site(folder, url, environment, postgres, valkey, disk, clock)


@contextmanager
def private_servers(folder: Path, clock: Clock) -> Iterator[None]:
    """Run the private servers, which a process of their own uses and looks after."""
    program = Postgres(folder)
    program.prepare()
    clock.wrap(program.programs / "postgres")
    keeper = subprocess.Popen(
        [sys.executable, "-m", "benchmarks.chaos.keeper"],
        cwd=ground.ROOT,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
    )
    assert keeper.stdin is not None
    assert keeper.stdout is not None
    if keeper.stdout.readline() != b"ready\n":
        raise RuntimeError(f"the private servers did not start: {keeper.wait()}")
    try:
        yield
    finally:
        keeper.stdin.close()
        keeper.wait()
        # The guardians end the servers only then, and no file may go while somebody writes there.
        wait_until(lambda: not find_commands(str(folder)))


@contextmanager
def served(site: Site) -> Iterator[None]:
    """Serve the site; at the end it has to finish what is in flight, and end by itself."""
    command = [sys.executable, "manage.py", "serve", "--workers", "2", "--port", str(find_free_port())]
    environment = {**site.environment, **site.clock.variables}
    process = subprocess.Popen(
        command, cwd=ground.ROOT, env=environment, stdout=subprocess.PIPE, stderr=subprocess.STDOUT
    )
    site.process = process
    assert process.stdout is not None
    for line in process.stdout:
        site.said.append(line.decode())
        if found := re.search(rb"Concord is at http://[^:]+:(\d+)", line):
            site.port = int(found[1])
            break
    else:
        raise RuntimeError(f"serve ended with {process.wait()}: {''.join(site.said)}")
    reader = threading.Thread(target=lambda: site.said.extend(map(bytes.decode, process.stdout or ())), daemon=True)
    reader.start()
    try:
        yield
    finally:
        process.send_signal(signal.SIGTERM)
        if process.wait(READY_SECONDS):
            raise RuntimeError(f"serve ended with {process.returncode}: {''.join(site.said[-20:])}")
        reader.join()


def mount_small_disk(folder: Path) -> str:
    """Mount a small file system, seen by this process and those it starts only; return what prevents that."""
    if LIBC is None or not data_folder.is_root():
        return "only root can mount a small disk"
    if LIBC.unshare(NEW_MOUNTS):
        return "this machine lets nobody mount"
    for command in (
        ["mount", "--make-rprivate", "/"],
        ["mount", "-t", "tmpfs", "-o", f"size={DISK_MB}m,mode=711", "tmpfs", str(folder)],
    ):
        done = subprocess.run(command, check=False, capture_output=True, text=True)
        if done.returncode:
            return f"{' '.join(command)} failed: {done.stderr.strip()}"
    return ""


def find_free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port


def list_children(pid: int) -> list[int]:
    try:
        return [int(child) for child in Path(f"/proc/{pid}/task/{pid}/children").read_text().split()]
    except OSError:
        return []


def find_commands(*marks: str) -> list[int]:
    """Return the processes whose command contains all of these words."""
    every = [int(entry.name) for entry in Path("/proc").glob("[0-9]*")]
    return [pid for pid in every if all(mark in read_command(pid) for mark in marks)]


def read_command(pid: int) -> str:
    """Return the command of a process; empty if it has ended."""
    try:
        return Path(f"/proc/{pid}/cmdline").read_bytes().decode(errors="replace").replace("\0", " ")
    except OSError:
        return ""


def wait_until(is_so: Callable[[], object], seconds: float = READY_SECONDS) -> bool:
    """Wait, and return whether it came true in time."""
    until = time.monotonic() + seconds
    while not is_so():
        if time.monotonic() > until:
            return False
        time.sleep(0.05)
    return True
