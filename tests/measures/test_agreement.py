import math
import time
from typing import Any

import krippendorff
import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from measures import disagreement
from measures.agreement import Agreement, UndefinedAgreement, krippendorff_alpha, package_alpha
from measures.patterns import Patterns
from measures.rubric import Level
from tests.measures.frames import CANONICAL, from_table, random_frame

LEVELS = list(Level)


def compute_alpha(frame: pd.DataFrame | Patterns, level: Level | str) -> float:
    result = krippendorff_alpha(frame, level=level)
    assert isinstance(result, Agreement), result
    return result.alpha


# Krippendorff (2011), Computing Krippendorff's Alpha-Reliability, examples C (with D for ordinal and ratio), A and B
@pytest.mark.parametrize(
    ("level", "alpha"), [("nominal", 0.743), ("ordinal", 0.815), ("interval", 0.849), ("ratio", 0.797)]
)
def test_four_annotators_and_twelve_units(level: str, alpha: float) -> None:
    result = krippendorff_alpha(from_table(CANONICAL), level=level)
    assert isinstance(result, Agreement)
    assert round(result.alpha, 3) == alpha
    assert (result.n_units, result.n_ratings, result.n_single, result.n_annotators) == (11, 40, 1, 4)
    assert result.level == level


def test_two_annotators_and_ten_binary_units() -> None:
    table = ["0 1 0 0 0 0 0 0 1 0", "1 1 1 0 0 1 0 0 0 0"]
    assert round(compute_alpha(from_table(table), "nominal"), 3) == 0.095


def test_two_annotators_and_twelve_nominal_units() -> None:
    table = ["1 1 2 2 4 3 3 3 5 4 4 1", "2 1 2 2 2 3 3 3 5 4 4 4"]
    assert round(compute_alpha(from_table(table), "nominal"), 3) == 0.692


@pytest.mark.parametrize("level", LEVELS)
@pytest.mark.parametrize("seed", range(8))
def test_the_package_says_the_same_with_missing_cells(level: Level, seed: int) -> None:
    rng = np.random.default_rng(seed)
    values = np.array([[1, 2, 3, 4, 5], [0, 10, 25.5, 70, 100]][seed % 2], dtype=float)
    counts = rng.multinomial(4, [0.1, 0.1, 0.2, 0.2, 0.1, 0.3], size=60)[:, :5]
    patterns = Patterns.from_counts(counts, values)
    theirs = krippendorff.alpha(value_counts=counts, value_domain=values, level_of_measurement=level.value)
    assert compute_alpha(patterns, level) == pytest.approx(theirs, abs=1e-12)
    assert package_alpha(patterns, level=level) == pytest.approx(theirs, abs=1e-12)
    sizes = counts.sum(axis=1)
    assert patterns.n_units == (sizes >= 2).sum()
    assert patterns.n_single == (sizes == 1).sum()
    assert patterns.n_ratings == sizes[sizes >= 2].sum()


def alpha_by_definition(frame: pd.DataFrame, level: Level) -> float:
    """Alpha from the coincidence matrix, pair by pair, as METHODS writes it."""
    units = [unit for _, unit in frame.groupby("unit")["value"] if len(unit) >= 2]
    totals = pd.concat(units).value_counts().sort_index()

    def distance(c: float, k: float) -> float:
        if level is Level.NOMINAL:
            return float(c != k)
        if level is Level.INTERVAL:
            return (c - k) ** 2
        if level is Level.RATIO:
            return ((c - k) / (c + k)) ** 2 if c != k else 0.0
        low, high = sorted((c, k))
        return float(totals.loc[low:high].sum() - (totals[c] + totals[k]) / 2) ** 2

    observed = sum(
        distance(c, k) / (len(unit) - 1)
        for unit in units
        for i, c in enumerate(unit)
        for j, k in enumerate(unit)
        if i != j
    )
    expected = sum(n * m * distance(c, k) for c, n in totals.items() for k, m in totals.items())
    return float(1 - (totals.sum() - 1) * observed / expected)


@settings(max_examples=60, deadline=None)
@given(st.integers(0, 2**32 - 1), st.sampled_from(LEVELS), st.booleans())
def test_the_closed_form_equals_the_definition(seed: int, level: Level, continuous: bool) -> None:
    frame = random_frame(np.random.default_rng(seed), n_units=12, n_annotators=4, continuous=continuous)
    if frame.groupby("unit").filter(lambda unit: len(unit) >= 2)["value"].nunique() < 2:
        return
    assert compute_alpha(frame, level) == pytest.approx(alpha_by_definition(frame, level), abs=1e-9)


@settings(max_examples=60, deadline=None)
@given(st.integers(0, 2**32 - 1), st.sampled_from(LEVELS))
def test_row_order_and_the_names_of_annotators_and_units_do_not_matter(seed: int, level: Level) -> None:
    rng = np.random.default_rng(seed)
    frame = random_frame(rng, n_units=15, n_annotators=4)
    other = frame.sample(frac=1, random_state=seed % 1000)
    other["annotator"] = other["annotator"].map(dict(zip("wxyz", rng.permutation(["p", "q", "r", "s"]), strict=True)))
    other["unit"] = other["unit"].map(dict(enumerate(rng.permutation(15) + 100)))
    assert krippendorff_alpha(frame, level=level) == krippendorff_alpha(other, level=level)


@settings(max_examples=60, deadline=None)
@given(st.integers(0, 2**32 - 1), st.sampled_from(LEVELS), st.booleans())
def test_perfect_agreement_is_one_also_with_missing_cells(seed: int, level: Level, continuous: bool) -> None:
    frame = random_frame(np.random.default_rng(seed), n_units=20, n_annotators=4, continuous=continuous)
    frame["value"] = frame.groupby("unit")["value"].transform("first")
    result = krippendorff_alpha(frame, level=level)
    if isinstance(result, UndefinedAgreement):
        assert result.reason == "all ratings are equal"
    else:
        assert result.alpha == 1.0


@settings(max_examples=60, deadline=None)
@given(st.integers(0, 2**32 - 1), st.sampled_from(LEVELS), st.lists(st.integers(1, 9), min_size=1, max_size=20))
def test_units_with_one_rating_change_nothing_but_their_count(seed: int, level: Level, singles: list[int]) -> None:
    frame = random_frame(np.random.default_rng(seed), n_units=15, n_annotators=4)
    before = krippendorff_alpha(frame, level=level)
    more = pd.DataFrame({"unit": 1000 + np.arange(len(singles)), "annotator": "new", "value": np.array(singles, float)})
    after = krippendorff_alpha(pd.concat([frame, more]), level=level)
    assert after.n_single == before.n_single + len(singles)
    assert {**vars(after), "n_single": 0} == {**vars(before), "n_single": 0}


def test_the_frame_is_not_changed() -> None:
    frame = random_frame(np.random.default_rng(3), n_units=10, n_annotators=3)
    frame.loc[2, "value"] = math.nan
    before = frame.copy()
    krippendorff_alpha(frame, level="ordinal")
    pd.testing.assert_frame_equal(frame, before)


def test_a_rating_that_could_not_be_given_is_just_absent() -> None:
    frame = from_table(CANONICAL)
    more = pd.DataFrame({"unit": [0, 11], "annotator": ["z", "y"], "value": [math.nan, math.nan]})
    assert krippendorff_alpha(pd.concat([frame, more]), level="ordinal") == krippendorff_alpha(frame, level="ordinal")


@pytest.mark.parametrize("level", LEVELS)
@pytest.mark.parametrize(
    ("rows", "reason", "counts"),
    [
        ([], "no judgments", (0, 0, 0, 0)),
        ([(1, "a", math.nan)], "no judgments", (0, 0, 0, 0)),
        (
            [(1, "a", 3), (2, "a", 4)],
            "one annotator only: agreement needs two ratings of the same candidate",
            (0, 0, 2, 0),
        ),
        ([(1, "a", 3), (2, "b", 4)], "no candidate has two ratings", (0, 0, 2, 0)),
        ([(1, "a", 3), (1, "b", 3), (2, "a", 5)], "all ratings are equal", (1, 2, 1, 2)),
        ([(1, "a", 3), (1, "b", 5), (2, "a", 5)], "one unit only, for which alpha is always 0", (1, 2, 1, 2)),
    ],
)
def test_what_is_undefined_says_why(
    level: Level, rows: list[tuple[Any, ...]], reason: str, counts: tuple[int, ...]
) -> None:
    frame = pd.DataFrame(rows, columns=["unit", "annotator", "value"]).astype({"value": "float64"})
    result = krippendorff_alpha(frame, level=level)
    assert isinstance(result, UndefinedAgreement)
    assert result.reason == reason
    assert (result.n_units, result.n_ratings, result.n_single, result.n_annotators) == counts
    assert not hasattr(result, "alpha")


def test_the_ratio_level_has_no_negative_values_and_two_zeros_do_not_differ() -> None:
    negative = krippendorff_alpha(Patterns.from_rows([([-1, 1], 1), ([2, 2], 1)]), level="ratio")
    assert isinstance(negative, UndefinedAgreement)
    assert negative.reason == "the ratio level needs a scale without negative values"
    counts, values = [[2, 0, 1], [0, 2, 0], [3, 0, 0]], [0, 4, 8]
    theirs = krippendorff.alpha(value_counts=counts, value_domain=values, level_of_measurement="ratio")
    assert compute_alpha(Patterns.from_counts(counts, values), "ratio") == pytest.approx(theirs, abs=1e-12)


def test_ratio_differences_by_integral_equal_those_summed_pair_by_pair(monkeypatch: pytest.MonkeyPatch) -> None:
    frame = random_frame(np.random.default_rng(5), n_units=300, n_annotators=4, continuous=True)
    frame.loc[:20, "value"] = 0
    frame.loc[21:25, "value"] = 1e-6
    direct = compute_alpha(frame, "ratio")
    monkeypatch.setattr(disagreement, "_DIRECT_VALUES", 0)
    assert compute_alpha(frame, "ratio") == pytest.approx(direct, abs=1e-11)


def test_unknown_annotators_stay_unknown() -> None:
    frame = from_table(CANONICAL)
    named = krippendorff_alpha(frame, level="ordinal")
    nameless = krippendorff_alpha(frame.drop(columns="annotator"), level="ordinal")
    partly = krippendorff_alpha(frame.assign(annotator=frame["annotator"].where(frame.index > 0)), level="ordinal")
    assert isinstance(named, Agreement)
    assert isinstance(nameless, Agreement)
    assert isinstance(partly, Agreement)
    assert nameless.n_annotators is None
    assert partly.n_annotators is None
    assert nameless.alpha == partly.alpha == named.alpha


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (lambda frame: frame.drop(columns="value"), 'no column "value"'),
        (lambda frame: frame.assign(value=frame["value"].astype(str)), "not numbers"),
        (lambda frame: frame.assign(value=True), "not numbers"),
        (lambda frame: frame.assign(value=math.inf), "infinite"),
        (lambda frame: pd.concat([frame, frame]), "twice"),
        (lambda frame: frame.assign(group=range(len(frame))), "two groups"),
    ],
)
def test_a_frame_that_cannot_be_meant_is_refused(change: Any, words: str) -> None:
    with pytest.raises(ValueError, match=words):
        krippendorff_alpha(change(from_table(CANONICAL)), level="ordinal")


def test_there_is_no_default_level_and_no_other_level() -> None:
    with pytest.raises(TypeError):
        krippendorff_alpha(from_table(CANONICAL))  # type: ignore[call-arg]
    with pytest.raises(ValueError, match="euclid"):
        krippendorff_alpha(from_table(CANONICAL), level="euclid")


def test_patterns_from_rows_counts_and_frames_are_the_same() -> None:
    frame = from_table(CANONICAL)
    by_unit = [list(unit) for _, unit in frame.groupby("unit")["value"]]
    counts = np.array([[unit.count(value) for value in range(1, 6)] for unit in by_unit])
    results = [
        krippendorff_alpha(patterns.with_annotators(4), level="ordinal")
        for patterns in (
            Patterns.from_frame(frame),
            Patterns.from_rows((unit, 1) for unit in by_unit),
            Patterns.from_rows((unit[::-1], [n % 3]) for n, unit in enumerate(by_unit)),
            Patterns.from_counts(counts, range(1, 6)),
        )
    ]
    assert all(result == results[0] for result in results)
    doubled = Patterns.from_counts(counts, range(1, 6), n_units=[2] * 12)
    assert (doubled.n_units, doubled.n_ratings, doubled.n_single) == (22, 80, 2)


def test_exact_agreement_is_that_of_fleiss() -> None:
    # J. L. Fleiss (1971), Measuring nominal scale agreement among many raters, Psychological Bulletin 76, table 1: the
    # counts of five diagnoses of thirty patients by six psychiatrists, and the mean proportion of agreeing pairs.
    counts = [
        [0, 0, 0, 6, 0], [0, 3, 0, 0, 3], [0, 1, 4, 0, 1], [0, 0, 0, 0, 6], [0, 3, 0, 3, 0], [2, 0, 4, 0, 0],
        [0, 0, 4, 0, 2], [2, 0, 3, 1, 0], [2, 0, 0, 4, 0], [0, 0, 0, 0, 6], [1, 0, 0, 5, 0], [1, 1, 0, 4, 0],
        [0, 3, 3, 0, 0], [1, 0, 0, 5, 0], [0, 2, 0, 3, 1], [0, 0, 5, 0, 1], [3, 0, 0, 1, 2], [5, 1, 0, 0, 0],
        [0, 2, 0, 4, 0], [1, 0, 2, 0, 3], [0, 0, 0, 0, 6], [0, 1, 0, 5, 0], [0, 2, 0, 1, 3], [2, 0, 0, 4, 0],
        [1, 0, 0, 4, 1], [0, 5, 0, 1, 0], [4, 0, 0, 0, 2], [0, 2, 0, 4, 0], [1, 0, 5, 0, 0], [0, 0, 0, 0, 6],
    ]  # fmt: skip
    patterns = Patterns.from_counts(np.array(counts), np.arange(1.0, 6))
    assert patterns.same_share == pytest.approx(0.556, abs=5e-4)
    equal = krippendorff_alpha(Patterns.from_rows([([3, 3], 2)]), level="nominal")
    assert isinstance(equal, UndefinedAgreement)
    assert equal.same_share == 1, "known also where alpha is not"
    assert Patterns.from_rows([([3], 2)]).same_share is None
    # Each unit counts once, however many ratings it has.
    assert Patterns.from_rows([([1, 2], 1), ([4, 4, 4, 4], 1)]).same_share == 0.5


def test_units_with_another_rating_than_the_most_frequent_one() -> None:
    patterns = Patterns.from_rows([([5, 5], 90), ([5, 4], 3), ([1, 1, 1], 2), ([3], 8)])
    assert patterns.n_off_mode == 5, "single ratings are no part of alpha"
    result = krippendorff_alpha(patterns, level="ordinal")
    assert isinstance(result, Agreement)
    assert result.n_off_mode == 5
    assert Patterns.from_rows([([5, 5], 9)]).n_off_mode == 0
    assert Patterns.from_rows([([5], 9)]).n_off_mode == 0


def test_patterns_of_more_units_and_values_than_four_bytes_can_number() -> None:
    units = np.repeat(np.arange(50_000), 2)
    ratings = np.random.default_rng(1).permutation(len(units)).astype(float)
    patterns = Patterns.from_frame(pd.DataFrame({"unit": units, "value": ratings}))
    found = patterns.values[patterns.value].reshape(-1, 2)[patterns.cell_pattern]
    assert patterns.n_units == 50_000
    assert sorted(map(tuple, found)) == sorted(map(tuple, np.sort(ratings.reshape(-1, 2), axis=1)))


@pytest.mark.parametrize(
    ("counts", "values"), [([[1, 1]], [1]), ([[1, -1]], [1, 2]), ([[1, 1]], [2, 2]), ([1, 1], [1, 2])]
)
def test_counts_that_do_not_fit_are_refused(counts: Any, values: Any) -> None:
    with pytest.raises(ValueError):
        Patterns.from_counts(counts, values)


@pytest.mark.soak
@pytest.mark.parametrize("continuous", [False, True])
def test_a_hundred_thousand_judgments(continuous: bool) -> None:
    frame = random_frame(np.random.default_rng(1), n_units=33_334, n_annotators=4, continuous=continuous)
    assert len(frame) > 99_000
    for level in LEVELS:
        start = time.perf_counter()
        alpha = compute_alpha(frame, level)
        print(f"{len(frame):,} judgments, {level}, continuous {continuous}: {time.perf_counter() - start:.3f} s")
        if level is Level.INTERVAL:
            assert alpha == pytest.approx(alpha_by_variances(frame), abs=1e-9)
        if not continuous:
            assert alpha == pytest.approx(package_alpha(Patterns.from_frame(frame), level=level), abs=1e-9)


def alpha_by_variances(frame: pd.DataFrame) -> float:
    """Alpha of interval data: one less the ratio of the variance within units to that of all values."""
    unit = frame["unit"]
    paired = frame[frame.groupby(unit)["value"].transform("size") >= 2]
    units = paired.groupby("unit")["value"]
    within = (units.var() * units.size()).sum() / len(paired)
    return float(1 - within / paired["value"].var())


def test_the_package_is_not_asked_for_what_would_fill_the_memory() -> None:
    """It lays out units by values by values: a thousand sliders with values of their own would take 67 GB."""
    rng = np.random.default_rng(2)
    patterns = Patterns.from_rows((list(rng.random(3)), 1) for _ in range(1000))
    assert package_alpha(patterns, level="interval") is None
    assert isinstance(krippendorff_alpha(patterns, level="interval"), Agreement)
