"""Imports in real worker processes: one does its work, one is killed in the middle of it."""

import os
import re
import signal
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import timedelta
from functools import partial

import pytest
from django.db import connection, transaction
from django.db.models.functions import Now
from django.test import Client

from annotate import tasks
from annotate.imports import uploading
from annotate.models import Import
from config.celery import app
from projects.jobs import queue
from projects.models import Candidate, Membership, Passage, Project, Pulse
from tests import processes
from tests.annotate.imports.import_steps import Pages, rows, write_csv
from tests.concurrency import has_waiter
from tests.processes import wait_until

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.race]

N_ROWS = 3_000
SPACES = 16
"""Of the broker; test processes count theirs from the first on, so these count from the last."""


@pytest.fixture
def pages(project: Project, manager: Membership, client_of: Callable[[Membership], Client]) -> Pages:
    return Pages(client_of(manager), project)


def is_in(job: Import, *states: str) -> Callable[[], bool]:
    return lambda: Import.objects.filter(pk=job.pk, state__in=states).exists()


@pytest.fixture
def own_broker() -> Iterator[str]:
    """A part of the broker where no other worker listens."""
    shared = os.environ["REDIS_URL"]
    own = re.sub(r"(virtual_host=|/)(\d+)$", lambda found: f"{found[1]}{SPACES - int(found[2])}", shared)
    assert own != shared
    processes.use_broker(app, own)
    app.control.purge()
    yield own
    processes.use_broker(app, shared)


@contextmanager
def worker(broker: str) -> Iterator[int]:
    """A worker of our own, and the id of its process."""
    quiet = ("--pool", "threads", "--concurrency", "1", "--loglevel", "error", "--without-gossip", "--without-mingle")
    with processes.process("celery", "-A", "config.celery", "worker", *quiet, REDIS_URL=broker) as child:
        yield child.pid


@contextmanager
def stopped_at(table: str) -> Iterator[Callable[[], bool]]:
    """Hold up whoever writes to a table; what is given says whether somebody waits there."""
    with transaction.atomic(), connection.cursor() as cursor:
        cursor.execute(f"LOCK TABLE {table} IN EXCLUSIVE MODE")
        yield partial(has_waiter, table)


def test_a_worker_is_rung_for_and_imports(celery_worker: None, pages: Pages) -> None:
    job = pages.upload(write_csv(rows(30)))
    pages.choose(job)
    wait_until(is_in(job, Import.State.DONE, Import.State.FAILED))
    assert "All rows are valid" in pages.show(job)
    pages.confirm(job)
    wait_until(lambda: Import.objects.get(pk=job.pk).state_in_words == "imported")
    assert Candidate.objects.count() == 30


def test_a_killed_worker_leaves_nothing_half_done_and_the_import_ends_whole(pages: Pages, own_broker: str) -> None:
    job = pages.upload(write_csv(rows(N_ROWS)))
    pages.choose(job)
    pages.work(job)
    assert job.state == Import.State.DONE, job.error

    pages.confirm(job)
    for n, table in enumerate(("projects_candidate", "projects_passage"), start=1):
        with stopped_at(table) as is_there, worker(own_broker) as pid:
            wait_until(is_there)
            os.kill(pid, signal.SIGKILL)
        assert not Passage.objects.exists()
        Import.objects.filter(pk=job.pk).update(beat_at=Now() - queue.DEAD_AFTER - timedelta(seconds=1))
        queue.enqueue_waiting()
        job.refresh_from_db()
        assert (job.state, job.n_interruptions) == (Import.State.INTERRUPTED, n)
        queue.enqueue_waiting()
    job.refresh_from_db()
    assert job.state == Import.State.INTERRUPTED, "Twice is enough; a person decides."
    assert "Retry" in pages.show(job)

    uploading.retry(job=job)
    tasks.run_import(job.pk)
    job.refresh_from_db()
    assert (job.state, job.attempt) == (Import.State.DONE, 4)
    assert Candidate.objects.count() == N_ROWS
    assert Passage.objects.count() == N_ROWS // 3


def test_the_page_names_the_missing_worker_until_one_is_there(pages: Pages, own_broker: str) -> None:
    Pulse.objects.all().delete()
    job = pages.upload(write_csv(rows()))
    pages.choose(job)
    Import.objects.filter(pk=job.pk).update(queued_at=Now() - queue.EXPLAIN_WAIT_AFTER)
    assert "No worker is running" in pages.show(job)
    with worker(own_broker):
        wait_until(is_in(job, Import.State.DONE))
        wait_until(lambda: not Pulse.is_missing(Pulse.WORKER))
