"""Debian's pgbouncer in transaction mode, in front of the PostgreSQL of the tests."""

import os
import re
import shutil
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from config import data_folder
from tests import debian, processes
from tests.deploy.proxies import HOME, read_file

LIBRARIES = {"libcares": ("libc-ares2", "libcares2"), "libevent": ("libevent-2.1-7", "libevent-2.1-7t64")}
"""Debian's packages of what it links to, which not every machine has, in the releases that are used."""


def find() -> str | None:
    places = (shutil.which("pgbouncer"), str(HOME / "usr" / "sbin" / "pgbouncer"))
    return next((place for place in places if place and Path(place).exists()), None)


def bring() -> None:
    if find() is None and debian.unpack("pgbouncer", HOME):
        missing = subprocess.run(["ldd", find() or ""], check=False, capture_output=True, text=True).stdout
        for library in re.findall(r"^\s*(\w+)\S* => not found", missing, re.MULTILINE):
            any(debian.unpack(package, HOME) for package in LIBRARIES.get(library, ()))


def _write(path: Path, text: str) -> None:
    path.touch(mode=0o600)
    path.write_text(text, encoding="utf-8")


@contextmanager
def pgbouncer(folder: Path, database: dict[str, Any], *, n_connections: int) -> Iterator[dict[str, str]]:
    """Run a pooler as deploy/ has it, with so few connections to the server; yield where it listens."""
    port = processes.free_port()
    users = folder / "userlist.txt"
    _write(users, f'"{database["USER"]}" "{database["PASSWORD"]}"')
    text = read_file("pgbouncer.ini")
    for name, value in {
        "*": f"host={database['HOST']} port={database['PORT'] or 5432}",
        "listen_port": port,
        "auth_file": users,
        "default_pool_size": n_connections,
    }.items():
        text, n = re.subn(rf"^{re.escape(name)} = .*$", f"{name} = {value}", text, flags=re.MULTILINE)
        assert n == 1, name
    settings = folder / "pgbouncer.ini"
    _write(settings, text + ("user = nobody" if data_folder.is_root() else ""))
    libraries = ":".join(str(path) for path in HOME.glob("usr/lib/*/"))
    command = [find() or "", "--quiet", str(settings)]
    child = subprocess.Popen(command, env={**os.environ, "LD_LIBRARY_PATH": libraries}, stderr=subprocess.DEVNULL)
    try:
        processes.wait_for_port(port, child)
        yield {"HOST": "127.0.0.1", "PORT": str(port)}
    finally:
        child.terminate()
        child.wait(60)
