"""The Celery application: `celery -A config.celery worker`. Messages carry ids in JSON; results are stored in rows."""

import os
import warnings
from typing import Any

from celery import Celery
from celery.signals import beat_init, task_postrun, task_prerun, worker_init
from django.conf import settings
from django.db import connections
from django.urls import set_script_prefix
from django.utils.functional import cached_property
from kombu import Exchange, Queue

from config import data_folder, embedded, wrong_settings
from config.schedule import SCHEDULE

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "config.settings")
# Checks of the code are for whoever changes it. They touch every model, which no process then shares with others.
os.environ.setdefault("CELERY_SKIP_CHECKS", "1")

wrong_settings.explain_without_traceback()

# The private servers run as another user; a site whose worker should not be root has a user of its own for it.
warnings.filterwarnings("ignore", message="You're running the worker with superuser")


class Application(Celery):
    @cached_property
    def Worker(self) -> Any:  # noqa: N802 - Celery's name
        # By its name, so that only workers load it.
        return self.subclass_with_self("config.scheduler:Worker")  # type: ignore[arg-type]


app = Application("concord")
app.config_from_object("django.conf:settings", namespace="CELERY")
app.conf.update(
    task_serializer="json",
    accept_content=["json"],
    result_accept_content=["json"],
    result_backend=None,
    task_ignore_result=True,
    # Its own handlers would take the place of those of the site, which hide tokens and texts.
    worker_hijack_root_logger=False,
    broker_connection_retry=True,
    broker_connection_retry_on_startup=True,
    # What a worker serves that is not told otherwise: those of `projects.jobs.queue`, without that of learned metrics.
    task_queues=[Queue(name, Exchange(name), routing_key=name) for name in ("celery", "long", "scoring")],
    beat_schedule=SCHEDULE,
    beat_schedule_filename=str(data_folder.data_dir() / "beat"),
    beat_scheduler="config.scheduler:Scheduler",
)
app.autodiscover_tasks()


@worker_init.connect
@beat_init.connect
def start_servers(**_: object) -> None:
    """Start the private servers for a worker; importing this module alone starts nothing."""
    embedded.ensure_running()


@task_postrun.connect
def close_connections(sender: Any = None, **_: object) -> None:
    """Close the thread's connections to the database: an idle worker holds none, however many threads it has."""
    if not sender.request.is_eager:
        connections.close_all()


@task_prerun.connect
def use_prefix(**_: object) -> None:
    """Give the thread of a task the path prefix of the site, as each request gives it to its own."""
    set_script_prefix(f"{settings.SITE_PATH}/")
