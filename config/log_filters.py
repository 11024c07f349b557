"""What the log leaves out."""

import logging

from django.core.exceptions import PermissionDenied


def drop_refusal_traceback(record: logging.LogRecord) -> bool:
    """Keep the line of a refused request and drop its traceback: a refusal is an answer and no fault of the code."""
    if record.exc_info and isinstance(record.exc_info[1], PermissionDenied):
        record.exc_info = record.exc_text = None
    return True
