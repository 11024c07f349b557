"""PostgreSQL's own programs: which ones fit a server, and how they reach a database."""

import re
import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any

from psycopg2.extensions import make_dsn

from config import env
from config.servers import postgres
from projects.errors import Refused

FOLDERS = ("usr/lib/postgresql/*/bin", "usr/pgsql-*/bin", "opt/homebrew/opt/postgresql@*/bin", "usr/local/pgsql/bin")
"""Where Debian, Red Hat, Homebrew and a build of one's own install them."""
N_ERROR_LINES = 6


@dataclass(frozen=True)
class Programs:
    """A folder with pg_dump, pg_restore and psql of one release."""

    version: str
    folder: Path

    @property
    def major(self) -> int:
        return int(self.version.partition(".")[0])


@dataclass(frozen=True)
class Login:
    """How a program reaches a database; the password is in no command line."""

    address: str
    password: str

    @classmethod
    def from_settings(cls, settings: dict[str, Any]) -> "Login":
        """Read Django's settings of a database."""
        named = {"host": "HOST", "port": "PORT", "user": "USER", "dbname": "NAME"}
        values = {name: settings[key] for name, key in named.items() if settings.get(key)}
        return cls(make_dsn(**values, **settings.get("OPTIONS", {})), settings.get("PASSWORD") or "")

    @property
    def environment(self) -> dict[str, str]:
        secret = {"PGPASSWORD": self.password} if self.password else {}
        return env.inherit(LC_ALL="C", **secret)


def find_programs(least: int, root: Path = Path("/")) -> Programs:
    """Return the oldest programs on this machine that are at least of a major version.

    A program reads servers and dumps that are older than itself, but no newer ones. Raises Refused if none fits.
    """
    found = [programs for folder in _list_folders(root) if (programs := _look_at(folder)) is not None]
    fitting = [programs for programs in found if programs.major >= least]
    if not fitting:
        rest = f" (found: {', '.join(sorted({each.version for each in found}))})" if found else ""
        raise Refused(
            f"This needs pg_dump, pg_restore and psql of PostgreSQL {least} or newer{rest}. Install them, on Debian "
            f"with: apt-get install postgresql-client-{least}"
        )
    return min(fitting, key=lambda programs: programs.major)


@contextmanager
def running(
    programs: Programs, name: str, *options: str, login: Login | None = None, **pipes: Any
) -> "Iterator[subprocess.Popen[bytes]]":
    """Run a program of PostgreSQL beside the block, which is over once it has ended.

    Raises Refused with its last words if it fails. It is killed if the block raises.
    """
    command = [str(programs.folder / name), *options, *([f"--dbname={login.address}"] if login else [])]
    environment = login.environment if login else env.inherit(LC_ALL="C")
    with tempfile.TemporaryFile() as errors:
        process = subprocess.Popen(command, env=environment, stderr=errors, **pipes)
        try:
            yield process
            _close(process.stdin)
        except BrokenPipeError:  # it has ended already, and says why
            process.wait()
        except BaseException:
            process.kill()
            raise
        finally:
            _close(process.stdin)
            _close(process.stdout)
            process.wait()
        if process.returncode:
            errors.seek(0)
            lines = errors.read().decode(errors="replace").strip().splitlines()
            raise Refused(f"{name} failed (exit {process.returncode}).", details=lines[-N_ERROR_LINES:])


def _close(pipe: IO[bytes] | None) -> None:
    with suppress(BrokenPipeError):
        if pipe is not None:
            pipe.close()


def find_installed() -> dict[int, Path]:
    """Return the folders of the PostgreSQL servers that this machine has beside the private one, by major version."""
    found = {}
    for folder in _list_installed(Path("/")):
        programs = _look_at(folder)
        if programs is not None and (folder / "postgres").is_file():
            found[programs.major] = folder.parent
    return found


def _list_installed(root: Path) -> list[Path]:
    return [folder for pattern in FOLDERS for folder in sorted(root.glob(pattern))]


def _list_folders(root: Path) -> list[Path]:
    own = [release / "bin" for release in postgres.find_releases().values()]
    on_path = shutil.which("pg_dump")
    return [*own, *_list_installed(root), *([Path(on_path).parent] if on_path else [])]


def _look_at(folder: Path) -> Programs | None:
    if not all((folder / name).is_file() for name in ("pg_dump", "pg_restore", "psql")):
        return None
    output = subprocess.run([folder / "pg_dump", "--version"], check=False, capture_output=True, text=True).stdout
    version = re.search(r"(\d+)\.\d+", output)
    return Programs(version[0], folder) if version else None
