import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from measures.outcome import Undefined
from measures.studies.largest_errors import Span, bring_to_scale, find_span, largest_gaps, share_causes


@pytest.mark.parametrize(
    ("scores", "low", "high", "span"),
    [
        ([0.2, 0.4], 0, 1, Span(low=0, high=1, is_declared=True)),
        ([0.2, 0.4], None, None, Span(low=0.2, high=0.4, is_declared=False)),
        ([-3, -1], -math.inf, 0, Span(low=-3, high=-1, is_declared=False)),
        ([0.2, 1.4], 0, 1, Span(low=0.2, high=1.4, is_declared=False)),
        ([0.3, 0.3], 0, 1, Span(low=0, high=1, is_declared=True)),
        ([0.3, 0.3], None, 1, Undefined(reason="all scores are equal")),
        ([], 0, 1, Undefined(reason="there are no scores")),
    ],
)
def test_the_range_is_the_declared_one_where_it_holds(
    scores: list[float], low: float | None, high: float | None, span: Span | Undefined
) -> None:
    assert find_span(np.array(scores, float), low=low, high=high) == span


@given(st.lists(st.floats(-1e6, 1e6), min_size=2, max_size=20).filter(lambda each: max(each) - min(each) > 1e-3))
def test_rescaled_scores_fill_the_scale_and_keep_their_order(scores: list[float]) -> None:
    column = np.array(scores)
    span = find_span(column)
    assert isinstance(span, Span)
    scaled = bring_to_scale(column, span, low=1, high=5)
    assert (scaled.min(), scaled.max()) == pytest.approx((1, 5))
    assert (np.diff(scaled[np.argsort(column)]) >= 0).all()


def test_each_part_gives_its_widest_gaps_in_a_fixed_order() -> None:
    human, metric = np.array([1.0, 5, 3, 1, 2, 2]), np.array([5.0, 1, 3, 2, 1, 2])
    found = largest_gaps(human, metric, ["b", "b", "b", "a", "a", "c"], n=2)
    assert list(found) == ["a", "b", "c"]
    assert [(gap.row, gap.first, gap.second) for gap in found["b"]] == [(0, 1, 5), (1, 5, 1)]
    assert [gap.row for gap in found["a"]] == [3, 4]
    assert found["c"] == []
    with pytest.raises(ValueError):
        largest_gaps(human, metric, ["a"])


def test_causes_are_counted_whatever_their_case() -> None:
    shares = share_causes(["synonym", "", "Negation", "negation", ""])
    assert [(one.cause, one.n) for one in shares] == [("Negation", 2), ("synonym", 1)]
    assert [one.share for one in shares] == pytest.approx([2 / 3, 1 / 3])
    assert share_causes(["", ""]) == []
