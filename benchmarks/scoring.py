"""Six automatic metrics over many candidates, by 1, 2 and 4 worker processes: rows per second and efficiency.

Run: .venv/bin/python -m benchmarks.scoring [--candidates 50000] [--workers 1 2 4]

The answers are those of `benchmarks.metrics`, five to a question with two references. The six runs are requested at
once; the time is from the request until the last of them is stored, on workers that have started. A row is a candidate
with one metric. The efficiency is the rows per second divided by those of one process times the number of processes;
it cannot be more than cores / processes, and the database takes its part of the cores too. Before that, one metric is
scored in one piece and in chunks by this process alone: the scores have to be the same, and the ratio of the times is
what the division costs.
"""

import argparse
import io
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import cycle, islice
from typing import Any

from benchmarks import ground
from benchmarks.metrics import BY_QUESTION, make_answers
from config import data_folder

METRICS = ("bleu_4", "chrf", "rouge_l", "gleu", "token_f1", "exact_match")
DISTINCT = 50_000
"""Answers that differ; more are the same again, under other questions."""
BROKER_SPACE = 15
"""The numbered space of the broker, which a site on the same data folder does not use."""
PATIENCE_SECONDS = 60


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--candidates", type=int, default=50_000)
    parser.add_argument("--workers", type=int, nargs="+", default=[1, 2, 4])
    options = parser.parse_args()
    with ground.concord("bench_scoring"):
        use_own_broker_space()
        project = fill(options.candidates)
        print(f"{os.cpu_count()} cores, load {os.getloadavg()[0]:.1f}; {options.candidates:,} candidates")
        compare_alone(project, "bleu_4")
        print(
            f"\n{'processes':>9} {'seconds':>9} {'rows/s':>9} {'efficiency':>11} {'workers, CPU s':>15} {'database':>9}"
        )
        first = 0.0
        for n in options.workers:
            seconds, cpu, of_database = measure(project, n)
            rate = len(METRICS) * options.candidates / seconds
            first = first or rate / n
            figures = f"{seconds:>9.1f} {rate:>9,.0f} {rate / (n * first):>11.2f} {cpu:>15.1f} {of_database:>9.1f}"
            print(f"{n:>9} {figures}", flush=True)


def use_own_broker_space() -> None:
    from config.celery import app

    address = f"{data_folder.redis_url().partition('?')[0]}?virtual_host={BROKER_SPACE}"
    os.environ["REDIS_URL"] = address
    app.conf.update(broker_url=address, broker_write_url=address)
    app.control.purge()


def fill(n: int) -> Any:
    """Create a project with so many candidates, by COPY."""
    from django.db import connection

    from projects.models import Membership, Project

    answers = make_answers(min(n, DISTINCT))
    project = Project.objects.create(slug="bench-scoring", name="Scoring")
    Membership.objects.create(project=project, role=Membership.Role.OWNER)
    dataset = project.datasets.create(name="bench", kind="generative")
    n_questions = -(-n // BY_QUESTION)
    with connection.cursor() as cursor:
        cursor.execute(
            "INSERT INTO projects_passage (id, dataset_id, external_id, text) SELECT n, %(dataset)s, n, 'A passage.'"
            " FROM generate_series(1, %(n)s) n;"
            "INSERT INTO projects_question (id, dataset_id, passage_id, external_id, text)"
            " SELECT n, %(dataset)s, n, n, 'What happened?' FROM generate_series(1, %(n)s) n",
            {"dataset": dataset.pk, "n": n_questions},
        )
        references = islice(cycle(answers.references[::BY_QUESTION]), n_questions)
        _copy(
            cursor,
            "projects_reference (question_id, position, text)",
            (
                (question, position, text)
                for question, texts in enumerate(references, start=1)
                for position, text in enumerate(texts)
            ),
        )
        _copy(
            cursor,
            "projects_candidate (dataset_id, question_id, external_id, text, source)",
            (
                (dataset.pk, 1 + number // BY_QUESTION, number, text, f"system {number % 7}")
                for number, text in enumerate(islice(cycle(answers.candidates), n))
            ),
        )
        cursor.execute("VACUUM ANALYZE")
    return project


def _copy(cursor: Any, table: str, rows: Iterator[tuple[Any, ...]]) -> None:
    while part := list(islice(rows, 100_000)):
        lines = "".join("\t".join(map(str, row)) + "\n" for row in part)
        cursor.copy_expert(f"COPY {table} FROM STDIN", io.StringIO(lines))


def compare_alone(project: Any, name: str) -> None:
    """Score in one piece and in chunks, in this process; raise AssertionError where the scores differ."""
    from results.metrics import chunks, computing

    seconds, scores = [], []
    shared_from = chunks.SHARED_FROM
    for least in (sys.maxsize, 0):
        chunks.SHARED_FROM = least
        started = time.perf_counter()
        run = computing.run_now(project=project, name=name, settings={})
        seconds.append(time.perf_counter() - started)
        scores.append((list(run.scores.order_by("candidate_id").values_list("value", "counts")), run.report["summary"]))
    chunks.SHARED_FROM = shared_from
    assert scores[0][0] == scores[1][0], "the scores differ"
    assert scores[0][1]["score"] == scores[1][1]["score"], "the corpus scores differ"
    forget(project)
    whole, parts = seconds
    print(
        f"{name} by one process: in one piece {whole:.1f} s, in chunks {parts:.1f} s ({parts / whole:.2f}); same scores"
    )


def measure(project: Any, n_workers: int) -> tuple[float, float, float]:
    """Return the seconds of all runs, and the CPU seconds of the workers and of the database."""
    from projects.people.members import find_owner
    from results.metrics import computing
    from results.models import MetricRun

    postmaster = ground.postmaster_pid()
    with workers(n_workers) as pids:
        owner = find_owner(project, for_what="scores are computed")
        cpu, of_database = sum(map(ground.tree_cpu_seconds, pids)), ground.tree_cpu_seconds(postmaster)
        started = time.perf_counter()
        for name in METRICS:
            computing.request_run(project=project, actor=owner, name=name, settings={})
        while MetricRun.objects.filter(state__in=MetricRun.LIVE).exists():
            time.sleep(0.05)
        seconds = time.perf_counter() - started
        cpu = sum(map(ground.tree_cpu_seconds, pids)) - cpu
        of_database = ground.tree_cpu_seconds(postmaster) - of_database
    runs = MetricRun.objects.filter(project=project)
    assert [*runs.values_list("state", flat=True)] == ["done"] * len(METRICS), list(
        runs.values_list("error", flat=True)
    )
    assert all(run.scores.count() == run.total for run in runs)
    forget(project)
    return seconds, cpu, of_database


def forget(project: Any) -> None:
    """Delete the runs, so that no measurement replaces the scores of another."""
    from django.db import connection

    from results.metrics.storing import delete_runs

    delete_runs(project.metric_runs.all())
    with connection.cursor() as cursor:
        cursor.execute("VACUUM ANALYZE results_metricscore")


@contextmanager
def workers(n: int) -> Iterator[list[int]]:
    """Run so many workers of the queue for metrics, each with one thread."""
    from config.celery import app

    options = ["--queues", "scoring", "--pool", "threads", "--concurrency", "1", "--loglevel", "warning"]
    quiet = ["--without-gossip", "--without-mingle"]
    command = [sys.executable, "-m", "celery", "--quiet", "-A", "config.celery", "worker", *options, *quiet]
    processes = [
        subprocess.Popen([*command, "--hostname", f"scoring{number}@%h"], cwd=ground.ROOT, env=dict(os.environ))
        for number in range(n)
    ]
    try:
        deadline = time.monotonic() + PATIENCE_SECONDS
        while len(app.control.ping(timeout=1) or ()) < n:
            if time.monotonic() > deadline:
                raise RuntimeError("The workers do not answer.")
        yield [process.pid for process in processes]
    finally:
        for process in processes:
            process.send_signal(signal.SIGTERM)
        for process in processes:
            process.wait(timeout=60)


if __name__ == "__main__":
    main()
