import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from measures.annotator_pairs import PairAgreement, Pairs, nominal_kappa, pair_agreements, quadratic_kappa
from measures.outcome import Undefined
from tests.measures.frames import CANONICAL, from_table

SCORES = st.lists(st.tuples(st.integers(1, 5), st.integers(1, 5)), min_size=1, max_size=40)


def kappa_by_matrix(first: list[int], second: list[int], *, is_weighted: bool = True) -> float | None:
    """Cohen's own way: weights times shares, observed over expected."""
    points = range(1, 6)
    weights = np.array([[(c - k) ** 2 if is_weighted else c != k for k in points] for c in points], float)
    observed = np.array([[np.mean([a == c and b == k for a, b in zip(first, second, strict=True)]) for k in points]
                         for c in points])  # fmt: skip
    expected = np.outer(observed.sum(axis=1), observed.sum(axis=0))
    below = (weights * expected).sum()
    return None if below < 1e-12 else float(1 - (weights * observed).sum() / below)


@given(SCORES)
def test_kappa_is_that_of_the_weighted_table(scores: list[tuple[int, int]]) -> None:
    first, second = map(list, zip(*scores, strict=True))
    ours, theirs = quadratic_kappa(np.array(first, float), np.array(second, float)), kappa_by_matrix(first, second)
    if theirs is None:
        assert isinstance(ours, Undefined)
    else:
        assert ours == pytest.approx(theirs, abs=1e-12)


@given(SCORES)
def test_kappa_of_categories_is_that_of_the_table_without_weights(scores: list[tuple[int, int]]) -> None:
    first, second = map(list, zip(*scores, strict=True))
    ours = nominal_kappa(np.array(first, float), np.array(second, float))
    theirs = kappa_by_matrix(first, second, is_weighted=False)
    if theirs is None:
        assert isinstance(ours, Undefined)
    else:
        assert ours == pytest.approx(theirs, abs=1e-12)


def test_codes_of_categories_may_be_any_numbers() -> None:
    frame = from_table(["1 2 3 1 5 1", "1 2 1 3 5 1"])
    renamed = frame.assign(value=frame["value"].map({1: 7.0, 2: -4.0, 3: 0.0, 5: 1.0}))
    pairs = pair_agreements(frame, has_order=False)
    assert pairs == pair_agreements(renamed, has_order=False)
    assert isinstance(pairs, Pairs)
    (pair,) = pairs.computed
    assert pair.p is None
    assert isinstance(pair.pearson, Undefined)
    assert isinstance(pair.spearman, Undefined)


def test_agreement_by_chance_is_exactly_zero() -> None:
    first, second = np.array([1.0, 1, 3, 3, 4, 4]), np.array([2.0, 5, 2, 5, 2, 5])
    assert quadratic_kappa(first, second) == 0
    assert quadratic_kappa(first + 1e6, second + 1e6) == 0
    assert quadratic_kappa(first, first) == 1


def test_every_pair_of_krippendorffs_example() -> None:
    frame = from_table(CANONICAL)
    pairs = pair_agreements(frame)
    assert isinstance(pairs, Pairs)
    assert pairs.n_pairs == len(pairs.computed) == 6
    wide = frame.pivot_table(index="unit", columns="annotator", values="value")
    for pair in pairs.computed:
        both = wide[[pair.first, pair.second]].dropna()
        assert pair.n == len(both)
        assert pair.same_share == (both[pair.first] == both[pair.second]).mean()
        r = stats.pearsonr(both[pair.first], both[pair.second])
        assert pair.pearson == pytest.approx(r.statistic)
        assert pair.p == pytest.approx(r.pvalue)
        assert pair.spearman == pytest.approx(stats.spearmanr(both[pair.first], both[pair.second]).statistic)
    assert [pair.n for pair in pairs.computed] == sorted((pair.n for pair in pairs.computed), reverse=True)


def test_perfect_agreement_is_one_in_every_statistic_with_missing_cells() -> None:
    frame = from_table(["1 2 3 . 5 1", "1 2 . 4 5 1", ". 2 3 4 5 ."])
    pairs = pair_agreements(frame)
    assert isinstance(pairs, Pairs)
    assert pairs.n_pairs == 3
    for pair in pairs.computed:
        assert (pair.same_share, pair.p) == (1.0, 0.0)
        assert [pair.kappa, pair.pearson, pair.spearman] == pytest.approx([1.0, 1.0, 1.0])


def test_only_the_largest_pairs_are_computed_and_all_are_counted() -> None:
    pairs = pair_agreements(from_table(CANONICAL), most=2)
    assert isinstance(pairs, Pairs)
    assert (len(pairs.computed), pairs.n_pairs) == (2, 6)


def test_a_pair_that_does_not_vary_says_so() -> None:
    frame = pd.DataFrame({"unit": [1, 2, 3] * 2, "annotator": list("xxxyyy"), "value": [4.0] * 6})
    pairs = pair_agreements(frame)
    assert isinstance(pairs, Pairs)
    (pair,) = pairs.computed
    assert (pair.same_share, pair.p) == (1.0, None)
    assert isinstance(pair.kappa, Undefined)
    assert isinstance(pair.pearson, Undefined)


@pytest.mark.parametrize(
    ("annotators", "reason"),
    [(["x", None], "some annotators are unknown"), (["x", "x"], "no two annotators have rated the same candidate")],
)
def test_what_needs_two_people_is_undefined_without_them(annotators: list[str | None], reason: str) -> None:
    units = [1, 1] if None in annotators else [1, 2]
    frame = pd.DataFrame({"unit": units, "annotator": annotators, "value": [1.0, 2.0]})
    assert pair_agreements(frame) == Undefined(reason=reason)


def test_order_of_rows_does_not_matter() -> None:
    frame = from_table(CANONICAL)
    other = frame.sample(frac=1, random_state=3)
    assert _rounded(pair_agreements(frame)) == _rounded(pair_agreements(other))


def _rounded(pairs: Pairs | Undefined) -> list[tuple[str, str, int, float]]:
    assert isinstance(pairs, Pairs)
    return [(pair.first, pair.second, pair.n, _number(pair)) for pair in pairs.computed]


def _number(pair: PairAgreement) -> float:
    assert isinstance(pair.kappa, float)
    return round(pair.kappa, 12)
