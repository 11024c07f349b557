"""The private servers, seen from outside: real processes that come, crash and go."""

import contextlib
import json
import os
import signal
import stat
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import closing, contextmanager
from functools import partial
from pathlib import Path
from typing import Any

import psycopg2
import pytest
import redis

from config import data_folder, embedded, env, guardian
from config.servers import postgres, valkey
from tests import processes

pytestmark = [
    pytest.mark.race,
    pytest.mark.skipif(sys.platform != "linux", reason="reads /proc"),
]

USER = """
import sys
from config import embedded
embedded.ensure_running()
print("running", flush=True)
sys.stdin.read()
"""


class Folder:
    """A data folder with servers of its own."""

    def __init__(self, path: Path) -> None:
        self.path = path
        kept = {k: v for k, v in os.environ.items() if k not in {"DATABASE_URL", "REDIS_URL"}}
        self.environment = {**kept, "ENV_FILE": "", "DATA_DIR": str(path), "EMBEDDED_FSYNC": "0"}
        self.started: list[subprocess.Popen[str]] = []

    def user(self) -> subprocess.Popen[str]:
        process = subprocess.Popen(
            [sys.executable, "-c", USER],
            cwd=env.BASE_DIR,
            env=self.environment,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        self.started.append(process)
        return process

    def answers(self) -> bool:
        try:
            self.connect().close()
            broker = redis.Redis(
                unix_socket_path=str(self.run_dir() / "valkey.sock"),
                password=(self.path / "valkey_password").read_text(),
            )
            return bool(broker.ping())
        except (psycopg2.OperationalError, redis.RedisError):
            return False

    def connect(self) -> Any:
        password = (self.path / "postgres_password").read_text()
        return psycopg2.connect(host=str(self.run_dir()), user="concord", password=password, dbname="concord")

    def run_dir(self) -> Path:
        output = subprocess.run(
            [sys.executable, "-c", "from config import data_folder; print(data_folder.run_dir())"],
            cwd=env.BASE_DIR,
            env=self.environment,
            capture_output=True,
            text=True,
            check=True,
        )
        return Path(output.stdout.strip())

    def processes(self, word: str = "") -> list[int]:
        """Everything that runs for this folder: guardians by their environment, servers by their arguments."""
        found = []
        for entry in Path("/proc").glob("[0-9]*"):
            try:
                arguments = (entry / "cmdline").read_bytes()
                environment = (entry / "environ").read_bytes()
            except OSError:
                continue
            is_guardian = b"config.guardian" in arguments and f"DATA_DIR={self.path}\0".encode() in environment
            if (is_guardian or f"{self.path}/".encode() in arguments) and word.encode() in arguments:
                found.append(int(entry.name))
        return found

    def wait_until_empty(self) -> None:
        processes.wait_until(lambda: not self.processes(), "processes are left behind")


@contextmanager
def _folder(path: Path) -> Iterator[Folder]:
    folder = Folder(path)
    try:
        yield folder
    finally:
        for process in folder.started:
            process.kill()
            process.communicate()
        folder.wait_until_empty()


@contextmanager
def _new_path() -> Iterator[Path]:
    """Below the folder of the tests, which the unprivileged user of the servers can reach."""
    path = data_folder.data_dir() / f"embedded-{time.monotonic_ns()}"
    path.mkdir(mode=0o711)
    yield path
    subprocess.run(["rm", "-rf", str(path)], check=True)


@pytest.fixture
def fresh_folder() -> Iterator[Folder]:
    with _new_path() as path, _folder(path) as folder:
        yield folder


@pytest.fixture(scope="module")
def used_path() -> Iterator[Path]:
    with _new_path() as path:
        yield path


@pytest.fixture
def folder(used_path: Path) -> Iterator[Folder]:
    """A folder that keeps its data from one test to the next; nothing runs when a test begins."""
    with _folder(used_path) as folder:
        yield folder


def _says_running(process: subprocess.Popen[str]) -> bool:
    assert process.stdout
    return process.stdout.readline() == "running\n"


def test_ten_simultaneous_starts_share_one_pair_of_servers(fresh_folder: Folder) -> None:
    folder = fresh_folder
    users = [folder.user() for _ in range(10)]
    assert all(_says_running(user) for user in users)
    assert folder.answers()
    assert len(folder.processes("config.guardian")) == 2
    for user in users:
        user.kill()
    folder.wait_until_empty()
    assert not folder.answers()


def test_killing_the_first_user_does_no_harm_to_the_second(folder: Folder) -> None:
    first = folder.user()
    assert _says_running(first)
    second = folder.user()
    assert _says_running(second)
    first.kill()
    first.wait()
    time.sleep(4 * guardian.LOOK_SECONDS)
    assert folder.answers()
    second.kill()
    folder.wait_until_empty()


def test_killing_a_guardian_leaves_no_server_and_the_next_start_works(folder: Folder) -> None:
    first = folder.user()
    assert _says_running(first)
    for pid in folder.processes("config.guardian"):
        os.kill(pid, signal.SIGKILL)
    second = folder.user()
    assert _says_running(second), second.stderr and second.stderr.read()
    assert folder.answers()
    assert len(folder.processes("config.guardian")) == 2


def test_a_server_that_dies_is_started_again(folder: Folder) -> None:
    assert _says_running(folder.user())
    for word in ("valkey-server", "/postgres"):
        (pid, *_) = folder.processes(word)
        os.kill(pid, signal.SIGKILL)
    processes.wait_until(folder.answers, "the servers did not come back")


def test_a_start_right_after_the_last_end_works_every_time(folder: Folder) -> None:
    for _ in range(3):
        user = folder.user()
        assert _says_running(user)
        user.kill()
        user.wait()
        time.sleep(guardian.LOOK_SECONDS)  # the guardian is just about to stop its server


def test_secrets_are_random_private_and_stay(folder: Folder) -> None:
    assert _says_running(folder.user())
    names = ("postgres_password", "valkey_password")
    before = {name: (folder.path / name).read_text() for name in names}
    assert len(set(before.values())) == 2
    for name in names:
        assert (folder.path / name).stat().st_mode & 0o777 == 0o600
        assert len(before[name]) >= 43
    assert folder.run_dir().stat().st_mode & 0o777 == 0o700
    assert _says_running(folder.user())
    assert {name: (folder.path / name).read_text() for name in names} == before


def test_the_log_of_the_database_names_errors_without_values_and_is_private(folder: Folder) -> None:
    log = folder.path / "postgres.log"
    log.touch()
    log.chmod(0o644)  # as earlier versions left it
    assert _says_running(folder.user())
    with closing(folder.connect()) as link, link.cursor() as cursor:
        cursor.execute("CREATE TEMPORARY TABLE person (name text PRIMARY KEY)")
        with pytest.raises(psycopg2.IntegrityError, match="mara"):
            cursor.execute("INSERT INTO person VALUES ('mara'), ('mara')")
    processes.wait_until(lambda: "person_pkey" in log.read_text(), "the error is not in the log")
    assert "duplicate key value violates unique constraint" in log.read_text()
    assert "mara" not in log.read_text()
    assert log.stat().st_mode & 0o777 == 0o600
    assert (folder.path / "valkey.log").stat().st_mode & 0o777 == 0o600


def test_wrong_passwords_are_refused(folder: Folder) -> None:
    assert _says_running(folder.user())
    with pytest.raises(psycopg2.OperationalError, match="password"):
        psycopg2.connect(host=str(folder.run_dir()), user="concord", password="guess", dbname="concord")
    with pytest.raises(redis.AuthenticationError):
        redis.Redis(unix_socket_path=str(folder.run_dir() / "valkey.sock")).ping()


def test_data_of_a_release_that_is_not_there_are_refused_with_advice(fresh_folder: Folder) -> None:
    home = fresh_folder.path / "postgres"
    home.mkdir()
    (home / "PG_VERSION").write_text("12\n")
    user = fresh_folder.user()
    _, output = user.communicate()
    assert "created by PostgreSQL 12" in output
    assert "manage.py upgrade_database" in output


def test_the_random_password_is_hashed_once_and_others_as_often_as_usual(folder: Folder) -> None:
    """What hashing often protects are passwords that somebody could guess."""
    assert _says_running(folder.user())
    with closing(folder.connect()) as link, link.cursor() as cursor:
        cursor.execute("CREATE ROLE reader PASSWORD 'guessed'")
        cursor.execute("SELECT rolname, split_part(split_part(rolpassword, '$', 2), ':', 1)::int FROM pg_authid")
        assert dict(cursor.fetchall()).items() >= {"concord": 1, "reader": 4096}.items()


def test_data_survive_a_stop(folder: Folder) -> None:
    def ask(statement: str) -> list[tuple[int]]:
        user = folder.user()
        assert _says_running(user)
        with closing(folder.connect()) as link, link, link.cursor() as cursor:
            cursor.execute(statement)
            rows = cursor.fetchall() if cursor.description else []
        user.kill()
        folder.wait_until_empty()
        return rows

    ask("CREATE TABLE kept AS SELECT 7 AS n")
    assert ask("SELECT n FROM kept") == [(7,)]


def test_a_deep_data_folder_gets_its_sockets_in_a_short_private_one(monkeypatch: pytest.MonkeyPatch) -> None:
    deep = data_folder.data_dir() / ("d" * 100)
    monkeypatch.setenv("DATA_DIR", str(deep))
    try:
        assert len(os.fsencode(data_folder.run_dir() / ".s.PGSQL.5432")) < 108
        assert data_folder.run_dir().name.startswith(f"concord-{os.getuid()}-")
    finally:
        deep.rmdir()


def test_a_socket_folder_of_somebody_else_is_refused(tmp_path: Path) -> None:
    server = valkey.Valkey(tmp_path)
    strange = tmp_path / "strange"
    strange.symlink_to(tmp_path)
    with pytest.raises(data_folder.NotAvailable, match="belongs to another user"):
        server.make_own_dir(strange)


def test_a_folder_that_the_servers_of_root_cannot_enter_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, request: pytest.FixtureRequest
) -> None:
    closed = tmp_path / "closed"
    (closed / "data").mkdir(parents=True)
    for folder in (tmp_path, *tmp_path.parents):
        mode = stat.S_IMODE(folder.stat().st_mode)
        if not mode & 0o001:
            request.addfinalizer(partial(folder.chmod, mode))
            folder.chmod(mode | 0o001)
    closed.chmod(0o700)
    monkeypatch.setattr(data_folder, "is_root", lambda: True)
    sentence = data_folder.explain_closed(closed / "data")
    assert f"can't enter {closed}" in sentence
    assert f"chmod o+x {closed}" in sentence
    closed.chmod(0o711)
    assert data_folder.explain_closed(closed / "data") == ""
    assert data_folder.explain_closed(closed / "gone") == ""
    closed.chmod(0o700)
    monkeypatch.setattr(data_folder, "is_root", lambda: False)
    assert data_folder.explain_closed(closed / "data") == ""


def test_a_network_file_system_is_recognised(tmp_path: Path) -> None:
    mounts = tmp_path / "mounts"
    mounts.write_text("/dev/vda / ext4 rw 0 0\nhost:/home /home nfs4 rw 0 0\n/dev/vdb /home/local xfs rw 0 0\n")
    assert embedded.find_file_system(Path("/home/ann/concord"), mounts) in embedded.NETWORK_FILE_SYSTEMS
    assert embedded.find_file_system(Path("/home/local/concord"), mounts) == "xfs"
    assert embedded.find_file_system(Path("/homework"), mounts) == "ext4"


def test_a_network_file_system_is_warned_of(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    for kind, is_warned in (("nfs4", True), ("ext4", False)):
        monkeypatch.setattr(embedded, "find_file_system", lambda _, kind=kind: kind)
        embedded._warn_of_network_file_system()
        assert ("set DATA_DIR to a folder on a local disk" in capsys.readouterr().err) == is_warned


def test_data_of_a_checkout_that_was_moved_are_named(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    monkeypatch.delenv("DATA_DIR")
    for name, checkout in (("new", env.BASE_DIR), ("left", tmp_path / "gone"), ("used", tmp_path)):
        (tmp_path / name / "postgres").mkdir(parents=True)
        (tmp_path / name / "checkout").write_text(str(checkout))
        if name != "new":
            (tmp_path / name / "postgres" / "PG_VERSION").write_text("18\n")
    for module in (data_folder, embedded):
        monkeypatch.setattr(module, "data_dir", lambda: tmp_path / "new")
    embedded._warn_of_left_data("postgres")
    warning = capsys.readouterr().err
    assert f"set DATA_DIR={tmp_path / 'left'} in .env" in warning
    assert str(tmp_path / "used") not in warning
    (tmp_path / "new" / "postgres" / "PG_VERSION").write_text("18\n")
    embedded._warn_of_left_data("postgres")
    assert capsys.readouterr().err == ""


@pytest.fixture
def small_disk() -> Iterator[Folder]:
    """A folder on a disk of 300 MB."""
    if not data_folder.is_root():
        pytest.skip("Only root can mount a small disk.")
    with _new_path() as path:
        mount = ["mount", "-t", "tmpfs", "-o", "size=300m,mode=711", "tmpfs", str(path)]
        if subprocess.run(mount, check=False, capture_output=True).returncode:
            pytest.skip("This machine lets nobody mount a disk.")
        try:
            with _folder(path) as folder:
                yield folder
        finally:
            # A process that ends has no arguments any more, but still holds its files for a moment.
            subprocess.run(["umount", "--lazy", str(path)], check=True)


def test_a_server_on_a_full_disk_comes_back_once_there_is_room(small_disk: Folder) -> None:
    folder = small_disk
    assert _says_running(folder.user())
    guardians = folder.processes("config.guardian")
    with (folder.path / "filler").open("wb", buffering=0) as filler, contextlib.suppress(OSError):
        while True:
            filler.write(bytes(1 << 20))
    os.kill(int((folder.path / "postgres" / "postmaster.pid").read_text().split()[0]), signal.SIGKILL)
    trouble = folder.path / "guardians" / "postgres" / "trouble"
    processes.wait_until(trouble.exists, "nobody says why the server is down")
    late = folder.user()
    _, complaint = late.communicate(timeout=processes.PATIENCE)
    assert "The private postgres server did not start" in complaint
    assert f"The disk is full: 0 MB free in {folder.path}. Free some space there." in complaint
    assert folder.processes("config.guardian") == guardians
    assert not folder.answers()

    (folder.path / "filler").unlink()
    processes.wait_until(folder.answers, "the server did not come back")
    assert not trouble.exists()


def test_a_platform_without_the_programs_gets_one_sentence(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    for module in (postgres, valkey):
        monkeypatch.setattr(module, "find_package", lambda name: Path("/nonexistent"))
    for server, variable in ((postgres.Postgres(tmp_path), "DATABASE_URL"), (valkey.Valkey(tmp_path), "REDIS_URL")):
        monkeypatch.setattr(server, "run", tmp_path / "run")
        with pytest.raises(data_folder.NotAvailable, match=variable):
            server.prepare()


def test_servers_of_ones_own_are_left_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DATABASE_URL", "postgres://ann@db.example/concord")
    monkeypatch.setenv("REDIS_URL", "redis://broker.example/0")
    assert data_folder.needed() == ()
    monkeypatch.setenv("REDIS_URL", "")
    assert data_folder.needed() == ("valkey",)


def test_the_first_commands_find_their_tables_also_two_at_once(fresh_folder: Folder) -> None:
    """Nothing was migrated by hand: one of the two does it, the other waits."""
    commands = [
        subprocess.Popen(
            [sys.executable, "manage.py", "create_project", slug, "--owner", f"owner-of-{slug}", "--json"],
            cwd=env.BASE_DIR,
            env=fresh_folder.environment,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        for slug in ("first-study", "second-study")
    ]
    fresh_folder.started += commands
    for command, slug in zip(commands, ("first-study", "second-study"), strict=True):
        output, complaint = command.communicate(timeout=120)
        assert command.returncode == 0, complaint
        assert json.loads(output)["project"] == slug
