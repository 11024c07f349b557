"""Queues by kind of job: threads that are kept for short jobs, limits of time, and which worker is missing."""

import threading
import time
from contextlib import ExitStack
from datetime import timedelta

import pytest
from django.utils import timezone
from pytest_django import Settings

from annotate.models import Import
from projects import tasks
from projects.jobs import queue, running, slots
from projects.jobs.queue import DEFAULT_QUEUE, LONG_QUEUE, SCORING_QUEUE, Job
from projects.jobs.slots import Slots
from projects.models import Membership, Pulse
from projects.webhooks import delivering
from results.models import JudgmentSet, MetricRun, ScoreFile, Study
from tests.processes import wait_until
from tests.projects.jobs.making import make_job
from tests.projects.jobs.slow_job import writes

ALL = (DEFAULT_QUEUE, LONG_QUEUE, SCORING_QUEUE)
State = Import.State


@pytest.fixture
def announced(monkeypatch: pytest.MonkeyPatch) -> list[Job]:
    found: list[Job] = []

    def announce(job: Job) -> bool:
        found.append(job)
        return True

    monkeypatch.setattr(queue, "announce", announce)
    return found


@pytest.fixture
def two_threads(monkeypatch: pytest.MonkeyPatch) -> None:
    """This process as a worker of two threads that serves every queue, until the test ends."""
    monkeypatch.setattr(slots, "_slots", None)
    slots.limit(n_threads=2, queues=ALL)


@pytest.mark.parametrize(
    ("n_threads", "queues", "wanted", "taken"),
    [
        # One thread is kept for short jobs, and with three or more one for each of the others.
        (3, ALL, [LONG_QUEUE, LONG_QUEUE, SCORING_QUEUE, SCORING_QUEUE], [True, False, True, False]),
        (2, ALL, [LONG_QUEUE, SCORING_QUEUE, DEFAULT_QUEUE, DEFAULT_QUEUE], [True, False, True, True]),
        (1, ALL, [LONG_QUEUE, LONG_QUEUE], [True, False]),
        (5, ALL, [SCORING_QUEUE] * 4 + [LONG_QUEUE] * 2, [True, True, True, False, True, False]),
        # A worker of slow jobs alone uses every thread.
        (2, (LONG_QUEUE, SCORING_QUEUE), [LONG_QUEUE, LONG_QUEUE], [True, True]),
        (2, (SCORING_QUEUE,), [SCORING_QUEUE, SCORING_QUEUE], [True, True]),
    ],
)
def test_a_worker_keeps_a_thread_for_each_kind_of_job(
    monkeypatch: pytest.MonkeyPatch, n_threads: int, queues: tuple[str, ...], wanted: list[str], taken: list[bool]
) -> None:
    monkeypatch.setattr(queue, "announce_next", lambda _name: False)
    shared = Slots(n_threads, queues)
    with ExitStack() as held:
        assert [held.enter_context(shared.take(name)) for name in wanted] == taken


@pytest.mark.parametrize(("n_threads", "n_senders"), [(1, 1), (2, 1), (3, 1), (5, 2)])
def test_messages_to_other_hosts_take_half_of_the_threads_at_most(
    monkeypatch: pytest.MonkeyPatch, n_threads: int, n_senders: int
) -> None:
    """A receiver that never answers would otherwise hold up every job."""
    monkeypatch.setattr(slots, "_slots", None)
    slots.limit(n_threads=n_threads, queues=ALL)
    begun: list[bool] = []

    def deliver() -> None:
        begun.append(True)
        tasks.deliver_messages()  # as another thread would meanwhile

    monkeypatch.setattr(delivering, "deliver_waiting", deliver)
    tasks.deliver_messages()
    assert len(begun) == n_senders
    tasks.deliver_messages()
    assert len(begun) == 2 * n_senders


@pytest.mark.django_db(transaction=True)
def test_a_long_job_without_a_thread_stays_queued_and_is_announced_when_one_is_free(
    manager: Membership, announced: list[Job], two_threads: None
) -> None:
    first, second = (make_job(manager, step=Import.Step.WRITE, sha256=str(n) * 64) for n in range(2))
    short = make_job(manager)
    seen: list[object] = []

    def act(job: Import, on_progress: running.OnProgress) -> None:
        seen.append(running.run(Import, second.pk, writes(1)))
        seen.append(running.run(Import, short.pk, writes(1)))

    assert running.run(Import, first.pk, act) == State.DONE
    assert seen == [None, State.DONE], "the short job runs beside the long one, the other long one does not"
    second.refresh_from_db()
    assert (second.state, second.attempt) == (State.QUEUED, 0)
    assert announced == [second]
    assert running.run(Import, second.pk, lambda *_: None) == State.DONE
    assert announced == [second], "nothing waits any more"


def test_jobs_are_in_the_queue_of_their_kind() -> None:
    from config.celery import app

    assert Import(step=Import.Step.CHECK).queue_name == ScoreFile(step=ScoreFile.Step.CHECK).queue_name == DEFAULT_QUEUE
    long = (Import(step=Import.Step.WRITE), ScoreFile(step=ScoreFile.Step.TAKE), JudgmentSet(), Study())
    assert {job.queue_name for job in long} == {LONG_QUEUE}
    assert MetricRun().queue_name == MetricRun(report={"queue": DEFAULT_QUEUE}).queue_name == SCORING_QUEUE
    assert {*app.amqp.queues.consume_from} == {*ALL}, "what a worker serves that is not told otherwise"
    assert all(app.amqp.queues[name].routing_key == name for name in ALL)


@pytest.mark.django_db
def test_the_page_names_the_queue_that_no_worker_serves(manager: Membership) -> None:
    job = make_job(manager, step=Import.Step.WRITE)
    job.queued_at = timezone.now() - timedelta(seconds=11)
    assert "No worker is running" in queue.explain_wait(job)
    for name in tasks.find_pulses([DEFAULT_QUEUE, SCORING_QUEUE]):
        Pulse.beat(name)
    assert "No worker serves the queue “long”" in queue.explain_wait(job)
    assert "--queues long" in queue.explain_wait(job)
    Pulse.beat(Pulse.LONG)
    assert "No worker" not in queue.explain_wait(job)


def test_the_shorter_limit_of_time_holds(settings: Settings) -> None:
    settings.JOB_SECONDS, settings.SHORT_JOB_SECONDS, settings.SCORING_JOB_SECONDS = 100, 10, 0
    assert [job.seconds_allowed for job in (Import(step="check"), Import(step="write"), MetricRun())] == [10, 100, 100]
    settings.JOB_SECONDS = 0
    assert [job.seconds_allowed for job in (Import(step="check"), Import(step="write"))] == [10, 0]
    assert "longer than 30 minutes" in running.explain_too_long(1800)
    assert "longer than 6 hours" in running.explain_too_long(6 * 3600)


@pytest.mark.django_db(transaction=True)
def test_a_job_that_does_not_stop_is_taken_away_and_what_it_writes_is_rolled_back(
    manager: Membership, settings: Settings, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(running, "BEAT_SECONDS", 0.05)
    monkeypatch.setattr(running, "OVERDUE_SECONDS", 0.1)
    settings.SHORT_JOB_SECONDS = 0.05
    job = make_job(manager)

    def act(job: Import, on_progress: running.OnProgress) -> None:
        # It neither reports progress nor waits for the database, so nothing can stop it.
        beating = [thread for thread in threading.enumerate() if thread.name.startswith("heartbeat")]
        wait_until(lambda: "taken away" in caplog.text)
        job.project.datasets.create(name="too late")
        assert beating
        time.sleep(0.01)

    assert running.run(Import, job.pk, act) is None
    job.refresh_from_db()
    assert (job.state, job.is_live) == (State.INTERRUPTED, False)
    assert "restart the worker" in job.error
    assert not manager.project.datasets.exists()
