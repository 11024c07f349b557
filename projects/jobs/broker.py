"""Sending tasks to the broker. Celery is loaded with this module, by what sends or runs a task and by nothing else."""

from collections.abc import Iterator
from contextlib import contextmanager
from datetime import datetime

from celery import Celery
from django.conf import settings
from django.utils.module_loading import import_string
from kombu import Connection
from kombu.exceptions import KombuError
from redis import RedisError

ANSWER_SECONDS = 2
ERRORS = (KombuError, RedisError, OSError)
app: Celery = import_string(settings.TASK_APP)


def send(task: str, pk: int, *, queue: str, expires: datetime | None) -> None:
    """Send a task with the id of a row to a queue. Raises one of ERRORS if the broker does not respond."""
    with _connect() as broker:
        app.send_task(task, args=[pk], queue=queue, connection=broker, retry=False, ignore_result=True, expires=expires)


def count_messages(queue: str) -> int:
    """Return how many messages wait in a queue, without those that a worker has taken. Raises one of ERRORS."""
    with _connect() as broker:
        return int(broker.default_channel.queue_declare(queue).message_count)  # type: ignore[attr-defined]


def is_answering() -> bool:
    """Return whether the broker responds."""
    try:
        with _connect():
            return True
    except ERRORS:
        return False


@contextmanager
def _connect() -> Iterator[Connection]:
    """Open a separate connection that fails within seconds, because Celery's shared ones wait long for a broker.

    A broker that has stopped without having ended still takes connections, and answers nothing.
    """
    with app.connection_for_write(transport_options={"socket_timeout": ANSWER_SECONDS}) as broker:
        broker.ensure_connection(max_retries=1, interval_start=0, timeout=ANSWER_SECONDS)
        yield broker
