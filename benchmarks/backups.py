"""Backing up and restoring 100,000 and 1,000,000 judgments: seconds, and the size of the backup.

Run: .venv/bin/python -m benchmarks.backups [--scale 100000 1000000]

Both commands run in separate processes, each restore into an empty database and an empty data folder, migrated and
verified as `manage.py restore` does. The reference, in the same run, is `pg_dump -Fc` of the same database.
"""

import argparse
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from benchmarks import ground


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--scale", type=int, nargs="+", default=[100_000, 1_000_000])
    options = parser.parse_args()
    print(f"{'judgments':>12} {'way':>8} {'seconds':>8} {'MB':>7}")
    for n in options.scale:
        environment = dict(os.environ)
        with tempfile.TemporaryDirectory() as folder, ground.concord(f"bench_backups_{n}"):
            _measure(n, Path(folder))
        os.environ.clear()
        os.environ.update(environment)


def _measure(n: int, folder: Path) -> None:
    from django.db import connection, connections

    from benchmarks.filling import fill_project
    from config.backups import databases
    from config.backups.postgresql_programs import Login, find_programs

    fill_project(f"bench-{n}", n, base=10_000_000)
    programs, login = find_programs(18), Login.from_settings(connection.settings_dict)
    connections.close_all()
    started = time.perf_counter()
    with databases.dumping(programs, login) as dump:
        n_bytes = sum(len(chunk) for chunk in iter(lambda: dump.read(1 << 20), b""))
    _print(n, "pg_dump", time.perf_counter() - started, n_bytes)
    path = folder / "site.tar"
    seconds = _run({"DATA_DIR": str(folder / "old")}, "backup", str(path))
    _print(n, "backup", seconds, path.stat().st_size)
    with ground.fresh_database("bench_restored") as url:
        seconds = _run({"DATA_DIR": str(folder / "new"), "DATABASE_URL": url}, "restore", str(path))
    _print(n, "restore", seconds, path.stat().st_size)


def _run(variables: dict[str, str], *arguments: str) -> float:
    """Run a command of the site, and return its seconds."""
    command = [sys.executable, str(ground.ROOT / "manage.py"), *arguments, "--json"]
    started = time.perf_counter()
    subprocess.run(command, check=True, env={**os.environ, **variables}, stdout=subprocess.DEVNULL)
    return time.perf_counter() - started


def _print(n: int, way: str, seconds: float, n_bytes: int) -> None:
    print(f"{n:>12,} {way:>8} {seconds:8.2f} {n_bytes / 1e6:7.1f}", flush=True)


if __name__ == "__main__":
    main()
