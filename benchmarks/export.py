"""Exports of 100,000 and 1,000,000 judgments: rows a second, memory, and the ratio to a plain COPY.

Run: .venv/bin/python -m benchmarks.export [--scale 100000 1000000]

Each export is `manage.py export_judgments` in a separate process, writing to a file; what is measured is the command
(from the first query to the last byte) and the peak resident memory of that process. The reference, in the same run, is
`COPY (SELECT …) TO STDOUT CSV` by psycopg2 of the columns of the long file, joined from the same tables, unsorted,
without the guard against formulas, and with times as the database formats them.
"""

import argparse
import json
import os
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

from benchmarks import ground

PLAIN = """
SELECT d.name, p.split, p.external_id, q.external_id, c.external_id, c.source,
       c.withdrawn_at IS NOT NULL OR p.withdrawn_at IS NOT NULL, cr.key, cr.is_reversed, j.value, j.value IS NULL,
       j.is_counted, j.not_counted_reason, coalesce(k.is_flagged, false), array_position(a.layout, j.item_id),
       a.item_seconds[array_position(a.layout, j.item_id)], coalesce(j.judged_at, a.submitted_at), b.number, b.kind,
       h.number, r.version, m.pseudonym, m.kind, a.uuid, a.state, a.mark, NOT a.not_blind, a.has_odd_times,
       a.opened_at, a.submitted_at, a.active_seconds, a.wall_seconds
FROM annotate_judgment j
JOIN projects_criterion cr ON cr.id = j.criterion_id
JOIN projects_candidate c ON c.id = j.candidate_id
JOIN projects_question q ON q.id = c.question_id
JOIN projects_passage p ON p.id = q.passage_id
JOIN projects_dataset d ON d.id = c.dataset_id
JOIN annotate_assignment a ON a.id = j.assignment_id
JOIN annotate_hit h ON h.id = a.hit_id
JOIN annotate_batch b ON b.id = h.batch_id
JOIN projects_rubric r ON r.id = b.rubric_id
JOIN projects_membership m ON m.id = a.annotator_id
LEFT JOIN annotate_remark k ON k.assignment_id = j.assignment_id AND k.item_id = j.item_id
WHERE d.project_id = (SELECT id FROM projects_project WHERE slug = '{slug}')
"""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--scale", type=int, nargs="+", default=[100_000, 1_000_000])
    parser.add_argument("--one", nargs=3, metavar=("WAY", "SLUG", "FILE"), help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.one:
        print(json.dumps(_measure_one(*options.one)))
        return
    with ground.concord("bench_export"):
        _fill(options.scale)
        print(f"{'judgments':>12} {'way':>12} {'seconds':>8} {'rows/s':>10} {'peak MB':>8} {'MB':>7}")
        for n in options.scale:
            _compare(n)


def _fill(scales: list[int]) -> None:
    from benchmarks.filling import fill_project

    for number, n in enumerate(scales, start=1):
        fill_project(f"bench-{n}", n, base=number * 10_000_000)


def _compare(n: int) -> None:
    seconds = {}
    for way in ("plain", "long", "jsonl", "aggregated", "mocha"):
        with tempfile.TemporaryDirectory() as folder:
            file = Path(folder) / "out"
            command = [sys.executable, "-m", "benchmarks.export", "--one", way, f"bench-{n}", str(file)]
            rounds = [json.loads(subprocess.run(command, check=True, capture_output=True).stdout) for _ in range(2)]
        best = min(rounds, key=lambda each: float(each["seconds"]))
        seconds[way] = best["seconds"]
        rate = best["rows"] / best["seconds"]
        size = best["bytes"] / 1e6
        print(f"{n:>12,} {way:>12} {best['seconds']:8.2f} {rate:10,.0f} {best['peak_mb']:8.0f} {size:7.1f}")
    print(f"{n:>12,} long to plain COPY: {seconds['long'] / seconds['plain']:.2f} times")


def _measure_one(way: str, slug: str, file: str) -> dict[str, Any]:
    rows, seconds = _plain(slug, file) if way == "plain" else _ours(way, slug, file)
    return {
        "rows": rows,
        "seconds": seconds,
        "bytes": Path(file).stat().st_size,
        "peak_mb": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024,
    }


def _plain(slug: str, file: str) -> tuple[int, float]:
    import psycopg2

    connection = psycopg2.connect(os.environ["DATABASE_URL"].replace("postgres://", "postgresql://", 1))
    start = time.perf_counter()
    with connection.cursor() as cursor, open(file, "wb") as out:
        cursor.copy_expert(f"COPY ({PLAIN.format(slug=slug)}) TO STDOUT CSV", out)
        rows: int = cursor.rowcount
    return rows, time.perf_counter() - start


def _ours(form: str, slug: str, file: str) -> tuple[int, float]:
    import io
    import json

    import django
    from django.core.management import call_command

    django.setup()
    from results.management.commands.export_judgments import Command

    out = io.StringIO()
    start = time.perf_counter()
    call_command(Command(), "--project", slug, "--format", form, "--output", file, "--json", stdout=out)
    seconds = time.perf_counter() - start
    return json.loads(out.getvalue())["n_rows"], seconds


if __name__ == "__main__":
    main()
