from typing import Any

import numpy as np
import pandas as pd
import pytest

from measures import bootstrap as bootstrap_module
from measures.agreement import Agreement, krippendorff_alpha
from measures.bootstrap import Interval, bootstrap_alphas
from measures.outcome import Undefined
from measures.patterns import Patterns
from measures.rubric import Level
from tests.measures.frames import CANONICAL, from_table, random_frame


def bootstrap(
    patterns: Patterns, *, seed: int = 1, level: Level | str = "ordinal", **options: Any
) -> Interval | Undefined:
    return bootstrap_alphas(patterns, levels=[level], rng=np.random.default_rng(seed), **options)[Level(level)]


def compute_interval(patterns: Patterns, *, seed: int = 1, **options: Any) -> Interval:
    interval = bootstrap(patterns, seed=seed, **options)
    assert isinstance(interval, Interval), interval
    return interval


def compute_alpha(frame: pd.DataFrame, level: Level | str = "ordinal") -> float:
    result = krippendorff_alpha(frame, level=level)
    return result.alpha if isinstance(result, Agreement) else np.nan


@pytest.mark.parametrize("level", list(Level))
@pytest.mark.parametrize("by_group", [False, True])
@pytest.mark.parametrize("continuous", [False, True])
def test_the_same_seed_gives_the_same_interval_around_alpha(level: Level, by_group: bool, continuous: bool) -> None:
    frame = random_frame(np.random.default_rng(7), n_units=200, n_annotators=4, continuous=continuous)
    frame["group"] = frame["unit"] // 4
    patterns = Patterns.from_frame(frame)
    first = compute_interval(patterns, level=level, by_group=by_group, n_resamples=300)
    again = compute_interval(Patterns.from_frame(frame.sample(frac=1)), level=level, by_group=by_group, n_resamples=300)
    other = compute_interval(patterns, seed=2, level=level, by_group=by_group, n_resamples=300)
    assert first == again != other
    assert first.low < compute_alpha(frame, level) < first.high
    assert first.resampled == ("groups" if by_group else "units")
    assert (first.n_resamples, first.confidence, first.undefined_share) == (300, 0.95, 0)


@pytest.mark.parametrize("by_group", [False, True])
@pytest.mark.parametrize("continuous", [False, True])
def test_resampling_row_by_row_gives_the_same_ends(by_group: bool, continuous: bool) -> None:
    frame = random_frame(np.random.default_rng(11), n_units=60, n_annotators=3, continuous=continuous, share=0.9)
    frame = frame[frame.groupby("unit")["value"].transform("size") >= 2]
    frame["group"] = frame["unit"] // (6 if by_group else 1)
    rng = np.random.default_rng(5)
    groups = [group for _, group in frame.groupby("group")]
    naive = [
        compute_alpha(
            pd.concat(
                [
                    groups[k].assign(unit=groups[k]["unit"] + 1000 * n)
                    for n, k in enumerate(rng.integers(len(groups), size=len(groups)))
                ]
            ).drop(columns="group")
        )
        for _ in range(150)
    ]
    interval = compute_interval(Patterns.from_frame(frame), by_group=by_group, n_resamples=3000)
    spread = np.std(naive)
    low, high = np.quantile(naive, [0.025, 0.975])
    assert interval.low == pytest.approx(low, abs=0.6 * spread)
    assert interval.high == pytest.approx(high, abs=0.6 * spread)


def test_units_drawn_by_pattern_and_one_by_one_give_the_same_ends() -> None:
    rows = [([1, 1], 30), ([1, 2], 20), ([4, 5], 25), ([5, 5], 40), ([2, 4], 9)]
    by_pattern = compute_interval(Patterns.from_rows(rows), n_resamples=8000)
    apart = [(np.array(ratings) + k * 1e-9, 1) for ratings, n in rows for k in range(n)]
    one_by_one = compute_interval(Patterns.from_rows(apart), level="interval", n_resamples=8000)
    together = compute_interval(Patterns.from_rows(rows), level="interval", n_resamples=8000)
    assert by_pattern.low < by_pattern.high
    assert one_by_one.low == pytest.approx(together.low, abs=0.012)
    assert one_by_one.high == pytest.approx(together.high, abs=0.012)


def test_blocks_change_no_result(monkeypatch: pytest.MonkeyPatch) -> None:
    frame = random_frame(np.random.default_rng(2), n_units=80, n_annotators=4)
    frame["group"] = frame["unit"] // 5
    patterns = Patterns.from_frame(frame)
    whole = [compute_interval(patterns, by_group=by_group, n_resamples=100) for by_group in (False, True)]
    monkeypatch.setattr(bootstrap_module, "_CELLS_AT_A_TIME", 1000)
    assert [compute_interval(patterns, by_group=by_group, n_resamples=100) for by_group in (False, True)] == whole


def test_about_95_of_100_intervals_cover_the_alpha_of_the_population() -> None:
    rng = np.random.default_rng(17)
    population = random_frame(rng, n_units=4000, n_annotators=3)
    truth = compute_alpha(population)
    ratings = {unit: list(values) for unit, values in population.groupby("unit")["value"]}
    covered = 0
    for _ in range(200):
        drawn = rng.choice(4000, size=150, replace=False)
        interval = compute_interval(Patterns.from_rows((ratings[k], 1) for k in drawn if k in ratings), n_resamples=400)
        covered += interval.low <= truth <= interval.high
    assert 180 <= covered <= 199


def test_resamples_without_variation_are_left_out_and_counted() -> None:
    patterns = Patterns.from_rows([([5, 5], 9), ([1, 1], 1)])
    interval = compute_interval(patterns, n_resamples=2000)
    assert interval.undefined_share == pytest.approx(0.9**10, abs=0.05)
    assert (interval.low, interval.high) == (1, 1)


def test_where_alpha_is_undefined_so_is_its_interval() -> None:
    equal = bootstrap(Patterns.from_rows([([5, 5], 9)]))
    lone = bootstrap(Patterns.from_rows([([4, 5], 1)]))
    group = bootstrap(Patterns.from_rows([([4, 5], [1] * 7)]), by_group=True)
    assert equal == Undefined(reason="all ratings are equal")
    assert lone == Undefined(reason="one unit only, for which alpha is always 0")
    assert group == Undefined(reason="one group only, so there is nothing to resample")
    two = bootstrap(Patterns.from_rows([([4, 5], [0, 0, 0]), ([1, 2], [1, 1, 1])]), by_group=True)
    assert not isinstance(two, Undefined)


@pytest.mark.parametrize("options", [{"n_resamples": 0}, {"confidence": 0}, {"confidence": 1}, {"level": "metric"}])
def test_options_out_of_range_are_refused(options: dict[str, Any]) -> None:
    with pytest.raises(ValueError):
        compute_interval(Patterns.from_frame(from_table(CANONICAL)), **options)
