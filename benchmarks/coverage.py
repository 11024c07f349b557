"""How often 95 % intervals cover the true value, in simulated studies; no database.

Run: .venv/bin/python -m benchmarks.coverage [--runs 1000] [--resamples 500]

Each study has three ratings of every item, on a scale from 1 to 5 that is symmetric or skewed, and a metric; items of a
passage resemble each other in both. Passages have one size, or uneven ones: 1 to 30 items, or 40 items of one and 2 of
each other. The true values are those of a study of 300,000 items. `jackknife`: as pages show it, over passages, or over
items where each passage has one. `percentile`: resamples of the same units. `items`: the jackknife as if items were
independent. `Fisher z`: Pearson's alike. `counted`: the jackknife over passages as if they had one size, so that only
their number counts. `none`: the share of studies without a jackknife interval, which do not count.

The second table is of ratings that are nearly all equal: two of each of `candidates` in passages of five, on the points
0 and 1, of which 1 has a `share` of the ratings. `others` is the mean number of candidates with a rating other than the
most frequent one, and `alpha` how often its nominal interval covers the true value.

The third table is of lists of answers: how often the interval of Top-1 accuracy covers the true share, where passages
are `alike` in it or `unlike`, as pages show it, and symmetric about the share as the jackknife's is (`plain`).

The last table is the same of mean ratings from 1 to 5, of which most are 5.
"""

import argparse
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from math import exp
from typing import Any

import numpy as np
from scipy.special import ndtri, stdtrit

from measures.agreement import Agreement, krippendorff_alpha
from measures.alpha_intervals import jackknife_alphas
from measures.bootstrap import bootstrap_alphas
from measures.jackknife import JackknifeInterval, Scale, bound_interval, jackknife, jackknife_interval
from measures.outcome import Undefined
from measures.patterns import Floats, Ints, Patterns
from measures.rubric import Level
from measures.studies.correlating import correlate
from measures.studies.items import COEFFICIENTS, Items
from measures.studies.ranked_answers import Places, measure_ranked

N_RATINGS = 3
N_TRUE = 300_000
SHARED = 0.4
"""The share of the variance of items, and of the metric's errors, that passages share."""
POINTS = np.arange(1.0, 6.0)
TO_30 = (1, 1, 2, 2, 3, 5, 8, 12, 20, 30)
DESIGNS: dict[str, tuple[int, ...]] = {
    **{f"{n} of {size}": (size,) * n for n, size in ((30, 1), (100, 1), (8, 5), (20, 5), (40, 5))},
    "8 of 1-30": TO_30[:8],
    "10 of 1-30": TO_30,
    "20 of 1-30": TO_30 * 2,
    "40 of 1-30": TO_30 * 4,
    **{f"40, {n} of 2": (40, *(2,) * n) for n in (9, 19, 39)},
}
"""The items of each passage, by what they are called."""
METHODS = ("jackknife", "percentile", "items", "Fisher z", "counted")
STATISTICS = (*COEFFICIENTS, "alpha", "mean")


@dataclass(frozen=True)
class Simulated:
    """Ratings (items by ratings), a metric, and the passage of each item."""

    ratings: Floats
    metric: Floats
    passages: Ints

    @property
    def human(self) -> Floats:
        return np.asarray(self.ratings.mean(axis=1))

    @property
    def patterns(self) -> Patterns:
        rows = zip(self.ratings.tolist(), self.passages.tolist(), strict=True)
        return Patterns.from_rows([(ratings, [passage]) for ratings, passage in rows])


def simulate(rng: np.random.Generator, *, sizes: Sequence[int], is_skewed: bool) -> Simulated:
    """Return a study of passages with so many items."""
    passages = np.repeat(np.arange(len(sizes)), sizes)

    def draw() -> Floats:
        shared, own = rng.normal(size=len(sizes))[passages], rng.normal(size=len(passages))
        return np.asarray(np.sqrt(SHARED) * shared + np.sqrt(1 - SHARED) * own)

    true = draw()
    rated = true[:, np.newaxis] + 0.8 * rng.normal(size=(len(passages), N_RATINGS))
    middle, spread = (4.4, 1.3) if is_skewed else (3.0, 1.0)
    ratings = np.clip(np.round(middle + spread * rated), POINTS[0], POINTS[-1])
    return Simulated(ratings, 0.6 * true + 0.8 * draw(), passages)


def find_truth(*, is_skewed: bool, n_true: int = N_TRUE) -> dict[str, Any]:
    """Return the true value of each statistic, which is the same for passages of any size."""
    study = simulate(np.random.default_rng(0), sizes=[1] * n_true, is_skewed=is_skewed)
    whole = Items(study.human, {"metric": study.metric}, None, by_group=False).whole()["metric"]
    counts = np.stack([(study.ratings == point).sum(axis=1) for point in POINTS], axis=1)
    alpha = krippendorff_alpha(Patterns.from_counts(counts, POINTS), level=Level.ORDINAL)
    assert isinstance(alpha, Agreement)
    return {**dict(zip(COEFFICIENTS, whole, strict=True)), "alpha": alpha.alpha, "mean": float(study.human.mean())}


def compute_intervals(
    study: Simulated, rng: np.random.Generator, *, n_resamples: int, only: Collection[tuple[str, str]] = ()
) -> Iterator[tuple[str, str, float | None, float | None]]:
    """Yield the interval of each statistic by each method, or at least those in `only`; None for an undefined one."""

    def is_wanted(method: str, *names: str) -> bool:
        return not only or any((name, method) in only for name in names)

    ways: dict[str, dict[str, Any]] = {
        "jackknife": {"by_group": True},
        "percentile": {"by_group": True, "method": "percentile", "n_resamples": n_resamples},
        "items": {"by_group": False},
        "Fisher z": {"by_group": False, "method": "fisher_z"},
    }
    for method, options in ways.items():
        if (method == "percentile" and not n_resamples) or not is_wanted(method, *COEFFICIENTS):
            continue
        found = correlate(study.human, study.metric, rng=rng, groups=study.passages, **options)
        for name in COEFFICIENTS if method != "Fisher z" else ("pearson",):
            one = getattr(found, name)
            yield name, method, one.low, one.high
    patterns, levels = study.patterns, [Level.ORDINAL]
    of_alpha = {
        method: jackknife_alphas(patterns, levels=levels, by_group=by_group)[Level.ORDINAL]
        for method, by_group in (("jackknife", True), ("items", False))
        if is_wanted(method, "alpha")
    }
    if n_resamples:
        of_alpha["percentile"] = bootstrap_alphas(  # type: ignore[assignment]
            patterns, levels=levels, rng=rng, n_resamples=n_resamples, by_group=True
        )[Level.ORDINAL]
    for method, one in of_alpha.items():
        low, high = (None, None) if isinstance(one, Undefined) else (one.low, one.high)
        yield "alpha", method, low, high
    for method, parts in (("jackknife", study.passages), ("items", np.arange(len(study.passages)))):
        if not is_wanted(method, "mean"):
            continue
        mean = jackknife(lambda rows: float(study.human[rows].mean()), parts, scale=Scale.PLAIN)
        low, high = (None, None) if isinstance(mean, Undefined) else (mean.low, mean.high)
        yield "mean", method, low, high
    if is_wanted("counted", "alpha"):
        yield from _count_passages_for_alpha(patterns)
    if is_wanted("counted", *COEFFICIENTS, "mean"):
        yield from _count_passages(study)


def _count_passages_for_alpha(patterns: Patterns) -> Iterator[tuple[str, str, float | None, float | None]]:
    """Yield the interval that a jackknife over passages has without their sizes."""
    whole = jackknife_alphas(patterns, levels=[Level.ORDINAL], by_group=True)[Level.ORDINAL]
    alpha = krippendorff_alpha(patterns, level=Level.ORDINAL)
    if isinstance(whole, JackknifeInterval) and isinstance(alpha, Agreement):
        reach = float(stdtrit(whole.n_units - 1, 0.975)) * whole.se
        yield "alpha", "counted", 1 - (1 - alpha.alpha) * exp(reach), 1 - (1 - alpha.alpha) * exp(-reach)


def _count_passages(study: Simulated) -> Iterator[tuple[str, str, float | None, float | None]]:
    """Yield the intervals of the other statistics alike."""
    items = Items(study.human, {"metric": study.metric}, study.passages, by_group=True)
    left_out = items.leave_out(np.random.default_rng(0))["metric"]
    counts, sums = np.bincount(study.passages), np.bincount(study.passages, study.human)
    means = (study.human.sum() - sums) / (items.n - counts)
    found = {
        name: jackknife_interval(value, each, scale=Scale.FISHER_Z)
        for name, value, each in zip(COEFFICIENTS, items.whole()["metric"], left_out, strict=True)
    }
    found["mean"] = jackknife_interval(float(study.human.mean()), means, scale=Scale.PLAIN)
    for name, one in found.items():
        low, high = (None, None) if isinstance(one, Undefined) else (one.low, one.high)
        yield name, "counted", low, high


def measure_coverage(
    sizes: Sequence[int],
    *,
    is_skewed: bool,
    n_runs: int,
    n_resamples: int,
    n_true: int = N_TRUE,
    only: Collection[tuple[str, str]] = (),
) -> dict[tuple[str, str], tuple[float, float]]:
    """Return the share of intervals that cover the true value, and that of undefined ones, by statistic and method.

    `only` names those that are needed; others may be missing.
    """
    truth = find_truth(is_skewed=is_skewed, n_true=n_true)
    rng = np.random.default_rng(1)
    covered: dict[tuple[str, str], list[bool]] = {}
    for _ in range(n_runs):
        study = simulate(rng, sizes=sizes, is_skewed=is_skewed)
        for name, method, low, high in compute_intervals(study, rng, n_resamples=n_resamples, only=only):
            each = covered.setdefault((name, method), [])
            if low is not None and high is not None:
                each.append(low <= truth[name] <= high)
    return {key: (float(np.mean(each)) if each else np.nan, 1 - len(each) / n_runs) for key, each in covered.items()}


def measure_shares(sizes: Sequence[int], *, share: float, differ: float, n_runs: int) -> tuple[float, float, float]:
    """Return how often the interval of a share covers it, as pages show it and the plain one, and is undefined.

    `differ` is the correlation of two lists of a passage: passages have shares of their own, by a beta distribution.
    """
    rng, covered = np.random.default_rng(2), []
    passages = np.repeat(np.arange(len(sizes)), sizes)
    spread = (1 - differ) / differ if differ else np.inf
    for _ in range(n_runs):
        own = rng.beta(share * spread, (1 - share) * spread, len(sizes)) if differ else np.full(len(sizes), share)
        is_good = (rng.random(len(passages)) < own[passages]).astype(float)
        places = Places(lists=np.arange(len(passages)), places=np.ones(len(passages), int), n_unranked=0, n_tied=0)
        found = measure_ranked(is_good, places, threshold=1, units=passages, depth=1)
        left_out = (is_good.sum() - np.bincount(passages, is_good)) / (len(passages) - np.bincount(passages))
        plain = jackknife_interval(float(is_good.mean()), left_out, scale=Scale.PLAIN, sizes=sizes)
        if isinstance(found, Undefined) or isinstance(plain, Undefined):
            continue
        shown = found.top[0]
        if shown.low is not None and shown.high is not None:
            covered.append((shown.low <= share <= shown.high, plain.low <= share <= plain.high))
    wilson, symmetric = np.mean(covered, axis=0)
    return float(wilson), float(symmetric), 1 - len(covered) / n_runs


def measure_nearly_equal(
    share: float, *, n_units: int, n_runs: int, n_true: int = N_TRUE
) -> tuple[float, float, float]:
    """Return how often alpha's interval covers it where one of two points is rare, and is undefined.

    The first number is the mean number of units with a rating other than the most frequent one.
    """
    rng, cut, n_others, covered = np.random.default_rng(3), ndtri(1 - share), 0, []

    def draw(n: int) -> Patterns:
        passages = np.arange(n) // 5
        shared, own = rng.normal(size=passages[-1] + 1)[passages], rng.normal(size=n)
        true = np.sqrt(0.15) * shared + np.sqrt(0.35) * own
        ratings = (true[:, np.newaxis] + np.sqrt(0.5) * rng.normal(size=(n, 2)) > cut).astype(np.float64)
        return Patterns.from_rows(zip(ratings.tolist(), passages[:, np.newaxis].tolist(), strict=True))

    truth = krippendorff_alpha(draw(n_true), level=Level.NOMINAL)
    assert isinstance(truth, Agreement)
    for _ in range(n_runs):
        patterns = draw(n_units)
        n_others += patterns.n_off_mode
        found = jackknife_alphas(patterns, levels=[Level.NOMINAL], by_group=True)[Level.NOMINAL]
        if not isinstance(found, Undefined):
            covered.append(found.low <= truth.alpha <= found.high)
    return n_others / n_runs, float(np.mean(covered)), 1 - len(covered) / n_runs


def measure_means(sizes: Sequence[int], *, share: float, n_runs: int) -> tuple[float, float, float, float]:
    """Return the true mean of ratings from 1 to 5, and how often its interval covers it, as pages show it and plain.

    A share of the ratings is below 5. The last number is how often there is no interval.
    """
    cuts = ndtri(share * np.array([0.1, 0.25, 0.5, 1]))
    true = float(np.diff(np.concatenate([[0], share * np.array([0.1, 0.25, 0.5, 1]), [1]])) @ POINTS)
    rng, covered, passages = np.random.default_rng(4), [], np.repeat(np.arange(len(sizes)), sizes)
    for _ in range(n_runs):
        shared, own = rng.normal(size=len(sizes))[passages], rng.normal(size=len(passages))
        latent = np.sqrt(0.15) * shared + np.sqrt(0.35) * own
        ratings = POINTS[np.digitize(latent[:, np.newaxis] + np.sqrt(0.5) * rng.normal(size=(len(latent), 2)), cuts)]
        each = ratings.mean(axis=1)
        left_out = (each.sum() - np.bincount(passages, each)) / (len(each) - np.bincount(passages))
        plain = jackknife_interval(float(each.mean()), left_out, scale=Scale.PLAIN, sizes=sizes)
        shown = bound_interval(float(each.mean()), plain, low=POINTS[0], high=POINTS[-1])
        if not isinstance(plain, Undefined) and not isinstance(shown, Undefined):
            covered.append((shown.low <= true <= shown.high, plain.low <= true <= plain.high))
    wilson, symmetric = np.mean(covered, axis=0)
    return true, float(wilson), float(symmetric), 1 - len(covered) / n_runs


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--runs", type=int, default=1000)
    parser.add_argument("--resamples", type=int, default=500)
    options = parser.parse_args()
    print(f"{'passages':>14}{'scale':>11}{'statistic':>11}" + "".join(f"{each:>12}" for each in METHODS)
          + f"{'none':>8}")  # fmt: skip
    for called, sizes in DESIGNS.items():
        for is_skewed in (False, True):
            found = measure_coverage(sizes, is_skewed=is_skewed, n_runs=options.runs, n_resamples=options.resamples)
            for name in STATISTICS:
                shares = [found.get((name, method)) for method in METHODS]
                cells = "".join(f"{100 * share[0]:>12.1f}" if share else f"{'-':>12}" for share in shares)
                scale = "skewed" if is_skewed else "symmetric"
                none = 100 * found[name, "jackknife"][1]
                print(f"{called:>14}{scale:>11}{name:>11}{cells}{none:>8.1f}", flush=True)
    print(f"\n{'candidates':>14}{'share':>8}{'others':>8}{'alpha':>8}{'none':>8}")
    for n_units in (100, 300, 1_000):
        for share in (0.01, 0.02, 0.03, 0.05, 0.1, 0.2):
            n_others, alpha, none = measure_nearly_equal(share, n_units=n_units, n_runs=options.runs)
            print(f"{n_units:>14}{share:>8}{n_others:>8.1f}{100 * alpha:>8.1f}{100 * none:>8.1f}", flush=True)
    print(f"\n{'passages':>14}{'share':>8}{'passages are':>14}{'as shown':>10}{'plain':>8}{'none':>8}")
    for called in ("8 of 5", "20 of 5", "40 of 5", "10 of 1-30", "20 of 1-30", "40 of 1-30"):
        for share in (0.05, 0.1, 0.3, 0.5):
            for differ in (0.0, 0.3):
                each = measure_shares(DESIGNS[called], share=share, differ=differ, n_runs=options.runs)
                wilson, plain, none = (100 * value for value in each)
                passages = "unlike" if differ else "alike"
                print(f"{called:>14}{share:>8}{passages:>14}{wilson:>10.1f}{plain:>8.1f}{none:>8.1f}", flush=True)
    print(f"\n{'passages':>14}{'mean':>8}{'as shown':>10}{'plain':>8}{'none':>8}")
    for called in ("8 of 5", "20 of 5", "40 of 5", "20 of 1-30"):
        for share in (0.05, 0.1, 0.2, 0.5):
            true, *of_means = measure_means(DESIGNS[called], share=share, n_runs=options.runs)
            wilson, plain, none = (100 * value for value in of_means)
            print(f"{called:>14}{true:>8.2f}{wilson:>10.1f}{plain:>8.1f}{none:>8.1f}", flush=True)


if __name__ == "__main__":
    main()
