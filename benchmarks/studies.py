"""Correlations of metrics with human scores, with their bootstrap intervals: seconds and memory.

Run: .venv/bin/python -m benchmarks.studies [--items 40000] [--metrics 10] [--resamples 1000]

Human scores are means of three judgments from 1 to 5 (13 distinct values), or all different; two of ten metrics have
few distinct scores, as exact match does. `naive`: one call of scipy per resample and metric, extrapolated from three
calls. `MB`: peak RSS of the process.
"""

import argparse
import resource
import time
from collections.abc import Callable
from typing import Any

import numpy as np
from scipy.stats import kendalltau, pearsonr, spearmanr

from measures.studies.items import Items
from measures.studies.resampling import Moments, Pairs, Ranks, draw_resamples

CALLS = 3


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--items", type=int, default=40_000)
    parser.add_argument("--metrics", type=int, default=10)
    parser.add_argument("--resamples", type=int, default=1000)
    options = parser.parse_args()
    print("".join(f"{name:>12}" for name in ("human", "coefficient", "seconds", "naive", "MB")))
    for name, is_coarse in (("means", True), ("all apart", False)):
        _measure(name, options.items, options.metrics, options.resamples, is_coarse=is_coarse)


def _measure(name: str, n: int, n_metrics: int, n_resamples: int, *, is_coarse: bool) -> None:
    rng = np.random.default_rng(1)
    human = rng.integers(3, 16, n) / 3 if is_coarse else rng.normal(size=n)
    metrics = {str(k): human / (k + 1) + rng.normal(size=n) for k in range(n_metrics)}
    metrics |= {key: np.round(metrics[key]) for key in list(metrics)[8:]}
    items = Items(human, metrics, None, by_group=False)
    columns = list(items.metrics.values())
    for coefficient, compute, scipy in (
        ("Pearson", Moments(items.human, columns).pearsons, pearsonr),
        ("Spearman", Ranks(items.human, columns).spearmans, spearmanr),
        ("Kendall", _all_pairs(items, columns), kendalltau),
    ):
        start = time.perf_counter()
        for weights in draw_resamples(n, n_resamples=n_resamples, rng=rng):
            compute(weights)
        seconds = time.perf_counter() - start
        start = time.perf_counter()
        for _ in range(CALLS):
            drawn = rng.integers(n, size=n)
            scipy(human[drawn], metrics["0"][drawn])
        naive = (time.perf_counter() - start) / CALLS * n_resamples * n_metrics
        megabytes = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024
        print(f"{name:>12}{coefficient:>12}{seconds:12.1f}{naive:12.0f}{megabytes:>12}", flush=True)


def _all_pairs(items: Items, columns: list[Any]) -> Callable[[Any], Any]:
    pairs = [Pairs(items.human, column) for column in columns]
    return lambda weights: [each.kendalls(weights) for each in pairs]


if __name__ == "__main__":
    main()
