"""The table of what has to be fast and small: how it was before, what is aimed at, and what is measured now.

    python -m benchmarks.all [rating small …]

Each line is read from what one of the other benchmarks prints. They run one after another; names choose some of them.
"""

import argparse
import re
import subprocess
import sys
from dataclasses import dataclass
from itertools import groupby

from benchmarks import ground

RATING = "rating --drafts --rounds 4 --seconds 6"
SMALL = "small --rounds 3"
IMPORT = "import_candidates --sizes 40000,400000"
FREEZING = "freezing --scale 100000 1000000"
PAGES = "pages --scale 1000000"


@dataclass(frozen=True)
class Row:
    """A line of the table. `pattern` finds its figures in what the command prints."""

    command: str
    what: str
    before: str
    aim: str
    pattern: str


def _ratio(name: str, figure: str) -> str:
    return rf"annotators  {re.escape(name)} +beside the reference:.* {figure} ([\d.]+) "


ROWS = (
    Row(RATING, "form, of the reference's judgments/s", "0.68 0.69 0.69", "0.80", _ratio("form", "judgments/s")),
    Row(RATING, "  with 10 drafts", "0.21 0.20 0.21", "0.55", _ratio("form, 10 drafts", "judgments/s")),
    Row(RATING, "  with drafts as without pauses", "", "0.55", _ratio("form, 2 drafts", "judgments/s")),
    Row(RATING, "CPU, times the reference's: form", "", "", _ratio("form", "CPU")),
    Row(RATING, "  with 10 drafts", "4.9 5.1 4.3", "1.8", _ratio("form, 10 drafts", "CPU")),
    Row(RATING, "  with drafts as without pauses", "", "1.8", _ratio("form, 2 drafts", "CPU")),
    Row(RATING, "statements: next, draft, submit", "6 8 13", "4 2 8", r"(?:next|draft|submit) (\d+) \(goal"),
    Row("claims", "p95 of a claim, growth with batch, history", "", "1.5 1.5", r"p95 of a claim ([\d.]+)"),
    Row("claims", "p95 of a submit, growth with batch, history", "", "1.5 1.5", r"of a submit ([\d.]+)"),
    Row(IMPORT, "import of 40,000 and 400,000: seconds", "5.0 21.8", "3 30", r"  import +([\d.]+) s"),
    Row(IMPORT, "  peak MB", "", "200", r"  import .* peak ([\d,]+) MB"),
    Row(FREEZING, "set of 100,000 and 1,000,000: seconds", "17", "5", r"[\d,]+ +freeze +([\d.]+)"),
    Row(FREEZING, "  CPU seconds of its process", "137", "60", r"[\d,]+ +freeze +[\d.]+ +([\d.]+)"),
    Row(FREEZING, "  peak MB", "253 376", "300", r"[\d,]+ +freeze +[\d.]+ +[\d.]+ +[\d,]+ +(\d+)"),
    Row(PAGES, "pages above 0.3 s of CPU: at a million, small", "", "0", r"pages, (\d+) of them above"),
    Row(PAGES, "  the slowest: seconds of CPU", "4.7", "0.3", r"of them above .*\n.*?([\d.]+) s of CPU"),
    Row(SMALL, "first page, nothing there: seconds", "", "12", r"nothing there: ([\d.]+)"),
    Row(SMALL, "first page, existing data: seconds", "13", "5", r"existing data: ([\d.]+)"),
    Row(SMALL, "memory while idle: MB", "800", "350", r"memory: (\d+) MB"),
    Row(SMALL, "installation: MB", "748", "450", r"installation: (\d+) MB"),
)


def main() -> None:
    names = sorted({row.command.partition(" ")[0] for row in ROWS})
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("names", nargs="*", metavar="benchmark", help=f"only these: {', '.join(names)}")
    chosen = parser.parse_args().names or names
    if unknown := set(chosen) - set(names):
        parser.error(f"no such benchmark: {', '.join(sorted(unknown))}")
    lines = []
    for command, rows in groupby(ROWS, key=lambda row: row.command):
        if command.partition(" ")[0] in chosen:
            output = run(command)
            lines += [(row, " ".join(re.findall(row.pattern, output)) or "?") for row in rows]
    print(f"\n{'':<44}{'before':>18}{'aim':>12}{'now':>22}")
    for row, now in lines:
        print(f"{row.what:<44}{row.before:>18}{row.aim:>12}{now:>22}")


def run(command: str) -> str:
    """Run a benchmark, and return what it prints while that is shown."""
    print(f"$ python -m benchmarks.{command}", flush=True)
    words = [sys.executable, "-m", f"benchmarks.{command.partition(' ')[0]}", *command.split()[1:]]
    process = subprocess.Popen(words, cwd=ground.ROOT, stdout=subprocess.PIPE, text=True)
    assert process.stdout is not None
    output = []
    for line in process.stdout:
        print(line, end="", flush=True)
        output.append(line)
    if process.wait():
        print(f"It failed with {process.returncode}.", flush=True)
    return "".join(output)


if __name__ == "__main__":
    main()
