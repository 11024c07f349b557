"""The pages of scores over 100,000 and 1,000,000 judgments of one criterion, from 1 to 5.

Run: .venv/bin/python -m benchmarks.scores [--scale 100000 1000000]

`golds`, `systems` and `plan`: the reports that the worker computes once for a state of the judgments. `list`: the
queries of the page *Human scores* when the reports exist, sorted by candidate; `by mean`, `by z`: the same with another
order; `spread`: the items on which annotators differ most; `passages`: their passages; `item`: one item with its
ratings. `MB`: peak RSS of this process so far.
"""

import argparse
import resource
import time
from functools import partial
from typing import Any

from benchmarks import ground


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--scale", type=int, nargs="+", default=[100_000, 1_000_000])
    options = parser.parse_args()
    with ground.concord("bench_scores"):
        columns = ("golds", "systems", "plan", "list", "by mean", "by z", "spread", "passages", "item", "MB")
        print(" judgments", "".join(f"{name:>10}" for name in columns), " seconds")
        for number, n in enumerate(options.scale, start=1):
            _measure(n, number * 10_000_000)


def _measure(n: int, base: int) -> None:
    from annotate.frames.criteria_in_use import Scope, criteria_in_use
    from benchmarks.filling import fill_project
    from measures.gold_rules import GoldRule
    from results.agreement.precision import plan_figures
    from results.disagreements.judged_candidate import fetch_ratings
    from results.disagreements.spread import Items, Passages
    from results.scores.candidates import CandidateScores, Filters
    from results.scores.gold import gold_figures
    from results.systems.scores import system_figures

    project = fill_project(f"bench-{n}", n, base=base)
    scope = Scope(project=project, criterion=criteria_in_use(project)[0])
    settings = {"criterion": scope.criterion.key, "stage": "full", "batch": None, "blind": False, "controls": True}
    golds, *seconds = _timed(partial(gold_figures, project, {**settings, "settled": False}))
    seconds += _timed(partial(system_figures, project, settings))[1:]
    planned = {**settings, "level": "ordinal", "judgments": [2, 3, 5], "by_passage": False}
    seconds += _timed(partial(plan_figures, project, planned))[1:]

    def ask(sort: str) -> Any:
        rows = CandidateScores(scope, Filters(), sort=sort, rule=GoldRule.MEAN, adjudication_wins=False, figures=golds)
        return rows.count(), rows[0:50]

    for sort in ("candidate", "-mean", "-z"):
        (_, rows), took = _timed(partial(ask, sort))
        seconds.append(took)
    for found in (Items(scope), Passages(scope)):
        seconds += _timed(lambda found=found: (found.read(0, 25), found.count(), found[0:25]))[1:]
    seconds += _timed(partial(fetch_ratings, [rows[0].candidate.pk]))[1:]
    megabytes = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024
    print(f"{n:>10,}", "".join(f"{each:10.2f}" for each in seconds), f"{megabytes:>9}", flush=True)


def _timed(act: Any) -> tuple[Any, float]:
    start = time.perf_counter()
    result = act()
    return result, time.perf_counter() - start


if __name__ == "__main__":
    main()
