import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from measures.grading import Expected, discrimination, grade, least_right, reaches
from measures.outcome import Undefined

KEY = "correctness"


def known(*values: float, tolerance: float = 0.0) -> list[Expected]:
    return [Expected(ranges={KEY: (value, value)}, tolerance=tolerance) for value in values]


def rated(*values: float | None) -> list[dict[str, float | None]]:
    return [{KEY: value} for value in values]


@pytest.mark.parametrize(
    ("value", "tolerance", "is_right"),
    [(4, 0, True), (3, 0, False), (3, 1, True), (5, 1, True), (2, 1, False), (3.5, 0.5, True), (3.4, 0.5, False)],
)
def test_an_answer_is_right_within_the_tolerance(value: float, tolerance: float, is_right: bool) -> None:
    assert grade(rated(value), known(4, tolerance=tolerance), [KEY]).is_right == (is_right,)


@pytest.mark.parametrize("value", [3, 4, 5])
def test_an_expected_range_has_both_ends(value: float) -> None:
    assert grade(rated(value), [Expected(ranges={KEY: (4, 5)})], [KEY]).n_right == (value >= 4)


@pytest.mark.parametrize("missing", [None, {}, {KEY: None}, {KEY: math.nan}, {"other": 4.0}])
def test_what_is_missing_or_cannot_be_judged_is_wrong(missing: dict[str, float | None] | None) -> None:
    graded = grade([missing, {KEY: 4.0}], known(4, 4, tolerance=4), [KEY])
    assert graded.is_right == (False, True)
    assert (graded.n_right, graded.n_items, graded.share) == (1, 2, 0.5)


def test_every_criterion_used_for_quality_must_be_right_and_no_other() -> None:
    item = Expected(ranges={"a": (1, 1), "b": (5, 5), "c": (3, 3)})
    assert grade([{"a": 1, "b": 5, "c": 1}], [item], ["a", "b"]).n_right == 1
    assert grade([{"a": 1, "b": 4, "c": 3}], [item], ["a", "b"]).n_right == 0


def test_the_order_of_items_is_kept() -> None:
    assert grade(rated(1, 2, 3), known(1, 1, 3), [KEY]).is_right == (True, False, True)


@pytest.mark.parametrize(
    ("answers", "expected", "criteria", "words"),
    [
        ([], [], [KEY], "nothing to grade"),
        (rated(1), known(1), [], "nothing to grade"),
        (rated(1, 2), known(1), [KEY], "2 answers to 1 items"),
        (rated(1), known(1), [KEY, "b"], "no correct answer for the criterion “b”"),
        (rated(1), [Expected(ranges={KEY: (2, 1)})], [KEY], "is empty"),
    ],
)
def test_what_cannot_be_graded_is_an_error(
    answers: list[dict[str, float | None]], expected: list[Expected], criteria: list[str], words: str
) -> None:
    with pytest.raises(ValueError, match=words):
        grade(answers, expected, criteria)


@given(st.lists(st.tuples(st.integers(1, 5), st.integers(1, 5)), min_size=1), st.integers(0, 4))
def test_a_greater_tolerance_never_makes_an_answer_wrong(pairs: list[tuple[int, int]], tolerance: int) -> None:
    answers = rated(*(given for given, _ in pairs))
    narrow = grade(answers, known(*(right for _, right in pairs), tolerance=tolerance), [KEY])
    wide = grade(answers, known(*(right for _, right in pairs), tolerance=tolerance + 1), [KEY])
    assert all(later or not first for first, later in zip(narrow.is_right, wide.is_right, strict=True))


@pytest.mark.parametrize(
    ("n_items", "share", "least"),
    [(10, 0.8, 8), (10, 0.7, 7), (5, 0.6, 3), (7, 0.8, 6), (1, 0.01, 1), (10, 0.0, 0), (10, 1.0, 10), (100, 0.29, 29)],
)
def test_so_many_must_be_right(n_items: int, share: float, least: int) -> None:
    assert least_right(n_items, share) == least
    assert reaches(least, n_items, share)
    assert not reaches(least - 1, n_items, share)


def test_an_item_that_strong_forms_get_right_discriminates() -> None:
    shares = [1.0, 0.9, 0.5, 0.2]
    good, bad = discrimination([True, True, False, False], shares), discrimination([False, False, True, True], shares)
    assert isinstance(good, float)
    assert isinstance(bad, float)
    assert good > 0.9
    assert bad == pytest.approx(-good)


@pytest.mark.parametrize(
    ("is_right", "shares", "reason"),
    [
        ([True, False], [0.1, 0.9], "fewer than three ratings"),
        ([True] * 4, [0.1, 0.9, 0.5, 0.6], "every rating is correct"),
        ([False] * 4, [0.1, 0.9, 0.5, 0.6], "no rating is correct"),
        ([True, False, True], [0.5, 0.5, 0.5], "everyone has the same share correct on the other items"),
    ],
)
def test_where_discrimination_is_undefined_it_says_why(is_right: list[bool], shares: list[float], reason: str) -> None:
    assert discrimination(is_right, shares) == Undefined(reason=reason)


def test_answers_and_rest_scores_go_together() -> None:
    with pytest.raises(ValueError, match="3 answers and 2 rest scores"):
        discrimination([True, False, True], [0.5, 0.5])
