"""Holm's correction, and what it needs to reach a level."""

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from measures.corrections import holm, least_groups, least_resamples


def test_holm_by_hand() -> None:
    assert holm([0.01, 0.04, 0.03, 0.005]) == pytest.approx([0.03, 0.06, 0.06, 0.02])
    assert holm([0.6, 0.7]) == [1.0, 1.0]
    assert holm([None, 0.02]) == [None, 0.02]
    assert holm([]) == []


@given(st.lists(st.floats(0, 1), min_size=1, max_size=12))
def test_holm_keeps_the_order_and_only_raises(p_values: list[float]) -> None:
    adjusted = holm(p_values)
    for p, q in zip(p_values, adjusted, strict=True):
        assert q is not None
        assert p <= q <= 1
    in_order: list[Any] = [adjusted[at] for at in np.argsort(p_values, kind="stable")]
    assert in_order == sorted(in_order)


@pytest.mark.parametrize("n_tests", [1, 2, 3, 6, 20, 90, 870])
def test_the_least_resamples_and_groups_reach_the_level_and_one_less_does_not(n_tests: int) -> None:
    b, c = least_resamples(n_tests), least_groups(n_tests)
    assert n_tests / (b + 1) < 0.05 <= n_tests / b
    assert n_tests * 2.0 ** (1 - c) < 0.05 <= n_tests * 2.0 ** (2 - c)
