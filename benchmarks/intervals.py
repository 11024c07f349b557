"""Jackknife intervals against the bootstraps that pages showed before: seconds and their ratio; no database.

Run: .venv/bin/python -m benchmarks.intervals [--resamples 1000]

300 items in 20 passages are the size of SQuALITY, 10,000 in 2,000 that of a large study; human scores are means of
three judgments. `before`: percentile bootstraps over items and over passages. `now`: the jackknife over passages, for
alpha over items too, as reports store both. `items`: correlations over items alone, each its own unit; of more than
2,000, ranks leave out 1,000 random blocks. A ratio below 1 is faster than before.
"""

import argparse
import time
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

from benchmarks.coverage import simulate
from measures.alpha_intervals import jackknife_alphas
from measures.bootstrap import bootstrap_alphas
from measures.rubric import Level
from measures.studies.correlating import correlate_all

SIZES = ((300, 20, 10), (10_000, 2_000, 4))
"""Items, passages and metrics."""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--resamples", type=int, default=1000)
    n_resamples = parser.parse_args().resamples
    print(
        "".join(
            f"{name:>13}" for name in ("items", "passages", "statistic", "before", "now", "ratio", "items", "ratio")
        )
    )
    for size in SIZES:
        _measure(*size, n_resamples)


def _measure(n: int, n_passages: int, n_metrics: int, n_resamples: int) -> None:
    rng = np.random.default_rng(1)
    study = simulate(rng, sizes=[n // n_passages] * n_passages, is_skewed=False)
    metrics = {str(k): study.metric + rng.normal(size=n) for k in range(n_metrics)}
    options: dict[str, Any] = {"rng": rng, "n_resamples": n_resamples}
    correlate = partial(correlate_all, study.human, metrics, groups=study.passages, **options)
    before = sum(_time(partial(correlate, method="percentile", by_group=each)) for each in (False, True))
    now, items = (_time(partial(correlate, by_group=each)) for each in (True, False))
    _print(n, n_passages, "correlations", before, now, items)
    patterns, levels = study.patterns, list(Level)
    before = sum(
        _time(partial(bootstrap_alphas, patterns, levels=levels, by_group=each, **options)) for each in (False, True)
    )
    now = sum(_time(partial(jackknife_alphas, patterns, levels=levels, by_group=each)) for each in (False, True))
    _print(n, n_passages, "alpha", before, now)


def _time(act: Callable[[], object]) -> float:
    start = time.perf_counter()
    act()
    return time.perf_counter() - start


def _print(n: int, n_passages: int, name: str, before: float, *after: float) -> None:
    cells = "".join(f"{seconds:13.3f}{seconds / before:13.2f}" for seconds in after)
    print(f"{n:>13,}{n_passages:>13,}{name:>13}{before:13.3f}{cells}", flush=True)


if __name__ == "__main__":
    main()
