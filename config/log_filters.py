"""What logs leave out."""

import logging
import re
from collections.abc import Iterable, Iterator, Mapping

from django.core.exceptions import PermissionDenied, SuspiciousOperation
from django.db.utils import DatabaseError, Error, InterfaceError, InternalError, OperationalError

from projects.database.outages import is_disk_unwritable

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

    While the database is down or the disk unwritable, every request fails: each gets one line with the reason, also
    because a disk that is full may hold no more.
    """
    error = record.exc_info[1] if record.exc_info else None
    if is_disk_unwritable(error) or (
        isinstance(error, DatabaseError | InterfaceError) and _find_code(error) in _OUTAGES
    ):
        reason = " ".join(str(error).split())
        record.msg, record.args = f"{record.getMessage()} ({reason})", ()
        record.exc_info = record.exc_text = None
    elif isinstance(error, PermissionDenied | SuspiciousOperation):
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
    """Keep of what PostgreSQL says of a statement what went wrong, without the texts of the row that it quotes.

    That is in the traceback, in errors that are arguments of the message, and in the message where it has the text of
    the traceback's error, as Celery's has.
    """
    raised = record.exc_info[1] if record.exc_info else None
    errors = [each for error in (raised, *_list_arguments(record)) for each in _chain(error)]
    if not any(isinstance(error, Error) for error in errors):
        return True
    if record.exc_info and raised:
        record.exc_text = _leave_out(logging.Formatter().formatException(record.exc_info), errors)
    try:
        message = record.getMessage()
    except Exception:  # noqa: BLE001 - logging itself reports a message that does not fit its arguments
        return True
    hidden = _leave_out(message, errors)
    if hidden != message:
        record.msg, record.args = hidden, ()
    return True


def _list_arguments(record: logging.LogRecord) -> list[BaseException]:
    arguments = record.args.values() if isinstance(record.args, Mapping) else record.args or ()
    return [each for each in arguments if isinstance(each, BaseException)]


def _leave_out(text: str, errors: Iterable[BaseException]) -> str:
    """Return a text without the values that errors in it quote, as they are or as their representation."""
    for error in errors:
        if message := str(error):
            kept = _leave_out_values(message)
            text = text.replace(message, kept).replace(repr(message), repr(kept))
    return text


def _leave_out_values(message: str) -> str:
    """Return the start of the first line: the other lines quote a row, and after a colon the first quotes a value."""
    start, colon, _ = message.partition("\n")[0].partition(': "')
    return f"{start}: …" if colon else start


def _chain(error: BaseException | None) -> Iterator[BaseException]:
    """Yield an error, and those that it came from."""
    while error is not None:
        yield error
        error = error.__cause__ or error.__context__
