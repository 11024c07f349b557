"""The planner against truths that are known, for it says what a study would show that nobody has run."""

import numpy as np
import pandas as pd
import pytest

from measures.agreement import krippendorff_alpha
from measures.outcome import Undefined
from measures.planning_alpha import PlannedWidth, plan_alpha, units_for_width

N_UNITS = 200


def study(rng: np.random.Generator, n_units: int, n_judgments: int, *, is_slider: bool = False) -> pd.DataFrame:
    """Ratings out of one and the same truth: items differ, annotators err."""
    truth = rng.beta(0.8, 0.6, n_units)[:, np.newaxis] * 100
    values = np.clip(np.round(truth + rng.normal(0, 15, (n_units, n_judgments))), 0, 100)
    if not is_slider:
        values = 1 + np.minimum(values // 20, 4)
    units = np.repeat(np.arange(n_units), n_judgments)
    return pd.DataFrame({"unit": units, "value": values.ravel()})


def true_width(n_judgments: int, *, is_slider: bool, n_studies: int = 300) -> float:
    """How far alpha varies between real studies of that size."""
    rng = np.random.default_rng(8)
    found = [
        krippendorff_alpha(study(rng, N_UNITS, n_judgments, is_slider=is_slider), level="interval").alpha  # type: ignore[union-attr]
        for _ in range(n_studies)
    ]
    low, high = np.quantile(found, [0.025, 0.975])
    return float(high - low)


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
    assert planned == pytest.approx(true_width(n_judgments, is_slider=is_slider), rel=0.15)


@pytest.mark.parametrize("is_slider", [False, True])
def test_beyond_the_trials_ratings_the_width_is_close(is_slider: bool) -> None:
    planned = planned_width(2, 5, is_slider=is_slider)
    assert planned == pytest.approx(true_width(5, is_slider=is_slider), rel=0.25)


def test_alpha_of_the_simulated_studies_is_that_of_the_trial() -> None:
    trial = study(np.random.default_rng(1), 300, 3)
    plan = plan_alpha(trial, level="ordinal", judgments=[2, 3, 6], units=[300, 1200], rng=np.random.default_rng(2))
    assert not isinstance(plan, Undefined)
    assert (plan.trial.n_units, plan.most_judgments, plan.n_studies) == (300, 3, 300)
    assert [each.alpha for each in plan.widths] == pytest.approx([plan.trial.alpha] * 6, abs=0.03)
    widths = {(each.n_judgments, each.n_units): each.width for each in plan.widths}
    assert widths[3, 300] / widths[3, 1200] == pytest.approx(2, rel=0.25), "four times the items, half the width"
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
    plan = plan_alpha(
        frame, level="ordinal", judgments=[2, 5], units=[2, 100], rng=np.random.default_rng(1), n_studies=50
    )
    assert not isinstance(plan, Undefined)
    assert (plan.trial.n_units, plan.trial.n_single) == (45, 16)
    assert [(each.n_judgments, each.n_units) for each in plan.widths] == [(2, 2), (2, 100), (5, 2), (5, 100)]
    pd.testing.assert_frame_equal(frame, before)


def test_what_cannot_be_planned_says_why() -> None:
    rng = np.random.default_rng(1)
    alone = pd.DataFrame({"unit": [1, 1, 2], "value": [1.0, 2.0, 3.0]})
    asked = {"level": "ordinal", "judgments": [2], "units": [10], "rng": rng}
    assert plan_alpha(alone, **asked) == Undefined(reason="one unit only, so there is nothing to resample")  # type: ignore[arg-type]
    equal = plan_alpha(alone.assign(value=3.0), **asked)  # type: ignore[arg-type]
    assert isinstance(equal, Undefined)
    assert equal.reason == "all ratings are equal"
    for wrong in ({"judgments": [1]}, {"units": [1]}, {"n_studies": 0}, {"confidence": 1.0}):
        with pytest.raises(ValueError, match="items and judgments 2 or more"):
            plan_alpha(alone, **{**asked, **wrong})  # type: ignore[arg-type]


def test_items_are_read_off_between_the_studies() -> None:
    widths = [PlannedWidth(n_judgments=2, n_units=n, width=4 / n**0.5, alpha=0.8) for n in (25, 100, 400)]
    assert units_for_width(widths, 0.3) == 178  # (4 / 0.3)^2
    assert units_for_width(widths, 5.0) == 25
    assert units_for_width(list(reversed(widths)), 0.2) == 400
    assert units_for_width(widths, 0.1) == Undefined(reason="more than 400 items")
    assert units_for_width([], 0.1) == Undefined(reason="alpha is undefined in every simulated study")
    with pytest.raises(ValueError, match="above 0"):
        units_for_width(widths, 0)
