"""What all hosts remember for some seconds, in the broker that they share. What is lost with it is not needed."""

import re
from functools import cache

import redis
from django.conf import settings

ANSWER_SECONDS = 1.0
"""How long the broker may take: whoever asks goes on without it."""
FAILURES = redis.RedisError


def remember(name: str, *, seconds: float, longest: float) -> bool:
    """Remember a name for some seconds; return False if it is remembered already. Raises one of FAILURES.

    The broker forgets it at a time of day. A name that would be remembered for longer than `longest` seconds was told
    before the broker's clock was set back, and is remembered anew.
    """
    if _connect().set(_prefix(name), 1, nx=True, px=_milliseconds(seconds)):
        return True
    if _connect().pttl(_prefix(name)) <= _milliseconds(longest):
        return False
    prolong(name, seconds=seconds)
    return True


def prolong(name: str, *, seconds: float) -> None:
    """Remember a name for some seconds from now on. Raises one of FAILURES."""
    _connect().set(_prefix(name), 1, px=_milliseconds(seconds))


def is_remembered(name: str) -> bool:
    """Return whether a name is remembered. Raises one of FAILURES."""
    return bool(_connect().exists(_prefix(name)))


def forget(name: str) -> None:
    """Forget a name. Raises one of FAILURES."""
    _connect().delete(_prefix(name))


def _milliseconds(seconds: float) -> int:
    return max(1, int(1000 * seconds))


def _prefix(name: str) -> str:
    return f"concord.{name}"


@cache
def _connect() -> "redis.Redis":
    # Celery's names for an address on a socket, and for what certificates have to be, differ from the library's.
    url = settings.CELERY_BROKER_URL.replace("redis+socket://", "unix://").replace("?virtual_host=", "?db=")
    url = re.sub(r"(?<=ssl_cert_reqs=)CERT_\w+", lambda found: found[0].removeprefix("CERT_").lower(), url)
    return redis.Redis.from_url(url, socket_timeout=ANSWER_SECONDS, socket_connect_timeout=ANSWER_SECONDS)
