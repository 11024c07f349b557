"""The options of gunicorn: `gunicorn -c python:config.web.options --bind 127.0.0.1:8000`."""

import gc
from typing import Any

wsgi_app = "config.asgi"
worker_class = "config.web.gunicorn_worker.Worker"
workers = 2
worker_connections = 4_000  # open at once in a process; most of them are idle
preload_app = True
keepalive = 65  # seconds; longer than proxies keep theirs, so that none sends a request into a closing connection
timeout = 120  # seconds without a sign of life after which a process is replaced
graceful_timeout = 30  # seconds in which requests may end; no statement takes longer (STATEMENT_SECONDS)
loglevel = "warning"
control_socket_disable = True


def when_ready(server: Any) -> None:
    """Keep what is loaded by now out of the processes' searches for unreachable objects, so that they share it."""
    gc.freeze()
