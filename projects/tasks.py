"""Periodic tasks of the workers for all apps, and the signs of life of the workers and the scheduler."""

import logging
import threading
import time
from collections.abc import Iterable
from typing import Any

from celery import shared_task
from celery.signals import celeryd_after_setup, worker_ready, worker_shutting_down
from django.core.management import call_command
from django.db import Error, connection

from projects.accounts import throttling
from projects.jobs import queue, slots
from projects.models import Guesses, Pulse
from projects.settings import purging
from projects.web import uploads
from projects.webhooks import delivering

logger = logging.getLogger(__name__)


@shared_task(name="projects.ring_queued_jobs", ignore_result=True)
def announce_waiting_jobs() -> None:
    Pulse.beat(Pulse.BEAT)  # this task runs only if the scheduler sends it, so running it shows that it is alive
    queue.enqueue_waiting()


# The name of a task is part of the messages in the broker, so it stays even if the function is renamed.
@shared_task(name="projects.clear_sessions", ignore_result=True)
def clear_sessions() -> None:
    call_command("clearsessions")
    Guesses.forget_old()
    throttling.forget_old()
    delivering.forget_old()
    uploads.clear_temporary(time.time())


@shared_task(name="projects.purge_deleted", ignore_result=True)
def purge_deleted() -> None:
    purging.purge_due()


@shared_task(name="projects.deliver_messages", ignore_result=True)
def deliver_messages() -> None:
    with slots.take_to_send() as is_free:
        if is_free:
            delivering.deliver_waiting()


@celeryd_after_setup.connect
def share_threads(sender: Any = None, instance: Any = None, **_: object) -> None:
    """Keep a thread of this worker free for short jobs, before it takes its first message."""
    slots.limit(n_threads=instance.concurrency, queues=instance.app.amqp.queues.consume_from)


@worker_ready.connect
def start_pulse(sender: Any = None, **_: object) -> None:
    slots.is_ending.clear()
    names = find_pulses(sender.app.amqp.queues.consume_from if sender is not None else ())
    threading.Thread(target=_pulse, args=[names], name="pulse", daemon=True).start()


def find_pulses(queues: Iterable[str]) -> list[str]:
    """Return under which names a worker of these queues shows that it is alive."""
    return [queue.PULSES[each] for each in queues if each in queue.PULSES] or [Pulse.WORKER]


@worker_shutting_down.connect
def stop_pulse(**_: object) -> None:
    slots.is_ending.set()


def _pulse(names: Iterable[str]) -> None:
    """Store every few seconds that this worker is alive; a thread of its own, as all others may be busy with jobs."""
    while True:
        try:
            for name in names:
                Pulse.beat(name)
        except Error:
            logger.warning("The worker's pulse could not be stored.", exc_info=True)
        finally:
            connection.close()  # a connection held by a thread that sleeps would count against the server's limit
        if slots.is_ending.wait(Pulse.EVERY_SECONDS):
            return
