"""The table of benchmarks tells which aims are missed."""

import pytest

from benchmarks.all import ROWS, Row


@pytest.mark.parametrize(
    ("aim", "now", "misses"),
    [
        ("1.8", "1.80 1.55 1.58", False),
        ("1.8", "1.81 1.55 1.58", True),
        ("3 30", "2.8 22.8", False),
        ("3 30", "2.8 31", True),
        ("5 –", "4.9 58", False),
        ("300", "1,233", True),
        ("300", "?", True),
        ("", "900", False),
    ],
)
def test_a_figure_above_its_aim_misses_it(aim: str, now: str, misses: bool) -> None:
    assert Row("x", "x", "", aim, "").misses(now) is misses


def test_a_share_below_its_aim_misses_it() -> None:
    row = Row("x", "x", "", "0.55", "", more_is_better=True)
    assert [row.misses(now) for now in ("0.55 0.63", "0.63 0.54")] == [False, True]


def test_each_aim_can_be_compared() -> None:
    assert [row.what for row in ROWS if row.aim and not row.misses("1e9" if not row.more_is_better else "0")] == []
