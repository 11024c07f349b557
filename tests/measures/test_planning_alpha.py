"""The planner against truths that are known, for it says what a study would show that nobody has run."""

import numpy as np
import pandas as pd
import pytest

from benchmarks.planning import DESIGNS, measure_planned, measure_real, simulate
from measures.agreement import Agreement, krippendorff_alpha
from measures.alpha_intervals import jackknife_alphas
from measures.jackknife import JackknifeInterval
from measures.outcome import Undefined
from measures.patterns import Patterns
from measures.planning_alpha import WIDEST, PlannedWidth, plan_alpha, units_for_width
from measures.rubric import Level

N_UNITS = 200


def study(rng: np.random.Generator, n_units: int, n_judgments: int, *, is_slider: bool = False) -> pd.DataFrame:
    """Ratings out of one and the same truth: items differ, annotators err."""
    truth = rng.beta(0.8, 0.6, n_units)[:, np.newaxis] * 100
    values = np.clip(np.round(truth + rng.normal(0, 15, (n_units, n_judgments))), 0, 100)
    if not is_slider:
        values = 1 + np.minimum(values // 20, 4)
    units = np.repeat(np.arange(n_units), n_judgments)
    return pd.DataFrame({"unit": units, "value": values.ravel()})


def true_width(n_judgments: int, *, is_slider: bool, n_studies: int = 40) -> float:
    """The mean width of the interval of real studies of that size."""
    rng = np.random.default_rng(8)
    widths = []
    for _ in range(n_studies):
        patterns = Patterns.from_frame(study(rng, N_UNITS, n_judgments, is_slider=is_slider))
        found = jackknife_alphas(patterns, levels=["interval"], by_group=False)[Level.INTERVAL]
        assert isinstance(found, JackknifeInterval)
        widths.append(found.high - found.low)
    return float(np.mean(widths))


def planned_width(n_in_trial: int, n_judgments: int, *, is_slider: bool, n_trials: int = 8) -> float:
    """The mean over several trials: one trial may mislead, the method may not."""
    widths = []
    for seed in range(n_trials):
        rng = np.random.default_rng(seed)
        plan = plan_alpha(
            study(rng, N_UNITS, n_in_trial, is_slider=is_slider),
            level="interval",
            judgments=[n_judgments],
            units=[N_UNITS],
            rng=rng,
        )
        assert not isinstance(plan, Undefined)
        widths.append(plan.widths[0].width)
    return float(np.mean(widths))


@pytest.mark.parametrize("is_slider", [False, True])
@pytest.mark.parametrize(("n_in_trial", "n_judgments"), [(3, 2), (3, 3)])
def test_within_the_trials_ratings_the_width_is_that_of_real_studies(
    n_in_trial: int, n_judgments: int, is_slider: bool
) -> None:
    planned = planned_width(n_in_trial, n_judgments, is_slider=is_slider)
    assert planned == pytest.approx(true_width(n_judgments, is_slider=is_slider), rel=0.1)


@pytest.mark.parametrize("is_slider", [False, True])
def test_beyond_the_trials_ratings_the_width_is_close(is_slider: bool) -> None:
    planned = planned_width(2, 5, is_slider=is_slider)
    assert planned == pytest.approx(true_width(5, is_slider=is_slider), rel=0.25)


@pytest.mark.parametrize("sizes", [[5] * 12, [1, 1, 2, 3, 5, 8, 12, 20] * 2], ids=["even", "uneven"])
def test_a_study_like_the_trial_has_the_interval_of_the_trial(sizes: list[int]) -> None:
    rng = np.random.default_rng(5)
    passages = np.repeat(np.arange(len(sizes)), sizes)
    trial = study(rng, len(passages), 3).assign(group=np.repeat(passages, 3))
    plan = plan_alpha(
        trial, level="ordinal", judgments=[3], units=[len(passages), 4 * len(passages)], rng=rng, by_group=True
    )
    own = jackknife_alphas(Patterns.from_frame(trial), levels=["ordinal"], by_group=True)[Level.ORDINAL]
    assert not isinstance(plan, Undefined)
    assert isinstance(own, JackknifeInterval)
    assert plan.widths[0].width == pytest.approx(own.high - own.low)
    assert plan.widths[0].alpha == pytest.approx(plan.trial.alpha)
    # Four times the passages, half the standard error, and a smaller t.
    assert plan.widths[1].width < plan.widths[0].width / 2


@pytest.mark.parametrize(("design", "n_passages"), [("even", 20), ("uneven", 40)])
def test_the_width_is_that_of_real_studies_where_passages_differ(design: str, n_passages: int) -> None:
    real = measure_real(DESIGNS[design], 400, 2, hardness=0.5, n_studies=60)
    planned, _ = measure_planned(DESIGNS[design], n_passages, 3, 2, hardness=0.5, n_trials=12)[400]
    assert planned == pytest.approx(real, rel=0.1)


def test_modelled_ratings_keep_alpha_and_the_hard_passages_hard() -> None:
    """Alpha of about .45 in passages that differ: copies by 1 - 1/j gave .09 too much, and two thirds of the width."""
    real = measure_real(DESIGNS["even"], 400, 5, hardness=0.5, n_studies=40)
    planned, _ = measure_planned(DESIGNS["even"], 20, 2, 5, hardness=0.5, n_trials=8)[400]
    assert 0.8 < planned / real < 1.2
    # In one passage an item has no other to borrow from than those of the whole trial.
    for sizes in ([8] * 60, [1] * 480):
        gaps = []
        for seed in range(4):
            rng = np.random.default_rng(seed)
            patterns = simulate(rng, sizes=sizes, n_judgments=2, hardness=0.5)
            alpha = krippendorff_alpha(patterns, level="ordinal")
            assert isinstance(alpha, Agreement)
            frame = _unfold(patterns)
            plan = plan_alpha(frame, level="ordinal", judgments=[5], units=[1600], rng=rng, by_group=True)
            assert not isinstance(plan, Undefined)
            gaps.append(plan.widths[0].alpha - alpha.alpha)
        assert np.mean(gaps) == pytest.approx(0, abs=0.03)


def _unfold(patterns: Patterns) -> pd.DataFrame:
    """The frame that has these patterns."""
    cells = zip(patterns.cell_pattern, patterns.cell_group, patterns.cell_units, strict=True)
    rows, unit = [], 0
    for pattern, group, n in cells:
        entries = np.flatnonzero(patterns.pattern == pattern)
        for _ in range(n):
            rows += [(unit, group, value) for value in np.repeat(
                patterns.values[patterns.value[entries]], patterns.count[entries]
            )]  # fmt: skip
            unit += 1
    return pd.DataFrame(rows, columns=["unit", "group", "value"])


def test_large_trials_are_drawn_from_in_whole_groups() -> None:
    rng = np.random.default_rng(3)
    trial = study(rng, 4000, 3).assign(group=lambda frame: frame["unit"] // 8)
    plan = plan_alpha(trial, level="ordinal", judgments=[3], units=[4000], rng=rng, by_group=True)
    own = jackknife_alphas(Patterns.from_frame(trial), levels=["ordinal"], by_group=True)[Level.ORDINAL]
    assert not isinstance(plan, Undefined)
    assert isinstance(own, JackknifeInterval)
    assert plan.widths[0].width == pytest.approx(own.high - own.low, rel=0.05)


def test_sizes_whose_interval_says_nothing_are_left_out() -> None:
    rng = np.random.default_rng(5)
    sizes = [1, 1, 2, 3, 5, 8, 12, 20]
    trial = study(rng, sum(sizes), 3).assign(group=np.repeat(np.repeat(range(8), sizes), 3))
    plan = plan_alpha(trial, level="ordinal", judgments=[2, 3], units=[2, 10, 20, 400], rng=rng, by_group=True)
    assert not isinstance(plan, Undefined)
    assert plan.judgments == (2, 3)
    # Up to 20 candidates, of such passages fewer than three, or fewer than two by their effective number.
    assert [each.n_units for each in plan.widths] == [400, 400]
    assert all(each.width <= WIDEST for each in plan.widths)


def test_alpha_of_the_draws_is_that_of_the_trial() -> None:
    trial = study(np.random.default_rng(1), 300, 3)
    plan = plan_alpha(trial, level="ordinal", judgments=[2, 3, 6], units=[300, 1200], rng=np.random.default_rng(2))
    assert not isinstance(plan, Undefined)
    assert (plan.trial.n_units, plan.most_judgments, plan.n_draws) == (300, 3, 20)
    assert [each.alpha for each in plan.widths] == pytest.approx([plan.trial.alpha] * 6, abs=0.02)
    widths = {(each.n_judgments, each.n_units): each.width for each in plan.widths}
    assert widths[3, 300] / widths[3, 1200] == pytest.approx(2, rel=0.05), "four times the items, half the width"
    assert widths[2, 1200] > 1.2 * widths[6, 1200]


def test_ratings_drawn_with_replacement_would_promise_too_much() -> None:
    """What the model is there for: two ratings an item, five wanted."""
    trial = study(np.random.default_rng(1), 300, 2)
    rng = np.random.default_rng(2)
    again = trial.loc[np.concatenate([rng.choice(own, 5) for own in trial.groupby("unit").groups.values()])]
    naive = krippendorff_alpha(again, level="interval").alpha  # type: ignore[union-attr]
    plan = plan_alpha(trial, level="interval", judgments=[5], units=[300], rng=np.random.default_rng(2))
    assert not isinstance(plan, Undefined)
    assert abs(plan.widths[0].alpha - plan.trial.alpha) < 0.03 < naive - plan.trial.alpha


def test_items_that_are_alike_within_passages_need_more_of_them() -> None:
    rng = np.random.default_rng(3)
    is_hard = np.repeat(rng.random(30) < 0.5, 10)  # a passage is hard or easy to judge as a whole
    truth = rng.integers(1, 6, 300)[:, np.newaxis]
    noise = rng.normal(0, 1, (300, 3)) * np.where(is_hard, 2.5, 0.2)[:, np.newaxis]
    values = np.clip(np.round(truth + noise), 1, 5).ravel()
    trial = pd.DataFrame({"unit": np.repeat(range(300), 3), "group": np.repeat(range(30), 30), "value": values})
    one, other = (
        plan_alpha(trial, level="interval", judgments=[3], units=[200], rng=np.random.default_rng(1), by_group=by_group)
        for by_group in (False, True)
    )
    assert not isinstance(one, Undefined)
    assert not isinstance(other, Undefined)
    assert other.widths[0].width > 1.5 * one.widths[0].width


def test_items_with_few_and_many_ratings_and_with_one_may_be_mixed() -> None:
    frame = study(np.random.default_rng(4), 60, 4)
    frame = pd.concat([frame[(frame.index % 4) <= frame["unit"] % 4], pd.DataFrame({"unit": [99], "value": [3.0]})])
    before = frame.copy()
    plan = plan_alpha(frame, level="ordinal", judgments=[2, 5], units=[20, 100], rng=np.random.default_rng(1))
    assert not isinstance(plan, Undefined)
    assert (plan.trial.n_units, plan.trial.n_single) == (45, 16)
    assert [(each.n_judgments, each.n_units) for each in plan.widths] == [(2, 20), (2, 100), (5, 20), (5, 100)]
    pd.testing.assert_frame_equal(frame, before)


def test_what_cannot_be_planned_says_why() -> None:
    rng = np.random.default_rng(1)
    alone = pd.DataFrame({"unit": [1, 1, 2, 2], "value": [1.0, 2.0, 3.0, 3.0]})
    asked = {"level": "ordinal", "judgments": [2], "units": [10], "rng": rng}
    assert plan_alpha(alone, **asked) == Undefined(reason="fewer than three candidates")  # type: ignore[arg-type]
    in_passages = pd.DataFrame({"unit": [1, 1, 2, 2, 3, 3], "group": [1] * 4 + [2] * 2, "value": [1.0, 2, 3, 3, 4, 5]})
    assert plan_alpha(in_passages, **asked, by_group=True) == Undefined(reason="fewer than three passages")  # type: ignore[arg-type]
    perfect = pd.DataFrame({"unit": [1, 1, 2, 2, 3, 3], "value": [1.0, 1, 2, 2, 3, 3]})
    assert plan_alpha(perfect, **asked) == Undefined(reason="the estimate is exactly 1")  # type: ignore[arg-type]
    equal = plan_alpha(alone.assign(value=3.0), **asked)  # type: ignore[arg-type]
    assert isinstance(equal, Undefined)
    assert equal.reason == "all ratings are equal"
    for wrong in ({"judgments": [1]}, {"units": [1]}, {"n_draws": 0}, {"confidence": 1.0}):
        with pytest.raises(ValueError, match="items and judgments 2 or more"):
            plan_alpha(alone, **{**asked, **wrong})  # type: ignore[arg-type]


def test_items_are_read_off_between_the_studies() -> None:
    widths = [PlannedWidth(n_judgments=2, n_units=n, width=4 / n**0.5, alpha=0.8) for n in (25, 100, 400)]
    assert units_for_width(widths, 0.3) == 178  # (4 / 0.3)^2
    assert units_for_width(widths, 5.0) == 25
    assert units_for_width(list(reversed(widths)), 0.2) == 400
    assert units_for_width(widths, 0.1) == Undefined(reason="more than 400 candidates")
    assert units_for_width([], 0.1) == Undefined(reason="no planned size has an interval of alpha that says anything")
    with pytest.raises(ValueError, match="above 0"):
        units_for_width(widths, 0)
