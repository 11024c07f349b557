"""An id for each request: in its answer, on error pages and in every line of the log that it causes."""

import logging
import re
import secrets
from collections.abc import Callable
from contextvars import ContextVar
from typing import Any

from django.conf import settings
from django.core.signals import request_finished
from django.http import HttpRequest, HttpResponse

HEADER = "X-Request-ID"
NO_REQUEST = "-"
_FROM_PROXY = re.compile(r"[\w.:-]{8,64}", re.ASCII)
_current: ContextVar[str] = ContextVar("request_id", default=NO_REQUEST)


class RequestIdMiddleware:
    """Give every request an id, or take that of the operator's own proxy. The outermost middleware."""

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponse]) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponse:
        request_id = _read_from_proxy(request) or secrets.token_hex(8)
        request.request_id = request_id  # type: ignore[attr-defined]
        _current.set(request_id)
        response = self.get_response(request)
        response.headers[HEADER] = request_id
        return response


def current() -> str:
    """Return the id of the request that this thread answers, or a dash."""
    return _current.get()


def add_request_id(record: logging.LogRecord) -> bool:
    """Add the id to a line of the log, as the field `request_id`."""
    # Django logs a refused request when the middleware are done, with the request at hand.
    record.request_id = getattr(getattr(record, "request", None), "request_id", None) or _current.get()
    return True


def _read_from_proxy(request: HttpRequest) -> str:
    """Return the id that the proxy has given; a client's own counts for nothing, because it could be another's."""
    sent = request.headers.get(HEADER, "") if settings.N_PROXIES else ""
    return sent if _FROM_PROXY.fullmatch(sent) else ""


def _forget(**_: Any) -> None:
    # Not in the middleware: an answer may still be written when it is done.
    _current.set(NO_REQUEST)


request_finished.connect(_forget, dispatch_uid="request_ids")
