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
import json
import os
import random
import re
import subprocess
import sys
import tempfile
import threading
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

import psycopg2

from benchmarks import ground
from benchmarks.rating import CONCORD, prepare
from benchmarks.seeds import CANDIDATE, PASSAGE

POSITION = re.compile(r"a(\d+)-")
BUSY = (429, 503)
"""What a site answers that has too much to do: later is right, and nothing is lost."""
LOST = (OSError, http.client.HTTPException)
RETRY_SECONDS = 2.0
IMPORTED_ROWS = 100_000
N_HITS = 4_000


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
                print(
                    f"  {act:<7} p50 {1000 * quantile(taken, 0.5):7.0f} ms  p95 {1000 * quantile(taken, 0.95):7.0f} ms"
                    f"  p99 {1000 * quantile(taken, 0.99):7.0f} ms  most {1000 * max(taken):7.0f} ms  n {len(taken)}"
                )
        busy = sum(self.statuses[status] for status in BUSY)
        print(f"  asked to come back {busy}, sent again {self.n_repeats}, errors {len(self.faults)}", flush=True)
        for fault, n in Counter(self.faults).most_common(5):
            print(f"    {n} × {fault}")


class Rater(ground.Annotator):
    """An annotator who takes time, and sends again what was not answered."""

    def __init__(self, port: int, session: str, think: float, seed: int) -> None:
        super().__init__(port, session, CONCORD["cookie"], CONCORD["start"], CONCORD["names"])
        self.think = think
        self.random = random.Random(seed)

    def arrive(self, record: Record) -> None:
        """Open the first HIT, as somebody who has just signed in does."""
        began = time.perf_counter()
        page = self.ask(record, "", "GET", CONCORD["token_page"])[2]
        status, location, _ = self.ask(record, "", "POST", self.start, {"csrfmiddlewaretoken": ground.read_token(page)})
        if status in (302, 303):
            self.url = location
            self.page = self.ask(record, "", "GET", location)[2]
            record.seconds["first"].append(time.perf_counter() - began)
        else:
            record.faults.append(f"start answered {status}")

    def work(self, record: Record, until: float) -> None:
        """Rate HIT after HIT until the time is over or nothing is left."""
        while time.perf_counter() < until and (form := self.answers()):
            self.rate(record, form, until)
            if time.perf_counter() >= until:
                return
            status, location, _ = self.ask(record, "submit", "POST", self.url, form)
            if status not in (302, 303):
                record.faults.append(f"submit answered {status}")
                return
            record.acknowledged.append(self.url.rstrip("/").rsplit("/", 1)[1])
            self.url = location
            self.page = self.ask(record, "next", "GET", location)[2]

    def rate(self, record: Record, form: dict[str, str], until: float) -> None:
        """Think about each answer, and save it."""
        for name in [name for name in form if POSITION.match(name)]:
            wait = min(self.random.expovariate(1 / self.think), 10 * self.think) if self.think else 0
            time.sleep(max(0.0, min(wait, until - time.perf_counter())))
            if time.perf_counter() >= until:
                return
            found = POSITION.match(name)
            assert found is not None
            draft = {"answers": {found[1]: {"correctness": [4, int(time.time() * 1000)]}}}
            status, _, text = self.ask(record, "draft", "POST", f"{self.url}draft/", body=json.dumps(draft))
            if status != 200:
                record.faults.append(f"draft answered {status} {text[:80]}")

    def ask(
        self,
        record: Record,
        act: str,
        method: str,
        url: str,
        fields: dict[str, str] | None = None,
        body: str | None = None,
    ) -> tuple[int, str, str]:
        """Send a request until it is answered by more than “later”, and record how long each answer took."""
        for n in range(60):
            began = time.perf_counter()
            try:
                answer = self.send_json(url, body) if body is not None else self.request(method, url, fields)
            except LOST as error:
                self.connection.close()
                record.n_repeats += 1
                if n > 30:
                    record.faults.append(f"no answer: {type(error).__name__}")
                time.sleep(RETRY_SECONDS * self.random.random())
                continue
            record.statuses[answer[0]] += 1
            if answer[0] not in BUSY:
                if act:
                    record.seconds[act].append(time.perf_counter() - began)
                return answer
            record.n_repeats += 1
            time.sleep(RETRY_SECONDS * (0.5 + self.random.random()))
        record.faults.append("never answered")
        return 0, "", ""

    def send_json(self, url: str, body: str) -> tuple[int, str, str]:
        headers = {
            "Cookie": "; ".join(f"{name}={value}" for name, value in self.cookies.items()),
            "Content-Type": "application/json",
            "X-CSRFToken": self.cookies.get("csrf", ""),
        }
        self.connection.request("POST", url, body, headers)
        response = self.connection.getresponse()
        return response.status, "", response.read().decode()


def quantile(values: list[float], share: float) -> float:
    ordered = sorted(values)
    return ordered[min(len(ordered) - 1, int(share * len(ordered)))] if ordered else float("nan")


def together(raters: list[Rater], record: Record, seconds: float) -> float:
    """Let all raters work at once for some seconds; return the CPU seconds that this generator took."""
    until = time.perf_counter() + seconds
    before = time.process_time()
    threads = [threading.Thread(target=rater.work, args=(record, until), daemon=True) for rater in raters]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return time.process_time() - before


def arrive(raters: list[Rater], record: Record) -> None:
    """Let all open their first HIT, spread over one second."""

    def come(rater: Rater, after: float) -> None:
        time.sleep(after)
        rater.arrive(record)

    threads = [
        threading.Thread(target=come, args=(rater, n / max(1, len(raters))), daemon=True)
        for n, rater in enumerate(raters)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()


@contextmanager
def other_work(environment: dict[str, str], *, is_wanted: bool) -> Iterator[None]:
    """Import many rows, then export every judgment, by commands beside the site."""
    if not is_wanted:
        yield
        return
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "rows.csv"
        with path.open("w", newline="", encoding="utf-8") as file:
            writer = csv.writer(file)
            writer.writerow(["passage_id", "passage", "question", "reference", "candidate", "source"])
            for n in range(IMPORTED_ROWS):
                passage = n // 10
                writer.writerow(
                    [f"x{passage}", PASSAGE if n % 10 == 0 else "", f"Why {n // 2}?", "So.", f"{CANDIDATE} {n}", "a"]
                )
        commands = (
            ("import_candidates", str(path), "--project", "bench", "--dataset", "beside"),
            ("export_judgments", "--project", "bench", "--out", str(Path(folder) / "long.csv")),
        )
        began = time.perf_counter()
        done: list[str] = []

        def run() -> None:
            for command in commands:
                subprocess.run(
                    [sys.executable, "-m", "django", *command], env=environment, cwd=ground.ROOT, check=True, stdout=2
                )
                done.append(f"{command[0]} after {time.perf_counter() - began:.0f} s")

        thread = threading.Thread(target=run, daemon=True)
        thread.start()
        yield
        thread.join()
        print(f"beside it: {', '.join(done)}")


def count_stored(url: str, acknowledged: list[str]) -> tuple[int, int]:
    """Return how many acknowledged submissions are not stored, and how many judgments are stored twice."""
    with psycopg2.connect(url) as connection, connection.cursor() as cursor:
        cursor.execute("SELECT uuid::text FROM annotate_assignment WHERE state IN ('submitted', 'approved')")
        stored = {row[0] for row in cursor.fetchall()}
        cursor.execute(
            "SELECT count(*) - count(DISTINCT (assignment_id, item_id, criterion_id)) FROM annotate_judgment"
        )
        (n_twice,) = cursor.fetchone() or (0,)
    connection.close()
    return len(set(acknowledged) - stored), n_twice + len(acknowledged) - len(set(acknowledged))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--annotators", type=int, default=100)
    parser.add_argument("--minutes", type=float, default=30)
    parser.add_argument("--think", type=float, default=5, help="mean seconds before each answer")
    parser.add_argument("--arrivals", type=int, default=50)
    parser.add_argument("--beside", action="store_true", help="import and export meanwhile")
    parser.add_argument("--overload", type=int, default=0, metavar="TIMES")
    options = parser.parse_args()
    n_raters = max(options.annotators * max(1, options.overload), options.arrivals)
    with ground.fresh_database("bench_concord") as url:
        seed = ["concord", str(N_HITS), str(n_raters + 1), "0", str(max(100, n_raters))]
        environment, sessions = prepare(CONCORD, url, seed)
        with psycopg2.connect(url) as connection, connection.cursor() as cursor:
            # The last one owns the project, and rates nothing: without an owner nothing can be imported.
            cursor.execute(
                "UPDATE projects_membership SET role = 'owner' WHERE id = (SELECT max(id) FROM projects_membership)"
            )
        connection.close()
        environment["MAX_CONNECTIONS_PER_ADDRESS"] = "0"  # all of them come from here
        print(f"load of the machine before: {os.getloadavg()[0]:.1f}", flush=True)
        with ground.gunicorn(environment, CONCORD["application"]) as site:
            raters = [Rater(site.port, key, options.think, n) for n, key in enumerate(sessions[:n_raters])]
            everything: list[Record] = []

            def phase(name: str, some: list[Rater], seconds: float, *, beside: bool = False) -> None:
                record = Record()
                everything.append(record)
                arrive([rater for rater in some if not rater.url], record)
                server = site.cpu_seconds()
                with other_work(environment, is_wanted=beside):
                    cpu = together(some, record, seconds)
                record.show(name, seconds)
                print(
                    f"  CPU: web server {(site.cpu_seconds() - server) / seconds:.2f}, generator {cpu / seconds:.2f}"
                    f" of {os.cpu_count()} cores; load of the machine {os.getloadavg()[0]:.1f}",
                    flush=True,
                )

            raters[0].arrive(Record())  # what a process does once is done
            phase(f"{options.arrivals} arrivals within a second", raters[: options.arrivals], 1)
            usual = raters[: options.annotators]
            phase(f"{options.annotators} annotators", usual, 60 * options.minutes)
            if options.beside:
                phase("the same beside an import and an export", usual, 60 * min(options.minutes, 5), beside=True)
            if options.overload:
                phase(f"{options.overload} times as many", raters, min(60, 60 * options.minutes))
                phase("afterwards", usual, min(30, 60 * options.minutes))
        ground.manage(environment, "verify")
        n_lost, n_twice = count_stored(url, [uuid for record in everything for uuid in record.acknowledged])
    n_faults = sum(len(record.faults) for record in everything)
    print(f"lost {n_lost}, stored twice {n_twice}, errors {n_faults}")
    sys.exit(bool(n_lost or n_twice or n_faults))


if __name__ == "__main__":
    main()
