"""What growth costs: disks for 10^6 to 10^9 judgments, and hosts and waits for 10^3 to 10^5 annotators at once.

Run: .venv/bin/python -m benchmarks.growth [--judgments 100000] [--form 12 3.5] [--drafts 31 8]

The first table is measured: bytes of each judgment in tables and indexes, and in a backup, of a database that
`benchmarks.filling` fills, and its multiples. The second is computed from the CPU milliseconds for ten judgments of
web processes and database, as `python -m benchmarks.rating --drafts` prints them for "form" and for "form, 10 drafts",
and then simulated: people think before each answer, each answer is a request, and after ten of them a submit and the
next page follow; a request waits for a core of a web host, then for one of the database's host. The cores are the
fewest with which both are busy for at most 60 % of the time. What lies beyond what was measured supposes that costs
grow in proportion, and that disk and network keep up: nobody has measured 10^9 judgments here.
"""

import argparse
import heapq
import math
import random
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from benchmarks import ground

ANSWERS = 10
"""Answers of a HIT, each with a draft of its own."""
REQUESTS = ANSWERS + 2
"""Those of a HIT: a draft for each answer, the submit and the next page."""
BUSY = 0.6
CORES_OF_HOST = 16
THREADS_OF_PROCESS = 8
"""Each keeps a connection to the database; one process for each core."""
SIMULATED_SECONDS, WARM_SECONDS = 40.0, 10.0
TABLES = ("annotate_judgment", "annotate_assignment", "annotate_item", "annotate_hit")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--judgments", type=int, default=100_000)
    ms: dict[str, Any] = {"type": float, "nargs": 2, "metavar": ("WEB", "DATABASE")}
    parser.add_argument("--form", **ms, help="CPU milliseconds for ten judgments: submit and next page alone")
    parser.add_argument("--drafts", **ms, help="the same with a draft for each answer")
    parser.add_argument("--think", type=float, default=5.0, help="seconds of thought before each answer")
    options = parser.parse_args()
    show_disks(measure_bytes(options.judgments))
    if options.form and options.drafts:
        costs = [Costs(form / 1000, drafts / 1000) for form, drafts in zip(options.form, options.drafts, strict=True)]
        show_hosts(costs, options.think)


@dataclass(frozen=True)
class Costs:
    """CPU seconds for a HIT of ten answers at one station: by submit and next page alone, and with drafts."""

    form: float
    whole: float

    def of(self, place: int) -> float:
        """Return those of one request by its place in the HIT: ten drafts, the submit, the next page."""
        if place < ANSWERS:
            return (self.whole - self.form) / ANSWERS
        # Eight of its twelve statements are the submit's.
        return self.form * (2 / 3 if place == ANSWERS else 1 / 3)


@dataclass(frozen=True)
class Bytes:
    """Bytes for each judgment, and of one open draft."""

    tables: dict[str, tuple[float, float]]
    """By table, those of its rows and of its indexes."""
    backup: float
    draft: float

    @property
    def whole(self) -> float:
        return sum(map(sum, self.tables.values()))


def measure_bytes(n: int) -> Bytes:
    """Fill a database with so many judgments, three of a candidate and one criterion, and measure it."""
    with ground.concord("bench_growth"), tempfile.TemporaryDirectory() as folder:
        from django.core.management import call_command
        from django.db import connection

        from annotate.models import Assignment, Draft
        from benchmarks.filling import fill_project

        project = fill_project("bench", n, base=10_000_000)
        n_stored = n // 30 * 30
        with connection.cursor() as cursor:
            tables = {}
            for table in TABLES:
                cursor.execute("SELECT pg_table_size(%s), pg_indexes_size(%s)", [table, table])
                rows, indexes = cursor.fetchone()
                tables[table] = (rows / n_stored, indexes / n_stored)
        path = Path(folder) / "backup.tar"
        call_command("backup", str(path), verbosity=0)
        backup = path.stat().st_size / n_stored
        some = list(Assignment.objects.filter(hit__batch__project=project).values_list("pk", "layout")[:2_000])
        stamp = "2026-11-23T07:00:00.123456+00:00"
        Draft.objects.bulk_create(
            Draft(assignment_id=pk, answers={f"{item}:1": {"value": 4, "at": stamp} for item in layout})
            for pk, layout in some
        )
        with connection.cursor() as cursor:
            cursor.execute("SELECT pg_total_relation_size(%s)", [Draft._meta.db_table])
            draft = cursor.fetchone()[0] / len(some)
    return Bytes(tables, backup, draft)


def show_disks(measured: Bytes) -> None:
    print(f"{'bytes for each judgment':<28}{'rows':>8}{'indexes':>9}")
    for table, (rows, indexes) in measured.tables.items():
        print(f"{table:<28}{rows:>8.0f}{indexes:>9.0f}")
    print(f"{'together':<28}{measured.whole:>17.0f}")
    print(f"{'in a backup':<28}{measured.backup:>17.0f}")
    print(f"{'an open draft':<28}{measured.draft:>17.0f}\n")
    print(f"{'judgments':>14}{'database':>13}{'a backup':>13}{'30 backups':>13}{'disk to plan':>13}")
    for n in (10**6, 10**8, 10**9):
        database, backup = n * measured.whole, n * measured.backup
        # Twice the database: room for its log, for dead rows, and for rebuilding an index.
        cells = (database, backup, 30 * backup, 2 * database)
        print(f"{n:>14,}" + "".join(f"{write_bytes(cell):>13}" for cell in cells))


def show_hosts(costs: Sequence[Costs], think: float) -> None:
    web, database = (1000 * cost.whole for cost in costs)
    print(f"\nCPU for ten judgments: web {web:.1f} ms, database {database:.1f} ms; {think:g} s of thought")
    titles = ("annotators", "requests/s", "judgments/s", "web cores", "hosts", "connections", "database cores")
    print("".join(f"{title:>15}" for title in titles) + f"{'p50':>8}{'p95':>8}{'p99':>8}  ms")
    for n in (10**3, 10**4, 10**5):
        cycles = n / (ANSWERS * think)  # HITs in a second
        cores = [max(1, math.ceil(cycles * cost.whole / BUSY)) for cost in costs]
        hosts = math.ceil(cores[0] / CORES_OF_HOST)
        connections = cores[0] * THREADS_OF_PROCESS
        waits = simulate(n, think, list(zip(cores, costs, strict=True)))
        figures = (n, cycles * REQUESTS, cycles * ANSWERS, cores[0], hosts, connections, cores[1])
        times = "".join(f"{1000 * ground.quantile(waits, share):>8.0f}" for share in (0.5, 0.95, 0.99))
        print("".join(f"{figure:>15,.0f}" for figure in figures) + times, flush=True)


def simulate(n: int, think: float, stations: Sequence[tuple[int, Costs]], seed: int = 1) -> list[float]:
    """Return the response times of all requests of `n` people in steady state.

    Each station has so many cores; the time that a request needs there is exponential around its mean. A request waits
    at one station after the other, in the order of arrival.
    """
    rng = random.Random(seed)
    free = [[0.0] * cores for cores, _costs in stations]
    waits: list[float] = []
    # Events in the order of time: (when, number, station, began, place in the HIT); each asks a station for a core.
    events: list[tuple[float, int, int, float, int]] = []
    numbers = iter(range(10**12))
    for _ in range(n):
        at = rng.uniform(0, think)
        heapq.heappush(events, (at, next(numbers), 0, at, rng.randrange(ANSWERS)))
    while events:
        at, _number, station, began, place = heapq.heappop(events)
        if at > SIMULATED_SECONDS:
            break
        cores = free[station]
        idle_at = heapq.heappop(cores)
        ended = max(at, idle_at) + rng.expovariate(1 / stations[station][1].of(place))
        heapq.heappush(cores, ended)
        if station + 1 < len(stations):
            heapq.heappush(events, (ended, next(numbers), station + 1, began, place))
            continue
        if began > WARM_SECONDS:
            waits.append(ended - began)
        following = (place + 1) % REQUESTS
        # The submit follows the last answer at once, and the next page the submit; then somebody reads and thinks.
        again = ended + (rng.expovariate(1 / think) if following < ANSWERS else 0.0)
        heapq.heappush(events, (again, next(numbers), 0, again, following))
    return waits


def write_bytes(n: float) -> str:
    units = ((1e12, "TB"), (1e9, "GB"))
    size, unit = next(((size, unit) for size, unit in units if n >= size), (1e6, "MB"))
    return f"{n / size:.3g} {unit}"


if __name__ == "__main__":
    main()
