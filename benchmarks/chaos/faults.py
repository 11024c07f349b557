"""What can happen to a site: each fault as a state that is held for a while, or a process that is ended."""

import os
import signal
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, ExitStack, contextmanager, suppress
from dataclasses import dataclass
from functools import partial

from benchmarks.chaos.proxies import Proxy, Weather
from benchmarks.chaos.site import Site, wait_until

CLOCK_STEP_SECONDS = 3600


@dataclass(frozen=True)
class Fault:
    name: str
    make: Callable[[], AbstractContextManager[None]]
    lasts: bool = False
    """Whether it is held for a while, or over at once."""
    is_lived_with: bool = False
    """Whether the site has to work while it is held, and not only afterwards."""
    stops_jobs: bool = False
    obstacle: str = ""
    """Why it cannot happen here."""


def list_faults(site: Site) -> list[Fault]:
    def kill(find: Callable[[], Sequence[int]]) -> Callable[[], AbstractContextManager[None]]:
        return partial(signalled, signal.SIGKILL, find)

    def end(find: Callable[[], Sequence[int]]) -> Callable[[], AbstractContextManager[None]]:
        return partial(signalled, signal.SIGTERM, find)

    def find_postgres() -> list[int]:
        return site.find_server("bin/postgres")

    no_disk, no_clock = site.disk.obstacle, site.clock.obstacle
    return [
        Fault("kill web master", kill(lambda: site.find_processes("gunicorn", depth=1))),
        Fault("restart web server", end(lambda: site.find_processes("gunicorn", depth=1))),
        Fault("restart Celery worker", end(lambda: site.find_processes("celery", depth=1)), stops_jobs=True),
        Fault("kill web worker", kill(lambda: site.find_processes("gunicorn", depth=2))),
        Fault("kill Celery worker", kill(lambda: site.find_processes("celery", depth=1)), stops_jobs=True),
        Fault("kill PostgreSQL", kill(find_postgres), stops_jobs=True),
        Fault("kill Valkey", kill(lambda: site.find_server("valkey-server")), stops_jobs=True),
        *_list_weather("PostgreSQL", site.postgres),
        *_list_weather("Valkey", site.valkey),
        Fault("disk full", site.disk.full, lasts=True, stops_jobs=True, obstacle=no_disk),
        Fault(
            "disk full, PostgreSQL killed",
            partial(both, site.disk.full, kill(find_postgres)),
            lasts=True,
            stops_jobs=True,
            obstacle=no_disk,
        ),
        Fault(
            "clock back an hour",
            partial(site.clock.set_back, CLOCK_STEP_SECONDS),
            lasts=True,
            is_lived_with=True,
            stops_jobs=True,
            obstacle=no_clock,
        ),
    ]


def _list_weather(server: str, proxy: Proxy) -> Iterator[Fault]:
    for word, weather in (("slow", Weather.SLOW), ("resets", Weather.BROKEN), ("silent", Weather.SILENT)):
        yield Fault(f"{server} {word}", partial(proxy.weather, weather), lasts=True, stops_jobs=True)


@contextmanager
def signalled(number: signal.Signals, find: Callable[[], Sequence[int]]) -> Iterator[None]:
    """Send a signal to the first process that is found; the last fault may have left none for a moment."""
    wait_until(find)
    for pid in list(find())[:1]:
        with suppress(ProcessLookupError):
            os.kill(pid, number)
    yield


@contextmanager
def both(*states: Callable[[], AbstractContextManager[None]]) -> Iterator[None]:
    with ExitStack() as stack:
        for state in states:
            stack.enter_context(state())
        yield
