"""How well intervals and tests of metrics hold, and how long they take, on simulated scores.

Run: .venv/bin/python -m benchmarks.judging [--runs 1000] [--seed 1] [--items 40000]

*Coverage*: the share of simulated studies whose 95 % interval holds the true value: of the mean correlation
within questions and within systems, of pairwise accuracy (at a given epsilon, calibrated, cross-fit) and of soft
pairwise accuracy. The true value is that of one study of the same systems on 4,000 passages; for soft accuracy, whose
value depends on the number of questions, it is the mean over all studies.

*Size*: the share of studies in which one of two equally good metrics is significantly better at .05, two-sided, by
permutation over passages and over cells, beside the paired bootstrap over passages and Williams' test.

*Seconds*: each method over 10 metrics; `loop` is a plain loop for one metric, extrapolated.
"""

import argparse
import time
from collections.abc import Callable
from itertools import combinations
from typing import Any

import numpy as np
from scipy.stats import pearsonr

from measures.outcome import Undefined
from measures.patterns import Floats
from measures.studies.grids import Grid
from measures.studies.pairwise import AnswerPairs
from measures.studies.permutation import Permuted, permute
from measures.studies.significance import compare_all
from measures.studies.soft_pairwise import SoftAccuracies, SoftAccuracy, compare_system_pairs
from measures.studies.within_groups import correlate_within

ALPHA = 0.05
N_SYSTEMS = 6
SHAPES = ((10, 3), (20, 3), (40, 2))
"""Passages, and questions of each."""
Study = tuple[Floats, Floats, Any, Any, Any]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--runs", type=int, default=1_000)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--items", type=int, default=40_000)
    options = parser.parse_args()
    _measure_coverage(options.runs, options.seed)
    _measure_size(options.runs, options.seed)
    _measure_seconds(options.items)


def simulate(quality: Floats, n_passages: int, n_questions: int, rng: np.random.Generator, noise: Floats) -> Study:
    """Return human scores, metrics (metrics, n), systems, questions and passages of one study.

    Passages suit some systems more than others; human scores are means of three ratings from 1 to 5.
    """
    shape = (len(quality), n_passages, n_questions)
    suits = rng.normal(0, 0.5, (len(quality), n_passages, 1))
    truth = quality[:, None, None] + suits + rng.normal(0, 0.7, shape)
    ratings = np.clip(np.rint(3 + truth + rng.normal(0, 0.8, (3, *shape))), 1, 5)
    # A metric likes some passages more, whatever their answers are.
    taste = rng.normal(0, 0.4, (len(noise), 1, n_passages, 1))
    metrics = truth + taste + noise[:, None, None, None] * rng.normal(size=(len(noise), *shape))
    systems, passages, questions = np.indices(shape).reshape(3, -1)
    return (
        ratings.mean(axis=0).ravel(),
        metrics.reshape(len(noise), -1),
        systems,
        passages * n_questions + questions,
        passages,
    )


def _estimate(study: Study, rng: np.random.Generator, *, with_soft: bool) -> dict[str, tuple[float, float, float]]:
    human, (metric,), systems, questions, passages = study
    found: dict[str, tuple[float, float, float]] = {}
    for name, groups in (("within questions, Pearson", questions), ("within systems, Pearson", systems)):
        within = correlate_within(human, {"m": metric}, groups, units=passages, rng=rng).metrics["m"]
        for coefficient in ("pearson", "kendall"):
            one = within[coefficient]
            if not isinstance(one.value, Undefined) and one.low is not None and one.high is not None:
                found[name.replace("Pearson", coefficient.capitalize())] = (one.value, one.low, one.high)
    pairs = AnswerPairs(human, questions, units=passages)
    for threshold in ("number", "calibrated", "cross_fit"):
        each = pairs.measure(metric, threshold=threshold, epsilon=0.3, rng=rng)
        if not isinstance(each, Undefined) and each.low is not None and each.high is not None:
            found[f"pairwise accuracy, {threshold}"] = (each.accuracy, each.low, each.high)
    if with_soft:
        grid = Grid.of(human, {"m": metric}, systems=systems.astype(str), questions=questions, units=passages)
        soft = compare_system_pairs(grid, rng=rng)
        one_soft = soft.metrics["m"] if isinstance(soft, SoftAccuracies) else soft
        if isinstance(one_soft, SoftAccuracy) and one_soft.low is not None:
            found["soft pairwise accuracy"] = (one_soft.soft, one_soft.low, one_soft.high or 1.0)
    return found


def _measure_coverage(n_runs: int, seed: int) -> None:
    noise, quality = np.array([1.0]), np.linspace(-0.6, 0.6, N_SYSTEMS)
    print(f"coverage of 95 %: {n_runs:,} studies, standard error {np.sqrt(0.05 * 0.95 / n_runs):.4f}")
    print(f"{'':32}" + "".join(f"{f'{p} x {q}':>18}" for p, q in SHAPES))
    columns = []
    for n_passages, n_questions in SHAPES:
        rng = np.random.default_rng(seed)
        large = _estimate(simulate(quality, 4_000, n_questions, rng, noise), rng, with_soft=False)
        truth = {name: each[0] for name, each in large.items()}
        studies = [
            _estimate(simulate(quality, n_passages, n_questions, rng, noise), rng, with_soft=True)
            for _ in range(n_runs)
        ]
        truth["soft pairwise accuracy"] = float(np.mean([each["soft pairwise accuracy"][0] for each in studies]))
        columns.append({
            name: (np.mean([s[name][1] <= value <= s[name][2] for s in studies if name in s]),
                   np.mean([s[name][0] for s in studies if name in s]) - value)
            for name, value in truth.items()
        })  # fmt: skip
    for name in columns[0]:
        print(f"{name:32}" + "".join(f"{each[name][0]:>9.3f} ({each[name][1]:+.3f})" for each in columns), flush=True)
    print("In brackets: the mean estimate minus the true value.\n")


def _measure_size(n_runs: int, seed: int) -> None:
    print(f"size at {ALPHA}: {n_runs:,} studies")
    print(f"{'passages':>10}{'questions':>11}{'PERM inputs':>13}{'PERM cells':>12}{'bootstrap':>11}{'Williams':>10}")
    noise, quality = np.array([1.0, 1.0]), np.linspace(-0.6, 0.6, N_SYSTEMS)
    for n_passages, n_questions in SHAPES:
        rng, rejected = np.random.default_rng(seed), np.zeros(4)
        for _ in range(n_runs):
            human, metrics, systems, questions, passages = simulate(quality, n_passages, n_questions, rng, noise)
            both = {"a": metrics[0], "b": metrics[1]}
            grid = Grid.of(human, both, systems=systems.astype(str), questions=questions, units=passages)
            for at, swap in enumerate(("inputs", "cells")):
                pair = permute(grid, swap=swap, rng=rng, n_patterns=400).pairs["a", "b"]
                assert isinstance(pair, Permuted)
                rejected[at] += 2 * min(pair.p_first, pair.p_second) <= ALPHA
            compared = compare_all(human, both, rng=rng, groups=passages, by_group=True, n_resamples=400)
            for at, name in ((2, "bootstrap_holm"), (3, "williams_holm")):
                rejected[at] += min(getattr(each, name) for each in compared) <= ALPHA
        shares = rejected / n_runs
        print(f"{n_passages:>10}{n_questions:>11}{shares[0]:>13.3f}{shares[1]:>12.3f}{shares[2]:>11.3f}"
              f"{shares[3]:>10.3f}", flush=True)  # fmt: skip
    print()


def _measure_seconds(n: int) -> None:
    rng, n_questions = np.random.default_rng(1), n // 10
    quality, noise = np.linspace(-0.6, 0.6, 10), np.linspace(0.5, 3, 10)
    human, scores, systems, questions, passages = simulate(quality, n_questions // 4, 4, rng, noise)
    metrics = {str(at): each for at, each in enumerate(scores)}
    print(f"seconds: 10 metrics, {len(human):,} answers of 10 systems to {n_questions:,} questions of "
          f"{n_questions // 4:,} passages")  # fmt: skip
    grid = Grid.of(human, metrics, systems=systems.astype(str), questions=questions, units=passages)
    pairs = AnswerPairs(human, questions, units=passages)
    for name, compute, loop in (
        ("within questions", lambda: correlate_within(human, metrics, questions, units=passages, rng=rng),
         lambda: [pearsonr(human[questions == q], scores[0][questions == q]) for q in range(100)]),
        ("pairwise, calibrated", lambda: [pairs.measure(each) for each in scores],
         lambda: [_count_loop(human, scores[0], np.flatnonzero(questions == q)) for q in range(100)]),
        ("soft pairwise accuracy", lambda: compare_system_pairs(grid, rng=rng), None),
        *((f"permutation, {swap}", lambda swap=swap: permute(grid, swap=swap, rng=rng), None)
          for swap in ("inputs", "systems", "both", "cells")),
    ):  # fmt: skip
        seconds = _time(compute)
        slow = f"{_time(loop) * n_questions / 100 * 10:>12.1f}" if loop else ""
        print(f"{name:26}{seconds:>10.2f}{slow}", flush=True)


def _count_loop(human: Floats, metric: Floats, rows: Any) -> int:
    """Count the pairs in order at one threshold; calibration would repeat it for each difference."""
    return sum(np.sign(human[one] - human[other]) == np.sign(metric[one] - metric[other])
               for one, other in combinations(rows, 2))  # fmt: skip


def _time(compute: Callable[[], object]) -> float:
    start = time.perf_counter()
    compute()
    return time.perf_counter() - start


if __name__ == "__main__":
    main()
