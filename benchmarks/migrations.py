"""Migrations on a site with a million judgments, beside somebody who reads and writes: seconds of each, longest wait.

Run: .venv/bin/python -m benchmarks.migrations [--scale 1000000]

The database is filled, migrated back to the first migrations that can be undone, and then forwards one by one with
`manage.py migrate`, as an upgrade does. Meanwhile another session reads and updates a row in the tables of most
requests as fast as it can: its longest wait is how long annotators stand still.
"""

import argparse
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import psycopg2

from benchmarks import ground

START = {"results": "0003", "annotate": "0002", "projects": "0007"}
"""The oldest migrations from which today's tables can be reached again, in the order in which apps are undone."""
MOST_SECONDS = 2.0
VISIT = """
SELECT value FROM annotate_judgment WHERE id = %(judgment)s;
SELECT text FROM projects_candidate WHERE id = %(candidate)s;
UPDATE annotate_assignment SET active_seconds = active_seconds WHERE id = %(assignment)s;
UPDATE annotate_hit SET places_open = places_open WHERE id = %(hit)s;
"""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--scale", type=int, nargs="+", default=[1_000_000])
    for n in parser.parse_args().scale:
        print(f"{n:,} judgments; seconds of each migration, and the longest wait of others meanwhile")
        with ground.concord(f"bench_migrations_{n}"):
            seconds, wait = measure(n)
        verdict = "within" if wait <= MOST_SECONDS else "NOT within"
        print(f"{seconds:8.2f} in all; longest wait {wait:.2f} s, {verdict} {MOST_SECONDS:.0f} s")


def measure(n: int) -> tuple[float, float]:
    """Return the seconds of all migrations and the longest wait, and print those of each."""
    from django.core.management import call_command
    from django.db import connection

    from benchmarks.filling import fill_project

    fill_project(f"bench-{n}", n, base=10_000_000)
    for app, name in START.items():
        call_command("migrate", app, name, verbosity=0)
    with connection.cursor() as cursor:
        cursor.execute("VACUUM ANALYZE")
    total = longest = 0.0
    for app, name in list_plan():
        with visiting() as waits:
            began = time.perf_counter()
            call_command("migrate", app, name, verbosity=0)
            seconds = time.perf_counter() - began
        total, longest = total + seconds, max(longest, *waits)
        print(f"{seconds:8.2f} {max(waits):8.2f}  {app} {name}", flush=True)
    return total, longest


def list_plan() -> list[tuple[str, str]]:
    """Return what `migrate` would apply, in order."""
    from django.db import connection
    from django.db.migrations.executor import MigrationExecutor

    executor = MigrationExecutor(connection)
    plan = executor.migration_plan(executor.loader.graph.leaf_nodes())
    return [(migration.app_label, migration.name) for migration, _is_back in plan]


@contextmanager
def visiting() -> Iterator[list[float]]:
    """Read and write in a session of its own; yield the seconds of each visit."""
    from django.db import connection

    settings = connection.settings_dict
    link = psycopg2.connect(
        host=settings["HOST"],
        port=settings["PORT"] or None,
        user=settings["USER"],
        password=settings["PASSWORD"],
        dbname=settings["NAME"],
    )
    link.autocommit = True
    waits: list[float] = []
    is_over = threading.Event()
    thread = threading.Thread(target=_visit, args=(link, is_over, waits))
    thread.start()
    try:
        yield waits
    finally:
        is_over.set()
        thread.join()
        link.close()


def _visit(link: Any, is_over: threading.Event, waits: list[float]) -> None:
    with link.cursor() as cursor:
        cursor.execute(
            """SELECT j.id AS judgment, j.candidate_id AS candidate, a.id AS assignment, a.hit_id AS hit
               FROM annotate_judgment j JOIN annotate_assignment a ON a.id = j.assignment_id LIMIT 1"""
        )
        ids = dict(zip([column.name for column in cursor.description], cursor.fetchone(), strict=True))
        while not is_over.is_set() or not waits:
            began = time.perf_counter()
            cursor.execute(VISIT, ids)
            waits.append(time.perf_counter() - began)
            time.sleep(0.005)


if __name__ == "__main__":
    main()
