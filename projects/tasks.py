"""Errands of the workers for all apps, and their pulse."""

import logging
import threading
import time

from celery import shared_task
from celery.signals import worker_ready, worker_shutting_down
from django.core.management import call_command
from django.db import DatabaseError, connection

from projects.jobs import queue
from projects.models import Guesses, Pulse
from projects.web import uploads

logger = logging.getLogger(__name__)

_is_ending = threading.Event()


@shared_task(name="projects.ring_queued_jobs", ignore_result=True)
def ring_queued_jobs() -> None:
    Pulse.beat(Pulse.BEAT)
    queue.enqueue_waiting()


@shared_task(name="projects.clear_sessions", ignore_result=True)
def clear_sessions() -> None:
    call_command("clearsessions")
    Guesses.forget_old()
    uploads.clear_temporary(time.time())


@worker_ready.connect
def start_pulse(**_: object) -> None:
    _is_ending.clear()
    threading.Thread(target=_pulse, name="pulse", daemon=True).start()


@worker_shutting_down.connect
def stop_pulse(**_: object) -> None:
    _is_ending.set()


def _pulse() -> None:
    """Say that this worker lives, whatever its threads are busy with."""
    while True:
        try:
            Pulse.beat(Pulse.WORKER)
        except DatabaseError:
            logger.warning("The worker's pulse could not be stored.", exc_info=True)
        finally:
            connection.close()
        if _is_ending.wait(Pulse.EVERY_SECONDS):
            return
