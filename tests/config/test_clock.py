"""The worker's clock: what runs at which hour, and that each task exists."""

from copy import copy
from datetime import UTC, datetime, timedelta
from typing import Any

from django.conf import settings

from config.celery import app

SCHEDULE: dict[str, Any] = settings.CELERY_BEAT_SCHEDULE


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
