"""Advisory locks: every key that the project uses, by name."""

from enum import IntEnum, unique

from django.db import connection


@unique
class AdvisoryLock(IntEnum):
    """The first of the two keys of a lock within a project; the second is the project's id."""

    MEMBERS = 7_301_554
    """Changes of a project's members. Not the project's row, which a long import locks for minutes."""
    PAYMENTS = 7_301_555
    """Payments of a project, recorded one after another so that nobody is paid twice."""
    FIRST_OWNER = 7_301_556
    """The first account of the site; there is no project yet, so the second key is 0."""
    WITHDRAWALS = 7_301_557
    """Withdrawals of candidates, and the end of an import that may have written judgments of them."""
    ARRIVALS = 7_301_563
    """Arrivals of new participants, who may come by the links of two panels at once."""
    MESSAGES = 7_301_562
    """Choosing the next message to a webhook, for all projects: those to one address are sent one after another."""
    FIGURES = 7_301_561
    """Figures of a project's annotators, computed by one process at a time."""


MIGRATIONS = 0x434F4E43
"""The key under which one process migrates while the others wait.

PostgreSQL keeps locks with one key apart from locks with two, so it cannot clash with those above.
"""


def lock_in_project(lock: AdvisoryLock, project_id: int) -> None:
    """Take the project's lock of this name until the transaction ends, waiting for whoever holds it."""
    with connection.cursor() as cursor:
        cursor.execute("SELECT pg_advisory_xact_lock(%s, %s)", [lock, project_id])
