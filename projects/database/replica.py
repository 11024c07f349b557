"""Reading from a replica of the database, where one is named that is current enough.

Results, exports and lists of the API may be a few seconds old, and cost the most; a replica answers them. Who may read
what is asked of the server itself before, so that nobody sees more for longer because a replica lags.
"""

import logging
import threading
import time
from collections import deque
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TypeVar

from django.conf import settings
from django.db import DEFAULT_DB_ALIAS, DatabaseError, InterfaceError, connections
from django.http import Http404

from projects.database import shared_memory
from projects.database.outages import is_query_cancelled, is_unavailable
from projects.errors import Refused

logger = logging.getLogger(__name__)
T = TypeVar("T")
REPLICA = "replica"
LOOK_SECONDS = 0.5
"""The shortest time between two looks at how far the replica is."""
LONGEST_LOOK_SECONDS = 1.0
"""How long a look may take: a replica whose machine has stopped answers nothing, and refuses nothing either."""
REST_SECONDS = 10.0
"""How long a replica is left alone that did not answer."""
MARGIN_SECONDS = 2
"""Added to the bound on lag for people who have just written: a request takes time, too."""
_PRIMARY = "SELECT pg_current_wal_lsn() - '0/0'"
_REPLICA = "SELECT pg_last_wal_replay_lsn() - '0/0' WHERE pg_is_in_recovery()"


class ReplicaPosition:
    """Up to which moment the replica has everything that the server had.

    Positions in the log of changes are compared, with the times at which the server was there: clocks need not agree,
    a server at rest is not taken for a lag, and a replica that is cut off is not taken for a current one.
    """

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._lock = threading.Lock()
        self._moments: deque[tuple[float, int]] = deque(maxlen=256)
        self._looked_at = self._complete_until = self._down_until = float("-inf")
        self._look_began: float | None = None
        self._was_current = True

    def is_current(self, ask: Callable[[str, str], int | None]) -> bool:
        """Return whether the replica lags by no more than the bound. `ask` sends a statement to one of the two."""
        now = self._clock()
        if now < self._down_until:
            return False
        if (began := self._look_began) is not None and now - began > LONGEST_LOOK_SECONDS:
            logger.warning("The replica does not answer within a second.")
            self.rest()
            return False
        if now - self._looked_at >= LOOK_SECONDS and self._lock.acquire(blocking=False):
            try:
                self._looked_at = self._look_began = now
                self._look(ask)
            finally:
                self._look_began = None
                self._lock.release()
        now = self._clock()
        return now >= self._down_until and now - self._complete_until <= settings.REPLICA_MAX_LAG

    def rest(self, seconds: float = REST_SECONDS) -> None:
        """Leave the replica alone for a while: it has failed."""
        self._down_until = max(self._down_until, self._clock() + seconds)

    def _look(self, ask: Callable[[str, str], int | None]) -> None:
        began = self._clock()
        try:
            there = ask(DEFAULT_DB_ALIAS, _PRIMARY)
            replayed = ask(REPLICA, _REPLICA)
        except (DatabaseError, InterfaceError) as error:
            logger.warning("The replica does not answer: %s", " ".join(str(error).split()))
            self.rest()
            return
        if there is None or replayed is None:
            logger.warning("REPLICA_URL leads to a server that is no replica.")
            self.rest()
            return
        self._moments.append((began, there))
        reached = [moment for moment, position in self._moments if position <= replayed]
        if reached:
            self._complete_until = max(self._complete_until, reached[-1])
        is_current = began - self._complete_until <= settings.REPLICA_MAX_LAG
        if is_current != self._was_current:
            how = "is current again" if is_current else f"is more than {settings.REPLICA_MAX_LAG} seconds behind"
            logger.warning("The replica %s.", how)
        self._was_current = is_current


_progress = ReplicaPosition()


def read_from_replica(read: Callable[[], T], account: int) -> T:
    """Return what `read` returns, which only reads: from the replica, if it has all that the account has written.

    What is not found there, or fails there, is asked of the server itself: it may be newer than the replica.
    """
    if not settings.HAS_REPLICA or connections[DEFAULT_DB_ALIAS].in_atomic_block:
        return read()
    if not _progress.is_current(_ask) or _may_have_written(account):
        return read()
    try:
        with _replica():
            return read()
    except (Http404, Refused):
        return read()
    except (DatabaseError, InterfaceError) as error:
        if is_query_cancelled(error) or not is_unavailable(error):
            raise
        logger.warning("The replica failed, and the server answers instead: %s", " ".join(str(error).split()))
        if not connections[REPLICA].is_usable():
            connections[REPLICA].close()
            _progress.rest()
    return read()


def note_write(account: int) -> None:
    """Let the account read from the server itself until the replica has what it has written, on every host."""
    if settings.HAS_REPLICA:
        try:
            shared_memory.prolong(f"wrote.{account}", seconds=find_bound())
        except shared_memory.MemoryUnavailable as error:
            _read_nothing_for_a_while(error)


def find_bound() -> float:
    """Return after how many seconds a replica that is read has what was written; 0 without one."""
    return settings.REPLICA_MAX_LAG + MARGIN_SECONDS if settings.HAS_REPLICA else 0


def _may_have_written(account: int) -> bool:
    """Return whether the account has just written, or nobody can tell."""
    try:
        return shared_memory.is_remembered(f"wrote.{account}")
    except shared_memory.MemoryUnavailable as error:
        _read_nothing_for_a_while(error)
        return True


def _read_nothing_for_a_while(error: Exception) -> None:
    logger.warning("The replica is not read, because the broker can't say who has just written: %s", error)
    _progress.rest(find_bound())


@contextmanager
def _replica() -> Iterator[None]:
    """Let the statements of this thread go to the replica during the block."""
    server = connections[DEFAULT_DB_ALIAS]
    connections[DEFAULT_DB_ALIAS] = connections[REPLICA]
    try:
        yield
    finally:
        connections[DEFAULT_DB_ALIAS] = server


def _ask(alias: str, sql: str) -> int | None:
    with connections[alias].cursor() as cursor:
        cursor.execute(sql)
        row = cursor.fetchone()
    return None if row is None or row[0] is None else int(row[0])
