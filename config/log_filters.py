"""What logs leave out."""

import logging
import re

from django.core.exceptions import PermissionDenied

_TOKEN = re.compile(
    r"""(?<!/p) (?<!%2fp) (?P<kept> (?:/|%2f) (?: join (?:/|%2f) | reset (?:/|%2f) [\w-]+ (?:/|%2f) ) ) [\w-]+""",
    re.IGNORECASE | re.VERBOSE,
)
"""The address of an invitation or of a reset link, as it is or within a query. A project may be called “join”."""


def drop_refusal_traceback(record: logging.LogRecord) -> bool:
    """Keep the line of a refused request and drop its traceback: a refusal is an answer and no fault of the code."""
    if record.exc_info and isinstance(record.exc_info[1], PermissionDenied):
        record.exc_info = record.exc_text = None
    return True


def hide_tokens(record: logging.LogRecord) -> bool:
    """Keep the line of a request for an invitation or a reset link, without its token."""
    try:
        message = record.getMessage()
    except Exception:  # noqa: BLE001 - logging itself reports a message that does not fit its arguments
        return True
    hidden = _TOKEN.sub(r"\g<kept>…", message)
    if hidden != message:
        record.msg, record.args = hidden, ()
    return True
