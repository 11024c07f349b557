"""Amounts as pages show them."""

import pytest

from projects.language.amounts import format_percent, write_percent


@pytest.mark.parametrize(
    ("share", "text"), [(0.125, "12.5"), (0.004, "0.4"), (0.29, "29"), (1.0, "100"), (0.0, "0"), (0.1234, "12.34")]
)
def test_a_share_that_somebody_set_keeps_its_decimals(share: float, text: str) -> None:
    assert write_percent(share) == text


def test_a_share_that_was_counted_is_rounded_but_never_to_all_or_nothing() -> None:
    assert [format_percent(share) for share in (0.125, 0.004, 0.999, 1.0, 0.0)] == [
        "12 %",
        "<1 %",
        "99 %",
        "100 %",
        "0 %",
    ]
