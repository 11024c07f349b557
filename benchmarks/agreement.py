"""Agreement over 100,000 and 1,000,000 judgments, SQL included, on five points and on a slider, with four criteria.

Run: .venv/bin/python -m benchmarks.agreement [--scale 100000 1000000] [--resamples 1000]

`sql` counts the rating patterns in the database; `items` and `passages` are alpha with its bootstrap interval by that
unit. `package` is what as many calls of `krippendorff.alpha` on resampled matrices would take, extrapolated from ten;
`times` says how often the closed form, SQL included, goes into that. `page` is what the agreement page computes: two
queries, four levels, both intervals, a breakdown and the human ceiling. RSS is the peak of this process so far.
"""

import argparse
import resource
import time
from typing import Any

import numpy as np

from benchmarks import ground

CALLS = 10


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--scale", type=int, nargs="+", default=[100_000, 1_000_000])
    parser.add_argument("--resamples", type=int, default=1000)
    options = parser.parse_args()
    with ground.concord("bench_agreement"):
        columns = ("judgments", "scale", "sql", "items", "passages", "package", "times", "page", "MB")
        print("".join(f"{name:>10}" for name in columns), " seconds")
        for number, n in enumerate(options.scale, start=1):
            _measure(n, number, options.resamples)


def _measure(n: int, number: int, resamples: int) -> None:
    from django.db import connection

    from benchmarks.filling import fill_project

    project = fill_project(f"bench-{n}", n, base=number * 10_000_000)
    _print(n, "1-5", project, resamples)
    with connection.cursor() as cursor:
        cursor.execute("UPDATE projects_criterion SET kind = 'continuous', low = 0, high = 100")
        cursor.execute(
            """UPDATE annotate_judgment j SET value = 20 * value - random() * 20
               FROM projects_candidate c WHERE c.id = j.candidate_id AND c.id BETWEEN %s AND %s""",
            [number * 10_000_000, (number + 1) * 10_000_000 - 1],
        )
        cursor.execute("VACUUM ANALYZE annotate_judgment")
    _print(n, "0-100", project, resamples)


def _print(n: int, scale: str, project: Any, resamples: int) -> None:
    from annotate.frames import Scope, criteria_in_use, fetch_ratings
    from measures.bootstrap import alpha_interval
    from measures.rubric import Level
    from results.agreeing import agreement_figures

    criterion = criteria_in_use(project)[0]
    ratings, sql = _timed(lambda: fetch_ratings(Scope(project=project, criterion=criterion), by_passage=True))
    patterns = ratings.patterns()

    def interval(by_group: bool) -> float:
        rng = np.random.default_rng(1)
        return _timed(
            lambda: alpha_interval(patterns, level=Level.ORDINAL, rng=rng, n_resamples=resamples, by_group=by_group)
        )[1]

    items, passages = interval(by_group=False), interval(by_group=True)
    package = _package(patterns, resamples)
    settings = {"criterion": criterion.key, "stage": "full", "batch": None, "blind": False}
    _, page = _timed(lambda: agreement_figures(project, {**settings, "level": "ordinal", "by": "source"}))
    megabytes = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024
    times = "-" if package is None else f"{package / (sql + items):.0f}"
    shown = "-" if package is None else f"{package:.0f}"
    print(
        f"{n:>10,}{scale:>10}{sql:10.2f}{items:10.2f}{passages:10.2f}{shown:>10}{times:>10}{page:10.2f}{megabytes:>10}",
        flush=True,
    )


def _timed(act: Any) -> tuple[Any, float]:
    start = time.perf_counter()
    result = act()
    return result, time.perf_counter() - start


def _package(patterns: Any, resamples: int) -> float | None:
    """Seconds for as many calls of the package on resampled units; None where its matrix would not fit."""
    import krippendorff

    if patterns.n_units * len(patterns.values) > 20_000_000:
        return None
    counts = np.zeros((len(patterns.sizes), len(patterns.values)), np.int64)
    counts[patterns.pattern, patterns.value] = patterns.count
    units = np.repeat(counts, patterns.units, axis=0)
    rng = np.random.default_rng(1)

    def call() -> Any:
        drawn = units[rng.integers(len(units), size=len(units))]
        return krippendorff.alpha(value_counts=drawn, value_domain=patterns.values, level_of_measurement="ordinal")

    return _timed(lambda: [call() for _ in range(CALLS)])[1] / CALLS * resamples


if __name__ == "__main__":
    main()
