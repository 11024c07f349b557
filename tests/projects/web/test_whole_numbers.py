"""Whole numbers in addresses and forms."""

import pytest

from projects.web.whole_numbers import ID_DIGITS, parse_whole_number


@pytest.mark.parametrize(
    ("text", "number"),
    [
        ("0", 0),
        ("007", 7),
        ("999999999", 999_999_999),
        ("", None),
        (" 1", None),
        ("-1", None),
        ("1.0", None),
        ("1_0", None),
    ],
)
def test_only_digits_are_a_number(text: str, number: int | None) -> None:
    assert parse_whole_number(text) == number


def test_digits_of_other_scripts_are_none() -> None:
    assert [parse_whole_number(text) for text in ("٣", "²", "１")] == [None, None, None]


def test_a_number_fits_its_column() -> None:
    assert parse_whole_number("9" * 10) is None
    assert parse_whole_number("9" * 18, most_digits=ID_DIGITS) == 10**18 - 1 < 2**63
    assert parse_whole_number("9" * 19, most_digits=ID_DIGITS) is None
    assert parse_whole_number("9" * 100_000) is None
