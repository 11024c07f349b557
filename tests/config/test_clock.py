"""The worker's clock: what runs at which hour, and that each task exists."""

from copy import copy
from datetime import UTC, datetime, timedelta
from functools import partial
from pathlib import Path
from threading import Event
from types import SimpleNamespace
from typing import Any
from unittest.mock import Mock

import pytest
from celery import Celery
from celery.beat import PersistentScheduler
from celery.schedules import crontab, schedule
from celery.utils.imports import instantiate
from django.conf import settings
from django.core.exceptions import ImproperlyConfigured

from config.celery import app
from config.schedule import SCHEDULE
from config.scheduler import CLOCKS_DIFFER_BY, Scheduler, ThreadStep
from projects.database import shared_memory
from projects.jobs import queue
from tests.processes import wait_until


def test_the_nightly_tasks_run_at_their_hour_however_often_the_worker_is_restarted() -> None:
    evening = datetime(2026, 11, 20, 22, 30, tzinfo=UTC)
    for name, hour in (("verify", 3), ("clear-sessions", 4)):
        schedule = copy(SCHEDULE[name]["schedule"])
        schedule.nowfun = lambda: evening
        schedule.app = app
        assert schedule.remaining_estimate(evening) == timedelta(hours=1.5 + hour)


def test_each_task_of_the_clock_exists() -> None:
    app.loader.import_default_modules()
    assert {entry["task"] for entry in SCHEDULE.values()} <= set(app.tasks)


def test_no_task_is_dropped_by_a_worker_whose_clock_is_ahead() -> None:
    """The scheduler's host says when a task expires; the host of the worker looks at its own clock."""
    frequent = [entry.get("options", {}) for entry in SCHEDULE.values() if not isinstance(entry["schedule"], crontab)]
    assert len([options for options in frequent if "expires" in options]) > 5
    assert all(options.get("expires", 3600) > CLOCKS_DIFFER_BY.total_seconds() for options in frequent)
    assert queue.PART_EXPIRES_AFTER > CLOCKS_DIFFER_BY


@pytest.mark.parametrize("is_restarted", [False, True])
def test_tasks_run_on_after_the_clock_was_set_back(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, is_restarted: bool
) -> None:
    now = datetime(2026, 11, 20, 22, 30, tzinfo=UTC)
    sent: list[str] = []
    monkeypatch.setattr(Celery, "now", lambda _: now)
    make = partial(instantiate, app.conf.beat_scheduler, app=app, schedule_filename=str(tmp_path / "beat"))

    def run(scheduler: Any, seconds: int) -> list[str]:
        """Let the clock go on, a second a tick at least; return what was sent."""
        nonlocal now
        sent.clear()
        for _ in range(seconds):
            now += timedelta(seconds=1)
            while scheduler.tick() == 0:
                pass
        return list(sent)

    scheduler = make()
    monkeypatch.setattr(type(scheduler), "apply_entry", lambda _, entry, producer=None: sent.append(entry.name))
    monkeypatch.setattr(type(scheduler), "producer", None)
    assert run(scheduler, 61).count("sweep") == 2
    if is_restarted:
        scheduler.close()
        scheduler = make()
    now -= timedelta(hours=1)
    again = run(scheduler, 61)
    assert {"sweep", "ring-queued-jobs", "deliver"} <= set(again)
    assert again.count("sweep") <= 3
    scheduler.close()


def test_a_full_disk_ends_no_scheduler(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    scheduler = instantiate(app.conf.beat_scheduler, app=app, schedule_filename=str(tmp_path / "beat"))
    _ = scheduler.schedule
    with monkeypatch.context() as patched:
        patched.setattr(scheduler._store, "sync", Mock(side_effect=OSError("No space left on device")))
        scheduler._do_sync()
    assert "could not be stored" in caplog.text
    scheduler.close()


def fail(*_: Any, **options: Any) -> None:
    raise OSError


def test_of_two_hosts_one_sends_each_task_and_either_goes_on_alone(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    one, two = (
        instantiate(app.conf.beat_scheduler, app=app, schedule_filename=str(tmp_path / name)) for name in ("a", "b")
    )
    nightly = crontab(minute=0, hour=3, nowfun=lambda: datetime(2026, 11, 20, 3, tzinfo=UTC))
    due = [SimpleNamespace(name=f"{tmp_path}-{n}", schedule=each) for n, each in enumerate((schedule(30), nightly))]
    assert [(one._take(each), two._take(each)) for each in due] == [(True, False)] * 2
    left = shared_memory._connect().pttl(f"concord.beat.{due[1].name}")
    assert 23 * 3600_000 < left < 24 * 3600_000, "A scheduler that was started again may have forgotten that it ran."
    often = SimpleNamespace(name=f"{tmp_path}-often", schedule=schedule(0.01))
    wait_until(lambda: one._take(often))
    wait_until(lambda: two._take(often), "The other host is waited for.")
    for each in due:
        shared_memory.prolong(f"beat.{each.name}", seconds=25 * 3600)
    assert [(one._take(each), two._take(each)) for each in due] == [(True, False)] * 2, "The broker's clock went back."
    monkeypatch.setattr(PersistentScheduler, "apply_async", fail)
    late = SimpleNamespace(name=f"{tmp_path}-late", schedule=nightly, task="verify")
    one.apply_entry(late)
    assert two._take(late), "It was not sent."
    for each in (*due, often, late):
        shared_memory.forget(f"beat.{each.name}")
    with monkeypatch.context() as patched:
        patched.setattr(settings, "CELERY_BROKER_URL", "redis://127.0.0.1:1/0")
        shared_memory._connect.cache_clear()
        assert one._take(due[0]), "Without the broker the scheduler goes on."
    shared_memory._connect.cache_clear()
    one.close()
    two.close()


def test_the_scheduler_is_a_thread_that_keeps_no_worker_from_ending(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """With a broker that doesn't answer, a round of the scheduler never ends."""
    began, answer = Event(), Event()

    def wait(_: Scheduler) -> float:
        began.set()
        answer.wait(30)
        return 0.01

    monkeypatch.setattr(Scheduler, "tick", wait)
    monkeypatch.setattr("config.scheduler.LONGEST_END_SECONDS", 0.05)
    blueprint = app.Worker.Blueprint
    assert "config.scheduler:ThreadStep" in blueprint.default_steps
    assert "celery.worker.components:Beat" not in blueprint.default_steps
    worker = SimpleNamespace(app=app, schedule_filename=str(tmp_path / "beat"), scheduler=app.conf.beat_scheduler)
    step = ThreadStep(worker, beat=True)
    thread = step.create(worker)
    thread.start()
    assert began.wait(10)
    step.stop(worker)
    assert thread.is_alive()
    assert thread.daemon
    answer.set()
    thread.join(10)
    assert not thread.is_alive()


def test_a_worker_refuses_wrong_settings_as_the_web_server_does(settings: Any) -> None:
    settings.METRICS_TOKEN = "short"
    with pytest.raises(ImproperlyConfigured, match="METRICS_TOKEN"):
        app.Worker(app=app)
