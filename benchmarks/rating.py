"""The hot path: submit ten judgments, claim, show the next page; compared with the reference site, in one run.

    python -m benchmarks.rating [--seconds 8] [--rounds 2] [--loads 1,8,32] [--drafts] [--growth] [--storm]

Both sites run under gunicorn (2 workers, 8 threads each) on the same private PostgreSQL. The annotators are
signed in, send the CSRF token, and work without a pause; they share the machine with the servers. The two sites
take turns, and each ratio compares sums over the rounds.

With --drafts Concord's annotators save their answers before they submit, which the reference site cannot: by a request
for each answer, as the page does for somebody who thinks about each, and as it does for somebody who takes no time,
whose first answer is sent at once and the others together. At the end it counts the statements of each request.
"""

import argparse
import json
import subprocess
import sys
from collections import Counter
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from itertools import chain

import psycopg2

from benchmarks import ground, statements

REFERENCE = {
    "settings": "benchmarks.reference.settings",
    "application": "benchmarks.reference.wsgi:application",
    "cookie": "sessionid",
    "start": "/work/",
    "token_page": "/work/",
    "names": r'name="(a\d+)"',
}
CONCORD = {
    "settings": "config.settings",
    "application": "config.wsgi:application",
    "cookie": "session",
    "start": "/p/bench/work/",
    "token_page": "/account/",
    "names": r'name="(a\d+-correctness)"',
}
NO_SITE = "reference"
NAMES = {NO_SITE: "reference", "": "form", "each": "form, 10 drafts", "page": "form, 2 drafts"}
GOALS = {"": (0.8, 1.7), "each": (0.55, 1.8), "page": (0.55, 1.8)}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seconds", type=float, default=8)
    parser.add_argument("--rounds", type=int, default=2)
    parser.add_argument("--loads", default="1,8,32")
    parser.add_argument("--hits", type=int, default=12_000)
    parser.add_argument("--drafts", action="store_true", help="also: save the answers before each submit, in both ways")
    parser.add_argument("--growth", action="store_true", help="also: the cycle with more candidates and judgments")
    parser.add_argument("--storm", action="store_true", help="also: 32 annotators who submit everything twice")
    options = parser.parse_args()
    loads = [int(load) for load in options.loads.split(",")]
    ways = ("", "each", "page") if options.drafts else ("",)
    compare(loads, options.seconds, options.rounds, options.hits, ways)
    if options.drafts:
        statements.show()
    if options.growth:
        growth()
    if options.storm:
        storm()


@dataclass(frozen=True)
class Ratio:
    """Concord beside the reference site, for so many annotators at once who save drafts in one way, or none."""

    load: int
    drafts: str
    rate: float
    cpu: float


def compare(loads: list[int], seconds: float, rounds: int, n_hits: int, ways: Sequence[str] = ("",)) -> list[Ratio]:
    """Let both sites take turns at each load, print what they do, and return the ratios."""
    found = []
    with ground.fresh_database("bench_reference") as first, ground.fresh_database("bench_concord") as second:
        reference = prepare(REFERENCE, first, ["reference", str(n_hits), str(max(loads))])
        concord = prepare(CONCORD, second, ["concord", str(n_hits), str(max(loads))])
        with (
            ground.gunicorn(reference[0], REFERENCE["application"]) as reference_site,
            ground.gunicorn(concord[0], CONCORD["application"]) as concord_site,
        ):
            theirs = open_all(REFERENCE, reference_site, reference[1])
            ours = open_all(CONCORD, concord_site, concord[1])
            for annotators in (theirs, ours):
                ground.crowd(annotators, 4, ways[-1] if annotators is ours else "")  # until all caches are warm
            for load in loads:
                # The sites take turns, and change which is first, so that other load and warm caches favour neither.
                turns = [(way, ours[:load], concord_site) for way in ways]
                turns.append((NO_SITE, theirs[:load], reference_site))
                figures = {name: Figures() for name, *_ in turns}
                for turn in range(rounds):
                    for name, annotators, site in turns if turn % 2 else turns[::-1]:
                        figures[name].add(annotators, site, seconds, "" if name == NO_SITE else name)
                found += show(load, figures)
    return found


class Figures:
    """Sums over the rounds, for one site at one load."""

    def __init__(self) -> None:
        self.tally = ground.Tally()
        self.elapsed = self.server = self.database = 0.0
        self.postmaster = ground.postmaster_pid()

    def add(self, annotators: list[ground.Annotator], site: ground.Site, seconds: float, drafts: str) -> None:
        server, database = site.cpu_seconds(), ground.tree_cpu_seconds(self.postmaster)
        tally = ground.crowd(annotators, seconds, drafts)
        if tally.is_dry:
            sys.exit("No HITs are left, so the sites can't be compared. Choose more with --hits.")
        self.server += site.cpu_seconds() - server
        self.database += ground.tree_cpu_seconds(self.postmaster) - database
        self.elapsed += seconds
        self.tally.seconds += tally.seconds
        self.tally.n_judgments += tally.n_judgments
        self.tally.n_errors += tally.n_errors

    @property
    def rate(self) -> float:
        return self.tally.n_judgments / self.elapsed

    def cpu_ms(self, of: Callable[["Figures"], float]) -> float:
        return 1000 * of(self) / (self.tally.n_judgments / 10)


def show(load: int, figures: dict[str, Figures]) -> list[Ratio]:
    for name, f in figures.items():
        print(
            f"{load:>3} annotators  {NAMES[name]:<20} p50 {1000 * f.tally.quantile(0.5):7.1f} ms"
            f"  p95 {1000 * f.tally.quantile(0.95):7.1f} ms  {f.rate:7.0f} judgments/s"
            f"  CPU per ten: server {f.cpu_ms(lambda f: f.server):6.2f} ms, database"
            f" {f.cpu_ms(lambda f: f.database):6.2f} ms  errors {f.tally.n_errors}"
        )

    def cpu(f: Figures) -> float:
        return f.cpu_ms(lambda f: f.server + f.database)

    theirs = figures[NO_SITE]
    ratios = [
        Ratio(load, name, f.rate / theirs.rate, cpu(f) / cpu(theirs)) for name, f in figures.items() if name != NO_SITE
    ]
    for ratio in ratios:
        rate, most = GOALS[ratio.drafts]
        print(
            f"{load:>3} annotators  {NAMES[ratio.drafts]:<20} beside the reference: judgments/s {ratio.rate:.2f}"
            f" (goal {rate} or more), CPU {ratio.cpu:.2f} (goal {most} or less)",
            flush=True,
        )
    return ratios


def prepare(site: dict[str, str], database_url: str, seed: list[str]) -> tuple[dict[str, str], list[str]]:
    """Create the tables and rows of one site, and return its environment and the sessions of its annotators."""
    environment = ground.site_environment(site["settings"], database_url)
    if site is REFERENCE:
        ground.manage(environment, "migrate", "--run-syncdb", "-v", "0")
    else:
        ground.manage(environment, "migrate", "-v", "0")
        ground.manage(environment, "collectstatic", "--noinput", "-v", "0")
    command = [sys.executable, "-m", "benchmarks.seeds", *seed]
    done = subprocess.run(command, env=environment, cwd=ground.ROOT, check=True, stdout=subprocess.PIPE)
    return environment, json.loads(done.stdout)


def open_all(site: dict[str, str], running: ground.Site, sessions: list[str]) -> list[ground.Annotator]:
    annotators = []
    for key in sessions:
        annotator = ground.Annotator(running.port, key, site["cookie"], site["start"], site["names"])
        annotator.open_first(site["token_page"])
        annotators.append(annotator)
    return annotators


def growth() -> None:
    """Measure one annotator's cycle with few and with many candidates and stored judgments."""
    for what, small, large, goal in (
        ("candidates", ["400", "2"], ["4000", "2"], 1.2),
        ("stored judgments", ["4000", "2", "10000"], ["4000", "2", "1000000"], 1.5),
    ):
        figures = []
        for seed in (small, large):
            with ground.fresh_database("bench_concord") as url:
                environment, sessions = prepare(CONCORD, url, ["concord", *seed])
                with ground.gunicorn(environment, CONCORD["application"]) as site:
                    annotators = open_all(CONCORD, site, sessions)
                    ground.crowd(annotators[:1], 2)
                    figures.append(ground.crowd(annotators[1:2], 10))
        before, after = ([1000 * tally.quantile(share) for share in (0.5, 0.95)] for tally in figures)
        print(
            f"growth in {what}: cycle p50 {before[0]:.1f} → {after[0]:.1f} ms, p95 {before[1]:.1f} → {after[1]:.1f} ms;"
            f" ratio p50 {after[0] / before[0]:.2f}, p95 {after[1] / before[1]:.2f} (goal {goal} or less)"
        )


def storm(n_hits: int = 60, n_users: int = 32, n_places: int = 3) -> None:
    """Send every submit twice at the same moment until nothing is left, then count the rows."""
    with ground.fresh_database("bench_concord") as url:
        environment, sessions = prepare(CONCORD, url, ["concord", str(n_hits), str(n_users), "0", str(n_places)])
        with ground.gunicorn(environment, CONCORD["application"]) as site:
            annotators = open_all(CONCORD, site, sessions)
            with ThreadPoolExecutor(n_users) as pool:
                statuses = Counter(chain.from_iterable(pool.map(_click_twice_until_done, annotators)))
        # verify computes every counter again, and fails the benchmark if one is wrong.
        ground.manage(environment, "verify")
        with psycopg2.connect(url) as connection, connection.cursor() as cursor:
            cursor.execute("SELECT count(*), count(DISTINCT (annotator_id, candidate_id)) FROM annotate_judgment")
            n_stored, n_distinct = cursor.fetchone() or (0, 0)
            cursor.execute(
                "SELECT min(n), max(n) FROM (SELECT count(*) n FROM annotate_judgment GROUP BY candidate_id) c"
            )
            fewest, most = cursor.fetchone() or (0, 0)
        connection.close()
    print(
        f"storm: {n_stored} judgments of {n_hits * n_places * 10} wanted, {n_stored - n_distinct} stored twice,"
        f" {fewest} to {most} for each candidate (wanted {n_places}); answers by status: {dict(statuses)}"
    )


def _click_twice_until_done(annotator: ground.Annotator) -> list[int]:
    """Send each form twice at once, and return the statuses of all responses."""
    twin = annotator.twin()
    statuses = []
    while fields := annotator.answers():
        with ThreadPoolExecutor(2) as pool:
            clicks = [pool.submit(each.request, "POST", annotator.url, fields) for each in (annotator, twin)]
            answers = [click.result() for click in clicks]
        statuses += [status for status, _, _ in answers]
        annotator.url = next((location for status, location, _ in answers if status == 303), annotator.url)
        status, _, annotator.page = annotator.request("GET", annotator.url)
        statuses.append(status)
        if status != 200:
            break
    return statuses


if __name__ == "__main__":
    main()
