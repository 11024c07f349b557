"""Every page of a project with a million judgments, and of a small one beside it: seconds, and CPU seconds.

Run: .venv/bin/python -m benchmarks.pages [--scale 1000000] [--all]

A page is opened by the project's owner, with its figures computed by jobs, as people would request them. The orders of
its lists and its last page are opened too, as far as the page itself links to them. CPU seconds are those of this
process and of the database, which is kept from working on one statement in parallel; the last column has those of the
first opening after a change of the judgments, when nothing is kept. Below a page that misses the goal of 0.3 s of CPU
are its longest statements. The last lines give the seconds of each report, and the peak RSS of this process after it.
"""

import argparse
import logging
import os
import re
import resource
import time
from collections.abc import Iterator
from html import unescape
from pathlib import Path
from typing import Any, NamedTuple
from urllib.parse import parse_qsl, urlencode

from benchmarks import ground

ROUNDS = 3
GOAL = 0.3
OF_FIGURES = (
    *("agreement/", "agreement/annotators/", "agreement/time/", "leaderboard/", "batches/1/results/"),
    *("scores/", "scores/systems/", "scores/replication/", "scores/disagreements/", "scores/planner/"),
)
ADDRESSES = (
    *("scores/disagreements/?by=passages", "scores/disagreements/?by=pairs", "scores/?source=system-1"),
    *(
        "adjudication/?state=all",
        "adjudication/?batch=1",
        "data/candidates/?source=system-1",
        "submitted/?mark=counted",
    ),
)
"""Choices of menus, to which no link leads."""
LINK = re.compile(r'href="\?([^"#]+)"')
N_STATEMENTS = 3
WIDTH = 160
FEW = 15
"""The slowest pages, which are listed unless all are asked for."""
NO_PAGES = (
    *("-file", "-scores", "-archive", "-chart", "-table", "-job", "export-long", "export-aggregated", "export-jsonl"),
    *("export-mocha", "export-controls", "import-skipped", "score-file-problems"),
)


class Opened(NamedTuple):
    """How long a page took: by the clock, of the CPU, and of the CPU where nothing was kept that it needs."""

    path: str
    seconds: float
    cpu: float
    first: float = 0.0
    statements: tuple[str, ...] = ()
    """The longest, with their seconds, of a page that misses the goal."""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--scale", type=int, default=1_000_000)
    parser.add_argument("--all", action="store_true", help="list every page, and not only the slowest")
    options = parser.parse_args()
    os.environ["PGOPTIONS"] = "-c max_parallel_workers_per_gather=0"
    # Of addresses that are acts, or that the project has nothing for, which are tried as well.
    logging.disable(logging.WARNING)
    with ground.concord("bench_pages"):
        from benchmarks.filling import fill_beside, fill_project

        large = fill_project("bench", options.scale, base=10_000_000)
        fill_beside(large)
        few = fill_project("few", 30, base=20_000_000)
        opening = Opening()
        made = opening.compute_figures(large)
        opening.compute_figures(few)
        for project in (large, few):
            pages = list(opening.open_all(project))
            slow = [page for page in pages if page.cpu > GOAL]
            print(f"{project.slug}: {len(pages)} pages, {len(slow)} of them above {GOAL} s of CPU")
            for page in sorted(pages, key=lambda each: -each.cpu)[: None if options.all else max(FEW, len(slow))]:
                print(f"  {page.path:<64}{page.seconds:8.3f} s {page.cpu:8.3f} s of CPU, {page.first:.3f} s at first")
                print("".join(f"      {each}\n" for each in page.statements), end="")
    print(*made, sep="\n")


class Opening:
    """Opens pages as the owner of projects."""

    def __init__(self) -> None:
        from django.test import Client

        from config import assets
        from projects.models import User

        assets.collect()
        self.user = User.objects.create_user("owner")
        self.client = Client(headers={"host": "127.0.0.1"})
        self.client.force_login(self.user, backend="django.contrib.auth.backends.ModelBackend")

    def compute_figures(self, project: Any) -> list[str]:
        """Request the figures of all pages of a project, compute them as its jobs do, and say how long that took."""
        from projects.jobs.running import run
        from projects.models import Membership
        from results.models import Report
        from results.reports import reports

        Membership.objects.get_or_create(project=project, user=self.user, defaults={"role": Membership.Role.OWNER})
        made = []
        for page in OF_FIGURES:
            self.client.post(f"{project.get_absolute_url()}{page}")
            for report in Report.objects.filter(state=Report.State.QUEUED):
                start = time.perf_counter()
                run(Report, report.pk, reports.make, only_reads=True)
                megabytes = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024
                made.append(f"{report.kind:<24}{time.perf_counter() - start:12.1f} s{megabytes:10} MB")
        return made

    def open_all(self, project: Any) -> Iterator[Opened]:
        """Open every page of a project, and those of its lists that the page links to."""
        for path in [*_list_paths(project), *(f"{project.get_absolute_url()}{each}" for each in ADDRESSES)]:
            text = self.find_page(path)
            if text is None:
                continue
            yield self.measure(path)
            for query in _choose_links(text):
                address = f"{path.partition('?')[0]}?{query}"
                if self.find_page(address) is not None:
                    yield self.measure(address)

    def find_page(self, path: str) -> str | None:
        """Return the text of a page; None where there is none, as an act or something that the project lacks."""
        response = self.client.get(path)
        assert response.status_code < 500, f"{path}: {response.status_code}"
        is_page = response.status_code == 200 and response.headers["Content-Type"].startswith("text/html")
        return response.content.decode() if is_page else None

    def measure(self, path: str) -> Opened:
        """Return the best of several rounds: the first request also fills caches and prepares statements."""
        from django.core.cache import caches

        caches["kept"].clear()
        first = self._measure_once(path).cpu
        rounds = [self._measure_once(path) for _ in range(ROUNDS)]
        cpu = min(each.cpu for each in rounds)
        statements = self._list_longest(path) if cpu > GOAL else ()
        return Opened(path, min(each.seconds for each in rounds), cpu, first, statements)

    def _list_longest(self, path: str) -> tuple[str, ...]:
        from django.db import connection
        from django.test.utils import CaptureQueriesContext

        with CaptureQueriesContext(connection) as captured:
            self.client.get(path)
        longest = sorted(captured.captured_queries, key=lambda query: -float(query["time"]))[:N_STATEMENTS]
        return tuple(f"{query['time']} s {' '.join(query['sql'].split())[:WIDTH]}" for query in longest)

    def _measure_once(self, path: str) -> Opened:
        from django.db import connection

        connection.ensure_connection()
        backend = connection.connection.get_backend_pid()
        start, cpu = time.perf_counter(), time.process_time() + _read_cpu(backend)
        self.client.get(path)
        return Opened(path, time.perf_counter() - start, time.process_time() + _read_cpu(backend) - cpu)


def _read_cpu(pid: int) -> float:
    fields = Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def _list_paths(project: Any) -> Iterator[str]:
    """Yield the path of every page of a project whose parameters the project has something for."""
    from config.routes import all_routes
    from projects.access import Right

    samples = _find_samples(project)
    for route in all_routes():
        is_work = route.policy is not None and route.policy.right is Right.WORK
        if not route.path.startswith("/p/<slug:slug>/") or route.is_api or is_work or route.name.endswith(NO_PAGES):
            continue
        path = route.path
        for name in route.parameters:
            value = samples.get(f"{route.name} {name}", samples.get(name))
            path = "" if value is None else re.sub(rf"<(\w+:)?{name}>", str(value), path)
        if path:
            yield path


def _find_samples(project: Any) -> dict[str, Any]:
    from annotate.models import Assignment
    from projects.models import Candidate, Passage, Question

    assignment = Assignment.objects.filter(hit__batch__project=project).first()
    candidate = Candidate.objects.in_project(project).first()
    passage = Passage.objects.filter(dataset__project=project).first()
    question = Question.objects.filter(dataset__project=project).first()
    run = project.metric_runs.first()
    return {
        "slug": project.slug,
        "number": 1,
        "hit_number": 1,
        "version": 1,
        "moment": "before",
        "assignment_uuid": assignment and assignment.uuid,
        "pseudonym": assignment and assignment.annotator.pseudonym,
        "results:item pk": candidate and candidate.pk,
        "annotate:passage-show pk": passage and passage.pk,
        "annotate:pair-new pk": question and question.pk,
        "annotate:candidate-withdraw pk": candidate and candidate.pk,
        "annotate:passage-withdraw pk": passage and passage.pk,
        "results:metric-show pk": run and run.pk,
    }


def _choose_links(text: str) -> list[str]:
    """Return the links of a page to itself: each order of its list, and its last page."""
    found = list(dict.fromkeys(unescape(each) for each in LINK.findall(text)))
    pages = {int(value): each for each in found for name, value in parse_qsl(each) if name == "page"}
    orders = [urlencode(parse_qsl(each)) for each in found if "sort=" in each and "page=" not in each]
    return [*orders, *([pages[max(pages)]] if pages else [])]


if __name__ == "__main__":
    main()
