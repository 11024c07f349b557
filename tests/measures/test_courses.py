import pandas as pd
import pytest

from measures.agreement import Agreement, UndefinedAgreement, krippendorff_alpha
from measures.courses import Period, alpha_course
from measures.outcome import Undefined

ROWS = [
    *((1, 1, "2026-01-05"), (1, 2, "2026-01-07"), (2, 4, "2026-01-05"), (2, 4, "2026-01-05")),
    *((3, 5, "2026-01-06"), (3, 1, "2026-01-07"), (4, 2, "2026-01-07"), (5, 3, None), (5, 3, None)),
]


def make_frame(rows: list[tuple[int, int, str | None]]) -> pd.DataFrame:
    return pd.DataFrame(rows, columns=["unit", "value", "day"]).astype({"value": "float64"})


def course(rows: list[tuple[int, int, str | None]]) -> list[Period]:
    found = alpha_course(make_frame(rows), level="interval")
    assert isinstance(found, list)
    return found


def test_an_item_belongs_to_the_day_of_its_last_rating() -> None:
    periods = course(ROWS)
    assert [period.name for period in periods] == ["2026-01-05", "2026-01-07"]
    assert [period.outcome.n_units for period in periods] == [1, 2], "units 1 and 3 were finished on the 7th"
    assert periods[1].outcome.n_single == 1


def test_a_day_of_one_item_has_no_alpha() -> None:
    rows = [(1, 1, "2026-01-05"), (1, 2, "2026-01-05"), (2, 4, "2026-01-06"), (2, 4, "2026-01-06")]
    first, second = course([*rows, (3, 1, "2026-01-06"), (3, 2, "2026-01-06")])
    assert isinstance(first.outcome, UndefinedAgreement)
    assert first.outcome.reason == "one unit only, for which alpha is always 0"
    assert first.so_far is None
    assert isinstance(second.outcome, Agreement)


def test_until_the_end_it_is_the_alpha_of_everything_dated() -> None:
    last = course(ROWS)[-1]
    whole = krippendorff_alpha(make_frame([row for row in ROWS if row[2]])[["unit", "value"]], level="interval")
    assert isinstance(whole, Agreement)
    assert last.so_far == pytest.approx(whole.alpha)
    assert last.n_units_so_far == 3


@pytest.mark.parametrize(
    ("days", "names"),
    [
        (["2026-01-01", "2026-02-01"], ["2026-01-01", "2026-02-01"]),
        (["2025-12-29", "2026-01-04", "2026-03-01"], ["2026-W01", "2026-W09"]),
        (["2025-01-01", "2025-01-31", "2026-01-01"], ["2025-01", "2026-01"]),
    ],
)
def test_periods_grow_with_the_span(days: list[str], names: list[str]) -> None:
    rows: list[tuple[int, int, str | None]] = [(n, v, day) for n, day in enumerate(days) for v in (1, 2)]
    assert [period.name for period in course(rows)] == names


def test_without_days_it_is_undefined() -> None:
    found = alpha_course(make_frame([(1, 1, None), (1, 2, None)]), level="ordinal")
    assert found == Undefined(reason="no rating has a date")
