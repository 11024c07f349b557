"""The warning of few passages: by their number, or because some have most of the candidates."""

import numpy as np
import pytest

from config import env
from measures.jackknife import FEW_UNITS
from results.scope.passage_counts import count_effective, explain_uneven, warn_of_few_in_parts, warn_of_few_passages

FEW = "Few passages: with fewer than 20 the intervals are rough. These cover"
EVEN, ONE_LARGE = np.repeat(np.arange(25), 5), np.repeat(np.arange(25), [40, *[2] * 24])


def test_the_effective_number_is_that_of_passages_of_one_size() -> None:
    assert count_effective(EVEN) == 25
    assert round(count_effective(ONE_LARGE), 2) == 4.57
    assert count_effective(np.zeros(0, np.int64)) == 0


@pytest.mark.parametrize(
    ("n", "n_effective", "sentence"),
    [
        (25, 25.0, ""),
        (25, None, ""),
        (20, 20.0, ""),
        (19, 19.0, f"{FEW} 19."),
        (10, None, f"{FEW} 10."),
        (10, 9.6, f"{FEW} 10."),
        (20, 19.8, ""),
        (25, 19.6, ""),
        (25, 19.4, f"{FEW} 25, which count as 19 because some weigh more than others."),
        (25, 4.57, f"{FEW} 25, which count as 5 because some weigh more than others."),
    ],
)
def test_few_passages_are_warned_of_also_where_few_have_most_candidates(
    n: int, n_effective: float | None, sentence: str
) -> None:
    assert warn_of_few_passages(n, n_effective, covering="These cover") == sentence
    assert not sentence or bool(explain_uneven(n, n_effective)) == ("because" in sentence)


def test_parts_with_the_same_numbers_are_listed_together() -> None:
    parts = [("news", 5, 5.0), ("stories", 20, 18.7), ("wide", 40, 39.0), ("films", 20, 19.2), ("songs", 20, 19.4)]
    warning = warn_of_few_in_parts([*parts, ("plays", 5, None), ("none", 0, None)], noun="Parts")
    assert warning.endswith(
        "Parts with fewer: news and plays (each 5); stories, films and songs (each 20, which count as 19 because some "
        "weigh more than others)."
    )
    assert warn_of_few_in_parts([("wide", 40, 39.0)], noun="Parts") == ""


def test_the_guide_names_the_number_that_pages_go_by() -> None:
    guide = (env.BASE_DIR / "docs" / "researchers.md").read_text(encoding="utf-8")
    assert f"fewer than {FEW_UNITS} passages" in guide


def test_of_many_parts_the_first_are_named() -> None:
    def warn(n: int) -> str:
        return warn_of_few_in_parts(((f"day {day}.", day, None) for day in range(1, n + 1)), noun="Periods")

    assert warn(9).endswith("Periods with fewer: " + "; ".join(f"day {day} ({day})" for day in range(1, 10)) + ".")
    assert warn(19).endswith("; day 8 (8); 11 more.")
