"""Who has written something within the last seconds, on whatever host: the broker remembers it, which all share."""

from contextlib import suppress
from functools import cache

import redis
from django.conf import settings

ANSWER_SECONDS = 1.0


def note(account: int, *, seconds: int) -> None:
    """Remember for some seconds that the account has written. Without the broker nothing is remembered."""
    with suppress(redis.RedisError):
        _broker().set(_name(account), 1, ex=seconds)


def may_have_written(account: int) -> bool:
    """Return whether the account has written, or the broker can't be asked."""
    try:
        return bool(_broker().exists(_name(account)))
    except redis.RedisError:
        return True


def _name(account: int) -> str:
    return f"concord.wrote.{account}"


@cache
def _broker() -> "redis.Redis":
    # Celery's name for an address on a socket differs from the library's.
    url = settings.CELERY_BROKER_URL.replace("redis+socket://", "unix://").replace("?virtual_host=", "?db=")
    return redis.Redis.from_url(url, socket_timeout=ANSWER_SECONDS, socket_connect_timeout=ANSWER_SECONDS)
