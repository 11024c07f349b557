"""Shared parts of the benchmarks: separate databases, servers, CPU counters, and a client that annotates."""

import http.client
import json
import os
import re
import secrets
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from urllib.parse import quote, urlencode

import psycopg2

from config import data_folder, embedded
from config.management.commands.serve import web_command

ROOT = Path(__file__).resolve().parent.parent
LOAD = "import django; django.setup(); from config import preloading; preloading.load_modules()"
"""Loads the site's modules, and so leaves them compiled, as `make install` does."""
COLLECT = "import django; django.setup(); from config import assets; assets.collect()"
"""Collects the static files as `manage.py serve` does before it listens."""
TICK = os.sysconf("SC_CLK_TCK")
POSITION = re.compile(r"a(\d+)-")
LONGEST_IDLE_SECONDS = 1.0
"""A connection that was idle longer is opened again, because the reference site closes it after two seconds."""


def admin_connection() -> "psycopg2.extensions.connection":
    """Connect to the private PostgreSQL, and start it if it is not running."""
    embedded.ensure_running()
    settings = data_folder.database_settings()
    connection = psycopg2.connect(
        host=settings["HOST"],
        port=settings["PORT"],
        user=settings["USER"],
        password=settings["PASSWORD"],
        dbname="postgres",
    )
    connection.autocommit = True
    return connection


@contextmanager
def fresh_database(name: str) -> Iterator[str]:
    """Create an empty database, yield its DATABASE_URL, and drop it at the end."""
    connection = admin_connection()
    settings = data_folder.database_settings()
    with connection.cursor() as cursor:
        cursor.execute(f'DROP DATABASE IF EXISTS "{name}" WITH (FORCE)')
        cursor.execute(f'CREATE DATABASE "{name}"')
    password = quote(settings["PASSWORD"], safe="")
    try:
        yield f"postgres://{settings['USER']}:{password}@/{name}?host={quote(settings['HOST'])}"
    finally:
        with connection.cursor() as cursor:
            cursor.execute(f'DROP DATABASE IF EXISTS "{name}" WITH (FORCE)')
        connection.close()


@contextmanager
def concord(name: str) -> Iterator[None]:
    """Run Concord in this process, and in those it starts, on an empty database."""
    with fresh_database(name) as url:
        os.environ.update(site_environment("config.settings", url))
        os.environ.pop("PYTHONDONTWRITEBYTECODE", None)
        subprocess.run([sys.executable, "-c", LOAD], cwd=ROOT, check=True)
        manage(dict(os.environ), "migrate", "--verbosity", "0")
        import django

        django.setup()
        from django.db import connections

        try:
            yield
        finally:
            connections.close_all()


def site_environment(module: str, database_url: str) -> dict[str, str]:
    """Return the environment variables of one of the two sites."""
    return {
        **os.environ,
        "DJANGO_SETTINGS_MODULE": f"{module}",
        "DATABASE_URL": database_url,
        "REDIS_URL": data_folder.redis_url(),
        "SECRET_KEY": secrets.token_urlsafe(50),
        "ALLOWED_HOSTS": "127.0.0.1",
        "PYTHONPATH": str(ROOT),
        # Where Python may keep nothing compiled, each command would first compile libraries for seconds.
        "PYTHONPYCACHEPREFIX": str(data_folder.data_dir() / "bytecode"),
    }


def manage(environment: dict[str, str], *arguments: str) -> None:
    subprocess.run([sys.executable, "-m", "django", *arguments], env=environment, cwd=ROOT, check=True, stdout=2)


@contextmanager
def gunicorn(environment: dict[str, str], application: str, *, workers: int = 2) -> Iterator["Site"]:
    """Run the site with the command that `manage.py serve` uses for its web server, or the reference in threads."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    if application.startswith("config."):
        subprocess.run([sys.executable, "-c", COLLECT], env=environment, cwd=ROOT, check=True)
    bind = f"127.0.0.1:{port}"
    command = web_command(bind, workers)
    if not application.startswith("config."):
        threads = ["--worker-class", "gthread", "--workers", str(workers), "--threads", "8", "--preload"]
        quiet = ["--log-level", "warning", "--no-control-socket"]
        command = [sys.executable, "-m", "gunicorn", application, "--bind", bind, *threads, *quiet]
    process = subprocess.Popen(command, env=environment, cwd=ROOT)
    try:
        _wait_for(port, process)
        yield Site(port, process.pid)
    finally:
        process.send_signal(signal.SIGTERM)
        process.wait(timeout=30)


@dataclass(frozen=True)
class Site:
    """A running site."""

    port: int
    pid: int

    def cpu_seconds(self) -> float:
        return tree_cpu_seconds(self.pid)


def tree_cpu_seconds(pid: int) -> float:
    """Return the CPU seconds of a process and all its descendants, including ended ones."""
    total, waiting = 0, [pid]
    while waiting:
        current = waiting.pop()
        try:
            fields = Path(f"/proc/{current}/stat").read_text().rsplit(")", 1)[1].split()
            children = Path(f"/proc/{current}/task/{current}/children").read_text().split()
        except OSError:
            continue
        # utime, stime, cutime and cstime: the last two are of descendants that have ended.
        total += sum(int(value) for value in fields[11:15])
        waiting += [int(child) for child in children]
    return total / TICK


def memory(pid: int) -> float:
    """Return the resident memory of a process's children that is not shared, in MB."""
    children = Path(f"/proc/{pid}/task/{pid}/children").read_text().split()
    found = [Path(f"/proc/{child}/status").read_text() for child in children]
    return sum(int(re.findall(r"RssAnon:\s+(\d+)", each)[0]) for each in found) / 1000


def postmaster_pid() -> int:
    connection = admin_connection()
    with connection.cursor() as cursor:
        cursor.execute("SELECT pg_backend_pid()")
        backend = cursor.fetchone()[0]  # type: ignore[index]
    fields = Path(f"/proc/{backend}/stat").read_text().rsplit(")", 1)[1].split()
    connection.close()
    return int(fields[1])


def quantile(values: list[float], share: float) -> float:
    ordered = sorted(values)
    return ordered[min(len(ordered) - 1, int(share * len(ordered)))] if ordered else float("nan")


@dataclass
class Tally:
    """Response times and counts of a group of simulated annotators."""

    seconds: list[float] = field(default_factory=list)
    n_judgments: int = 0
    n_errors: int = 0
    is_dry: bool = False

    def quantile(self, share: float) -> float:
        return quantile(self.seconds, share)


class Annotator:
    """A signed-in client that takes a HIT, rates all ten items, submits, and gets the next."""

    def __init__(self, port: int, session_key: str, cookie: str, start: str, names: str) -> None:
        self.connection = http.client.HTTPConnection("127.0.0.1", port, timeout=60)
        self.cookies = {cookie: session_key}
        self.start = start
        self.names = re.compile(names)
        self.page, self.url, self.saved_at = "", "", ""
        self.asked_at = time.monotonic()

    def request(
        self, method: str, url: str, fields: dict[str, str] | None = None, *, as_json: object = None
    ) -> tuple[int, str, str]:
        """Send a form, JSON as the page's script does, or nothing; return the status, where it leads, and the text."""
        self.send(method, url, fields, as_json=as_json)
        response = self.connection.getresponse()
        for header in response.headers.get_all("Set-Cookie") or []:
            name, _, value = header.split(";", 1)[0].partition("=")
            self.cookies[name] = value
        text, self.saved_at = response.read().decode(), response.headers.get("X-Saved-At", "")
        self.asked_at = time.monotonic()
        return response.status, response.headers.get("Location", ""), text

    def send(self, method: str, url: str, fields: dict[str, str] | None = None, *, as_json: object = None) -> None:
        """Send a request without waiting for its answer."""
        body, headers = None, {"Cookie": "; ".join(f"{name}={value}" for name, value in self.cookies.items())}
        if as_json is not None:
            body, headers["X-CSRFToken"] = json.dumps(as_json), self.cookies.get("csrf", "")
            headers["Content-Type"] = "application/json"
        elif fields is not None:
            body, headers["Content-Type"] = urlencode(fields), "application/x-www-form-urlencoded"
        if time.monotonic() - self.asked_at > LONGEST_IDLE_SECONDS:
            self.connection.close()
        self.connection.request(method, url, body, headers)

    def open_first(self, token_page: str) -> None:
        _, _, page = self.request("GET", token_page)
        method = "POST" if "csrfmiddlewaretoken" in page else "GET"
        fields = {"csrfmiddlewaretoken": read_token(page)} if method == "POST" else None
        status, location, _ = self.request(method, self.start, fields)
        assert status in (302, 303), status
        self.url = location
        _, _, self.page = self.request("GET", location)

    def answers(self) -> dict[str, str]:
        """Return the filled-in form of the page; empty if the page has none."""
        names = self.names.findall(self.page)
        return {"csrfmiddlewaretoken": read_token(self.page), **dict.fromkeys(names, "4")} if names else {}

    def save_drafts(self, answers: dict[str, str], drafts: str) -> None:
        """Save the answers in the draft as the page's script does: each when it is given, or those of no time together.

        An answer is sent at once unless another was sent within 0.8 seconds: then it waits, and goes with what follows.
        """
        ratings = [(found[1], name, int(value)) for name, value in answers.items() if (found := POSITION.match(name))]
        groups = [[rating] for rating in ratings] if drafts == "each" else [ratings[:1], ratings[1:]]
        after = ""
        for group in filter(None, groups):
            now = int(time.time() * 1000)
            draft = {
                "answers": {position: {"correctness": [value, now]} for position, _, value in group},
                **{part: {} for part in ("cannot", "flags", "comments")},
                "read": {position: [True, now] for position, *_ in group},
                "seconds": [1.5] * len(ratings),
                "after": after,
            }
            status, _, text = self.request("POST", f"{self.url}draft/", as_json=draft)
            after = json.loads(text)["saved_at"] if text else self.saved_at
            if status not in (200, 204):
                raise RuntimeError(f"draft answered {status} {text[:80]}")

    def twin(self) -> "Annotator":
        """Return a client with the same session on a second connection."""
        twin = Annotator(self.connection.port or 0, "", "", self.start, self.names.pattern)
        twin.cookies = self.cookies
        return twin

    def cycle(self, drafts: str = "") -> bool:
        """Submit by a POST, and GET the next page. Returns False if there is no further HIT.

        With `drafts` all answers are saved in the draft before.
        """
        answers = self.answers()
        if drafts:
            self.save_drafts(answers, drafts)
            answers["seconds"] = json.dumps([1.5] * sum(POSITION.match(name) is not None for name in answers))
        status, location, _ = self.request("POST", self.url, answers)
        if status not in (302, 303):
            raise RuntimeError(f"submit answered {status}")
        status, _, page = self.request("GET", location)
        if status != 200:
            raise RuntimeError(f"next page answered {status}")
        self.url, self.page = location, page
        return bool(self.names.search(page))


def read_token(page: str) -> str:
    found = re.search(r'name="csrfmiddlewaretoken" value="([^"]+)"', page)
    return found.group(1) if found else ""


def crowd(annotators: list[Annotator], seconds: float, drafts: str = "") -> Tally:
    """Let all annotators work at the same time, without pauses, for some seconds."""
    tally, until = Tally(), time.perf_counter() + seconds
    lock = threading.Lock()

    def work(annotator: Annotator) -> None:
        while time.perf_counter() < until:
            began = time.perf_counter()
            try:
                has_more = annotator.cycle(drafts)
            except (RuntimeError, OSError) as error:
                print(error, file=sys.stderr)
                with lock:
                    tally.n_errors += 1
                return
            took = time.perf_counter() - began
            with lock:
                tally.seconds.append(took)
                tally.n_judgments += 10
            if not has_more:
                tally.is_dry = True
                return

    run_all([partial(work, annotator) for annotator in annotators])
    return tally


def run_all(acts: list[Callable[[], object]]) -> None:
    """Run all at the same time, each in a thread, and wait until they have ended."""
    threads = [threading.Thread(target=act, daemon=True) for act in acts]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()


def _wait_for(port: int, process: "subprocess.Popen[bytes]") -> None:
    deadline = time.monotonic() + 30
    while time.monotonic() < deadline and process.poll() is None:
        try:
            socket.create_connection(("127.0.0.1", port), timeout=1).close()
        except OSError:
            time.sleep(0.1)
        else:
            return
    raise RuntimeError("the site did not start")
