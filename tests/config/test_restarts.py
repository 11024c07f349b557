"""Private servers that die: pauses between their starts, the time that a start has, and what people are told."""

import errno
import logging
import shutil
import socket
import subprocess
import sys
import tempfile
import threading
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from signal import SIGKILL
from typing import Any, cast

import psycopg2
import pytest
from django.db import OperationalError, connection
from django.db.utils import InterfaceError, InternalError
from django.test import Client

from config import data_folder, embedded, guardian, supervisor
from config.data_folder import NotAvailable
from config.servers.postgres import Postgres
from config.servers.server import Patience, Server


@dataclass
class Clock:
    now: float = 1_000.0

    def __call__(self) -> float:
        return self.now


@dataclass
class FakeServer:
    """A server that starts as often as it is told to, and fails otherwise."""

    is_up: bool = True
    can_start: bool = True
    starts: list[float] = field(default_factory=list)
    clock: Clock = field(default_factory=Clock)

    def is_dead(self) -> bool:
        return not self.is_up

    def start(self, _: Any) -> None:
        self.starts.append(self.clock.now)
        if not self.can_start:
            raise NotAvailable("The private postgres server did not start.\nThe disk is full.")
        self.is_up = True


@pytest.fixture
def server() -> FakeServer:
    return FakeServer()


@pytest.fixture
def restarts(server: FakeServer, tmp_path: Path) -> guardian.Restarts:
    (tmp_path / "ready").touch()
    return guardian.Restarts(cast(Server, server), cast(Any, None), tmp_path, server.clock)


def look_for(seconds: float, clock: Clock, look: Callable[[], None], step: float = 0.5) -> None:
    until = clock.now + seconds
    while clock.now < until:
        clock.now += step
        look()


def test_a_server_that_fails_is_started_after_longer_and_longer_pauses(
    server: FakeServer, restarts: guardian.Restarts, tmp_path: Path
) -> None:
    look_for(100, server.clock, restarts.look)
    assert server.starts == []
    server.is_up = server.can_start = False
    died_at = server.clock.now
    look_for(150, server.clock, restarts.look)
    assert [at - died_at for at in server.starts] == [0.5, 1.5, 3.5, 7.5, 15.5, 31.5, 61.5, 91.5, 121.5]
    assert not (tmp_path / "ready").exists()
    assert guardian.read_trouble(tmp_path).startswith("The private postgres server did not start.\nThe disk is full.")

    server.can_start = True
    look_for(31, server.clock, restarts.look)
    assert server.is_up
    assert (tmp_path / "ready").exists()
    assert guardian.read_trouble(tmp_path) == ""


def test_a_server_that_dies_right_after_each_start_gets_pauses_too(
    server: FakeServer, restarts: guardian.Restarts
) -> None:
    def die_and_look() -> None:
        server.is_up = False
        restarts.look()

    began = server.clock.now
    look_for(20, server.clock, die_and_look)
    assert len(server.starts) <= 6, [at - began for at in server.starts]
    server.is_up = True
    look_for(guardian.STEADY_SECONDS + 60, server.clock, restarts.look)
    server.starts.clear()
    server.is_up = False
    restarts.look()
    assert len(server.starts) == 1, "one that ran steadily starts again at once"


def test_a_full_disk_that_holds_no_reason_does_not_end_the_guardian(
    server: FakeServer, restarts: guardian.Restarts, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    def refuse(*_: Any, **__: Any) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(Path, "write_text", refuse)
    monkeypatch.setattr(Path, "touch", refuse)
    server.is_up = False
    look_for(5, server.clock, restarts.look)
    assert guardian.read_trouble(tmp_path) == ""
    monkeypatch.undo()
    server.is_up = False
    look_for(10, server.clock, restarts.look)
    assert (tmp_path / "ready").exists()


def test_a_server_that_dies_at_the_end_of_its_start_counts_as_not_started(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    dying = Postgres(tmp_path)
    dying.programs = tmp_path
    (tmp_path / "psql").write_text("#!/bin/sh\necho connection refused >&2\nexit 2\n")
    (tmp_path / "psql").chmod(0o755)
    monkeypatch.setattr(dying, "user", None)
    with pytest.raises(NotAvailable, match=r"did not start\.\npsql failed\.\nconnection refused"):
        dying.finish_start()


@pytest.mark.parametrize(("answer", "is_ready"), [(b"R\0\0\0\x17", True), (b"E\0\0\0\x60", False), (b"", False)])
def test_postgres_is_ready_once_it_asks_for_a_password(tmp_path: Path, answer: bytes, is_ready: bool) -> None:
    postgres = Postgres(tmp_path)
    postgres.run = Path(tempfile.mkdtemp(prefix="concord-"))  # a socket has no room for a long path
    assert not postgres.is_ready()
    with socket.socket(socket.AF_UNIX) as server:
        server.bind(str(postgres.run / ".s.PGSQL.5432"))
        server.listen()

        def serve() -> None:
            with server.accept()[0] as client:
                client.recv(1024)
                client.sendall(answer)

        answering = threading.Thread(target=serve)
        answering.start()
        assert postgres.is_ready() is is_ready
        answering.join()
    shutil.rmtree(postgres.run)


def test_a_start_has_time_as_long_as_its_log_gets_longer(tmp_path: Path) -> None:
    clock, log = Clock(), tmp_path / "postgres.log"
    patience = Patience(log, 15, clock)
    for _ in range(60):  # ten minutes of recovery
        clock.now += 10
        with log.open("a") as lines:
            lines.write("redo in progress, elapsed time: 10.00 s\n")
        assert not patience.is_over()
    clock.now += 15
    assert not patience.is_over()
    clock.now += 1
    assert patience.is_over()


def test_the_supervisor_says_once_what_is_wrong_and_tries_again() -> None:
    clock = Clock()
    said: list[str] = []
    calls: list[float] = []
    reasons = ["The disk is full: 0 MB free.\nThe next attempt is in 1 s.", "The disk is full: 0 MB free.\nIn 2 s.", ""]
    trouble = [""]

    def ensure() -> None:
        calls.append(clock.now)
        if trouble[0] == "gone":
            raise NotAvailable("The guardian can't start.")
        if trouble[0] == "away":
            raise OSError(errno.EIO, "Input/output error", "/srv/concord")

    upkeep = supervisor.Upkeep(ensure, lambda: trouble[0], said.append, clock)
    for reason in reasons:
        trouble[0] = reason
        look_for(5, clock, upkeep.look)
    assert said == [f"\n{reasons[0]}", "\nThe private servers run again."]
    trouble[0] = "gone"
    began = clock.now
    calls.clear()
    look_for(60, clock, upkeep.look)
    assert said[2:] == ["\nThe guardian can't start."]
    assert [at - began for at in calls] == [0.5, 1.5, 3.5, 7.5, 15.5, 31.5]
    trouble[0] = "away"
    look_for(60, clock, upkeep.look)
    assert said[3:] == ["\n[Errno 5] Input/output error: '/srv/concord'"]


def test_a_program_that_cannot_be_started_does_not_end_the_supervisor(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse() -> int:
        raise OSError(errno.ENOMEM, "Cannot allocate memory")

    said: list[str] = []
    monkeypatch.setattr("os.fork", refuse)
    child = supervisor.Child("worker", ["celery"], hasty_signal=SIGKILL)
    child.look_after(said.append)
    assert said
    assert "The worker can't start" in said[0]
    assert child.pause_seconds == 1.0


def test_the_disk_is_named_as_the_cause(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert data_folder.explain_disk(tmp_path) == ""
    assert "can't be read" in data_folder.explain_disk(tmp_path / "missing")
    # Beside another cause, a disk with some space left must not be called full.
    monkeypatch.setattr(data_folder, "LEAST_FREE_BYTES", 10**18)
    assert data_folder.explain_disk(tmp_path).startswith("Only ")
    assert "A server may need 1,000,000,000,000 MB to start" in data_folder.explain_disk(tmp_path)
    monkeypatch.setattr(data_folder, "FULL_BYTES", 10**18)
    assert data_folder.explain_disk(tmp_path).startswith("The disk is full: ")
    assert str(tmp_path) in data_folder.explain_disk(tmp_path)


def test_a_start_that_fails_without_a_word_names_the_full_disk(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The guardian of a server could not write down why: the disk is full."""
    monkeypatch.setenv("DATA_DIR", str(tmp_path))
    monkeypatch.setattr(data_folder, "FULL_BYTES", 10**18)
    ended = subprocess.Popen([sys.executable, "-c", ""])
    ended.wait()
    with pytest.raises(data_folder.NotAvailable, match=r"server did not start\.\nThe disk is full: "):
        embedded._wait_until_ready("postgres", tmp_path, ended)


def database_error(kind: type[Exception], pgcode: str | None) -> Exception:
    class Cause(psycopg2.Error):
        pgcode = ""

    error = kind("connection to server on socket failed:\n\tNo such file")
    Cause.pgcode = cast(str, pgcode)
    error.__cause__ = Cause()
    return error


@pytest.mark.parametrize(
    ("error", "status"),
    [
        (database_error(OperationalError, None), 503),
        (database_error(OperationalError, "53100"), 503),
        (database_error(InterfaceError, None), 503),
        (database_error(InternalError, "25006"), 503),
        (OSError(errno.ENOSPC, "No space left on device"), 503),
        (database_error(InternalError, "25P02"), 500),
        (ValueError("ours"), 500),
    ],
)
def test_pages_and_api_say_that_the_database_is_away_and_nothing_more(
    error: Exception, status: int, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    def fail(*_: Any, **__: Any) -> None:
        raise error

    monkeypatch.setattr("projects.accounts.views.first_owner.is_fresh", fail)
    monkeypatch.setattr(connection, "ensure_connection", fail)
    client = Client(raise_request_exception=False)
    with caplog.at_level(logging.ERROR):
        page = client.get("/sign-in/", headers={"Accept-Language": "de"})
        answer = client.get("/api/v1/projects/", headers={"Authorization": "Bearer x"})
    assert (page.status_code, answer.status_code) == (status, status)
    assert "socket" not in page.content.decode() + answer.content.decode()
    if status == 503:
        assert "Gleich wieder da" in page.content.decode()
        assert page["Retry-After"] == answer["Retry-After"] == "10"
        assert answer.json()["detail"] == "The site can't work at the moment. Retry soon."
        assert ("No space left" if isinstance(error, OSError) else "No such file") in caplog.text
        assert "Traceback" not in caplog.text
    else:
        assert "Traceback" in caplog.text


def test_the_web_application_joins_the_servers_once_they_run(monkeypatch: pytest.MonkeyPatch) -> None:
    outcomes = [False, True]
    monkeypatch.setattr("config.wsgi.try_to_join", lambda: outcomes.pop(0))
    monkeypatch.setattr("config.wsgi.RETRY_SECONDS", 0.0)
    # Loading it reads the names of the static files, which may not be collected yet when tests are.
    from config.wsgi import Rejoining

    waiting = Rejoining(lambda environ, start_response: [b"answer"])
    assert [list(waiting({}, None)) for _ in range(4)] == [[b"answer"]] * 4
    assert outcomes == []
    assert waiting.is_joined
