"""Counts and times of requests, over all web processes of the site.

Each process writes its numbers to a file in a folder that they share, and the one that answers a scrape adds them up.
Without that folder nothing is measured: a process would show its own requests alone, and another one at each scrape.
"""

from pathlib import Path

from django.conf import settings
from prometheus_client import CollectorRegistry, Counter, Histogram
from prometheus_client.multiprocess import MultiProcessCollector

if settings.REQUEST_METRICS_DIR:
    Path(settings.REQUEST_METRICS_DIR).mkdir(mode=0o700, parents=True, exist_ok=True)

# To a person, a tenth of a second is at once and a second is a wait.
BUCKETS = (0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0)

_own = CollectorRegistry()
REQUESTS = Counter("concord_requests", "Requests answered", ["method", "status"], registry=_own)
SECONDS = Histogram("concord_request_seconds", "Seconds to an answer", ["route"], buckets=BUCKETS, registry=_own)
METHODS = frozenset({"GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"})


def record(*, method: str, status: int, route: str, seconds: float) -> None:
    """Count one request. A method that a client invents is counted as “other”, as it would fill the disk."""
    REQUESTS.labels(method if method in METHODS else "other", str(status)).inc()
    SECONDS.labels(route).observe(seconds)


def register(registry: CollectorRegistry) -> None:
    """Let a registry show the sums over all processes."""
    MultiProcessCollector(registry, path=settings.REQUEST_METRICS_DIR)  # type: ignore[no-untyped-call]
