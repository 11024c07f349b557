"""The form of a rubric: what a scale may be."""

from typing import Any

import pytest

from projects.rubric.forms import FARTHEST_POINT, CriterionForm

CRITERION = {"name": "Fluency", "key": "", "statement": "", "kind": "ordinal", "level": "ordinal", "anchors": ""}


@pytest.mark.parametrize(("low", "high"), [(1, 5), (-FARTHEST_POINT, 1 - FARTHEST_POINT), (999_999, FARTHEST_POINT)])
def test_a_scale_lies_within_what_can_be_stored(low: int, high: int) -> None:
    assert CriterionForm({**CRITERION, "low": low, "high": high}).is_valid()


@pytest.mark.parametrize(
    ("low", "high"),
    [(FARTHEST_POINT, FARTHEST_POINT + 1), (-FARTHEST_POINT - 1, -FARTHEST_POINT), (10**30, 10**30 + 4)],
)
def test_a_scale_far_out_is_redisplayed(low: int, high: int) -> None:
    form = CriterionForm({**CRITERION, "low": low, "high": high})
    assert not form.is_valid()
    assert form.errors.keys() & {"low", "high"}


@pytest.mark.parametrize(
    ("scale", "stored"),
    [
        ({"kind": "ordinal", "low": 1, "high": 5}, "ordinal"),
        ({"kind": "ordinal", "low": 0, "high": 1}, "nominal"),
        ({"kind": "continuous"}, "interval"),
    ],
)
def test_the_level_is_the_usual_one_of_the_scale_unless_one_is_chosen(scale: dict[str, Any], stored: str) -> None:
    form = CriterionForm({**CRITERION, **scale, "level": ""})
    assert form.is_valid(), form.errors
    assert form.spec().level == stored
    chosen = CriterionForm({**CRITERION, "kind": "continuous", "level": "ordinal"})
    assert chosen.is_valid()
    assert chosen.spec().level == "ordinal"


@pytest.mark.parametrize(
    ("high", "level", "stored"),
    [(1, "ordinal", "nominal"), (1, "ratio", "ratio"), (2, "ordinal", "ordinal"), (2, "nominal", "nominal")],
)
def test_a_scale_of_two_points_is_not_called_ordinal(high: int, level: str, stored: str) -> None:
    form = CriterionForm({**CRITERION, "low": 0, "high": high, "level": level})
    assert form.is_valid()
    assert form.cleaned_data["level"] == stored


def test_a_lowest_value_above_the_highest_is_named() -> None:
    form = CriterionForm({"name": "A", "key": "a", "kind": "ordinal", "low": 5, "high": 1, "level": "ordinal"})
    assert form.errors["high"] == ["The highest value must be above the lowest."]


@pytest.mark.parametrize("high", ["10", "2.5", ""])
def test_a_slider_has_ends_of_its_own(high: str) -> None:
    form = CriterionForm({**CRITERION, "kind": "continuous", "low": "0", "high": high})
    assert form.is_valid()
    assert (form.cleaned_data["scale"].low, form.cleaned_data["scale"].high) == (0, 100)


def test_categories_are_not_reversed() -> None:
    sent = {"name": "Error", "kind": "ordinal", "low": 0, "high": 3, "level": "nominal", "is_reversed": "on"}
    form = CriterionForm(sent)
    assert form.errors == {"is_reversed": ["Categories without an order have no lower and better end. Untick this."]}
    assert CriterionForm({**sent, "high": 1}).is_valid(), "two points, such as no and yes, have a better one"
    assert CriterionForm({**sent, "level": "ordinal"}).is_valid()
