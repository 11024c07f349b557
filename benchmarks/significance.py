"""Size of the tests of systems, and coverage of the ceiling's interval, on simulated ratings.

Run: .venv/bin/python -m benchmarks.significance [--runs 4000] [--seed 1]

*Size*: the share of studies in which two equal systems differ significantly at .05, with three ratings of each answer
on 1 to 5 and passages that suit one system or the other. It should be .05. `ratings`: Mann-Whitney over single ratings;
`questions`: signs flipped by question; `passages`: by passage, the default of *Systems*.

*Ceiling*: 200 items in 40 passages. `theory`: the square root of the reliability of the golds; `mean`: of the
estimates; `true score`: the correlation of the true scores with the golds; `one person`: one judgment against the mean
of the others; `covered`: how many of the nominal 95 % intervals hold the theory.
"""

import argparse

import numpy as np
import pandas as pd
from scipy.stats import mannwhitneyu

from measures.ceiling import Ceiling, compute_ceiling, raise_reliability
from measures.jackknife import JackknifeInterval
from measures.one_against_others import OneAgainstOthers, one_against_others
from measures.patterns import Floats
from measures.sign_flips import sign_flip_p

ALPHA = 0.05
SHAPES = ((60, 1), (20, 3), (10, 5))
"""Passages, and questions of each."""
RELIABILITIES: tuple[tuple[float, tuple[int, ...]], ...] = ((0.5, (3,)), (0.7, (2,)), (0.4, (1, 2, 3, 5)))
"""The reliability of a single judgment, and the numbers of judgments of the items."""
AT_ONCE = 1_000


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--runs", type=int, default=4_000)
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()
    rng = np.random.default_rng(options.seed)
    print(f"size at {ALPHA}: {options.runs:,} studies, standard error {np.sqrt(0.05 * 0.95 / options.runs):.4f}")
    print(f"{'passages':>10}{'questions':>11}{'ratings':>10}{'questions':>11}{'passages':>10}")
    for n_passages, n_questions in SHAPES:
        sizes = _measure_sizes(n_passages, n_questions, options.runs, rng)
        print(f"{n_passages:>10}{n_questions:>11}{sizes[0]:>10.3f}{sizes[1]:>11.3f}{sizes[2]:>10.3f}", flush=True)
    n_runs = max(1, options.runs // 4)
    print(f"\nceiling: {n_runs:,} studies, standard error of `covered` {np.sqrt(0.05 * 0.95 / n_runs):.4f}")
    print(f"{'r1':>6}{'judgments':>12}{'theory':>9}{'mean':>8}{'true score':>12}{'one person':>12}{'covered':>9}")
    for single, counts in RELIABILITIES:
        figures = _measure_ceiling(single, counts, n_runs, rng)
        print(f"{single:>6}{'/'.join(map(str, counts)):>12}{figures[0]:>9.3f}{figures[1]:>8.3f}"
              f"{figures[2]:>12.3f}{figures[3]:>12.3f}{figures[4]:>9.3f}", flush=True)  # fmt: skip


def simulate_ratings(n_passages: int, n_questions: int, n_runs: int, rng: np.random.Generator) -> Floats:
    """Return three ratings of each answer of two equally good systems, shape (3, 2, passages, questions, runs)."""
    passages = rng.normal(0, 0.5, (2, n_passages, 1, n_runs))
    answers = 3 + passages + rng.normal(0, 0.7, (2, n_passages, n_questions, n_runs))
    return np.clip(np.rint(answers + rng.normal(0, 1, (3, *answers.shape))), 1, 5)


def _measure_sizes(n_passages: int, n_questions: int, n_runs: int, rng: np.random.Generator) -> list[float]:
    rejected = np.zeros(3)
    for start in range(0, n_runs, AT_ONCE):
        n = min(AT_ONCE, n_runs - start)
        ratings = simulate_ratings(n_passages, n_questions, n, rng)
        difference = ratings[:, 0].mean(axis=0) - ratings[:, 1].mean(axis=0)
        one, other = (ratings[:, at].reshape(-1, n) for at in (0, 1))
        p_values = (
            mannwhitneyu(one, other, axis=0).pvalue,
            sign_flip_p(difference.reshape(-1, n), rng=rng),
            sign_flip_p(difference.sum(axis=1), rng=rng),
        )
        rejected += [(p <= ALPHA).sum() for p in p_values]
    return list(rejected / n_runs)


def _measure_ceiling(
    single: float, counts: tuple[int, ...], n_runs: int, rng: np.random.Generator, n_units: int = 200
) -> tuple[float, float, float, float, float]:
    groups = np.repeat(np.arange(40), n_units // 40)
    judgments = np.resize(counts, n_units)
    units = np.repeat(np.arange(n_units), judgments)
    # The harmonic mean of the numbers of judgments gives the mean error variance of the golds.
    theory = raise_reliability(single, float(1 / (1 / judgments).mean())) ** 0.5
    noise = np.sqrt((1 - single) / single)
    found = []
    for _ in range(n_runs):
        truth = (rng.normal(size=n_units) + rng.normal(size=40)[groups]) / np.sqrt(2)
        values = truth[units] + rng.normal(0, noise, len(units))
        frame = pd.DataFrame({"unit": units, "group": groups[units], "value": values})
        ceiling = compute_ceiling(frame)
        one = one_against_others(frame, rng=rng, n_draws=1)
        assert isinstance(ceiling, Ceiling)
        assert isinstance(ceiling.ceiling, float)
        assert isinstance(ceiling.interval, JackknifeInterval)
        assert isinstance(one, OneAgainstOthers)
        reached = np.corrcoef(truth, np.bincount(units, values) / judgments)[0, 1]
        covered = ceiling.interval.low <= theory <= ceiling.interval.high
        found.append((ceiling.ceiling, reached, one.r, covered))
    mean, true, person, covered = np.mean(found, axis=0)
    return theory, float(mean), float(true), float(person), float(covered)


if __name__ == "__main__":
    main()
