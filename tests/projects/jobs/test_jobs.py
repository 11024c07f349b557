"""Running jobs: claimed once, fenced, seen to be alive, cancelled, interrupted, run again."""

import errno
import os
import signal
import threading
import time
from datetime import timedelta
from typing import Any

import pytest
from django.db import OperationalError, connection, transaction
from django.db.models.functions import Now
from django.utils import timezone
from pytest_django import Settings

from annotate.models import Import
from projects.errors import Refused
from projects.jobs import queue, running
from projects.models import Membership, Project, Pulse
from tests import processes
from tests.processes import wait_until
from tests.projects.jobs.making import make_job
from tests.projects.jobs.slow_job import writes

pytestmark = pytest.mark.django_db(transaction=True)

State = Import.State


@pytest.fixture(autouse=True)
def _quick_beat(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(running, "BEAT_SECONDS", 0.05)


def test_a_job_runs_and_is_done(project: Project, manager: Membership) -> None:
    job = make_job(manager)
    assert running.run(Import, job.pk, writes(3)) == State.DONE
    job.refresh_from_db()
    assert (job.state, job.attempt, job.done, job.total, job.message) == (State.DONE, 1, 3, 3, "written")
    assert job.started_at is not None
    assert job.finished_at is not None
    assert project.datasets.count() == 3


def test_a_slow_job_within_a_transaction_is_not_taken_for_lost(project: Project, manager: Membership) -> None:
    """As those of the demo, which is made in one transaction, also where that takes minutes."""

    def write_slowly(job: Import, on_progress: Any) -> dict[str, Any]:
        time.sleep(20 * running.BEAT_SECONDS)
        return writes(3)(job, on_progress)

    with transaction.atomic():
        job = make_job(manager)
        assert running.run(Import, job.pk, write_slowly) == State.DONE
    job.refresh_from_db()
    assert job.state == State.DONE


def test_a_message_that_comes_twice_does_the_work_once(project: Project, manager: Membership) -> None:
    job = make_job(manager)
    running.run(Import, job.pk, writes(2))
    assert running.run(Import, job.pk, writes(2)) is None
    assert project.datasets.count() == 2


def test_two_workers_at_once_do_the_work_once(project: Project, manager: Membership) -> None:
    job = make_job(manager)
    ended: list[str | None] = []

    def work() -> None:
        try:
            ended.append(running.run(Import, job.pk, writes(5, seconds=0.02)))
        finally:
            connection.close()

    workers = [threading.Thread(target=work) for _ in range(4)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    assert sorted(ended, key=str) == [None, None, None, State.DONE]
    assert project.datasets.count() == 5


def test_a_refusal_is_stored_as_its_sentence_and_nothing_else(project: Project, manager: Membership) -> None:
    def act(job: Import, on_progress: running.OnProgress) -> None:
        job.project.datasets.create(name="half done")
        raise running.RefusedWithChanges(Refused("Line 3 is wrong.", details=["So is line 5."]), report={"total": 2})

    job = make_job(manager)
    assert running.run(Import, job.pk, act) == State.FAILED
    job.refresh_from_db()
    assert (job.state, job.error, job.report) == (State.FAILED, "Line 3 is wrong.\nSo is line 5.", {"total": 2})
    assert project.datasets.count() == 0


def test_an_unforeseen_error_is_stored_as_a_reference_to_the_log(
    project: Project, manager: Membership, caplog: pytest.LogCaptureFixture
) -> None:
    def act(job: Import, on_progress: running.OnProgress) -> None:
        job.project.datasets.create(name="half done")
        raise ZeroDivisionError("secret text")

    job = make_job(manager)
    running.run(Import, job.pk, act)
    job.refresh_from_db()
    assert job.state == State.FAILED
    assert "secret text" not in job.error
    reference = job.error.rpartition(" ")[2]
    assert reference in caplog.text
    assert "ZeroDivisionError: secret text" in caplog.text
    assert project.datasets.count() == 0


@pytest.mark.parametrize(
    "error",
    [
        OperationalError("server closed the connection"),
        OSError(errno.ENOSPC, "full"),
        OSError(errno.EROFS, "Read-only file system"),
    ],
)
def test_an_outage_interrupts_a_job_and_it_runs_again_once(
    project: Project, manager: Membership, announced: list[tuple[str, int]], error: Exception
) -> None:
    def fail(job: Import, on_progress: running.OnProgress) -> None:
        job.project.datasets.create(name="half done")
        raise error

    job = make_job(manager)
    assert running.run(Import, job.pk, fail) == State.INTERRUPTED
    job.refresh_from_db()
    assert job.will_run_again
    assert "restart automatically" in queue.explain_wait(job)
    queue.enqueue_waiting()
    assert announced == [(Import.task, job.pk)]
    assert running.run(Import, job.pk, writes(2)) == State.DONE
    assert project.datasets.count() == 2

    again = make_job(manager, sha256="1" * 64)
    running.run(Import, again.pk, fail)
    queue.enqueue_waiting()
    assert running.run(Import, again.pk, fail) == State.INTERRUPTED
    again.refresh_from_db()
    assert not again.is_live


def test_a_heartbeat_that_loses_its_connection_goes_on(manager: Membership) -> None:
    seen: list[Any] = []

    def look() -> Any:
        return Import.objects.values_list("beat_at", flat=True).get(pk=job.pk)

    def act(job: Import, on_progress: running.OnProgress) -> None:
        before = look()
        wait_until(lambda: look() != before)
        with connection.cursor() as cursor:
            cursor.execute(
                "SELECT count(pg_terminate_backend(pid)) FROM pg_stat_activity "
                "WHERE datname = current_database() AND pid <> pg_backend_pid() AND backend_type = 'client backend'"
            )
        before = look()
        wait_until(lambda: look() != before)
        seen.append(look())

    job = make_job(manager)
    assert running.run(Import, job.pk, act) == State.DONE
    assert seen


@pytest.mark.parametrize("is_in_one_statement", [False, True])
def test_a_job_that_takes_too_long_is_stopped(
    project: Project, manager: Membership, settings: Settings, *, is_in_one_statement: bool
) -> None:
    def act(job: Import, on_progress: running.OnProgress) -> None:
        job.project.datasets.create(name="half done")
        with connection.cursor() as cursor:
            cursor.execute("SELECT pg_sleep(%s)", [60 if is_in_one_statement else 0])
        while True:
            on_progress(1, 2)
            time.sleep(0.01)

    settings.JOB_SECONDS = 0.1
    job = make_job(manager)
    assert running.run(Import, job.pk, act) == State.FAILED
    job.refresh_from_db()
    assert "ran longer than" in job.error
    assert project.datasets.count() == 0


def test_progress_and_pulse_are_seen_from_outside_while_one_statement_runs(manager: Membership) -> None:
    seen: list[Import] = []

    def act(job: Import, on_progress: running.OnProgress) -> None:
        on_progress(7, 9)
        with connection.cursor() as cursor:
            cursor.execute("SELECT pg_sleep(0.5)")

    def watch() -> None:
        time.sleep(0.4)
        seen.append(Import.objects.get(pk=job.pk))
        connection.close()

    job = make_job(manager)
    watcher = threading.Thread(target=watch)
    watcher.start()
    running.run(Import, job.pk, act)
    watcher.join()
    assert (seen[0].state, seen[0].done, seen[0].total) == (State.RUNNING, 7, 9)
    assert seen[0].started_at is not None
    assert seen[0].beat_at is not None
    assert seen[0].beat_at - seen[0].started_at > timedelta(seconds=0.2)


@pytest.mark.parametrize("is_in_one_statement", [False, True])
def test_a_running_job_can_be_cancelled(project: Project, manager: Membership, *, is_in_one_statement: bool) -> None:
    def act(job: Import, on_progress: running.OnProgress) -> None:
        job.project.datasets.create(name="half done")
        with connection.cursor() as cursor:
            cursor.execute("SELECT pg_sleep(%s)", [30 if is_in_one_statement else 0])
        while True:
            on_progress(1, 2)
            time.sleep(0.01)

    def cancel() -> None:
        wait_until(lambda: Import.objects.get(pk=job.pk).state == State.RUNNING)
        assert queue.cancel(job) is False
        connection.close()

    job = make_job(manager)
    other = threading.Thread(target=cancel)
    other.start()
    began = time.monotonic()
    assert running.run(Import, job.pk, act) == State.CANCELLED
    other.join()
    assert time.monotonic() - began < 25  # the statement alone would take 30
    job.refresh_from_db()
    assert (job.state, job.error) == (State.CANCELLED, "")
    assert project.datasets.count() == 0


@pytest.mark.parametrize("is_outside", [False, True])
def test_a_job_cancelled_after_its_last_progress_stores_nothing(
    project: Project, manager: Membership, *, is_outside: bool
) -> None:
    def act(job: Import, on_progress: running.OnProgress) -> dict[str, Any]:
        changes = writes(2)(job, on_progress) if not is_outside else {}
        canceller = threading.Thread(target=cancel)
        canceller.start()
        canceller.join()
        return changes

    def cancel() -> None:
        assert queue.cancel(job) is False
        connection.close()

    def finish(job: Import, changes: dict[str, Any]) -> None:
        job.project.datasets.create(name="by the end of the job")

    job = make_job(manager)
    assert running.run(Import, job.pk, act, is_outside=is_outside, finish=finish) == State.CANCELLED
    job.refresh_from_db()
    assert (job.state, job.message) == (State.CANCELLED, "")
    assert project.datasets.count() == 0


def test_a_waiting_job_is_cancelled_at_once_and_never_runs(project: Project, manager: Membership) -> None:
    job = make_job(manager)
    assert queue.cancel(job) is True
    assert running.run(Import, job.pk, writes(1)) is None
    with pytest.raises(Refused, match="already finished"):
        queue.cancel(job)


def test_a_worker_that_wakes_late_rolls_back(project: Project, manager: Membership) -> None:
    """Given up for dead, it comes to its end after another worker has taken the job."""
    job = make_job(manager)
    ended: list[str | None] = []
    may_go_on = threading.Event()

    def sleeps(job: Import, on_progress: running.OnProgress) -> None:
        job.project.datasets.create(name="by the one who slept")
        may_go_on.wait(processes.PATIENCE)

    def first_worker() -> None:
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(running.Heartbeat, "_beat", lambda _: None)
            ended.append(running.run(Import, job.pk, sleeps))
        connection.close()

    sleeper = threading.Thread(target=first_worker)
    sleeper.start()
    wait_until(lambda: Import.objects.filter(pk=job.pk, state=State.RUNNING).exists())
    Import.objects.filter(pk=job.pk).update(beat_at=Now() - timedelta(seconds=31))
    queue.enqueue_waiting()
    assert Import.objects.get(pk=job.pk).state == State.INTERRUPTED
    queue.enqueue_waiting()
    claimed = running._claim(Import, job.pk)
    may_go_on.set()
    sleeper.join()
    assert claimed == 2
    assert ended == [None]
    assert project.datasets.count() == 0
    job.refresh_from_db()
    assert (job.state, job.attempt) == (State.RUNNING, 2)


def test_whoever_has_lost_the_job_hears_of_it_in_the_middle(project: Project, manager: Membership) -> None:
    job = make_job(manager)

    def act(job: Import, on_progress: running.OnProgress) -> None:
        stolen = threading.Thread(target=steal)
        stolen.start()
        stolen.join()
        deadline = time.monotonic() + processes.PATIENCE
        while time.monotonic() < deadline:
            on_progress(1, 2)
            time.sleep(0.01)

    def steal() -> None:
        Import.objects.filter(pk=job.pk).update(attempt=7)
        connection.close()

    began = time.monotonic()
    assert running.run(Import, job.pk, act) is None
    assert time.monotonic() - began < processes.PATIENCE / 2
    job.refresh_from_db()
    assert (job.state, job.attempt) == (State.RUNNING, 7)


def test_a_killed_process_is_noticed_and_its_job_run_again_once(project: Project, manager: Membership) -> None:
    job = make_job(manager)
    with processes.process("tests.projects.jobs.slow_job", str(job.pk), "200") as child:
        wait_until(lambda: Import.objects.get(pk=job.pk).done > 3)
        os.kill(child.pid, signal.SIGKILL)
        child.wait()
    assert project.datasets.count() == 0
    queue.enqueue_waiting()
    assert Import.objects.get(pk=job.pk).state == State.RUNNING, "A beat of a moment ago is no dead worker."

    Import.objects.filter(pk=job.pk).update(beat_at=Now() - timedelta(seconds=31))
    queue.enqueue_waiting()
    job.refresh_from_db()
    assert (job.state, job.will_run_again) == (State.INTERRUPTED, True)
    queue.enqueue_waiting()
    job.refresh_from_db()
    assert job.state == State.QUEUED
    assert running.run(Import, job.pk, writes(200)) == State.DONE
    job.refresh_from_db()
    assert (job.attempt, job.done) == (2, 200)
    assert project.datasets.count() == 200


def test_a_job_interrupted_twice_waits_for_a_person(manager: Membership, announced: list[tuple[str, int]]) -> None:
    job = make_job(manager)
    for _ in range(2):
        running._claim(Import, job.pk)
        Import.objects.filter(pk=job.pk).update(beat_at=Now() - timedelta(seconds=31))
        queue.enqueue_waiting()
        queue.enqueue_waiting()
    job.refresh_from_db()
    assert (job.state, job.attempt, job.will_run_again) == (State.INTERRUPTED, 2, False)
    queue.queue(job)
    assert (job.state, job.n_interruptions) == (State.QUEUED, 0)


def test_of_a_worker_that_died_after_cancel_was_asked_nothing_is_run_again(manager: Membership) -> None:
    job = make_job(manager)
    running._claim(Import, job.pk)
    queue.cancel(job)
    Import.objects.filter(pk=job.pk).update(beat_at=Now() - timedelta(seconds=31))
    queue.enqueue_waiting()
    job.refresh_from_db()
    assert job.state == State.CANCELLED


def test_an_interrupted_job_gives_way_to_the_same_work_started_since(
    manager: Membership, announced: list[tuple[str, int]]
) -> None:
    job = make_job(manager, step=Import.Step.WRITE, state=State.INTERRUPTED, n_interruptions=1)
    make_job(manager, step=Import.Step.WRITE, state=State.DONE)
    queue.enqueue_waiting()
    job.refresh_from_db()
    assert job.state == State.FAILED
    assert "started again since" in job.error
    assert announced == []


def test_every_kind_of_job_names_a_task_that_workers_know() -> None:
    from config.celery import app

    app.loader.import_default_modules()
    for model in queue.job_models():
        assert model.task in app.tasks


def test_a_real_worker_takes_its_pulse(celery_worker: None) -> None:
    wait_until(lambda: not Pulse.is_missing(Pulse.WORKER))


@pytest.mark.parametrize(
    ("done", "elapsed", "words"), [(0, 60, ""), (50, 60, "60 seconds"), (10, 60, "9 minutes"), (1, 300, "8 hours")]
)
def test_the_time_left_follows_the_pace_so_far(done: int, elapsed: int, words: str) -> None:
    started_at = timezone.now() - timedelta(seconds=elapsed)
    job = Import(state=State.RUNNING, done=done, total=100, started_at=started_at)
    assert job.time_left == words
