"""What logs leave out."""

import logging
import re
from collections.abc import Iterator

from django.core.exceptions import PermissionDenied
from django.db.utils import DatabaseError, Error, InterfaceError, InternalError, OperationalError

from projects.database.outages import is_disk_full

_TOKEN = re.compile(
    r"""(?<!/p) (?<!%2fp) (?P<kept> (?:/|%2f) (?: join (?:/|%2f) | reset (?:/|%2f) [\w-]+ (?:/|%2f) ) ) [\w-]+""",
    re.IGNORECASE | re.VERBOSE,
)
"""The address of an invitation or of a reset link, as it is or within a query. A project may be called “join”."""

_ARRIVAL = re.compile(r"""(?<!/p)(?P<kept>(?:/|%2f)panel(?:/|%2f))[^\s"']+""", re.IGNORECASE)
"""The address with which a panel's participant arrives: the panel's token, and the platform's ids in the query."""

_OUTAGES = frozenset({None, "53100", "57P01", "57P02", "57P03", "25006"})
"""PostgreSQL's codes where no statement is at fault: no connection, full disk, shutdown, crash, start, being moved."""


def drop_refusal_traceback(record: logging.LogRecord) -> bool:
    """Keep the line of a refused request and drop its traceback: a refusal is an answer and no fault of the code.

    While the database is down or the disk full, every request fails: each gets one line with the reason, also because
    a disk that is full may hold no more.
    """
    error = record.exc_info[1] if record.exc_info else None
    if is_disk_full(error) or (isinstance(error, DatabaseError | InterfaceError) and _find_code(error) in _OUTAGES):
        reason = " ".join(str(error).split())
        record.msg, record.args = f"{record.getMessage()} ({reason})", ()
        record.exc_info = record.exc_text = None
    elif isinstance(error, PermissionDenied):
        record.exc_info = record.exc_text = None
    return True


def _find_code(error: Exception) -> str | None:
    is_outage = isinstance(error, OperationalError | InternalError | InterfaceError)
    return getattr(error.__cause__, "pgcode", None) if is_outage else ""


def hide_tokens(record: logging.LogRecord) -> bool:
    """Keep the line of a request for an invitation, a reset link or a panel, without its token and the ids in it."""
    try:
        message = record.getMessage()
    except Exception:  # noqa: BLE001 - logging itself reports a message that does not fit its arguments
        return True
    hidden = _ARRIVAL.sub(r"\g<kept>…", _TOKEN.sub(r"\g<kept>…", message))
    if hidden != message:
        record.msg, record.args = hidden, ()
    return True


def hide_rows(record: logging.LogRecord) -> bool:
    """Keep of what PostgreSQL says of a statement what went wrong, without the texts of the row that it quotes."""
    if record.exc_info and record.exc_info[1] and any(isinstance(each, Error) for each in _chain(record.exc_info[1])):
        text = logging.Formatter().formatException(record.exc_info)
        for error in _chain(record.exc_info[1]):
            if str(error):
                text = text.replace(str(error), _leave_out_values(str(error)))
        record.exc_text = text
    return True


def _leave_out_values(message: str) -> str:
    """Return the start of the first line: the other lines quote a row, and after a colon the first quotes a value."""
    start, colon, _ = message.partition("\n")[0].partition(': "')
    return f"{start}: …" if colon else start


def _chain(error: BaseException | None) -> Iterator[BaseException]:
    """Yield an error, and those that it came from."""
    while error is not None:
        yield error
        error = error.__cause__ or error.__context__
