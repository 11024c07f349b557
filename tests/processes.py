"""Servers for all tests, PostgreSQL and Valkey, started before Django's settings load; and processes beside one test.

Each run takes a data folder of its own that no other run uses; the next run finds its database programs,
cluster and template again, and starts within a second. It lies in memory where there is room.
"""

import hashlib
import os
import secrets
import shutil
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO
from urllib.parse import quote, urlencode

import django
from celery import Celery
from django.conf import settings

from config import data_folder, embedded, env, file_locks

MOST_RUNS_AT_ONCE = 20
MEMORY = Path("/dev/shm")
LEAST_FREE_MEMORY = 6 * 1024**3
"""A run needs 1 GB of it; the rest is what tests and browsers need beside it."""
PATIENCE = 180.0
"""Seconds that a test waits for what happens elsewhere: a busy machine takes its time, a fault takes for ever."""

_claims: list[IO[bytes]] = []


def prepare() -> None:
    """Point the environment at servers that hold nothing worth keeping, start them, and set Django up."""
    if settings.configured:
        raise RuntimeError("Django's settings were read before the servers of the tests were known.")
    is_controller = "PYTEST_XDIST_WORKER" not in os.environ
    if is_controller:
        os.environ["ENV_FILE"] = ""  # never the developer's own
        pool = data_folder.data_dir() / "tests"
        pool.mkdir(mode=0o711, exist_ok=True)
        _keep_bytecode(pool / "bytecode")
        if memory := _find_memory(pool):
            pool = memory
            tempfile.tempdir = os.environ["TMPDIR"] = str(make_folder(pool / "tmp"))
        os.environ["DATA_DIR"] = _claim_data_dir(pool)
        os.environ["EMBEDDED_FSYNC"] = "0"
        os.environ["DJANGO_ALLOW_ASYNC_UNSAFE"] = "1"  # Playwright keeps a loop in the test's thread
        os.environ.setdefault("SECRET_KEY", secrets.token_urlsafe(48))
        os.environ["ALLOWED_HOSTS"] = "localhost,127.0.0.1,testserver"
        for name in ("DEBUG", "SITE_URL", "HTTPS"):
            os.environ.pop(name, None)
    embedded.ensure_running()
    os.environ["REDIS_URL"] = _broker(os.environ.get("REDIS_URL", ""))
    os.environ["DJANGO_SETTINGS_MODULE"] = "config.settings"
    django.setup()
    del os.environ["DJANGO_SETTINGS_MODULE"]  # a process of xdist that inherits it reads the settings too early


def _keep_bytecode(folder: Path) -> None:
    """Keep compiled modules for the next process, also where the environment tells Python to write none.

    Without them each process of a test compiles thousands of modules: five seconds of work before a site, a worker or
    a command starts, instead of two. They have a folder of their own then; the tree and the environment stay clean.
    """
    if sys.dont_write_bytecode:
        sys.dont_write_bytecode, sys.pycache_prefix = False, str(folder)
        os.environ.pop("PYTHONDONTWRITEBYTECODE", None)
        os.environ["PYTHONPYCACHEPREFIX"] = str(folder)


def _find_memory(pool: Path) -> Path | None:
    """Return a folder in memory in place of one on the disk, if there is room and programs may run from there.

    Servers, browsers and tests write some gigabytes of files that are deleted a second later; on a disk that takes
    a fourteenth of the whole work.
    """
    try:
        memory = os.statvfs(MEMORY)
    except OSError:
        return None
    if memory.f_bavail * memory.f_frsize < LEAST_FREE_MEMORY or memory.f_flag & os.ST_NOEXEC:
        return None
    home = make_folder(MEMORY / f"concord-tests-{os.getuid()}")
    remove_leftovers(home)
    folder = make_folder(home / hashlib.sha256(os.fsencode(pool)).hexdigest()[:12])
    (folder / data_folder.CHECKOUT).write_text(str(env.BASE_DIR), encoding="utf-8")
    return folder


def remove_leftovers(home: Path) -> None:
    """Delete the folders of checkouts that are gone, each some 200 MB of memory."""
    for record in home.glob(f"*/{data_folder.CHECKOUT}"):
        if not Path(record.read_text(encoding="utf-8")).exists():
            shutil.rmtree(record.parent, ignore_errors=True)


def make_folder(path: Path) -> Path:
    """Create a folder that others may pass through, as the servers' unprivileged user does, and check its owner."""
    path.mkdir(mode=0o711, exist_ok=True)
    if path.is_symlink() or path.stat().st_uid != os.getuid():
        raise RuntimeError(f"{path} belongs to somebody else.")
    return path


def _claim_data_dir(pool: Path) -> str:
    """The first folder of the pool that no other run holds."""
    for n in range(MOST_RUNS_AT_ONCE):
        folder = pool / str(n)
        folder.mkdir(mode=0o711, exist_ok=True)
        if claim := file_locks.hold_if_free(folder / "claim"):
            _claims.append(claim)
            return str(folder)
    raise RuntimeError(f"{MOST_RUNS_AT_ONCE} test runs are at work; end one of them.")


def _broker(external: str) -> str:
    """The broker's address, with a numbered space of its own for each test process."""
    n = int(os.environ.get("PYTEST_XDIST_WORKER", "gw0").removeprefix("gw")) + 1
    if not external or external.startswith("redis+socket"):
        return f"{(external or data_folder.redis_url()).partition('?')[0]}?{urlencode({'virtual_host': n})}"
    scheme, _, rest = external.partition("://")
    return f"{scheme}://{rest.partition('/')[0]}/{n}"


def environment() -> dict[str, str]:
    """The environment of a process that works on the test's database and broker."""
    from django.db import connection

    found = connection.settings_dict
    login = f"{quote(found['USER'], safe='')}:{quote(found['PASSWORD'], safe='')}"
    host = quote(found["HOST"], safe="") + (f":{found['PORT']}" if found["PORT"] else "")
    return {
        **os.environ,
        "DJANGO_SETTINGS_MODULE": "config.settings",
        "DATABASE_URL": f"postgres://{login}@{host}/{quote(found['NAME'])}",
        "SECRET_KEY": settings.SECRET_KEY,
    }


@contextmanager
def process(*arguments: str, **variables: str) -> Iterator[subprocess.Popen[bytes]]:
    """A Python module run beside the test, as `python -m …`; it ends with the block."""
    child = subprocess.Popen(
        [sys.executable, "-m", *arguments], cwd=env.BASE_DIR, env={**environment(), **variables}, start_new_session=True
    )
    try:
        yield child
    finally:
        child.terminate()
        try:
            child.wait(60)
        except subprocess.TimeoutExpired:
            child.kill()
            child.wait()


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port


def wait_until(is_so: Callable[[], object], what: str = "It did not happen in time.") -> None:
    deadline = time.monotonic() + PATIENCE
    while not is_so():
        assert time.monotonic() < deadline, what
        time.sleep(0.02)


def wait_for_port(port: int, child: subprocess.Popen[bytes]) -> None:
    def answers() -> bool:
        assert child.poll() is None, f"The process ended with {child.returncode}."
        with socket.socket() as probe:
            return probe.connect_ex(("127.0.0.1", port)) == 0

    wait_until(answers, f"Nothing listens on port {port}.")


def use_broker(app: Celery, address: str) -> None:
    """Point this process at another broker; connections kept from before would go on to the old one."""
    app.conf.update(broker_url=address, broker_write_url=address)
    app._after_fork()  # type: ignore[attr-defined]


def wait_for_worker(app: Celery, child: subprocess.Popen[bytes]) -> None:
    def answers() -> bool:
        assert child.poll() is None, f"The worker ended with {child.returncode}."
        return bool(app.control.ping(timeout=2, limit=1))

    wait_until(answers, "No worker answers.")
