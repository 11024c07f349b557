"""Web workers killed in the middle of submits: what was acknowledged is stored, and nothing is doubled."""

import os
import signal
import subprocess
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from annotate.models import Assignment, Batch
from config.management.commands.serve import web_command
from projects.models import Project
from tests import processes
from tests.annotate.open_batches import open_batch
from tests.annotate.shifts import Shift, assert_all_is_stored_once, hire, start

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.race]


@contextmanager
def two_workers(port: int = 0) -> Iterator[tuple[str, subprocess.Popen[bytes]]]:
    port = port or processes.free_port()
    _python, _m, *command = web_command(f"127.0.0.1:{port}", workers=2)
    with processes.process(*command, "--log-level", "critical") as master:
        processes.wait_for_port(port, master)
        yield f"http://127.0.0.1:{port}", master


def list_workers(master: subprocess.Popen[bytes]) -> list[int]:
    children = Path(f"/proc/{master.pid}/task/{master.pid}/children")
    return [int(pid) for pid in children.read_text().split()]


def test_killed_workers_lose_nothing_that_was_acknowledged(project: Project, scale: int) -> None:
    """Every client sends again what was not answered: in the end each HIT is stored once."""
    open_batch(project, n_hits=150 * scale, judgments=3)
    stop = threading.Event()
    with two_workers() as (url, master):
        shifts = hire(project, url, stop)
        threads = start(shifts)
        for n in range(5 * scale):
            before = sum(len(shift.acknowledged) for shift in shifts)
            time.sleep(0.5)
            while sum(len(shift.acknowledged) for shift in shifts) < before + 3 and not any(s.wrong for s in shifts):
                time.sleep(0.02)
            if victims := list_workers(master):
                os.kill(victims[n % len(victims)], signal.SIGKILL)
        stop.set()
        for thread in threads:
            thread.join(processes.PATIENCE)
    assert sum(shift.n_retries for shift in shifts) > 0, "no request met a kill: the test has shown nothing"
    assert_all_is_stored_once(shifts)


def test_a_polite_end_finishes_what_is_in_flight(project: Project, scale: int) -> None:
    """The master gets SIGTERM under load: it ends in order, and every acknowledged submit is stored."""
    for _ in range(scale):
        open_batch(project, n_hits=100, judgments=3)
        stop = threading.Event()
        with two_workers() as (url, master):
            shifts = hire(project, url, stop)
            threads = start(shifts)
            until = time.monotonic() + processes.PATIENCE
            while sum(len(shift.acknowledged) for shift in shifts) < 20 and time.monotonic() < until:
                time.sleep(0.02)
            master.send_signal(signal.SIGTERM)
            stop.set()
            for thread in threads:
                thread.join(processes.PATIENCE)
            assert master.wait(processes.PATIENCE) == 0
        assert_all_is_stored_once(shifts)
        acknowledged = {uuid for shift in shifts for uuid in shift.acknowledged}
        stored = Assignment.objects.submitted().filter(annotator__project=project, hit__batch__state="open")
        assert {str(uuid) for uuid in stored.values_list("uuid", flat=True)} == acknowledged, "a reply was cut off"
        Batch.objects.update(state=Batch.State.CLOSED)


@pytest.mark.drill
def test_two_deployments_under_load_lose_nothing(project: Project) -> None:
    """The web server is stopped and started twice while people work, who send again what was not answered."""
    open_batch(project, n_hits=1_500, judgments=3)
    stop, port = threading.Event(), processes.free_port()
    shifts: list[Shift] = []
    threads: list[threading.Thread] = []
    for n in range(3):
        with two_workers(port) as (url, master):
            if not shifts:
                shifts = hire(project, url, stop)
                threads = start(shifts)
            before = sum(len(shift.acknowledged) for shift in shifts)
            until = time.monotonic() + processes.PATIENCE
            while sum(len(shift.acknowledged) for shift in shifts) < before + 30 and time.monotonic() < until:
                time.sleep(0.02)
            if n == 2:
                stop.set()
                for thread in threads:
                    thread.join(processes.PATIENCE)
            began = time.monotonic()
            master.send_signal(signal.SIGTERM)
            assert master.wait(processes.PATIENCE) == 0
            print(f"deployment {n + 1}: the web server ended in {time.monotonic() - began:.1f} s")
    assert sum(shift.n_retries for shift in shifts) > 0, "nobody met a deployment: the test has shown nothing"
    assert_all_is_stored_once(shifts)
