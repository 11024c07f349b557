"""PostgreSQL killed again and again under load: what was acknowledged is stored, and the site comes back by itself."""

import os
import signal
import threading
import time
from functools import partial
from http import HTTPStatus
from pathlib import Path
from urllib.parse import quote

import psycopg2
import pytest
from django.conf import settings
from django.core.management import call_command
from django.db import connection

from config import data_folder
from config.management.commands.serve import web_command
from tests import database, processes
from tests.annotate.open_batches import open_batch
from tests.annotate.shifts import Shift, assert_all_is_stored_once, start
from tests.factories import make_membership, make_project
from tests.raw_http import Reply, Visitor

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.race]
BACK_SECONDS = 5.0


class PatientVisitor(Visitor):
    """One to whom the page of an outage is no answer."""

    def _exchange(self, method: str, path: str, form: dict[str, str] | None) -> Reply:
        reply = super()._exchange(method, path, form)
        if reply.status == HTTPStatus.SERVICE_UNAVAILABLE:
            raise OSError(reply.status)
        return reply


def is_answering(address: str) -> bool:
    try:
        psycopg2.connect(address).close()
    except psycopg2.OperationalError:
        return False
    return True


def has_gone_on(shifts: list[Shift], before: int) -> bool:
    return count(shifts) > before or bool(_wrong(shifts))


def count(shifts: list[Shift]) -> int:
    return sum(len(shift.acknowledged) for shift in shifts)


@pytest.mark.drill
def test_a_killed_postgres_loses_nothing_and_the_site_comes_back(monkeypatch: pytest.MonkeyPatch, scale: int) -> None:
    port, stop = processes.free_port(), threading.Event()
    _python, _m, *command = web_command(f"127.0.0.1:{port}", workers=2)
    with database.servers_folder("outage") as folder, monkeypatch.context() as patch:
        (folder / "static").symlink_to(settings.STATIC_ROOT)
        patch.setenv("DATA_DIR", str(folder))
        found = data_folder.database_settings()
        address = f"postgres://{found['USER']}:{found['PASSWORD']}@/{found['NAME']}?host={quote(found['HOST'])}"
        own = {"DATA_DIR": str(folder), "DATABASE_URL": "", "REDIS_URL": "", "EMBEDDED_FSYNC": "1"}
        with processes.process(*command, "--log-level", "critical", **own) as web:
            processes.wait_for_port(port, web)
            with database.pointed_at(address):
                call_command("migrate", verbosity=0)
                project = make_project("bridges")
                open_batch(project, n_hits=150 * scale, judgments=3)
                url = f"http://127.0.0.1:{port}"
                people = [PatientVisitor.of(make_membership(project), url) for _ in range(6)]
                shifts = [Shift(visitor, project.slug, stop) for visitor in people]
                threads = start(shifts)
                for _ in range(3):
                    before = count(shifts)
                    processes.wait_until(partial(has_gone_on, shifts, before + 10))
                    os.kill(_find_postmaster(folder), signal.SIGKILL)
                    processes.wait_until(lambda: not is_answering(address))
                    processes.wait_until(partial(is_answering, address))
                    before, back_at = count(shifts), time.monotonic()
                    processes.wait_until(partial(has_gone_on, shifts, before))
                    assert time.monotonic() - back_at < BACK_SECONDS
                stop.set()
                for thread in threads:
                    thread.join(processes.PATIENCE)
                assert _wrong(shifts) == []
                connection.close()  # this one did not survive either
                assert sum(shift.n_retries for shift in shifts) > 0
                assert_all_is_stored_once(shifts)
        processes.wait_until(lambda: not list(folder.glob("guardians/*/ready")))


def _wrong(shifts: list[Shift]) -> list[str]:
    return [wrong for shift in shifts for wrong in shift.wrong]


def _find_postmaster(folder: Path) -> int:
    return int((folder / "postgres" / "postmaster.pid").read_text().splitlines()[0])
