"""What all hosts remember for some seconds, in the broker that they share. What is lost with it is not needed."""

import re
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from typing import TYPE_CHECKING

from django.conf import settings

# Loaded with the first question: most processes ask none.
if TYPE_CHECKING:
    from redis import Redis

ANSWER_SECONDS = 1.0
"""How long the broker may take: whoever asks goes on without it."""


class MemoryUnavailable(Exception):
    """The broker does not respond, or refuses."""


def remember(name: str, *, seconds: float, longest: float) -> bool:
    """Remember a name for some seconds; return False if it is remembered already. Raises MemoryUnavailable.

    The broker forgets it at a time of day. A name that would be remembered for longer than `longest` seconds was told
    before the broker's clock was set back, and is remembered anew.
    """
    with _memory() as memory:
        if memory.set(_prefix(name), 1, nx=True, px=_milliseconds(seconds)):
            return True
        if memory.pttl(_prefix(name)) <= _milliseconds(longest):
            return False
    prolong(name, seconds=seconds)
    return True


def prolong(name: str, *, seconds: float) -> None:
    """Remember a name for some seconds from now on. Raises MemoryUnavailable."""
    with _memory() as memory:
        memory.set(_prefix(name), 1, px=_milliseconds(seconds))


def is_remembered(name: str) -> bool:
    """Return whether a name is remembered. Raises MemoryUnavailable."""
    with _memory() as memory:
        return bool(memory.exists(_prefix(name)))


def forget(name: str) -> None:
    """Forget a name. Raises MemoryUnavailable."""
    with _memory() as memory:
        memory.delete(_prefix(name))


def _milliseconds(seconds: float) -> int:
    return max(1, int(1000 * seconds))


def _prefix(name: str) -> str:
    return f"concord.{name}"


@contextmanager
def _memory() -> "Iterator[Redis]":
    from redis import RedisError

    try:
        yield _connect()
    except RedisError as error:
        raise MemoryUnavailable(str(error)) from error


@cache
def _connect() -> "Redis":
    from redis import Redis

    # Celery's names for an address on a socket, and for what certificates have to be, differ from the library's.
    url = settings.CELERY_BROKER_URL.replace("redis+socket://", "unix://").replace("?virtual_host=", "?db=")
    url = re.sub(r"(?<=ssl_cert_reqs=)CERT_\w+", lambda found: found[0].removeprefix("CERT_").lower(), url)
    return Redis.from_url(url, socket_timeout=ANSWER_SECONDS, socket_connect_timeout=ANSWER_SECONDS)
