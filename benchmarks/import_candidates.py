"""Importing candidates, compared with Django's bulk_create of the same rows, in one run.

    python -m benchmarks.import_candidates [--sizes 40000,400000] [--rounds 2]

The file is a CSV with the passage (200 words) in every row, ten candidates per passage, two per question. Each
measurement is a separate process on an empty, migrated database. The import reads the file, checks every row, spools,
stages, writes and analyses; bulk_create gets parsed rows in memory, and only creates the objects and writes them. The
best round counts.
"""

import argparse
import csv
import json
import random
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

from benchmarks import ground

if TYPE_CHECKING:
    from projects.models import Membership, Project

COLUMNS = ("passage_id", "passage", "question_id", "question", "reference", "id", "candidate", "source", "split")
PER_PASSAGE, PER_QUESTION, BATCH = 10, 2, 5_000
Row = tuple[str, ...]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--sizes", default="40000,400000")
    parser.add_argument("--rounds", type=int, default=2)
    parser.add_argument("--child", choices=["import", "bulk"], help=argparse.SUPPRESS)
    parser.add_argument("--file", type=Path, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.child:
        print(json.dumps({"import": run_import, "bulk": run_bulk_create}[options.child](options.file)))
        return
    rates = []
    for size in map(int, options.sizes.split(",")):
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "candidates.csv"
            write_file(path, size)
            rates.append(measure(path, size, options.rounds))
    if len(rates) > 1:
        print(f"rows/s of the largest to the smallest: {rates[-1] / rates[0]:.2f}")


def measure(path: Path, size: int, rounds: int) -> float:
    runs: dict[str, list[dict[str, float]]] = {"bulk": [], "import": []}
    for _ in range(rounds):
        for kind, results in runs.items():
            results.append(child(kind, path))
    best = {kind: min(results, key=lambda result: result["seconds"]) for kind, results in runs.items()}
    ours, theirs = best["import"], best["bulk"]
    print(f"{size:,} candidates in {path.stat().st_size / 2**20:,.0f} MB")
    print(f"  import       {ours['seconds']:6.2f} s  {size / ours['seconds']:8,.0f} rows/s  peak {ours['rss']:,.0f} MB")
    print(f"               of which checked {ours['checked']:.2f} s, written {ours['seconds'] - ours['checked']:.2f} s")
    print(f"               the same number of answers of another system, to the same questions: {ours['linked']:.2f} s")
    rate = size / theirs["seconds"]
    print(f"  bulk_create  {theirs['seconds']:6.2f} s  {rate:8,.0f} rows/s  peak {theirs['rss']:,.0f} MB")
    print(f"  ratio        {ours['seconds'] / theirs['seconds']:6.2f}", flush=True)
    return size / ours["seconds"]


def child(kind: str, path: Path) -> dict[str, float]:
    with ground.fresh_database("bench_import") as url:
        environment = ground.site_environment("config.settings", url)
        subprocess.run(
            [sys.executable, "manage.py", "migrate", "-v0"],
            cwd=ground.ROOT,
            env=environment,
            check=True,
            stdout=sys.stderr,
        )
        # A separate process, because peak memory can only be read for a whole process.
        command = [sys.executable, "-m", "benchmarks.import_candidates", "--child", kind, "--file", str(path)]
        done = subprocess.run(command, cwd=ground.ROOT, env=environment, check=True, stdout=subprocess.PIPE)
    result: dict[str, float] = json.loads(done.stdout.splitlines()[-1])
    return result


def run_import(path: Path) -> dict[str, float]:
    _set_up()
    from annotate.imports import writing

    project, owner = _project()
    with tempfile.TemporaryDirectory() as folder:
        start = time.perf_counter()
        checked = writing.check_alone(project=project, path=path, name=path.name, folder=Path(folder) / "spool")
        between = time.perf_counter()
        writing.write(project=project, checked=checked, actor=owner)
        seconds = time.perf_counter() - start
        more = _write_other_system(path, Path(folder) / "more.csv")
        start_more = time.perf_counter()
        writing.import_now(project=project, path=more, name=more.name, folder=Path(folder) / "spool-2", actor=owner)
        linked = time.perf_counter() - start_more
    return {"seconds": seconds, "checked": between - start, "linked": linked, "rss": _peak()}


def run_bulk_create(path: Path) -> dict[str, float]:
    _set_up()
    from django.db import transaction

    from projects.models import Candidate, Dataset, Passage, Reference

    project, _ = _project()
    with path.open(newline="") as file:
        rows = [tuple(row) for row in csv.reader(file)][1:]
    start = time.perf_counter()
    with transaction.atomic():
        dataset = Dataset.objects.create(project=project, name="main")
        passages = {
            row[0]: Passage(dataset=dataset, external_id=row[0], title="", text=row[1], split=row[8])
            for row in rows[::PER_PASSAGE]
        }
        Passage.objects.bulk_create(passages.values(), batch_size=BATCH)
        questions = _bulk_create_questions(dataset, passages, rows)
        Reference.objects.bulk_create(
            (
                Reference(question=questions[row[2]], position=0, text=row[4], opinion="")
                for row in rows[::PER_QUESTION]
            ),
            batch_size=BATCH,
        )
        Candidate.objects.bulk_create(
            (
                Candidate(
                    dataset=dataset,
                    question=questions[row[2]],
                    external_id=row[5],
                    text=row[6],
                    source=row[7],
                    opinion="",
                    metadata={},
                )
                for row in rows
            ),
            batch_size=BATCH,
        )
    return {"seconds": time.perf_counter() - start, "rss": _peak()}


def _bulk_create_questions(dataset: Any, passages: dict[str, Any], rows: list[tuple[str, ...]]) -> dict[str, Any]:
    from projects.models import Question

    questions = {
        row[2]: Question(
            dataset=dataset,
            passage=passages[row[0]],
            external_id=row[2],
            text=row[3],
            type="",
            entities=[],
            span="",
        )
        for row in rows[::PER_QUESTION]
    }
    Question.objects.bulk_create(questions.values(), batch_size=BATCH)
    return questions


def write_file(path: Path, size: int) -> None:
    with path.open("w", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(COLUMNS)
        writer.writerows(_rows(size))


def _rows(size: int) -> Iterator[Row]:
    rng = random.Random(1)
    words = [f"w{number}ord" for number in range(3_000)]

    def text(length: int) -> str:
        return " ".join(rng.choices(words, k=length))

    passage = question = reference = split = ""
    for number in range(size):
        if number % PER_PASSAGE == 0:
            passage, split = text(200), rng.choice(("train", "dev", "test"))
        if number % PER_QUESTION == 0:
            question, reference = text(10) + "?", text(8)
        yield (
            *(f"p{number // PER_PASSAGE}", passage, f"q{number // PER_QUESTION}", question, reference),
            *(f"c{number}", text(8), f"system-{number % 5}", split),
        )


def _write_other_system(path: Path, more: Path) -> Path:
    with path.open(newline="") as file, more.open("w", newline="") as out:
        writer = csv.writer(out)
        for number, row in enumerate(csv.reader(file)):
            if number:
                row[5], row[7] = f"other-{row[5]}", "other"
            writer.writerow(row)
    return more


def _set_up() -> None:
    import django

    django.setup()


def _project() -> tuple["Project", "Membership"]:
    from projects.models import Membership, Project, User
    from projects.rubric.rubrics import create_from_preset

    project = Project.objects.create(slug="bench", name="Bench")
    create_from_preset(project, "mocha")
    user = User.objects.create(username="bench")
    return project, Membership.objects.create(project=project, user=user, role=Membership.Role.OWNER)


def _peak() -> float:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / (2**20 if sys.platform == "darwin" else 2**10)


if __name__ == "__main__":
    main()
