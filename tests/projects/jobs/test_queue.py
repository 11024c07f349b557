"""Queueing jobs: announced after the commit, once, and again only if the message is lost; the broker only rings."""

import socket
import time
from collections.abc import Iterator
from datetime import timedelta
from typing import Any

import pytest
from django.db import IntegrityError, transaction
from django.db.models.functions import Now
from django.utils import timezone

from annotate.models import Import
from projects import tasks
from projects.errors import Refused
from projects.jobs import broker, queue, running
from projects.models import Membership, Pulse
from tests import processes
from tests.projects.jobs.making import make_job
from tests.projects.jobs.slow_job import writes

pytestmark = pytest.mark.django_db(transaction=True)

State = Import.State


@pytest.fixture
def dead_broker() -> Iterator[str]:
    """No broker that responds, and the address of the one that does."""
    from config.celery import app

    before, nowhere = app.conf.broker_url, "redis://127.0.0.1:1/0"
    processes.use_broker(app, nowhere)
    yield before
    processes.use_broker(app, before)


@pytest.fixture
def empty_broker() -> None:
    """The broker without the messages that other tests left in it."""
    broker.app.control.purge()


def test_a_job_is_announced_only_after_the_commit(manager: Membership, announced: list[tuple[str, int]]) -> None:
    job = make_job(manager, state=State.DONE)
    with transaction.atomic():
        queue.queue(job, step=Import.Step.WRITE)
        assert announced == []
    assert announced == [("annotate.run_import", job.pk)]


def test_nothing_is_announced_for_a_transaction_that_is_rolled_back(
    manager: Membership, announced: list[tuple[str, int]]
) -> None:
    job = make_job(manager, state=State.DONE)

    def queue_and_fail() -> None:
        with transaction.atomic():
            queue.queue(job)
            raise IntegrityError

    with pytest.raises(IntegrityError):
        queue_and_fail()
    assert announced == []
    job.refresh_from_db()
    assert job.state == State.DONE


def test_what_waits_or_runs_is_not_queued_again(manager: Membership, announced: list[tuple[str, int]]) -> None:
    job = make_job(manager)
    with pytest.raises(Refused):
        queue.queue(job)
    same = make_job(manager, state=State.DONE)
    other = Import.objects.get(pk=same.pk)
    queue.queue(same)
    with pytest.raises(Refused):
        queue.queue(other)
    assert len(announced) == 1


def test_what_ran_meanwhile_is_not_queued_again(manager: Membership, announced: list[tuple[str, int]]) -> None:
    job = make_job(manager, state=State.DONE)
    early = Import.objects.get(pk=job.pk)
    queue.queue(job)
    assert running.run(Import, job.pk, writes(1)) == State.DONE
    with pytest.raises(Refused):
        queue.queue(early)
    job.refresh_from_db()
    with pytest.raises(Refused):
        queue.queue(job, only_if={"step": Import.Step.WRITE})
    assert len(announced) == 1


def test_a_dead_broker_breaks_no_request_and_the_job_is_announced_later(manager: Membership, dead_broker: str) -> None:
    job = make_job(manager, state=State.DONE)
    began = time.monotonic()
    queue.queue(job)
    assert time.monotonic() - began < 5
    assert job.state == State.QUEUED

    Import.objects.filter(pk=job.pk).update(queued_at=Now() - timedelta(seconds=11))
    job.refresh_from_db()
    assert "is not responding" in queue.explain_wait(job)
    assert queue.enqueue_waiting() == 0

    processes.use_broker(broker.app, dead_broker)
    broker.app.control.purge()
    assert queue.enqueue_waiting() == 1
    assert broker.count_messages(queue.DEFAULT_QUEUE) == 1


def test_a_broker_that_takes_connections_and_is_silent_holds_up_no_request(
    manager: Membership, dead_broker: str
) -> None:
    job = make_job(manager, state=State.DONE)
    with socket.create_server(("127.0.0.1", 0)) as silent:
        processes.use_broker(broker.app, f"redis://127.0.0.1:{silent.getsockname()[1]}")
        began = time.monotonic()
        queue.queue(job)
        assert time.monotonic() - began < 10
        job.queued_at = timezone.now() - timedelta(seconds=11)
        assert "is not responding" in queue.explain_wait(job)


def test_a_job_from_before_the_clock_was_set_back_is_not_waited_for(
    manager: Membership, announced: list[tuple[str, int]], empty_broker: None
) -> None:
    """Its worker died, or its message was lost, by a clock that was a month ahead."""
    ahead = timezone.now() + timedelta(days=31)
    running_job = make_job(manager, state=State.RUNNING, beat_at=ahead)
    queued = make_job(manager, sha256="1" * 64)
    Import.objects.filter(pk=queued.pk).update(queued_at=ahead)
    queue.enqueue_waiting()
    assert announced == [(Import.task, queued.pk)]
    assert Import.objects.get(pk=running_job.pk).state == State.INTERRUPTED


def test_a_job_that_was_just_queued_is_not_announced_again(
    manager: Membership, announced: list[tuple[str, int]]
) -> None:
    make_job(manager)
    assert queue.enqueue_waiting() == 0


def test_a_waiting_job_is_announced_again_only_if_its_message_is_lost(manager: Membership, empty_broker: None) -> None:
    jobs = [make_job(manager, sha256=str(n) * 64) for n in range(3)]
    for job in jobs:
        assert queue.announce(job)
    Import.objects.update(queued_at=Now() - timedelta(seconds=11))
    assert queue.enqueue_waiting() == 0, "the worker is busy with others, or there is none"

    broker.app.control.purge()
    assert queue.announce(jobs[2])
    assert queue.enqueue_waiting() == 2
    assert queue.enqueue_waiting() == 0
    assert broker.count_messages(queue.DEFAULT_QUEUE) == 3


def test_a_job_of_learned_metrics_waits_in_a_queue_of_its_own(
    manager: Membership, monkeypatch: pytest.MonkeyPatch
) -> None:
    sent: list[dict[str, Any]] = []
    monkeypatch.setattr(broker.app, "send_task", lambda _task, **options: sent.append(options))
    job = make_job(manager)
    monkeypatch.setattr(type(job), "queue_name", queue.NEURAL_QUEUE)
    assert queue.announce(job)
    assert (sent[0]["queue"], sent[0]["args"]) == ("neural", [job.pk])

    job.queued_at = timezone.now() - timedelta(seconds=11)
    Pulse.beat(Pulse.WORKER)
    assert "No worker for learned metrics is running" in queue.explain_wait(job)
    assert "--queues neural" in queue.explain_wait(job)
    Pulse.beat(Pulse.NEURAL)
    assert "No scheduler is running" in queue.explain_wait(job)

    assert tasks.find_pulses(["celery"]) == [Pulse.WORKER]
    assert tasks.find_pulses(["neural"]) == [Pulse.NEURAL]
    assert tasks.find_pulses(["celery", "neural"]) == [Pulse.WORKER, Pulse.NEURAL]
    assert tasks.find_pulses(["other"]) == [Pulse.WORKER]


def test_the_page_says_which_process_is_missing(manager: Membership) -> None:
    job = make_job(manager)
    assert queue.explain_wait(job) == ""
    for seconds in (-11, 3600):  # an hour ahead is where a clock was set back
        job.queued_at = timezone.now() + timedelta(seconds=seconds)
        assert "No worker is running" in queue.explain_wait(job)
    Pulse.beat(Pulse.WORKER)
    assert "No scheduler is running" in queue.explain_wait(job)
    tasks.announce_waiting_jobs()
    assert queue.explain_wait(job) == "Waiting for a worker."
    other = make_job(manager, state=State.RUNNING, beat_at=timezone.now())
    assert "busy" in queue.explain_wait(job)
    assert queue.explain_wait(other) == ""
    for seconds in (-16, 3600):  # an hour ahead is where a clock was set back
        Pulse.objects.update(seen_at=timezone.now() + timedelta(seconds=seconds))
        assert "No worker is running" in queue.explain_wait(job)
