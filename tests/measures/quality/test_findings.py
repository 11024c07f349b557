"""Findings: each kind of bad work is found, good work is not, and too little never finds anything."""

import os
from dataclasses import fields, replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from measures.outcome import Undefined
from measures.quality.crowd import Crowd, summarise_crowd
from measures.quality.degraded import degraded_test
from measures.quality.figures import Figures, pack, unpack
from measures.quality.findings import Found, find
from measures.quality.habits import Pace, scale_use
from measures.quality.others import against_others, others_means
from measures.quality.repeats import repeats
from measures.quality.shares import compute_share
from measures.quality.texts import FeatureCorrelation, correlate_with_features
from measures.quality.thresholds import Thresholds

FOLDER = os.environ.get("SQUALITY_DIR", "")
TYPICAL = Crowd(r=0.8, overlap=0.5, length=0.1, known=0.95, degraded=0.9, value_shares=(0.2,) * 5, seconds_per_word=0.1)
DEFAULTS = Thresholds()


def kinds(figures: Figures, crowd: Crowd = TYPICAL, thresholds: Thresholds = DEFAULTS) -> set[str]:
    return {found.kind for found in find(figures, crowd, thresholds)}


def rated(n: int, r: float, seed: int = 1) -> Figures:
    """Scores that correlate about so with the others'."""
    rng = np.random.default_rng(seed)
    theirs = rng.normal(size=n)
    own = r * theirs + np.sqrt(1 - r**2) * rng.normal(size=n)
    return Figures(n_judged=n, others=against_others(3 + own, 3 + theirs))


@pytest.mark.parametrize(("right", "n", "is_found"), [(1, 5, True), (3, 5, False), (4, 10, True), (7, 10, False)])
def test_known_answers(right: int, n: int, is_found: bool) -> None:
    assert ("known_answers_low" in kinds(Figures(known_answers=compute_share(right, n, nothing="")))) == is_found


def test_the_message_names_the_threshold_and_the_others_where_they_are_below_it() -> None:
    figures = Figures(known_answers=compute_share(1, 30, nothing=""))
    (found,) = find(figures, TYPICAL, DEFAULTS)
    assert found.message == "1 of 30 known answers were correct (good threshold: 80 %)."
    (found,) = find(figures, replace(TYPICAL, known=0.31), DEFAULTS)
    assert found.message == "1 of 30 known answers were correct (good threshold: 80 %; others: 31 %)."
    none = Figures(known_answers=compute_share(0, 300, nothing=""))
    (found,) = find(none, replace(TYPICAL, known=0.02), DEFAULTS)
    assert found.message.endswith("(good threshold: 80 %; others: 2 %).")


def test_where_everybody_misses_the_known_answers_nobody_is_found() -> None:
    figures = Figures(known_answers=compute_share(9, 20, nothing=""))
    assert kinds(figures) == {"known_answers_low"}
    assert kinds(figures, replace(TYPICAL, known=0.45)) == set()


@pytest.mark.parametrize(
    "over",
    [
        {"known_good": 1.0},
        {"degraded_good": 1.0},
        {"known_good": 1.0, "known_poor": 0.0, "degraded_good": 1.0, "degraded_poor": 0.0},
        {"agreement_good": 1.0, "agreement_poor": 0.9999, "overlap_good": 1.0, "overlap_poor": 0.9999},
    ],
)
def test_levels_at_the_ends_of_their_range_are_tested_as_well(over: dict[str, Any]) -> None:
    source = np.full(12, 4.0)
    figures = replace(
        rated(60, 0.2),
        known_answers=compute_share(5, 10, nothing=""),
        degraded=degraded_test(np.tile([4.0, 5.0, 3.0], 4), source),
        overlap=FeatureCorrelation(feature="overlap", rho=0.1, n=60),
    )
    found = kinds(figures, replace(TYPICAL, r=1.0, known=1.0, degraded=1.0, overlap=1.0), replace(DEFAULTS, **over))
    assert "disagrees_with_others" in found


def test_one_missed_answer_is_no_alert_where_all_have_to_be_right() -> None:
    figures = Figures(known_answers=compute_share(19, 20, nothing=""))
    assert kinds(figures, replace(TYPICAL, known=1.0), replace(DEFAULTS, known_good=1.0)) == set()


def test_degraded_not_lower_needs_a_failed_or_open_test() -> None:
    source, degraded = np.full(12, 4.0), np.tile([4.0, 5.0, 3.0], 4)
    assert "degraded_not_lower" in kinds(Figures(degraded=degraded_test(degraded, source)))
    assert kinds(Figures(degraded=degraded_test(degraded[:3], source[:3]))) == set()
    assert kinds(Figures(degraded=degraded_test(source - 1, source))) == set()


@pytest.mark.parametrize("r", [0.0, -0.6])
def test_scores_that_do_not_follow_the_others(r: float) -> None:
    assert "disagrees_with_others" in kinds(rated(60, r))


def test_scores_that_follow_the_others_less_than_most_are_not_found() -> None:
    assert kinds(rated(60, 0.65)) == set()
    assert kinds(rated(2000, 0.45)) == set()  # clearly below the good level, but not beyond the poor one


def test_nothing_is_found_on_few_items_or_without_a_typical_value() -> None:
    assert kinds(rated(12, -0.6)) == set()
    assert kinds(rated(60, -0.6), Crowd()) == set()
    assert kinds(Figures()) == set()


def test_weak_signs_count_together() -> None:
    figures = replace(rated(25, 0.25, seed=4), known_answers=compute_share(3, 6, nothing=""))
    assert kinds(replace(figures, known_answers=Undefined(reason=""))) == set()
    assert kinds(Figures(known_answers=figures.known_answers)) == set()
    assert kinds(figures) == {"weak_together"}


def test_follows_length() -> None:
    assert kinds(Figures(length=FeatureCorrelation(rho=0.9, feature="length", n=50))) == {"follows_length"}
    assert kinds(Figures(length=FeatureCorrelation(rho=0.5, feature="length", n=50))) == set()
    both_long = replace(TYPICAL, length=0.7)
    assert kinds(Figures(length=FeatureCorrelation(rho=0.8, feature="length", n=50)), both_long) == set()


def test_straight_line() -> None:
    same = scale_use(np.full(50, 3.0), low=1, high=5)
    [found] = find(Figures(scale=same), TYPICAL, DEFAULTS)
    assert (found.kind, found.is_serious) == ("straight_line", True)
    assert kinds(Figures(scale=scale_use(np.full(15, 3.0), low=1, high=5))) == set()
    everybody = replace(TYPICAL, value_shares=(0.02, 0.02, 0.92, 0.02, 0.02))
    assert kinds(Figures(scale=same), everybody) == set()
    [alone] = find(Figures(scale=same), replace(TYPICAL, value_shares=()), DEFAULTS)
    assert (alone.kind, "with even use of the scale: 20 %" in alone.message) == ("straight_line", True)


def test_a_long_run_of_equal_scores() -> None:
    scores = np.concatenate([np.tile([1.0, 5, 4, 2], 20), np.full(60, 3.0)])
    assert kinds(Figures(scale=scale_use(scores, low=1, high=5))) == {"straight_line"}


def test_hints_are_not_serious() -> None:
    others = against_others(np.tile([4.5, 5.0], 20), np.tile([1.0, 2.0], 20))
    figures = Figures(
        others=others,
        repeats=repeats(np.tile([1.0, 5.0], 10), np.tile([5.0, 1.0], 10)),
        pace=Pace(seconds_per_item=0.5, seconds_per_word=0.01, fast_share=0.95, n_fast=38, n=40),
        returned=compute_share(12, 15, nothing=""),
    )
    found = find(figures, TYPICAL, DEFAULTS)
    assert {each.kind for each in found} == {"biased", "repeats_inconsistent", "too_fast", "returns_many"}
    assert not any(each.is_serious for each in found)


def test_reviewers_found_most_of_it_poor() -> None:
    assert kinds(Figures(poor=compute_share(8, 10, nothing=""))) == {"reviewed_poor"}
    assert kinds(Figures(poor=compute_share(3, 10, nothing=""))) == set()


def test_a_stricter_chance_finds_less() -> None:
    figures = Figures(known_answers=compute_share(4, 10, nothing=""))
    assert kinds(figures) == {"known_answers_low"}
    assert kinds(figures, thresholds=replace(DEFAULTS, chance=1e-9)) == set()


def test_figures_survive_their_storage() -> None:
    scores = np.tile([1.0, 5.0, 3.0], 10)
    figures = replace(
        rated(30, 0.5),
        scale=scale_use(scores, low=1, high=5),
        repeats=repeats(scores, scores),
        degraded=degraded_test(scores[:3], scores[:3] + 1),
        known_answers=compute_share(2, 3, nothing=""),
        pace=Undefined(reason="no times were recorded"),
    )
    assert unpack(pack(figures)) == figures
    assert {field.name for field in fields(Figures)} == set(pack(figures))


def test_the_typical_value_needs_three_others() -> None:
    everyone = [rated(40, 0.7, seed) for seed in range(4)]
    assert summarise_crowd(everyone[:2], span=4).r is None
    middle = np.median([each.others.r_trusted for each in everyone[:3]])  # type: ignore[union-attr]
    assert summarise_crowd(everyone[:3], span=4).r == pytest.approx(middle)


def test_the_shares_of_the_scale_are_of_all_their_scores() -> None:
    each = [Figures(scale=scale_use(np.array(scores), low=1, high=5)) for scores in ([1.0, 1.0, 5.0], [5.0])]
    assert summarise_crowd(each, span=4).value_shares == (0.5, 0, 0, 0, 0.5)
    assert summarise_crowd([Figures()], span=4).value_shares == ()


def test_a_random_rater_is_found_and_good_ones_are_not() -> None:
    """Five HITs of ten at overlap 3: a small run of the simulation that benchmarks/power.py makes at length."""
    n_wrong = n_caught = n_good = 0
    for seed in range(12):
        found = simulate(np.random.default_rng(seed))
        n_caught += bool(found[-1])
        n_wrong += sum(map(bool, found[:-1]))
        n_good += len(found) - 1
    assert n_caught >= 10
    assert n_wrong <= n_good * 0.03


def simulate(rng: np.random.Generator) -> list[list[Found]]:
    """Eight raters, careful and noisy and one biased, and a random one at the end: serious findings of each."""
    truth = rng.choice([0.0, 0.25, 0.5, 0.75, 1.0], 180)
    hits = np.tile(np.arange(18), 3)
    units = np.concatenate([np.arange(hit * 10, hit * 10 + 10) for hit in hits])
    annotators = np.repeat(np.concatenate([rng.permutation(18) % 9 for _ in range(3)]), 10)
    pairs = pd.DataFrame({"unit": units, "annotator": annotators}).drop_duplicates()
    units, annotators = pairs["unit"].to_numpy(), pairs["annotator"].to_numpy()
    error = np.array([0.09, 0.09, 0.09, 0.22, 0.22, 0.09, 0.12, 0.22, 0.0])[annotators]
    scores = np.rint(
        1 + 4 * np.clip(truth[units] - 0.16 * (annotators == 6) + rng.normal(0, 1, len(units)) * error, 0, 1)
    )
    scores[annotators == 8] = rng.integers(1, 6, (annotators == 8).sum())
    plain, trusted = others_means(units, annotators, scores)
    figures = []
    for annotator in range(9):
        own = annotators == annotator
        use = scale_use(scores[own], low=1, high=5)
        figures.append(Figures(others=against_others(scores[own], plain[own], trusted[own]), scale=use))
    crowds = [summarise_crowd(figures[:each] + figures[each + 1 :], span=4) for each in range(9)]
    return [
        [found for found in find(own, crowd, DEFAULTS) if found.is_serious]
        for own, crowd in zip(figures, crowds, strict=True)
    ]


@pytest.mark.skipif(not FOLDER, reason="SQUALITY_DIR does not name the folder of the SQuALITY ratings")
@pytest.mark.parametrize("column", ["correctness_1to5", "coverage_1to5", "overall_1to5"])
def test_the_four_real_raters_raise_no_serious_finding(column: str) -> None:
    table = pd.read_csv(Path(FOLDER) / "ratings.csv")
    scores = table[column].to_numpy(float)
    units, annotators = pd.factorize(table["item_id"])[0], pd.factorize(table["rater"])[0]
    plain, trusted = others_means(units, annotators, scores)
    items = pd.read_json(Path(FOLDER) / "items.jsonl", lines=True).set_index("item_id")
    n_words = items["candidate"].map(lambda text: len(text.split())) / items["references"].map(
        lambda texts: len(texts[0].split())
    )
    length = n_words[table["item_id"]].to_numpy()
    figures = [
        Figures(
            others=against_others(scores[own], plain[own], trusted[own]),
            scale=scale_use(scores[own], low=1, high=5),
            length=correlate_with_features(scores[own], {"length": length[own]}),
        )
        for own in (annotators == each for each in range(4))
    ]
    for each in range(4):
        crowd = summarise_crowd(figures[:each] + figures[each + 1 :], span=4)
        assert not [found for found in find(figures[each], crowd, DEFAULTS) if found.is_serious]
