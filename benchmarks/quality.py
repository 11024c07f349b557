"""Quality figures and findings over 100,000 judgments of 60 annotators: of everybody, and of one after a new HIT.

Run: .venv/bin/python -m benchmarks.quality [--scale 100000]

`all`: `monitoring.refresh_figures` of every annotator, from the first query to the stored findings; `one`: the same
after a HIT of one annotator; `quiet`: the query that the worker makes every half minute if nothing is new.
"""

import argparse
import resource
import time

from benchmarks import ground


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--scale", type=int, nargs="+", default=[100_000])
    options = parser.parse_args()
    with ground.concord("bench_quality"):
        print(f"{'judgments':>12} {'annotators':>11} {'all':>7} {'one':>7} {'quiet':>7}  seconds   peak MB")
        for number, n in enumerate(options.scale, start=1):
            _measure(n, number)


def _measure(n: int, number: int) -> None:
    from annotate.quality import monitoring
    from benchmarks.filling import fill_project

    project = fill_project(f"bench-{n}", n, base=number * 10_000_000)
    annotators = list(project.memberships.annotators().exclude(assignments=None))
    seconds = []
    for chosen in (annotators, annotators[:1]):
        start = time.perf_counter()
        monitoring.refresh_figures(project=project, annotators=chosen)
        seconds.append(time.perf_counter() - start)
    start = time.perf_counter()
    monitoring.find_stale_projects()
    quiet = time.perf_counter() - start
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    print(f"{n:>12,} {len(annotators):>11} {seconds[0]:7.2f} {seconds[1]:7.2f} {quiet:7.3f}  {peak:16.0f}")


if __name__ == "__main__":
    main()
