"""The site as a WSGI application: `config.asgi` serves it."""

import logging
import os
import threading
import time
from collections.abc import Iterable
from typing import Any

from django.conf import settings
from django.core.wsgi import get_wsgi_application

from config import embedded, wrong_settings
from config.assets import refuse_uncollected
from config.checks import refuse_wrong_settings
from config.data_folder import NotAvailable
from config.log_filters import hide_tokens
from config.log_formats import JsonFormatter

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "config.settings")
RETRY_SECONDS = 5.0
"""Between two attempts to join private servers that were down."""


class Rejoining:
    """The application while the private servers are down at its start: it answers 503, and joins them once they run."""

    def __init__(self, inner: Any) -> None:
        self.inner, self.is_joined, self.due_at, self.trying = inner, False, 0.0, threading.Lock()

    def __call__(self, environ: dict[str, Any], start_response: Any) -> Iterable[bytes]:
        if not self.is_joined and time.monotonic() >= self.due_at and self.trying.acquire(blocking=False):
            try:
                self.is_joined = try_to_join()
                self.due_at = time.monotonic() + RETRY_SECONDS
            finally:
                self.trying.release()
        answer: Iterable[bytes] = self.inner(environ, start_response)
        return answer


def try_to_join() -> bool:
    """Join the private servers, and return whether they run. Raises NotAvailable if waiting will not help."""
    try:
        embedded.ensure_running()
    except NotAvailable:
        if not embedded.find_trouble():
            raise
        return False
    return True


wrong_settings.explain_without_traceback()
has_joined = try_to_join()
django_application = get_wsgi_application()
application = django_application if has_joined else Rejoining(django_application)

# The web server has configured its own logs by now: none of them contains links that are secrets.
for name in ("gunicorn.access", "gunicorn.error"):
    for handler in logging.getLogger(name).handlers:
        handler.addFilter(hide_tokens)
        if settings.LOG_FORMAT == "json":
            handler.setFormatter(JsonFormatter())

refuse_wrong_settings()
refuse_uncollected()
