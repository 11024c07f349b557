"""`manage.py serve` as a person starts it: processes that come up together, come back, and go together."""

import os
import re
import signal
import socket
import subprocess
import sys
import urllib.request
from collections.abc import Callable, Iterator
from contextlib import nullcontext, suppress
from functools import partial
from pathlib import Path

import pytest
from django.core.management import CommandError, call_command, get_commands, load_command_class
from pytest_django import Settings

from config import env
from config.management.commands.serve import _is_free, refuse_plain_http
from tests import processes
from tests.processes import wait_until

pytestmark = [
    pytest.mark.race,
    pytest.mark.django_db(transaction=True),
    pytest.mark.skipif(sys.platform != "linux", reason="reads /proc"),
]


class Served:
    def __init__(self, *arguments: str) -> None:
        self.process = subprocess.Popen(
            [sys.executable, "manage.py", "serve", "--workers", "1", *arguments],
            cwd=env.BASE_DIR,
            env=processes.environment(),
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        )
        self.output = ""
        self.address = ""

    def wait_until_ready(self) -> None:
        assert self.process.stdout
        for line in self.process.stdout:
            self.output += line
            if found := re.search(r"Concord is at (http://\S+)", line):
                self.address = found[1]
                return
        pytest.fail(f"serve ended with {self.process.wait()}:\n{self.output}")

    def answers(self) -> bool:
        return answers(self.address)

    def children(self, word: str) -> list[int]:
        """Our children, and theirs."""
        found, parents = [], {self.process.pid}
        for pid, parent, arguments in sorted(_processes()):
            if parent in parents:
                parents.add(pid)
                if word in arguments:
                    found.append(pid)
        return found


def answers(address: str) -> bool:
    try:
        with urllib.request.urlopen(address, timeout=20) as answer:
            return bool(answer.status == 200)
    except OSError:
        return False


def _processes() -> Iterator[tuple[int, int, str]]:
    for entry in Path("/proc").glob("[0-9]*"):
        try:
            parent = int((entry / "stat").read_text().rpartition(")")[2].split()[1])
            yield int(entry.name), parent, (entry / "cmdline").read_text().replace("\0", " ")
        except (OSError, ValueError):
            continue


def _is_alive(pid: int) -> bool:
    try:
        return "Z" not in Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
    except OSError:
        return False


@pytest.fixture
def serve() -> Iterator[Callable[..., Served]]:
    started: list[Served] = []

    def start(*arguments: str) -> Served:
        served = Served(*arguments)
        started.append(served)
        served.wait_until_ready()
        return served

    yield start
    for served in started:
        if served.process.poll() is None:
            served.process.send_signal(signal.SIGINT)
        served.process.communicate(timeout=processes.PATIENCE)


def test_web_server_and_worker_run_come_back_and_end_together(serve: Callable[..., Served]) -> None:
    from config.celery import app

    served = serve("--port", str(processes.free_port()))
    wait_until(served.answers, "the site does not answer")
    wait_until(lambda: app.control.ping(timeout=2, limit=1), "the worker does not answer")

    for word in ("gunicorn", "celery"):
        (before, *_) = served.children(word)
        os.kill(before, signal.SIGKILL)
        wait_until(partial(_has_another, served, word, before), f"{word} did not come back")
    wait_until(served.answers, "the site did not come back")
    wait_until(lambda: app.control.ping(timeout=2, limit=1), "the worker did not come back")

    family = served.children("")
    served.process.send_signal(signal.SIGINT)
    assert served.process.wait(processes.PATIENCE) == 0
    left = [pid for pid in family if _is_alive(pid) and "guardian" not in Path(f"/proc/{pid}/cmdline").read_text()]
    assert left == []


def test_a_log_on_a_full_disk_and_a_folder_that_is_away_end_no_site(tmp_path: Path) -> None:
    """It says where it is, then looks for models every second."""
    port, models = processes.free_port(), tmp_path / ("n" * 300)  # the name is too long: looking at it is an error
    command = [sys.executable, "manage.py", "serve", "--workers", "1", "--port", str(port)]
    environment = {**processes.environment(), "MODELS_DIR": str(models)}
    with open("/dev/full", "w", encoding="ascii") as full:
        served = subprocess.Popen(command, cwd=env.BASE_DIR, env=environment, stdout=full, stderr=full)
    try:
        wait_until(lambda: served.poll() is not None or answers(f"http://127.0.0.1:{port}/health/live"))
        with suppress(subprocess.TimeoutExpired):
            served.wait(3)
        assert served.poll() is None
        assert answers(f"http://127.0.0.1:{port}/health/live")
    finally:
        served.send_signal(signal.SIGINT)
        served.wait(processes.PATIENCE)


def test_children_end_when_their_parent_is_killed(serve: Callable[..., Served]) -> None:
    served = serve("--port", str(processes.free_port()))
    wait_until(lambda: len(_workers(served)) >= 3, "the site's processes do not come up")
    children = _workers(served)
    served.process.kill()
    wait_until(lambda: not any(_is_alive(pid) for pid in children), "children outlive their parent")


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (("serve", "--workers", "0"), "--workers: must be at least 1"),
        (("serve", "--workers", "-3"), "--workers: must be at least 1"),
        (("serve", "--port", "99999"), "--port: must be at most 65535"),
        (("fake_prolific", "--port", "99999"), "--port: must be at most 65535"),
        (("agreement", "--project", "x", "--seed", "-1"), "--seed: must be at least 0"),
        (("agreement", "--project", "x", "--seed", "one"), "--seed: must be a whole number"),
    ],
)
def test_numbers_out_of_range_are_usage_errors(words: tuple[str, ...], sentence: str) -> None:
    name, *arguments = words
    command = load_command_class(get_commands()[name], name)
    with pytest.raises(CommandError, match=sentence):
        command.create_parser("manage.py", name).parse_args(arguments)


def test_a_taken_port_is_refused_if_it_was_asked_for() -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = taken.getsockname()[1]
        served = Served("--port", str(port))
        output, _ = served.process.communicate(timeout=processes.PATIENCE)
    assert served.process.returncode == 1
    assert f"Port {port} of 127.0.0.1 is in use" in output


def test_an_address_of_another_machine_is_not_called_a_port_in_use(monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(CommandError, match=r"192\.0\.2\.7 is no address of this machine"):
        _is_free("192.0.2.7", 8000)

    def refuse(*_: object) -> None:
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr("socket.socket.bind", refuse)
    with pytest.raises(CommandError, match="Only root may listen on port 80"):
        _is_free("127.0.0.1", 80)


def test_a_wrong_setting_is_told_before_anything_is_started(settings: Settings) -> None:
    settings.SECRET_KEY = "short"
    with pytest.raises(CommandError, match="SECRET_KEY is too short"):
        call_command("serve")


def test_without_a_wish_a_free_port_is_found_and_two_sites_share_a_folder(serve: Callable[..., Served]) -> None:
    first, second = serve(), serve()
    assert first.address != second.address
    assert "Port 8000 is in use; using" in second.output
    wait_until(first.answers, "the first site does not answer")
    wait_until(second.answers, "the second site does not answer")
    wait_until(lambda: _clocks(first) + _clocks(second) == 1, "the sites have not one clock between them")
    keeper, other = (first, second) if _clocks(first) else (second, first)
    keeper.process.send_signal(signal.SIGINT)
    keeper.process.wait(processes.PATIENCE)
    wait_until(lambda: _clocks(other) == 1, "nobody keeps the clock")


def _workers(served: Served) -> list[int]:
    return [*served.children("gunicorn"), *served.children("celery")]


def _has_another(served: Served, word: str, before: int) -> bool:
    return bool(set(served.children(word)) - {before})


def _clocks(served: Served) -> int:
    mine = set(served.children("celery"))
    return sum(1 for pid, parent, words in _processes() if pid in mine and "--beat" in words and parent not in mine)


def test_other_machines_are_not_served_without_tls(settings: Settings) -> None:
    for host, is_behind_proxy, is_refused in (
        ("127.0.0.1", False, False),
        ("localhost", False, False),
        ("::1", False, False),
        ("0.0.0.0", False, True),
        ("::", False, True),
        ("0.0.0.0", True, False),
    ):
        settings.BEHIND_TLS_PROXY = is_behind_proxy
        with pytest.raises(CommandError, match="passwords and sessions") if is_refused else nullcontext():
            refuse_plain_http(host)
