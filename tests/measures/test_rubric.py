import math
from typing import Any

import numpy as np
import pytest

from measures.rubric import (
    FIVE_POINTS,
    SLIDER,
    Level,
    Scale,
    ScaleKind,
    check_value,
    format_plain_number,
    is_right,
)
from measures.rubric_presets import ANSWER_QUALITY, CORRECTNESS, PRESETS, QASCORE


@pytest.mark.parametrize("value", [1, 5, 3, 4.0, np.int64(2), np.float64(2.0)])
def test_points_of_an_ordinal_scale_are_answers(value: float) -> None:
    assert check_value(FIVE_POINTS, value) is None


@pytest.mark.parametrize(
    ("value", "words"),
    [
        (0, "0 is outside the scale. Use a number from 1 to 5."),
        (6, "6 is outside the scale"),
        (-1, "-1 is outside the scale"),
        (2.5, "2.5 is not a whole number"),
        (math.nan, "not a finite number"),
        (math.inf, "not a finite number"),
        (-math.inf, "not a finite number"),
        (np.float64("nan"), "not a finite number"),
        (True, "True is not a number."),
        (np.True_, "is not a number."),
        ("4", "'4' is not a number."),
        ("", "'' is not a number."),
        (None, "None is not a number."),
        ([4], "[4] is not a number."),
        (4 + 0j, "is not a number."),
    ],
)
def test_what_is_no_answer_is_refused_with_a_sentence(value: Any, words: str) -> None:
    assert words in (check_value(FIVE_POINTS, value) or "")


@pytest.mark.parametrize("value", [0, 100, 33, 33.3, 1e-9, -0.0])
def test_any_number_between_the_ends_is_an_answer_on_a_continuous_scale(value: float) -> None:
    assert check_value(SLIDER, value) is None


@pytest.mark.parametrize("value", [-0.001, 100.0001, math.nan, math.inf, "50", False])
def test_a_continuous_scale_has_ends_too(value: Any) -> None:
    assert check_value(SLIDER, value)


def test_an_ordinal_scale_may_have_any_number_of_points() -> None:
    scale = Scale(kind=ScaleKind.ORDINAL, low=-3, high=3)
    assert list(scale.points) == [-3, -2, -1, 0, 1, 2, 3]
    assert check_value(scale, -3) is None
    assert list(SLIDER.points) == []


@pytest.mark.parametrize(
    ("kind", "low", "high"),
    [
        ("ordinal", 5, 1),
        ("ordinal", 1, 1),
        ("ordinal", 1, 4.5),
        ("continuous", 0, math.inf),
        ("continuous", math.nan, 1),
        ("continuous", True, 5),
        ("likert", 1, 5),
    ],
)
def test_what_makes_no_scale_is_refused(kind: Any, low: Any, high: Any) -> None:
    with pytest.raises(ValueError):
        Scale(kind=kind, low=low, high=high)


def test_qascore_asks_four_statements_on_sliders() -> None:
    keys = ["understandability", "relevancy", "answerability", "appropriateness"]
    assert [spec.key for spec in QASCORE.criteria] == keys
    assert {(spec.scale, spec.level, spec.reversed) for spec in QASCORE.criteria} == {(SLIDER, Level.INTERVAL, False)}
    assert len({spec.statement for spec in QASCORE.criteria}) == 4


def test_the_other_presets_are_five_points_and_never_mixed() -> None:
    assert [spec.key for spec in CORRECTNESS.criteria] == ["correctness"]
    assert [spec.key for spec in ANSWER_QUALITY.criteria] == ["quality"]
    assert list(PRESETS.values()) == [CORRECTNESS, ANSWER_QUALITY, QASCORE]
    for preset in (CORRECTNESS, ANSWER_QUALITY):
        for spec in preset.criteria:
            assert spec.level is Level.ORDINAL
            assert not spec.reversed
            assert sorted(spec.anchors) == list(spec.scale.points)
            assert len(set(spec.anchors.values())) == 5


@pytest.mark.parametrize(
    ("value", "low", "high", "tolerance", "right"),
    [
        (4, 4, 4, 0, True),
        (3, 4, 4, 0, False),
        (3, 4, 4, 1, True),
        (5, 2, 4, 0, False),
        (5, 2, 4, 1, True),
        (1, 2, 4, 1, True),
        (0, 2, 4, 1, False),
        (None, 1, 5, 4, False),
        (math.nan, 1, 5, 4, False),
    ],
)
def test_right_is_within_the_range_give_or_take(
    value: float | None, low: float, high: float, tolerance: float, right: bool
) -> None:
    assert is_right(value, low, high, tolerance) is right


@pytest.mark.parametrize(("low", "high", "tolerance"), [(5, 4, 0), (4, 5, -1)])
def test_an_impossible_expectation_is_refused(low: float, high: float, tolerance: float) -> None:
    with pytest.raises(ValueError):
        is_right(4, low, high, tolerance)


def test_numbers_are_written_without_trailing_zeros() -> None:
    assert [format_plain_number(value) for value in (5.0, 0, -2.0, 2.5, 1e20)] == ["5", "0", "-2", "2.5", "1e+20"]
