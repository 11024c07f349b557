"""Errors that are of what the site runs on, and not of what was asked of it: the same may succeed a little later."""

import errno

from django.db import InterfaceError, OperationalError
from django.db.utils import InternalError
from psycopg2.errorcodes import QUERY_CANCELED, READ_ONLY_SQL_TRANSACTION

# A disk with errors is mounted again, read-only, by itself.
_UNWRITABLE = (errno.ENOSPC, errno.EDQUOT, errno.EROFS)


def is_unavailable(error: BaseException | None) -> bool:
    """Return whether database or disk can't do it now: the one is down, overloaded or moved, the other unwritable."""
    if isinstance(error, InternalError):
        return getattr(error.__cause__, "pgcode", "") == READ_ONLY_SQL_TRANSACTION
    return is_disk_unwritable(error) or isinstance(error, OperationalError | InterfaceError)


def is_disk_unwritable(error: BaseException | None) -> bool:
    """Return whether the disk takes nothing more: it is full, or read-only."""
    return isinstance(error, OSError) and error.errno in _UNWRITABLE


def is_query_cancelled(error: BaseException) -> bool:
    """Return whether somebody cancelled the statement, or it ran longer than it may."""
    return isinstance(error, OperationalError) and getattr(error.__cause__, "pgcode", "") == QUERY_CANCELED
