"""The site behind pgbouncer in transaction mode, with fewer connections to the server than the site has threads."""

import re
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from http import HTTPStatus
from pathlib import Path
from typing import Any

import pytest
from django.core.management import call_command
from django.db import connection, connections, transaction
from django.db.backends.signals import connection_created
from django.db.migrations.executor import MigrationExecutor
from django.test import Client
from pytest_django import Settings

from annotate.integrity import verifying
from annotate.models import Import, Judgment
from config import migrating
from config.checks import check_pooler
from config.monitoring import health
from projects.database import timeouts
from projects.jobs import queue, running
from projects.models import Membership, Project
from tests.annotate.open_batches import assert_equation, open_batch
from tests.deploy import poolers
from tests.factories import make_membership
from tests.people import SignIn
from tests.processes import wait_until
from tests.projects.jobs.making import make_job
from tests.projects.jobs.slow_job import writes
from tests.raw_http import RADIO

pytestmark = [pytest.mark.race, pytest.mark.django_db(transaction=True)]

N_CONNECTIONS, N_PEOPLE = 3, 5
READ_STATE = """
SELECT pg_backend_pid(), (SELECT coalesce(string_agg(name, ' '), '') FROM pg_settings WHERE source = 'session'
           AND name !~ '^transaction_' AND name NOT IN
               ('application_name', 'client_encoding', 'DateStyle', 'TimeZone', 'standard_conforming_strings')),
       (SELECT count(*) FROM pg_prepared_statements), (SELECT count(*) FROM pg_cursors WHERE is_holdable),
       (SELECT count(*) FROM pg_locks WHERE locktype = 'advisory' AND pid = pg_backend_pid())
"""


@pytest.fixture
def pooled(
    settings: Settings, transactional_db: None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> Iterator[None]:
    """Every connection of this process leads to the pooler, and has the limits of a web process."""
    if poolers.find() is None:
        pytest.skip("pgbouncer is not on this machine, and Debian's package can't be had.")
    monkeypatch.setattr(running, "BEAT_SECONDS", 0.05)
    direct = dict(connection.settings_dict)
    with poolers.pgbouncer(tmp_path, direct, n_connections=N_CONNECTIONS) as place:
        settings.HAS_POOLER, settings.DIRECT_DATABASE = True, {name: direct[name] for name in place}
        settings.STATEMENT_SECONDS, settings.LOCK_SECONDS = 20, 7
        _lead_to(place)
        timeouts.limit_statements()
        yield
        connection_created.disconnect(dispatch_uid="timeouts")
        _lead_to({name: direct[name] for name in place})
        connection.execute_wrappers.clear()


def _lead_to(place: dict[str, Any]) -> None:
    connections.close_all()
    connection.settings_dict.update(place)
    connections.databases["default"].update(place)


@pytest.mark.usefixtures("pooled")
def test_people_and_jobs_share_few_connections_and_leave_nothing_in_them(
    project: Project, manager: Membership, client_of: SignIn
) -> None:
    open_batch(project, n_hits=2, judgments=N_PEOPLE)
    crowd = [client_of(make_membership(project)) for _ in range(N_PEOPLE)]
    job = make_job(manager)
    acts: list[Callable[[], Any]] = [partial(running.run, Import, job.pk, writes(10, seconds=0.01))]
    acts += [partial(_rate, client, project) for client in crowd]
    assert _run_beside(acts)[0] == "done"
    assert Judgment.objects.count() == 2 * 3 * N_PEOPLE
    assert project.datasets.count() == 11
    page = client_of(manager).get("/p/bridges/export/long.csv")
    assert b"".join(page).count(b"\n") == 1 + Judgment.objects.count()
    assert [check.name for check in health._check_database() if not check.is_ok] == ["worker"]
    assert_equation()
    assert verifying.verify() == []
    found = _read_states()
    assert {state[1:] for state in found} == {("", 0, 0, 0)}, "Something is left in a connection of the pooler."
    assert len({state[0] for state in found}) == N_CONNECTIONS


@pytest.mark.usefixtures("pooled")
def test_limits_hold_in_each_transaction_and_for_no_one_else(project: Project) -> None:
    with connection.cursor() as cursor:
        assert _read_limits(cursor) == ("20s", "7s")
        with transaction.atomic():
            cursor.execute("SAVEPOINT first")
            assert _read_limits(cursor) == ("20s", "7s")
        with transaction.atomic():
            assert list(Project.objects.values_list("slug").iterator()) == [("bridges",)]
            assert _read_limits(cursor) == ("20s", "7s")
        rows = Project.objects.values_list("slug").iterator()
        assert next(rows) == ("bridges",)
        cursor.execute("SELECT count(*) FROM pg_cursors")
        assert cursor.fetchone() == (0,), "A cursor outlives its transaction."
        connection.execute_wrappers.clear()
        assert _read_limits(cursor) == ("0", "0")


@pytest.mark.usefixtures("pooled")
def test_cancelling_a_job_cancels_no_statement_of_another(manager: Membership) -> None:
    def act(job: Import, on_progress: running.OnProgress) -> None:
        with connection.cursor() as cursor:
            cursor.execute("SELECT pg_sleep(30)")

    job = make_job(manager)
    stop = threading.Event()

    def work() -> int:
        """Run one short statement after another, which use whatever connection is free."""
        n = 0
        while not stop.is_set():
            with connection.cursor() as cursor:
                cursor.execute("SELECT pg_sleep(0.005)")
            n += 1
        return n

    def cancel() -> None:
        wait_until(lambda: Import.objects.get(pk=job.pk).state == Import.State.RUNNING)
        time.sleep(0.1)
        queue.cancel(job)

    def run() -> Any:
        try:
            return running.run(Import, job.pk, act)
        finally:
            stop.set()

    state, _, *counts = _run_beside([run, cancel, work, work])
    assert state == "cancelled"
    assert all(counts)


@pytest.mark.usefixtures("pooled")
def test_what_needs_a_session_goes_past_the_pooler(settings: Settings, monkeypatch: pytest.MonkeyPatch) -> None:
    ports, said = list[str](), list[str]()

    def is_behind(_executor: MigrationExecutor) -> bool:
        ports.append(connection.settings_dict["PORT"])
        return len(ports) < 3  # again under the lock, so that it migrates

    with monkeypatch.context() as patched:
        patched.setattr(migrating, "is_behind", is_behind)
        migrating.bring_up_to_date(said.append)
        migrating.bring_up_to_date(said.append)
    assert said == ["Preparing the database …"], "It is said once, before seconds pass without a word."
    assert set(ports) == {settings.DIRECT_DATABASE["PORT"]} != {connection.settings_dict["PORT"]}
    call_command("migrate", verbosity=0, skip_checks=False)
    assert check_pooler(databases=["default"]) == []
    settings.DIRECT_DATABASE = {}
    assert [each.id for each in check_pooler(databases=["default"])] == ["concord.E007"]
    settings.HAS_POOLER = False
    assert [each.id for each in check_pooler(databases=["default"])] == ["concord.W001"]


def _rate(client: Client, project: Project) -> None:
    """Rate every HIT of the batch, with a draft of each answer before."""
    path = client.post(f"/p/{project.slug}/work/")["Location"]
    while names := re.findall(RADIO, client.get(path).content.decode()):
        for n, name in enumerate(names):
            position, _, criterion = name[1:].partition("-")
            draft = {"answers": {position: {criterion: [4, n + 1]}}}
            saved = client.post(f"{path}draft/", draft, content_type="application/json")
            assert saved.status_code in (HTTPStatus.OK, HTTPStatus.NO_CONTENT), saved.content
        sent = client.post(path, dict.fromkeys(names, "4"))
        assert sent.status_code == HTTPStatus.SEE_OTHER, sent.content
        path = sent["Location"]


def _run_beside(acts: list[Callable[[], Any]]) -> list[Any]:
    """Run all at once, each in a thread with connections of its own, and return their results."""

    def run(act: Callable[[], Any]) -> Any:
        try:
            return act()
        finally:
            connections.close_all()

    with ThreadPoolExecutor(len(acts)) as pool:
        return list(pool.map(run, acts))


def _read_limits(cursor: Any) -> Any:
    cursor.execute("SELECT current_setting('statement_timeout'), current_setting('lock_timeout')")
    return cursor.fetchone()


def _read_states() -> list[tuple[Any, ...]]:
    """Return what is left in each connection of the pooler to the server, all of them held at the same time."""
    together = threading.Barrier(N_CONNECTIONS)

    def read() -> Any:
        connection.ensure_connection()
        with connection.connection, connection.connection.cursor() as cursor:
            connection.connection.autocommit = False
            cursor.execute(READ_STATE)
            together.wait(30)
            return cursor.fetchone()

    return _run_beside([read] * N_CONNECTIONS)
