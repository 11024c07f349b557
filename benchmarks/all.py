"""The table of what has to be fast and small: how it was before, what is aimed at, and what is measured now.

    python -m benchmarks.all [rating small …]

Each line is read from what one of the other benchmarks prints. They run one after another; names choose some of them.
Below the table, each missed aim has what a profile says of it.
"""

import argparse
import re
import subprocess
import sys
from collections import defaultdict
from dataclasses import dataclass
from itertools import cycle, groupby

from benchmarks import ground

RATING = "rating --drafts --rounds 4 --seconds 6"
SMALL = "small --rounds 3"
IMPORT = "import_candidates --sizes 40000,400000"
FREEZING = "freezing --scale 100000 1000000"
PAGES = "pages --scale 1000000"
UNKNOWN = "?"

A_REQUEST = (
    "Of its CPU beyond the reference's, three fifths are the database's, whose statements also check places, time "
    "limits and repeated submits; the rest is spread over access control and seventeen middleware with 5 to 60 µs each."
)
A_DRAFT = (
    "A cycle with a request for each draft has twelve, the reference's two: even empty ones would cost more. The "
    "page sends answers typed fast together."
)
TWO_DRAFTS = (
    "Two requests more than the reference's two, each spread thin: two statements, the rows of account, "
    "membership and project, the middleware, and 0.1 to 0.3 ms for the bridge before the threads."
)
OF_MANY = "Of its CPU the command takes almost half, the database a third, and the process that reads the file a fifth."
OF_A_SET = (
    "Three to four fifths are CPU of its process, about a second each for libraries, tables, MOCHA, Parquet and the "
    "archive; the rest is the database, which selects and orders the judgments for each of five files."
)
OF_A_PAGE = "The statements below each page above."
OF_MEMORY = "A fifth are pages of files; each process adds copies of the pages that it changes (decision 0021)."
OF_PACKAGES = (
    "pyarrow 173, scipy 118, vl-convert 88, PostgreSQL 77, numpy 60, pandas 47, Babel 34, Django 32: decision 0024."
)


@dataclass(frozen=True)
class Row:
    """A line of the table. `pattern` finds its figures in what the command prints.

    `aim` is one for all figures, or one for each, "–" where there is none; `why` is what a profile says where it is
    missed.
    """

    command: str
    what: str
    before: str
    aim: str
    pattern: str
    why: str = ""
    more_is_better: bool = False

    def misses(self, now: str) -> bool:
        """Whether a figure is on the wrong side of its aim, or none could be read."""
        if not self.aim:
            return False
        figures = [float(each.replace(",", "")) for each in now.split() if each != UNKNOWN]
        if not figures:
            return True
        aims = self.aim.split()
        pairs = zip(figures, cycle(aims) if len(aims) == 1 else aims, strict=False)
        return any(
            figure < float(aim) if self.more_is_better else figure > float(aim) for figure, aim in pairs if aim != "–"
        )


def _ratio(name: str, figure: str) -> str:
    return rf"annotators  {re.escape(name)} +beside the reference:.* {figure} ([\d.]+) "


ROWS = (
    Row(
        RATING,
        "form, of the reference's judgments/s",
        "0.68 0.69 0.69",
        "0.80",
        _ratio("form", "judgments/s"),
        A_REQUEST,
        more_is_better=True,
    ),
    Row(
        RATING,
        "  with 10 drafts",
        "0.21 0.20 0.21",
        "0.55",
        _ratio("form, 10 drafts", "judgments/s"),
        A_DRAFT,
        more_is_better=True,
    ),
    Row(
        RATING,
        "  with drafts as without pauses",
        "",
        "0.55",
        _ratio("form, 2 drafts", "judgments/s"),
        TWO_DRAFTS,
        more_is_better=True,
    ),
    Row(RATING, "CPU, times the reference's: form", "", "", _ratio("form", "CPU")),
    Row(RATING, "  with 10 drafts", "4.9 5.1 4.3", "1.8", _ratio("form, 10 drafts", "CPU"), A_DRAFT),
    Row(RATING, "  with drafts as without pauses", "", "1.8", _ratio("form, 2 drafts", "CPU"), TWO_DRAFTS),
    Row(RATING, "statements: next, draft, submit", "6 8 13", "4 2 8", r"(?:next|draft|submit) (\d+) \(goal"),
    Row("claims", "p95 of a claim, growth with batch, history", "", "1.5 1.5", r"p95 of a claim ([\d.]+)"),
    Row("claims", "p95 of a submit, growth with batch, history", "", "1.5 1.5", r"of a submit ([\d.]+)"),
    Row(IMPORT, "import of 40,000 and 400,000: seconds", "5.0 21.8", "3 30", r"  import +([\d.]+) s", OF_MANY),
    Row(IMPORT, "  peak MB", "", "200", r"  import .* peak ([\d,]+) MB"),
    Row(FREEZING, "set of 100,000 and 1,000,000: seconds", "17", "5 –", r"[\d,]+ +freeze +([\d.]+)", OF_A_SET),
    Row(FREEZING, "  CPU seconds of its process", "137", "60", r"[\d,]+ +freeze +[\d.]+ +([\d.]+)", OF_A_SET),
    Row(FREEZING, "  peak MB", "253 376", "300", r"[\d,]+ +freeze +[\d.]+ +[\d.]+ +[\d,]+ +(\d+)"),
    Row(PAGES, "pages above 0.3 s of CPU: at a million, small", "", "0", r"pages, (\d+) of them above", OF_A_PAGE),
    Row(PAGES, "  the slowest: seconds of CPU", "4.7", "0.3", r"of them above .*\n.*?([\d.]+) s of CPU", OF_A_PAGE),
    Row(SMALL, "first page, nothing there: seconds", "", "12", r"nothing there: ([\d.]+)"),
    Row(SMALL, "first page, existing data: seconds", "13", "5", r"existing data: ([\d.]+)"),
    Row(SMALL, "memory while idle: MB", "800", "350", r"memory: (\d+) MB", OF_MEMORY),
    Row(SMALL, "installation: MB", "748", "450", r"installation: (\d+) MB", OF_PACKAGES),
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
            lines += [(row, " ".join(re.findall(row.pattern, output)) or UNKNOWN) for row in rows]
    print(f"\n{'':<44}{'before':>18}{'aim':>12}{'now':>22}")
    for row, now in lines:
        print(f"{row.what:<44}{row.before:>18}{row.aim:>12}{now:>22}{'  missed' if row.misses(now) else ''}")
    missed = defaultdict(list)
    for row, now in lines:
        if row.misses(now):
            missed[row.why or "No profile was made of this."].append(row.what.strip())
    for why, rows_of_it in missed.items():
        print(f"\nMissed: {'; '.join(rows_of_it)}\n  {why}")


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
