"""Amounts as pages show them."""

import pytest

from projects.language.amounts import format_percent, format_score, write_decimal, write_percent


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


def test_figures_are_rounded_alike_whatever_order_they_were_summed_in() -> None:
    values = [17.1, 10.3, 19.7, 5.0]
    sums = [sum(values) / 4, sum(each / 4 for each in reversed(values)), 13.024999999999999, 13.025000000000002]
    assert len({format_score(each, 2) for each in sums}) == 1
    assert [format_score(each, 2) for each in (-0.001, -1.5, 0)] == ["0.00", "−1.50", "0.00"]


def test_a_very_long_figure_has_an_exponent() -> None:
    assert write_decimal(1.14943e97, 3) == "1.149e+97"
    assert format_score(-1e99, 3) == "−1.000e+99"
    assert write_decimal(999_999_999_999.4, 1) == "999999999999.4"
