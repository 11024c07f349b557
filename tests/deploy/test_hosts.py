"""Two hosts of one site: each with its own data folder, web server and worker, behind one pooler, with shared files."""

import json
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from functools import partial
from pathlib import Path

import pytest
from django.conf import settings
from django.core.management import call_command
from django.db import connection

from benchmarks.chaos import counting
from benchmarks.chaos.people import Manager, Worker
from benchmarks.load import Record
from config import env
from projects.models import Pulse
from tests import processes
from tests.deploy import poolers

pytestmark = [pytest.mark.race, pytest.mark.drill, pytest.mark.django_db(transaction=True)]

N_PEOPLE, N_PLACES = 8, 3
N_CONNECTIONS = 8
"""To the server: two web servers of sixteen threads, four jobs at once with their heartbeats, and the schedulers."""


def test_two_hosts_share_one_database_behind_a_pooler(tmp_path: Path, scale: int) -> None:
    if poolers.find() is None:
        pytest.skip("pgbouncer is not on this machine, and Debian's package can't be had.")
    direct = processes.environment()["DATABASE_URL"]
    sessions, owner, token = _seed(n_hits=60 * scale)
    Pulse.objects.all().delete()
    (tmp_path / "shared").mkdir()
    with ExitStack() as stack, ExitStack() as first:
        place = stack.enter_context(
            poolers.pgbouncer(tmp_path, dict(connection.settings_dict), n_connections=N_CONNECTIONS)
        )
        login = direct.partition("@")[0]
        pooled = f"{login}@{place['HOST']}:{place['PORT']}/{connection.settings_dict['NAME']}"
        shared = {"DATABASE_URL": pooled, "DIRECT_DATABASE_URL": direct, "SHARED_DIR": str(tmp_path / "shared")}
        ports = [
            group.enter_context(_host(tmp_path / name, shared)) for group, name in ((first, "one"), (stack, "two"))
        ]
        people = [Worker(ports[n % 2], key, think=0.05, seed=n) for n, key in enumerate(sessions)]
        managers = [Manager(port, owner, token) for port in ports]
        record, stop = Record(), threading.Event()
        acts = [partial(each.live, record, stop) for each in people]
        acts += [partial(managers[0].import_all, stop), partial(managers[1].export_all, people, stop)]
        threads = [threading.Thread(target=act) for act in acts]
        for thread in threads:
            thread.start()
        stop.wait(6 * scale)
        # The first host ends, as for an upgrade: its people find their work at the other, whose worker does the jobs.
        for each in people:
            each.connection.port = ports[1]
        managers[0].port, n_imported = ports[1], len(managers[0].imported)
        first.close()
        processes.wait_until(lambda: len(managers[0].imported) > n_imported + 1, "No import was done.")
        stop.set()
        for thread in threads:
            thread.join()
    result = counting.count(direct, people, managers[0])
    print(
        f"{len(record.acknowledged)} submissions, {len(record.seconds['draft'])} drafts, "
        f"{len(managers[0].imported)} imports, {managers[1].n_exports} exports; {result}"
    )
    assert not result, result
    assert not record.faults + managers[0].faults + managers[1].faults
    assert managers[1].n_missing == 0
    assert min(len(record.acknowledged), managers[1].n_exports) > 0
    call_command("verify")


def _seed(n_hits: int) -> tuple[list[str], str, str]:
    command = [sys.executable, "-m", "benchmarks.chaos.seeding", str(n_hits), str(N_PEOPLE), str(N_PLACES)]
    done = subprocess.run(
        command, env=processes.environment(), cwd=env.BASE_DIR, check=True, stdout=subprocess.PIPE, timeout=300
    )
    sessions, owner, token = json.loads(done.stdout)
    return sessions, owner, token


@contextmanager
def _host(folder: Path, shared: dict[str, str]) -> Iterator[int]:
    """Serve the site from a data folder of its own; yields the port."""
    folder.mkdir()
    port = processes.free_port()
    own = {"DATA_DIR": str(folder), "STATIC_ROOT": str(settings.STATIC_ROOT), "MAX_CONNECTIONS_PER_ADDRESS": "0"}
    with processes.process("django", "serve", "--port", str(port), "--workers", "1", **shared, **own) as child:
        processes.wait_for_port(port, child)
        yield port
