"""Delete-one jackknife: worked values, closed forms, and what makes an interval undefined."""

import math
from collections.abc import Iterable

import numpy as np
import pytest
from scipy.stats import t

from measures.correlation import pearson
from measures.jackknife import JackknifeInterval, Scale, bound_interval, jackknife, jackknife_interval
from measures.outcome import Undefined
from measures.patterns import Ints

HUMAN = np.array([1.0, 2, 2, 3, 4, 4, 5, 3])
METRIC = np.array([0.1, 0.3, 0.2, 0.5, 0.4, 0.7, 0.9, 0.3])


def _correlate(rows: Ints) -> float | Undefined:
    return pearson(HUMAN[rows], METRIC[rows])


@pytest.mark.parametrize(
    ("passages", "se", "low", "high"),
    [(range(8), 0.5450, 0.195, 0.992), ("aabbccdd", 0.3983, 0.215, 0.992)],
)
def test_worked_example_of_pearson(passages: Iterable[object], se: float, low: float, high: float) -> None:
    found = jackknife(_correlate, list(passages), scale="fisher_z", unit="passage")
    assert isinstance(found, JackknifeInterval)
    assert (round(found.se, 4), round(found.low, 3), round(found.high, 3)) == (se, low, high)
    # The second way: Pearson from moments in plain Python, and the standard error from its pseudo-values.
    names = list(passages)
    rows = list(zip(HUMAN, METRIC, names, strict=True))

    def fisher(kept: list[tuple[float, float, object]]) -> float:
        n = len(kept)
        x, y = sum(h for h, _, _ in kept), sum(m for _, m, _ in kept)
        xx, yy = sum(h * h for h, _, _ in kept), sum(m * m for _, m, _ in kept)
        xy = sum(h * m for h, m, _ in kept)
        r = (n * xy - x * y) / math.sqrt((n * xx - x * x) * (n * yy - y * y))
        return 0.5 * math.log((1 + r) / (1 - r))

    z = fisher(rows)
    groups = list(dict.fromkeys(names))
    pseudo = [len(groups) * z - (len(groups) - 1) * fisher([row for row in rows if row[2] != g]) for g in groups]
    by_pseudo_values = np.std(pseudo, ddof=1) / math.sqrt(len(groups))
    assert found.se == pytest.approx(by_pseudo_values, abs=1e-12)
    reach = t.ppf(0.975, len(groups) - 1) * by_pseudo_values
    assert (found.low, found.high) == pytest.approx((math.tanh(z - reach), math.tanh(z + reach)), abs=1e-12)


def test_of_a_mean_it_is_students_interval() -> None:
    values = np.array([0.5, 0, -0.5, 1, 1.5])
    found = jackknife(lambda rows: float(values[rows].mean()), list(range(5)), scale=Scale.PLAIN)
    assert not isinstance(found, Undefined)
    expected = t.interval(0.95, 4, values.mean(), values.std(ddof=1) / math.sqrt(5))
    assert (found.low, found.high) == pytest.approx(expected, abs=1e-12)


def test_ends_of_log_one_minus_are_in_order_and_below_one() -> None:
    each = np.array([0.6, 0.7, 0.65, 0.72, 0.5])
    found = jackknife_interval(0.64, each, scale="log_one_minus")
    assert not isinstance(found, Undefined)
    logs = np.log(1 - each)
    se = math.sqrt(4 / 5 * ((logs - logs.mean()) ** 2).sum())
    reach = t.ppf(0.975, 4) * se
    assert found.low == pytest.approx(1 - 0.36 * math.exp(reach))
    assert found.high == pytest.approx(1 - 0.36 * math.exp(-reach))
    assert found.low < 0.64 < found.high < 1


@pytest.mark.parametrize(
    ("whole", "left_out", "scale", "reason"),
    [
        (0.5, [0.4, 0.6], "fisher_z", "fewer than three passages"),
        (0.5, [], "plain", "fewer than three passages"),
        (0.5, [0.4, math.nan, 0.6], "fisher_z", "the estimate without one passage is undefined"),
        (1.0, [1.0, 1.0, 1.0], "fisher_z", "the estimate is exactly 1"),
        (-1.0, [-1.0, -1.0, -1.0], "fisher_z", "the estimate is exactly -1"),
        (0.9, [0.9, 1.0, 0.8], "fisher_z", "the estimate without one passage is exactly 1"),
        (0.9, [0.9, 1.0, 0.8], "log_one_minus", "the estimate without one passage is exactly 1"),
        (Undefined(reason="all scores are equal"), [0.4, 0.6, 0.5], "plain", "all scores are equal"),
        (1.0, [1.0, 1.0, 1.0, 1.0], "plain", "no single passage changes the estimate"),
        (0.3, [0.1 + 0.2, 0.3, 0.3], "plain", "no single passage changes the estimate"),
        (0.0, [1e-17, -2e-17, 0.0], "plain", "no single passage changes the estimate"),
        (-0.375, [-0.375, -0.375, -0.375, -0.375], "log_one_minus", "no single passage changes the estimate"),
    ],
)
def test_undefined_with_its_reason(whole: float | Undefined, left_out: list[float], scale: str, reason: str) -> None:
    assert jackknife_interval(whole, left_out, scale=scale, unit="passage") == Undefined(reason=reason)


def test_statistic_undefined_without_one_group_or_altogether() -> None:
    values = np.array([1.0, 1, 1, 2])

    def correlate(rows: Ints) -> float | Undefined:
        return pearson(values[rows], np.arange(4.0)[rows])

    # Without the last row all scores are equal.
    found = jackknife(correlate, list(range(4)), scale="fisher_z")
    assert found == Undefined(reason="the estimate without one unit is undefined")
    whole = jackknife(lambda rows: Undefined(reason="no rows"), list(range(4)), scale="plain")
    assert whole == Undefined(reason="no rows")


def test_scale_and_confidence_are_checked() -> None:
    with pytest.raises(ValueError, match="logit"):
        jackknife_interval(0.5, [0.4, 0.5, 0.6], scale="logit")
    with pytest.raises(ValueError, match="between 0 and 1"):
        jackknife_interval(0.5, [0.4, 0.5, 0.6], scale="plain", confidence=95)


@pytest.mark.parametrize("sizes", [None, [3, 3, 3, 3, 3], [0.2] * 5])
def test_units_of_one_size_have_one_degree_of_freedom_less_than_there_are(sizes: list[float] | None) -> None:
    each = [0.6, 0.7, 0.65, 0.72, 0.5]
    found = jackknife_interval(0.64, each, scale="plain", sizes=sizes)
    assert not isinstance(found, Undefined)
    assert (found.high - found.low) / 2 == pytest.approx(t.ppf(0.975, 4) * found.se)


def test_units_of_uneven_size_have_as_many_as_their_effective_number() -> None:
    each, sizes = [0.6, 0.7, 0.65, 0.72, 0.5], [10, 10, 5, 2, 1]
    found = jackknife_interval(0.64, each, scale="plain", sizes=sizes)
    assert not isinstance(found, Undefined)
    assert (found.high - found.low) / 2 == pytest.approx(t.ppf(0.975, 28**2 / 230 - 1) * found.se)
    assert found.n_units == 5
    assert found.n_effective == pytest.approx(28**2 / 230)
    # The sizes of rows in groups are counted.
    values, groups = np.arange(28.0) % 7, np.repeat(range(5), sizes)
    of_rows = jackknife(lambda rows: float(values[rows].mean()), groups, scale="plain")
    assert not isinstance(of_rows, Undefined)
    assert (of_rows.high - of_rows.low) / 2 == pytest.approx(t.ppf(0.975, 28**2 / 230 - 1) * of_rows.se)
    # Blocks of the units are at most as many.
    blocks = jackknife_interval(0.64, each, scale="plain", sizes=[1] * 50)
    assert not isinstance(blocks, Undefined)
    assert (blocks.high - blocks.low) / 2 == pytest.approx(t.ppf(0.975, 4) * blocks.se)


def test_a_unit_that_outweighs_all_others_leaves_no_interval() -> None:
    found = jackknife_interval(0.64, [0.6, 0.7, 0.65], scale="plain", sizes=[40, 2, 2], unit="passage")
    assert found == Undefined(reason="one passage outweighs all others together")


def test_sizes_and_their_shares_give_one_interval() -> None:
    # They count as two, of which the shares leave 1.9999999999999998.
    found = [
        jackknife_interval(0.64, [0.6, 0.7, 0.65], scale="plain", sizes=sizes)
        for sizes in ([4, 1, 1], [4 / 6, 1 / 6, 1 / 6])
    ]
    assert all(isinstance(each, JackknifeInterval) and each.n_effective == pytest.approx(2) for each in found)


@pytest.mark.parametrize(("mean", "low", "high", "at"), [(1.0, 0, 1, "1"), (-1.0, -1, 1, "-1"), (5.0, 1, 5, "5")])
def test_a_mean_at_the_end_of_its_scale_has_no_bounded_interval(mean: float, low: float, high: float, at: str) -> None:
    plain = jackknife_interval(mean, [0.9 * mean, 0.8 * mean, mean, mean], scale="plain")
    assert bound_interval(mean, plain, low=low, high=high) == Undefined(reason=f"the estimate is exactly {at}")
