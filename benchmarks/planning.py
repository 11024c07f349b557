"""How close planned widths of alpha's interval come to those of real studies, in simulations; no database.

Run: .venv/bin/python -m benchmarks.planning [--trials 25] [--studies 200]

Ratings are on a scale from 1 to 5; items of a passage resemble each other, and some passages are harder to judge than
others. The passages of trials and studies have 8 items each, or 1 to 30 (`uneven`), or 40 for one in twenty and 2 for
the others (`one of 40`). `real`: the mean width of the intervals that studies of so many items have. `planned`: the
mean plan over trials of so many passages, by real widths. `spread`: the standard deviation of the plans, alike.
"""

import argparse
from collections.abc import Sequence

import numpy as np
import pandas as pd

from benchmarks.coverage import TO_30
from measures.alpha_intervals import jackknife_alphas
from measures.outcome import Undefined
from measures.patterns import Floats, Ints, Patterns
from measures.planning_alpha import plan_alpha
from measures.rubric import Level

SHARED = 0.4
"""The share of the variance of items that passages share."""
DESIGNS: dict[str, tuple[int, ...]] = {"even": (8,), "uneven": TO_30, "one of 40": (40, *(2,) * 19)}
"""The items of passages, each as frequent as the others."""
SIZES = (100, 400, 1600)
PASSAGES = (10, 20, 40)
LEVEL = Level.ORDINAL


def simulate(rng: np.random.Generator, *, sizes: Sequence[int] | Ints, n_judgments: int, hardness: float) -> Patterns:
    """Return the ratings of a study of passages with so many items."""
    return Patterns.from_frame(_simulate(rng, sizes, n_judgments, hardness))


def _simulate(rng: np.random.Generator, sizes: Sequence[int] | Ints, n_judgments: int, hardness: float) -> pd.DataFrame:
    passages = np.repeat(np.arange(len(sizes)), sizes)
    n = len(passages)
    true = np.sqrt(SHARED) * rng.normal(size=len(sizes))[passages] + np.sqrt(1 - SHARED) * rng.normal(size=n)
    noise = 0.8 * np.exp(hardness * rng.normal(size=len(sizes)))[passages]
    rated: Floats = true[:, np.newaxis] + noise[:, np.newaxis] * rng.normal(size=(n, n_judgments))
    values = np.clip(np.round(3 + rated), 1, 5).ravel()
    units = np.repeat(np.arange(n), n_judgments)
    return pd.DataFrame({"unit": units, "value": values, "group": passages[units]})


def measure_real(design: Sequence[int], n_units: int, n_judgments: int, *, hardness: float, n_studies: int) -> float:
    """Return the mean width of the interval that studies of about so many items have; undefined ones don't count."""
    rng, widths = np.random.default_rng(5), []
    n_passages = round(n_units / np.mean(design))
    for _ in range(n_studies):
        sizes = rng.choice(design, n_passages)
        study = simulate(rng, sizes=sizes, n_judgments=n_judgments, hardness=hardness)
        interval = jackknife_alphas(study, levels=[LEVEL], by_group=True)[LEVEL]
        if not isinstance(interval, Undefined):
            widths.append(interval.high - interval.low)
    return float(np.mean(widths))


def measure_planned(
    design: Sequence[int], n_passages: int, n_in_trial: int, n_judgments: int, *, hardness: float, n_trials: int
) -> dict[int, tuple[float, float]]:
    """Return mean and standard deviation of the planned width by number of items, over trials with such passages."""
    widths: dict[int, list[float]] = {n_units: [] for n_units in SIZES}
    for seed in range(n_trials):
        rng = np.random.default_rng(seed)
        trial = _simulate(rng, np.resize(design, n_passages), n_in_trial, hardness)
        plan = plan_alpha(trial, level=LEVEL, judgments=[n_judgments], units=SIZES, rng=rng, by_group=True)
        for each in () if isinstance(plan, Undefined) else plan.widths:
            widths[each.n_units].append(each.width)
    return {n_units: (float(np.mean(each)), float(np.std(each))) for n_units, each in widths.items() if each}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--trials", type=int, default=25)
    parser.add_argument("--studies", type=int, default=200)
    options = parser.parse_args()
    print(f"{'passages':>10}{'harder':>8}{'ratings':>9}{'items':>7}{'real':>8}", end="")
    print("".join(f"{f'{n} planned':>12}{'spread':>8}" for n in PASSAGES))
    for called, design in DESIGNS.items():
        for hardness in (0.0, 0.5):
            # Ratings of the trial, and of the study.
            for n_in_trial, n_judgments in ((3, 2), (3, 3), (2, 5)):
                plans = [
                    measure_planned(
                        design, n, n_in_trial, n_judgments, hardness=hardness, n_trials=options.trials
                    )
                    for n in PASSAGES
                ]  # fmt: skip
                for n_units in SIZES:
                    real = measure_real(design, n_units, n_judgments, hardness=hardness, n_studies=options.studies)
                    cells = "".join(
                        f"{plan[n_units][0] / real:>12.2f}{plan[n_units][1] / real:>8.2f}" if n_units in plan
                        else f"{'-':>12}{'-':>8}"
                        for plan in plans
                    )  # fmt: skip
                    ratings = f"{n_in_trial} to {n_judgments}"
                    print(f"{called:>10}{hardness:>8.1f}{ratings:>9}{n_units:>7}{real:>8.3f}{cells}", flush=True)


if __name__ == "__main__":
    main()
