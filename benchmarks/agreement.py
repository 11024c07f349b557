"""Agreement over 100,000 and 1,000,000 judgments, SQL included: on five points, and on sliders of four criteria.

Run: .venv/bin/python -m benchmarks.agreement [--scale 100000 1000000] [--resamples 1000]

`sql`: the query that counts rating patterns; `items` and `passages`: alpha with its bootstrap interval over that unit;
`package`: one call of `krippendorff.alpha` per resample, extrapolated from ten calls; `times`: `package` divided by the
sum of the other three. `page`: everything that the agreement page computes, which is two queries, four levels, both
intervals, a breakdown and one person against the others. With four criteria, each has a quarter of the judgments, and
the seconds are for all four. `MB`: peak RSS of the process before the package is called.
"""

import argparse
import resource
import time
from functools import partial
from typing import Any

import numpy as np

from benchmarks import ground

CALLS = 10
"""A call for each of a thousand resamples would take many minutes at a million judgments."""


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
    from benchmarks.filling import fill_project

    base = number * 10_000_000
    project = fill_project(f"bench-{n}", n, base=base)
    _print(n, "1-5", project, resamples)
    _spread_over_sliders(project, base)
    _print(n, "4x0-100", project, resamples)


def _spread_over_sliders(project: Any, base: int) -> None:
    """Assign the judgments of each candidate to one of four criteria with a scale from 0 to 100."""
    from django.db import connection

    from projects.models import Criterion

    first = Criterion.objects.get(rubric__project=project)
    for place in range(1, 4):
        Criterion.objects.create(
            rubric=first.rubric, position=first.position + place, key=f"k{place}", name=f"K{place}"
        )
    Criterion.objects.filter(rubric=first.rubric).update(kind=Criterion.Kind.CONTINUOUS, low=0, high=100)
    ids = list(Criterion.objects.filter(rubric=first.rubric).values_list("pk", flat=True))
    with connection.cursor() as cursor:
        cursor.execute(
            """UPDATE annotate_judgment
               SET value = 20 * value - random() * 20, criterion_id = (%s)[1 + candidate_id %% 4]
               WHERE candidate_id BETWEEN %s AND %s""",
            [ids, base, base + 9_999_999],
        )
        cursor.execute("VACUUM ANALYZE annotate_judgment")


def _print(n: int, scale: str, project: Any, resamples: int) -> None:
    from annotate.frames.criteria_in_use import Scope, criteria_in_use
    from annotate.frames.rating_patterns import fetch_rating_patterns
    from measures.bootstrap import bootstrap_alphas
    from measures.rubric import Level
    from results.agreement.alpha import agreement_figures

    sql, items, passages, page, package = 0.0, 0.0, 0.0, 0.0, 0.0
    for criterion in criteria_in_use(project):
        scope = Scope(project=project, criterion=criterion)
        patterns, seconds = _timed(lambda: fetch_rating_patterns(scope, by_passage=True).patterns())  # noqa: B023 - at once
        sql += seconds
        interval = partial(bootstrap_alphas, patterns, levels=[Level.ORDINAL], n_resamples=resamples)
        items += _timed(partial(interval, rng=np.random.default_rng(1)))[1]
        passages += _timed(partial(interval, rng=np.random.default_rng(1), by_group=True))[1]
        megabytes = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024
        package += _package(patterns, resamples)
        settings = {"criterion": criterion.key, "stage": "full", "batch": None, "blind": False}
        page += _timed(partial(agreement_figures, project, {**settings, "level": "ordinal", "by": "source"}))[1]
    times = f"{package / (sql + items + passages):.0f}" if package else "-"
    seconds_text = f"{package:.0f}" if package else "-"
    print(
        f"{n:>10,}{scale:>10}{sql:10.2f}{items:10.2f}{passages:10.2f}{seconds_text:>10}{times:>10}{page:10.2f}{megabytes:>10}",
        flush=True,
    )


def _timed(act: Any) -> tuple[Any, float]:
    start = time.perf_counter()
    result = act()
    return result, time.perf_counter() - start


def _package(patterns: Any, resamples: int) -> float:
    """Return the seconds of one call of the package per resample; 0 if its arrays would exceed 160 MB."""
    import krippendorff

    if patterns.n_units * len(patterns.values) ** 2 > 20_000_000:
        return 0.0
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
