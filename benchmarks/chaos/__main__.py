"""Everything that a site runs on fails, one after another, while people work; then what they were told is counted.

    python -m benchmarks.chaos [--minutes 60] [--seed 1] [--annotators 12] [--think 0.5] [--longest 15] [--calm 5]

A site as `manage.py serve` runs it, in a folder of its own on a small disk, with the private PostgreSQL and Valkey
behind proxies. Annotators save drafts, submit, click twice and send again what was not answered, as the page does; a
manager imports files by the API, and exports. Meanwhile web master, web worker, Celery worker, PostgreSQL and Valkey
are killed, web server and worker are restarted as for an upgrade, the servers are slow, silent or reset connections,
the disk is full, and the clock steps back an hour: each fault once in every round, in an order and for times that the
seed decides. What cannot be done on this machine is named and left out. After each fault the site has to answer again
by itself, and jobs have to be done again.

At the end, `manage.py verify` checks every row, and what was acknowledged is counted against the database. The command
exits with 1 if anything was lost, doubled or over-counted, if anybody met an error, or if the site did not come back.
"""

import argparse
import json
import os
import signal
import subprocess
import sys
from collections import Counter
from pathlib import Path

from benchmarks import ground
from benchmarks.chaos import counting, course
from benchmarks.chaos.people import Manager, Worker
from benchmarks.chaos.site import Site, running, served
from benchmarks.load import Record

N_PLACES = 3
HITS_PER_MINUTE = 60
"""With three places each, more than a dozen annotators rate."""


def main() -> None:
    options = read_options()
    signal.signal(signal.SIGTERM, lambda *_: sys.exit("stopped"))  # everything is removed then, too
    print(f"load of the machine before: {os.getloadavg()[0]:.1f}; seed {options.seed}", flush=True)
    with running() as site:
        sessions, owner, token = prepare(site, options)
        with served(site):
            people = [Worker(site.port, key, options.think, options.seed + n) for n, key in enumerate(sessions)]
            manager = Manager(site.port, owner, token)
            record, recoveries = course.live_through(site, people, manager, options)
        is_verified = verify(site)
        if options.log:
            options.log.write_text("".join(site.said), encoding="utf-8")
        result = counting.count(site.url, people, manager)
    recoveries.show()
    is_well = show(record, people, manager, result)
    if faults := [line for line in site.said if "Traceback" in line or " ERROR " in line]:
        print("".join(["\nthe site wrote:\n", *faults[:40]]), flush=True)
    sys.exit(not (is_well and is_verified and not recoveries.failure))


def prepare(site: Site, options: argparse.Namespace) -> tuple[list[str], str, str]:
    """Create the tables and the work; return the sessions of the annotators, and the owner's session and token."""
    if options.copy_of:
        site.copy(options.copy_of)
    else:
        site.manage("migrate", "--verbosity", "0")
    n_hits = int(max(100, options.minutes * HITS_PER_MINUTE))
    numbers = [str(n_hits), str(options.annotators), str(N_PLACES)]
    command = [sys.executable, "-m", "benchmarks.chaos.seeding", *numbers]
    environment = {**site.environment, "DATABASE_URL": site.url}
    done = subprocess.run(command, env=environment, cwd=ground.ROOT, check=True, stdout=subprocess.PIPE)
    sessions, owner, token = json.loads(done.stdout)
    return sessions, owner, token


def verify(site: Site) -> bool:
    try:
        site.manage("verify")
    except subprocess.CalledProcessError:
        return False
    return True


def show(record: Record, people: list[Worker], manager: Manager, result: counting.Result) -> bool:
    """Print what was done and what is wrong; return whether all is well."""
    n_told = sum(len(worker.told) for worker in people)
    faults = record.faults + manager.faults
    print(
        f"\nacknowledged: {n_told} submissions of ten ratings, {len(record.seconds['draft'])} drafts, "
        f"{len(manager.imported)} imports; {manager.n_exports} exports, {manager.n_missing} submissions missing in "
        f"them; requests sent again {record.n_repeats}; errors {len(faults)}"
    )
    for fault, n in Counter(faults).most_common(20):
        print(f"    {n} × {fault}")
    print(result, flush=True)
    return bool(n_told) and not (result or faults or manager.n_missing)


def read_options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--minutes", type=float, default=60)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--annotators", type=int, default=12)
    parser.add_argument("--think", type=float, default=0.5, help="mean seconds before each answer")
    parser.add_argument("--longest", type=float, default=15, help="seconds that a fault lasts, at most")
    parser.add_argument("--calm", type=float, default=5, help="seconds between two faults, at most")
    parser.add_argument("--only", default="", help="only faults whose name contains this")
    parser.add_argument("--log", type=Path, help="file for what the site writes, to look up references of errors")
    parser.add_argument("--copy-of", default="", metavar="URL", help="take tables from this database, and migrate none")
    return parser.parse_args()


if __name__ == "__main__":
    main()
