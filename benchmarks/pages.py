"""The pages of a project with a million judgments, opened by a researcher: seconds each.

Run: .venv/bin/python -m benchmarks.pages [--scale 1000000]

Figures that take long are computed as reports first, as people would request them. The lines at the end give the
seconds of each report, and the peak RSS of this process after it. The goal is 1.5 s per page.
"""

import argparse
import resource
import time
from typing import Any

from benchmarks import ground

ROUNDS = 3
OF_FIGURES = (
    *("agreement/", "agreement/annotators/", "agreement/time/"),
    *("scores/", "scores/systems/", "scores/disagreements/", "scores/planner/"),
)
PAGES = ("", *OF_FIGURES, "batches/", "data/", "sets/", "export/")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--scale", type=int, default=1_000_000)
    options = parser.parse_args()
    with ground.concord("bench_pages"):
        from benchmarks.filling import fill_project

        project = fill_project("bench", options.scale, base=10_000_000)
        _open_all(project)


def _open_all(project: Any) -> None:
    from django.test import Client

    from config import assets
    from projects.jobs.running import run
    from projects.models import Membership, User
    from results.models import Report
    from results.reports import reports

    assets.collect()

    user = User.objects.create_user("researcher")
    Membership.objects.create(project=project, user=user, role=Membership.Role.RESEARCHER)
    client = Client(headers={"host": "127.0.0.1"})
    client.force_login(user, backend="django.contrib.auth.backends.ModelBackend")
    made = []
    print(f"{'page':<24}{'asked for':>12}{'with figures':>14}  seconds")
    for page in PAGES:
        url = f"{project.get_absolute_url()}{page}"
        # The best of several rounds: the first request also fills caches and prepares statements.
        first = min(_seconds(client, url) for _ in range(ROUNDS))
        if page in OF_FIGURES:
            client.post(url)
        for report in Report.objects.filter(state=Report.State.QUEUED):
            start = time.perf_counter()
            run(Report, report.pk, reports.make, only_reads=True)
            megabytes = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024
            made.append(f"{report.kind:<24}{time.perf_counter() - start:12.1f} s{megabytes:10} MB")
        then = min(_seconds(client, url) for _ in range(ROUNDS))
        print(f"{page or 'overview':<24}{first:12.2f}{then:14.2f}", flush=True)
    print(*made, sep="\n")


def _seconds(client: Any, url: str) -> float:
    start = time.perf_counter()
    response = client.get(url)
    assert response.status_code == 200, f"{url}: {response.status_code}"
    return time.perf_counter() - start


if __name__ == "__main__":
    main()
