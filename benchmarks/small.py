"""How small the site is: seconds to its first page, memory while nobody uses it, and the size of its installation.

    python -m benchmarks.small [--rounds 2]

A copy of the checkout is served with `manage.py serve --demo`, as `make run` does after `make install`: each round
once without data, and once with what the first start has left. Memory is the proportional set size (PSS) of the site's
processes and of PostgreSQL and Valkey: what several share is counted once. Its pages of files, mostly of libraries, are
given apart: the system takes them back where it needs room. Sizes are of the locked packages, without bytecode.
"""

import argparse
import os
import re
import shutil
import signal
import socket
import statistics
import subprocess
import sys
import tempfile
import time
import urllib.request
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from importlib.metadata import Distribution, PackageNotFoundError, distribution
from pathlib import Path

from benchmarks import ground
from config import file_locks, guardian

ROOT = Path(__file__).resolve().parent.parent
LOCKS = ("requirements.txt", "requirements-private.txt")
SETTLED_SECONDS = 15.0
"""After this time the processes have done what they do at their start."""
LONGEST_START_SECONDS = 120.0
UNSET = {"DATABASE_URL", "REDIS_URL", "DJANGO_SETTINGS_MODULE", "EMBEDDED_FSYNC"} | {
    f"PYTHON{name}" for name in ("PATH", "DONTWRITEBYTECODE", "PYCACHEPREFIX")
}
FRESH_GOAL, AGAIN_GOAL, MEMORY_GOAL, SIZE_GOAL = 12, 5, 350, 450


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=2)
    parser.add_argument("--packages", action="store_true", help="only the size of each package")
    options = parser.parse_args()
    sizes = measure_packages()
    if options.packages:
        for name, size in sorted(sizes.items(), key=lambda item: -item[1]):
            print(f"{size / 1e6:8.1f} MB  {name}")
    else:
        show_starts(options.rounds)
    print(f"installation: {sum(sizes.values()) / 1e6:.0f} MB in {len(sizes)} packages (goal {SIZE_GOAL})", flush=True)


def show_starts(rounds: int) -> None:
    fresh, again, memory, files = [], [], Counter[str](), 0
    for _ in range(rounds):
        with tempfile.TemporaryDirectory(prefix="concord-small-") as folder:
            Path(folder).chmod(0o755)  # as root, the private servers run as another user
            copy_site(Path(folder, "site"))
            compile_modules(Path(folder))
            with serving(Path(folder)) as (_pid, seconds):
                fresh.append(seconds)
            with serving(Path(folder)) as (pid, seconds):
                again.append(seconds)
                time.sleep(SETTLED_SECONDS)
                memory.update(measure_memory(pid, "Pss"))
                files += measure_memory(pid, "Pss_File").total()
    print(f"first page, nothing there: {_show(fresh)} (goal {FRESH_GOAL} s)")
    print(f"first page, existing data: {_show(again)} (goal {AGAIN_GOAL} s)")
    for name, size in memory.most_common():
        print(f"{size / rounds / 1e6:8.1f} MB  {name}")
    whole, of_files = memory.total() / rounds / 1e6, files / rounds / 1e6
    print(f"memory: {whole:.0f} MB PSS (goal {MEMORY_GOAL}), {of_files:.0f} MB of it pages of files", flush=True)


def _show(seconds: list[float]) -> str:
    return f"{statistics.median(seconds):.1f} s (from {min(seconds):.1f} to {max(seconds):.1f})"


def copy_site(folder: Path) -> None:
    """Copy the files that git knows or would add, and the compiled translations, which `make install` makes."""
    command = ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"]
    listed = subprocess.run(command, cwd=ROOT, check=True, capture_output=True, text=True).stdout
    for name in (*listed.split("\0"), *(str(path.relative_to(ROOT)) for path in ROOT.glob("locale/*/*/*.mo"))):
        if (source := ROOT / name).is_file():
            (folder / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(source, folder / name)


def compile_modules(folder: Path) -> None:
    """Compile what the site loads, as `make install` does."""
    environment = {**_make_environment(folder), "DJANGO_SETTINGS_MODULE": "config.settings"}
    subprocess.run([sys.executable, "-c", ground.LOAD], cwd=folder / "site", env=environment, check=True)


def _make_environment(folder: Path) -> dict[str, str]:
    kept = {name: value for name, value in os.environ.items() if name not in UNSET}
    return {**kept, "DATA_DIR": str(folder / "data"), "PYTHONPYCACHEPREFIX": str(folder / "bytecode")}


@contextmanager
def serving(folder: Path) -> Iterator[tuple[int, float]]:
    """Serve the copy; yield the process and the seconds until its first page was there."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    command = [sys.executable, "manage.py", "serve", "--demo", "--port", str(port)]
    environment = _make_environment(folder)
    began = time.perf_counter()
    process = subprocess.Popen(command, cwd=folder / "site", env=environment, stdout=subprocess.DEVNULL)
    try:
        while time.perf_counter() - began < LONGEST_START_SECONDS and process.poll() is None:
            try:
                with urllib.request.urlopen(f"http://127.0.0.1:{port}/", timeout=30) as page:
                    page.read()
                break
            except OSError:
                time.sleep(0.02)
        else:
            raise RuntimeError("The site did not start.")
        yield process.pid, time.perf_counter() - began
    finally:
        process.send_signal(signal.SIGTERM)
        process.wait(timeout=60)
        # The next site would join a guardian that still ends, whose memory then counts for nobody.
        for server in ("postgres", "valkey"):
            while not file_locks.is_free(guardian.state_dir(folder / "data", server) / "guard"):
                time.sleep(0.02)


def measure_memory(pid: int, figure: str) -> Counter[str]:
    """Return the bytes of the process and all its descendants, by kind of process, of one figure of the kernel's."""
    found = Counter[str]()
    for each in _find_tree(pid):
        try:
            rollup = Path(f"/proc/{each}/smaps_rollup").read_text()
            name = _name(Path(f"/proc/{each}/cmdline").read_text().split("\0"))
        except OSError:
            continue  # it has ended meanwhile
        found[name] += sum(int(size) for size in re.findall(rf"^{figure}: +(\d+) kB$", rollup, re.MULTILINE)) * 1024
    return found


def _name(words: list[str]) -> str:
    kinds = ("config.guardian", "gunicorn", "celery", "postgres", "valkey", "serve")
    return next((kind for kind in kinds if any(kind in word for word in words)), " ".join(words)[:60])


def _find_tree(pid: int) -> list[int]:
    found, waiting = [], [pid]
    while waiting:
        current = waiting.pop()
        found.append(current)
        for task in Path(f"/proc/{current}/task").glob("*"):
            try:
                waiting += [int(child) for child in (task / "children").read_text().split()]
            except OSError:
                continue
    return found


def measure_packages() -> dict[str, int]:
    """Return the bytes on the disk of each locked package for this platform."""
    found = {}
    for lock in LOCKS:
        for line in (ROOT / lock).read_text().splitlines():
            name, equal, _ = line.partition("==")
            if equal and not line.startswith((" ", "#")):
                try:
                    found[name.partition("[")[0]] = _measure(distribution(name.partition("[")[0]))
                except PackageNotFoundError:
                    continue  # not for this platform
    return found


def _measure(package: Distribution) -> int:
    total = 0
    for file in package.files or ():
        path = Path(str(package.locate_file(file)))
        if path.suffix != ".pyc" and path.is_file():
            total += path.lstat().st_blocks * 512
    return total


if __name__ == "__main__":
    main()
