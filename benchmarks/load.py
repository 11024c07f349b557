"""Annotators who read, think and rate for a while: what they wait, and whether anything was lost, doubled or failed.

    python -m benchmarks.load [--annotators 100] [--minutes 30] [--think 5] [--arrivals 50] [--beside] [--overload 5]

Each annotator opens a HIT, thinks about each answer as long as an exponential distribution with the mean --think says,
saves it as a draft as the page does, submits after ten, and goes on with the next HIT. Before that, --arrivals people
open their first HIT within one second. With --beside, 100,000 rows are imported and the judgments exported meanwhile.
With --overload, there are so many times the annotators for a minute at the end, then as many as before.

The generator runs on the same machine as the site and takes a part of it, which is printed. At the end `manage.py
verify` checks every row, and each submission that was acknowledged must be stored once.
"""

import argparse
import csv
import http.client
import os
import random
import re
import sys
import tempfile
import threading
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass, field
from functools import partial
from itertools import chain
from pathlib import Path

import psycopg2

from benchmarks import acknowledged, ground
from benchmarks.rating import CONCORD, prepare
from benchmarks.seeds import CANDIDATE, PASSAGE

POSITION = re.compile(r"a(\d+)-")
BUSY = (429, 502, 503, 504)
"""What a site answers that has too much to do, or its proxy: later is right, and nothing is lost."""
MOVED = (302, 303)
LOST = (OSError, http.client.HTTPException)
RETRY_SECONDS = 2.0
LONGEST_OVERLOAD_SECONDS, LONGEST_AFTER_SECONDS, LONGEST_BESIDE_SECONDS = 60.0, 30.0, 300.0


@dataclass
class Record:
    """What all annotators of a phase met. Lists and counters are appended to by many threads, which is safe."""

    seconds: dict[str, list[float]] = field(
        default_factory=lambda: {"first": [], "next": [], "submit": [], "draft": []}
    )
    statuses: Counter[int] = field(default_factory=Counter)
    acknowledged: list[str] = field(default_factory=list)
    n_repeats: int = 0
    faults: list[str] = field(default_factory=list)

    def show(self, name: str, seconds: float) -> None:
        print(f"{name}: {10 * len(self.acknowledged) / seconds:.1f} judgments/s, {len(self.acknowledged)} HITs")
        for act, taken in self.seconds.items():
            if taken:
                p50, p95, p99 = (
                    f"p{share} {1000 * ground.quantile(taken, share / 100):7.0f} ms" for share in (50, 95, 99)
                )
                print(f"  {act:<7} {p50}  {p95}  {p99}  most {1000 * max(taken):7.0f} ms  n {len(taken)}")
        busy = sum(self.statuses[status] for status in BUSY)
        print(f"  asked to come back {busy}, sent again {self.n_repeats}, errors {len(self.faults)}", flush=True)
        for fault, n in Counter(self.faults).most_common(5):
            print(f"    {n} × {fault}")


class Rater(ground.Annotator):
    """An annotator who takes time, and sends again what was not answered."""

    tries = 60

    def __init__(self, port: int, session: str, think: float, seed: int) -> None:
        super().__init__(port, session, CONCORD["cookie"], CONCORD["start"], CONCORD["names"])
        self.think = think
        self.random = random.Random(seed)

    def arrive(self, record: Record, after: float = 0) -> None:
        """Open the first HIT, as somebody who has just signed in does."""
        time.sleep(after)
        began = time.perf_counter()
        page = self.ask(record, "", "GET", CONCORD["token_page"])[2]
        status, location, _ = self.ask(record, "", "POST", self.start, {"csrfmiddlewaretoken": ground.read_token(page)})
        if status in MOVED:
            self.url = location
            self.page = self.ask(record, "", "GET", location)[2]
            record.seconds["first"].append(time.perf_counter() - began)
        else:
            record.faults.append(f"start answered {status}")

    def work(self, record: Record, until: float) -> None:
        """Rate HIT after HIT until the time is over or nothing is left."""
        while time.perf_counter() < until and (form := self.answers()):
            self.rate(record, form, until)
            if time.perf_counter() >= until or not self.submit(record, form):
                return

    def rate(self, record: Record, form: dict[str, str], until: float) -> None:
        """Think about each answer, and save it."""
        for name, value in form.items():
            if not (found := POSITION.match(name)):
                continue
            wait = min(self.random.expovariate(1 / self.think), 10 * self.think) if self.think else 0
            time.sleep(max(0.0, min(wait, until - time.perf_counter())))
            if time.perf_counter() >= until:
                return
            self.save(record, found[1], value)

    def save(self, record: Record, position: str, value: str) -> bool:
        """Save the rating of one answer in the draft, as the page does at once."""
        draft = {"answers": {position: {"correctness": [int(value), int(time.time() * 1000)]}}}
        status, _, text = self.ask(record, "draft", "POST", f"{self.url}draft/", as_json=draft)
        if status != 200:
            record.faults.append(f"draft answered {status} {text[:80]}")
        return status == 200

    def submit(self, record: Record, form: dict[str, str]) -> bool:
        """Submit the HIT and open the next page; False if the site refuses."""
        status, location, _ = self.ask(record, "submit", "POST", self.url, form)
        if status not in MOVED:
            record.faults.append(f"submit answered {status}")
            return False
        record.acknowledged.append(read_uuid(self.url))
        self.url = location
        self.page = self.ask(record, "next", "GET", location)[2]
        return True

    def ask(
        self,
        record: Record,
        act: str,
        method: str,
        url: str,
        fields: dict[str, str] | None = None,
        *,
        as_json: object = None,
    ) -> tuple[int, str, str]:
        """Send a request until it is answered by more than “later”, and record how long each answer took."""
        for n in range(self.tries):
            began = time.perf_counter()
            try:
                answer = self.request(method, url, fields, as_json=as_json)
            except LOST as error:
                self.connection.close()
                if n == self.tries // 2:
                    record.faults.append(f"no answer: {type(error).__name__}")
            else:
                record.statuses[answer[0]] += 1
                if answer[0] not in BUSY:
                    if act:
                        record.seconds[act].append(time.perf_counter() - began)
                    return answer
            record.n_repeats += 1
            time.sleep(RETRY_SECONDS * (0.25 + self.random.random()))
        record.faults.append("never answered")
        return 0, "", ""


def read_uuid(url: str) -> str:
    """Return the uuid of the assignment at an address."""
    return url.partition("?")[0].rstrip("/").rsplit("/", 1)[1]


@contextmanager
def other_work(environment: dict[str, str], n_rows: int) -> Iterator[None]:
    """Import many rows, then export every judgment, by commands beside the site."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "rows.csv"
        write_candidates(path, n_rows, prefix="x")
        commands = (
            ("import_candidates", str(path), "--project", "bench", "--dataset", "beside"),
            ("export_judgments", "--project", "bench", "--format", "long", "--output", str(Path(folder) / "long.csv")),
        )
        began = time.perf_counter()
        done: list[str] = []

        def run() -> None:
            for command in commands:
                ground.manage(environment, *command)
                done.append(f"{command[0]} after {time.perf_counter() - began:.0f} s")

        thread = threading.Thread(target=run, daemon=True)
        thread.start()
        yield
        thread.join()
        print(f"  beside it: {', '.join(done)}")
        if len(done) < len(commands):
            raise RuntimeError("The import or the export failed.")


def write_candidates(path: Path, n_rows: int, *, prefix: str) -> None:
    """Write a file of candidates, ten for a passage and two for a question."""
    with path.open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file)
        writer.writerow(["passage_id", "passage", "question", "reference", "candidate", "source"])
        for n in range(n_rows):
            passage = PASSAGE if n % 10 == 0 else ""
            question, answer = f"Why {prefix}{n // 2}?", f"{CANDIDATE} {prefix}{n}"
            writer.writerow([f"{prefix}{n // 10}", passage, question, "So.", answer, "a"])


class Load:
    """Phases of work on one running site."""

    def __init__(self, site: ground.Site, environment: dict[str, str]) -> None:
        self.site, self.environment = site, environment
        self.records: list[Record] = []
        self.most_connections = 0

    def run(self, name: str, raters: list[Rater], seconds: float, *, n_rows: int = 0) -> None:
        """Let those arrive within a second who have no HIT yet, then let all work at once, and print what they met.

        With `n_rows` so many candidates are imported meanwhile, and all judgments exported.
        """
        record = Record()
        self.records.append(record)
        new = [rater for rater in raters if not rater.url]
        ground.run_all([partial(rater.arrive, record, n / len(new)) for n, rater in enumerate(new)])
        server, generator = self.site.cpu_seconds(), time.process_time()
        with other_work(self.environment, n_rows) if n_rows else nullcontext():
            until = time.perf_counter() + seconds
            ground.run_all([partial(rater.work, record, until) for rater in raters])
            generator = time.process_time() - generator
        record.show(name, seconds)
        n_connections = count_connections(self.environment["DATABASE_URL"])
        self.most_connections = max(self.most_connections, n_connections)
        print(
            f"  CPU: web server {(self.site.cpu_seconds() - server) / seconds:.2f}, generator {generator / seconds:.2f}"
            f" of {os.cpu_count()} cores; load of the machine {os.getloadavg()[0]:.1f}; memory of the web processes"
            f" {ground.memory(self.site.pid):.0f} MB, connections to the database {n_connections}",
            flush=True,
        )


@dataclass(frozen=True)
class Outcome:
    """What a run left in the database, and what annotators met in each phase."""

    counts: acknowledged.Counts
    records: list[Record]
    most_connections: int

    @property
    def faults(self) -> list[str]:
        return list(chain.from_iterable(record.faults for record in self.records))


def run(options: argparse.Namespace, environment: dict[str, str], sessions: list[str]) -> Outcome:
    """Run every phase on a prepared database, and verify that at the end."""
    make_owner(environment["DATABASE_URL"])
    environment = {**environment, "MAX_CONNECTIONS_PER_ADDRESS": "0"}  # all of them come from here
    print(f"load of the machine before: {os.getloadavg()[0]:.1f}", flush=True)
    seconds, n_all = 60 * options.minutes, count_raters(options)
    with ground.gunicorn(environment, CONCORD["application"]) as site:
        raters = [Rater(site.port, key, options.think, n) for n, key in enumerate(sessions[:n_all])]
        usual = raters[: options.annotators]
        raters[0].arrive(Record())  # what a process does once is done
        load = Load(site, environment)
        load.run(f"{options.arrivals} arrivals within a second", raters[: options.arrivals], min(1, seconds))
        load.run(f"{options.annotators} annotators", usual, seconds)
        if options.beside:
            beside = min(LONGEST_BESIDE_SECONDS, seconds)
            load.run("the same beside an import and an export", usual, beside, n_rows=options.rows)
        if options.overload:
            load.run(f"{options.overload} times as many", raters, min(LONGEST_OVERLOAD_SECONDS, seconds))
            load.run("afterwards", usual, min(LONGEST_AFTER_SECONDS, seconds))
    ground.manage(environment, "verify")
    told = chain.from_iterable(record.acknowledged for record in load.records)
    return Outcome(acknowledged.count(environment["DATABASE_URL"], told), load.records, load.most_connections)


def count_connections(database_url: str) -> int:
    """Return how many programs' connections the database has, besides this one."""
    with psycopg2.connect(database_url) as connection, connection.cursor() as cursor:
        cursor.execute(
            "SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() AND pid <> pg_backend_pid()"
            " AND backend_type = 'client backend'"
        )
        (n,) = cursor.fetchone() or (0,)
    connection.close()
    return int(n)


def make_owner(database_url: str) -> None:
    """Let the last person own the project, and rate nothing: without an owner nothing can be imported."""
    with psycopg2.connect(database_url) as connection, connection.cursor() as cursor:
        cursor.execute(
            "UPDATE projects_membership SET role = 'owner' WHERE id = (SELECT max(id) FROM projects_membership)"
        )
    connection.close()


def count_raters(options: argparse.Namespace) -> int:
    return int(max(options.annotators * max(1, options.overload), options.arrivals))


def list_seeds(options: argparse.Namespace) -> list[str]:
    """Return the arguments of `benchmarks.seeds`: as many HITs as are needed, places for all, and the owner."""
    n_raters = count_raters(options)
    return ["concord", str(options.hits), str(n_raters + 1), "0", str(max(100, n_raters))]


def read_options(arguments: list[str] | None = None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--annotators", type=int, default=100)
    parser.add_argument("--minutes", type=float, default=30)
    parser.add_argument("--think", type=float, default=5, help="mean seconds before each answer")
    parser.add_argument("--arrivals", type=int, default=50)
    parser.add_argument("--beside", action="store_true", help="import and export meanwhile")
    parser.add_argument("--rows", type=int, default=100_000, help="so many rows are imported")
    parser.add_argument("--overload", type=int, default=0, metavar="TIMES")
    parser.add_argument("--hits", type=int, default=4_000)
    return parser.parse_args(arguments)


def main() -> None:
    options = read_options()
    with ground.fresh_database("bench_concord") as url:
        environment, sessions = prepare(CONCORD, url, list_seeds(options))
        outcome = run(options, environment, sessions)
    print(f"{outcome.counts}, {len(outcome.faults)} errors")
    sys.exit(bool(outcome.counts or outcome.faults))


if __name__ == "__main__":
    main()
