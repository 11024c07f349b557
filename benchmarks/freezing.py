"""Freezing 1,000,000 judgments as a judgment set: seconds, CPU and peak memory of the worker, verified and downloaded.

Run: .venv/bin/python -m benchmarks.freezing [--scale 100000 1000000]

The freeze is `manage.py freeze` in a separate process: from the request to the stored set, with all files written and
packed; CPU is of that process, without the database's. The reference, in the same run, is the export of the same
judgments as a long CSV, one of the files of the set.
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


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--scale", type=int, nargs="+", default=[100_000, 1_000_000])
    parser.add_argument("--one", nargs=2, metavar=("WAY", "SLUG"), help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.one:
        print(json.dumps(_measure_one(*options.one)))
        return
    with tempfile.TemporaryDirectory() as folder, ground.concord("bench_freezing"):
        os.environ["BENCH_FILES"] = folder
        from benchmarks.filling import fill_project

        for number, n in enumerate(options.scale, start=1):
            fill_project(f"bench-{n}", n, base=number * 10_000_000)
            _own(f"bench-{n}")
        print(f"{'judgments':>12} {'way':>8} {'seconds':>8} {'CPU s':>6} {'rows/s':>10} {'peak MB':>8} {'MB':>7}")
        for n in options.scale:
            _compare(n)


def _own(slug: str) -> None:
    """Give a project the owner that a set is frozen for."""
    from projects.models import Membership, Project

    Membership.objects.create(project=Project.objects.get(slug=slug), role=Membership.Role.OWNER)


def _compare(n: int) -> None:
    for way in ("export", "freeze", "verify"):
        command = [sys.executable, "-m", "benchmarks.freezing", "--one", way, f"bench-{n}"]
        result = json.loads(subprocess.run(command, check=True, stdout=subprocess.PIPE).stdout)
        rate = result["rows"] / result["seconds"]
        timing = f"{result['seconds']:8.2f} {result['cpu_seconds']:6.2f} {rate:10,.0f}"
        print(f"{n:>12,} {way:>8} {timing} {result['peak_mb']:8.0f} {result['bytes'] / 1e6:7.1f}")


def _measure_one(way: str, slug: str) -> dict[str, Any]:
    import io

    import django
    from django.conf import settings

    django.setup()
    settings.MEDIA_ROOT = Path(os.environ["BENCH_FILES"])
    from django.core.management import call_command

    out = io.StringIO()
    arguments = {
        "export": ("export_judgments", "--format", "long", "--output", str(settings.MEDIA_ROOT / "long.csv")),
        "freeze": ("freeze", "--name", "Benchmark"),
        "verify": ("judgment_set", "1", "--verify"),
    }[way]
    start, cpu_before = time.perf_counter(), time.process_time()
    call_command(*arguments, "--project", slug, "--json", stdout=out)
    seconds, cpu_seconds = time.perf_counter() - start, time.process_time() - cpu_before
    answer = json.loads(out.getvalue())
    return {
        "rows": answer.get("n_rows") or int(slug.rpartition("-")[2]),
        "seconds": seconds,
        "cpu_seconds": cpu_seconds,
        "bytes": answer["n_bytes"],
        "peak_mb": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024,
    }


if __name__ == "__main__":
    main()
