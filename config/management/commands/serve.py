"""Run the whole site: database, broker, web server and worker."""

import errno
import os
import socket
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from functools import partial
from ipaddress import ip_address
from pathlib import Path
from signal import SIGINT, SIGKILL
from tempfile import TemporaryDirectory
from typing import IO, Any, TypeVar

from django.conf import settings
from django.core.exceptions import ImproperlyConfigured
from django.core.management import BaseCommand, CommandError, CommandParser, call_command, get_commands
from django.db import Error

from config import assets, data_folder, database_errors, embedded, file_locks
from config.backups import moving
from config.checks import refuse_wrong_settings
from config.forks import Task
from config.migrating import bring_up_to_date
from config.supervisor import Child, Upkeep, supervise
from measures.neural.environment import is_installed
from projects.options import MOST_PORT, whole_number

DEFAULT_PORT = 8000
NO_ADDRESS = "{host} is no address of this machine. Give one with --host."
T = TypeVar("T")


class Command(BaseCommand):
    help = "Run the site: migrate, collect static files, and keep the web server and the worker running."
    requires_system_checks: list[str] = []

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("--host", default="127.0.0.1", help="address to listen on (default 127.0.0.1)")
        parser.add_argument(
            "--port",
            type=whole_number(least=0, most=MOST_PORT),
            help=f"default {DEFAULT_PORT}, or another free port if that is in use",
        )
        parser.add_argument(
            "--workers", type=whole_number(least=1), default=2, help="number of web processes (default 2)"
        )
        parser.add_argument(
            "--allow-plain-http",
            action="store_true",
            help="listen to other machines although no TLS proxy is declared: passwords and sessions can then be read "
            "and changed by everyone on the way",
        )
        parser.add_argument("--demo", action="store_true", help="create the demo project if there is no project yet")

    def handle(
        self, *, host: str, port: int | None, workers: int, demo: bool, allow_plain_http: bool = False, **_: Any
    ) -> None:
        if not allow_plain_http:
            refuse_plain_http(host)
        try:
            refuse_wrong_settings()
        except ImproperlyConfigured as reason:
            raise CommandError(str(reason)) from reason
        with _shared_request_metrics():
            code = self._prepare(demo=demo)
            self._supervise(host, port, workers, code)
        self._say("Stopped.")

    def _prepare(self, *, demo: bool) -> str:
        """Bring the data up to date and load the programs' modules at the same time; return the first account's code.

        This process itself opens no connection and starts no thread, since it is forked afterwards.
        """
        # Not before: the module that counts requests reads when it is loaded where to.
        from config import preloading

        migrating = Task(partial(_explained, partial(_migrate, self._say)))
        preloading.load_modules()
        collecting = Task(partial(_explained, assets.collect))
        migrating.wait()
        code = Task(partial(_explained, partial(self._fill, demo=demo))).wait()
        collecting.wait()
        return code

    def _fill(self, *, demo: bool) -> str:
        if demo:
            self._load_demo()
        return self._find_first_code()

    def _supervise(self, host: str, port: int | None, workers: int, code: str) -> None:
        port = self._choose_port(host, port)
        place = f"[{host}]:{port}" if ":" in host else f"{host}:{port}"
        address = f"http://{place}/"
        worker = Child("worker", worker_command(has_beat=False), hasty_signal=SIGKILL)
        web = Child("web server", web_words(place, workers), hasty_signal=SIGINT)
        beat = Beat(worker)
        beat.try_to_take()
        children = [web, worker]

        def say_ready() -> bool:
            if not _listens(host, port):
                return False
            self._say(f"\nConcord is at {address}\nCtrl+C stops it.")
            if code:
                self._say(
                    f"\nThis site has no account yet. Create the first owner at {address}first-owner/\nCode: {code}"
                )
            return True

        upkeep = Upkeep(embedded.ensure_running, embedded.find_trouble, self._say)

        def look() -> None:
            upkeep.look()
            with suppress(OSError):  # a folder on another host may be away for a while
                beat.try_to_take()
                # Not before there is a model: a worker takes memory.
                if len(children) == 2 and has_models():
                    children.append(Child("worker for learned metrics", neural_command(), hasty_signal=SIGKILL))

        supervise(children, say=self._say, on_ready=say_ready, each_second=look)

    def _say(self, text: str) -> None:
        with suppress(OSError):  # a log on a full disk, or one that nobody reads any more, ends no site
            self.stdout.write(text)
            self.stdout.flush()

    def _load_demo(self) -> None:
        from projects.models import Project

        if "demo" in get_commands() and not Project.objects.exists():
            self._say("Creating the demo project …")
            call_command("demo", stdout=self.stdout, stderr=self.stderr)
        else:
            self._say(
                "The passwords were shown when the demo was created. For new ones: manage.py demo --new-passwords"
            )

    def _find_first_code(self) -> str:
        """Return the code for the first account, or nothing once the site has an account."""
        from projects.accounts import first_owner

        return first_owner.make_code() if first_owner.is_fresh() else ""

    def _choose_port(self, host: str, port: int | None) -> int:
        if _is_free(host, port or DEFAULT_PORT):
            return port or DEFAULT_PORT
        if port:
            raise CommandError(f"Port {port} of {host} is in use. Choose another with --port.")
        with _make_probe(host) as probe:
            probe.bind((host, 0))
            chosen: int = probe.getsockname()[1]
        self._say(f"Port {DEFAULT_PORT} is in use; using {chosen} instead.")
        return chosen


def _explained(act: Callable[[], T]) -> T:
    """Return what the act returns. Raises CommandError if it fails by the database or by the rights to a file."""
    try:
        return act()
    except Error as error:
        if reason := database_errors.explain(error):
            raise CommandError(reason) from error
        raise
    except PermissionError as error:
        raise CommandError(data_folder.explain_rights(error) or str(error)) from error


def _migrate(say: Callable[[str], object]) -> None:
    if settings.IS_EMBEDDED and moving.is_read_only():
        raise CommandError(moving.MOVED)
    bring_up_to_date(say)


class Beat:
    """The scheduler of periodic tasks. Only one worker runs it, even if two sites are served from one data folder."""

    def __init__(self, worker: Child) -> None:
        self.worker = worker
        self.lock: IO[bytes] | None = None

    def try_to_take(self) -> None:
        if self.lock is not None:
            return
        self.lock = file_locks.hold_if_free(data_folder.data_dir() / "beat.lock")
        if self.lock is not None:
            self.worker.command = worker_command(has_beat=True)
            self.worker.signal(SIGINT)  # the supervisor restarts a running worker, now with the beat


def web_words(bind: str, workers: int) -> list[str]:
    """Return the module of the web server and its arguments."""
    return ["gunicorn", "-c", "python:config.web.options", "--workers", str(workers), "--bind", bind]


def web_command(bind: str, workers: int) -> list[str]:
    """Return the same as a command of its own, for benchmarks and tests: they run what is served."""
    return [sys.executable, "-m", *web_words(bind, workers)]


def worker_command(*, has_beat: bool) -> list[str]:
    """Return the module of the worker and its arguments."""
    clock = ["--beat", "--schedule", str(Path(settings.DATA_DIR) / "beat")] if has_beat else []
    return [*_celery_worker(concurrency=3), *clock]


def neural_command() -> list[str]:
    """Return the same of the worker for learned metrics, which does one job after another."""
    from projects.jobs.queue import NEURAL_QUEUE  # models: benchmarks ask for the other commands without them

    return [*_celery_worker(concurrency=1), "--queues", NEURAL_QUEUE, "--hostname", f"{NEURAL_QUEUE}@%h"]


def has_models() -> bool:
    """Return whether learned metrics can be computed here."""
    folder = Path(settings.MODELS_DIR)
    return folder.is_dir() and any(folder.glob("[!.]*/")) and is_installed()


def _celery_worker(*, concurrency: int) -> list[str]:
    pool = ["--pool", "threads", "--concurrency", str(concurrency)]
    quiet = ["--loglevel", "warning", "--without-gossip", "--without-mingle"]
    return ["config.worker", *pool, *quiet]


@contextmanager
def _shared_request_metrics() -> Iterator[None]:
    """Give the web processes an empty folder in which to count their requests, if the metrics are read at all."""
    if not settings.METRICS_TOKEN or settings.REQUEST_METRICS_DIR:
        yield
        return
    with TemporaryDirectory(prefix="concord-metrics-") as folder:
        # Before the module is loaded that counts: it reads the setting once, and its library the environment.
        os.environ["PROMETHEUS_MULTIPROC_DIR"] = settings.REQUEST_METRICS_DIR = folder
        yield


def refuse_plain_http(host: str) -> None:
    """Raise CommandError if other machines would reach this address without TLS."""
    if settings.BEHIND_TLS_PROXY or all(ip_address(found).is_loopback for found in _resolve(host)):
        return
    raise CommandError(
        f"{host} can be reached from other machines, and nothing encrypts what they send: passwords and sessions could "
        "be read on the way. Put a proxy with TLS in front and set SITE_URL and BEHIND_TLS_PROXY=1 (see “On a server” "
        "in docs/operations.md), or listen on 127.0.0.1. For a network that you trust entirely, add --allow-plain-http."
    )


def _resolve(host: str) -> set[str]:
    try:
        return {str(found[4][0]).partition("%")[0] for found in socket.getaddrinfo(host, None, type=socket.SOCK_STREAM)}
    except OSError:
        raise CommandError(NO_ADDRESS.format(host=host)) from None


def _make_probe(host: str) -> socket.socket:
    return socket.socket(socket.AF_INET6 if ":" in host else socket.AF_INET)


def _is_free(host: str, port: int) -> bool:
    """Return whether nobody listens there. Raises CommandError if this process can't listen there at all."""
    with _make_probe(host) as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind((host, port))
        except PermissionError:
            raise CommandError(f"Only root may listen on port {port}. Choose one from 1024 on with --port.") from None
        except OSError as error:
            if error.errno != errno.EADDRINUSE:
                raise CommandError(NO_ADDRESS.format(host=host)) from None
            return False
    return True


def _listens(host: str, port: int) -> bool:
    with _make_probe(host) as probe:
        return probe.connect_ex((host, port)) == 0
