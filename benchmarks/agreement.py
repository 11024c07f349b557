"""Agreement over 100,000 and 1,000,000 judgments, SQL included, on five points and on a slider.

Run: .venv/bin/python -m benchmarks.agreement [--scale 100000 1000000]

`sql` counts the rating patterns in the database; `alpha` is one level; `page` is everything the agreement page
computes: the query, four levels, the breakdown by source and the bootstrap intervals (1,000 resamples; none on the
slider, where the page leaves them out until they are asked for).
"""

import argparse
import time
from typing import Any

from benchmarks import ground


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--scale", type=int, nargs="+", default=[100_000, 1_000_000])
    options = parser.parse_args()
    with ground.concord("bench_agreement"):
        print(f"{'judgments':>12} {'scale':>8} {'sql':>7} {'alpha':>7} {'together':>9} {'page':>7}  seconds")
        for number, n in enumerate(options.scale, start=1):
            _measure(n, number)


def _measure(n: int, number: int) -> None:
    from django.db import connection

    from benchmarks.filling import fill_project

    project = fill_project(f"bench-{n}", n, base=number * 10_000_000)
    _print(n, "1-5", project)
    with connection.cursor() as cursor:
        cursor.execute("UPDATE projects_criterion SET kind = 'continuous', low = 0, high = 100")
        cursor.execute(
            """UPDATE annotate_judgment j SET value = 20 * value - random() * 20
               FROM projects_candidate c WHERE c.id = j.candidate_id AND c.id BETWEEN %s AND %s""",
            [number * 10_000_000, (number + 1) * 10_000_000 - 1],
        )
        cursor.execute("VACUUM ANALYZE annotate_judgment")
    _print(n, "0-100", project)


def _print(n: int, scale: str, project: Any) -> None:
    from annotate.frames import Scope, criteria_in_use, fetch_ratings
    from measures.agreement import krippendorff_alpha
    from measures.rubric import Level
    from results.agreeing import measure_agreement

    rounds = []
    for _ in range(3):
        start = time.perf_counter()
        scope = Scope(project=project, criterion=criteria_in_use(project)[0])
        ratings = fetch_ratings(scope)
        fetched = time.perf_counter()
        krippendorff_alpha(ratings.patterns(), level=Level.ORDINAL)
        computed = time.perf_counter()
        measure_agreement(scope, level=Level.ORDINAL, by="source", other_levels=True)
        rounds.append((fetched - start, computed - fetched, computed - start, time.perf_counter() - computed))
    sql, alpha, together, page = (min(column) for column in zip(*rounds, strict=True))
    print(f"{n:>12,} {scale:>8} {sql:7.3f} {alpha:7.3f} {together:9.3f} {page:7.3f}")


if __name__ == "__main__":
    main()
