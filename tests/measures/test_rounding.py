import numpy as np
import pandas as pd
import pytest
from scipy import stats

from measures.correlation import kendall, pearson, spearman
from measures.gold_scores import gold_by
from measures.outcome import Undefined
from measures.patterns import Floats
from measures.rounding import ON_SCALE, is_constant, merge_ties
from measures.standardising import annotator_norms
from measures.studies.correlating import correlate, correlate_all
from measures.studies.grids import Grid
from measures.studies.pairwise import AnswerPairs, PairwiseAccuracy
from measures.studies.permutation import permute
from measures.studies.significance import compare_all
from measures.studies.soft_pairwise import SoftAccuracies, compare_system_pairs
from measures.studies.system_draws import Additive, correlate_systems, draw_systems
from measures.studies.system_means import correlate_means
from measures.studies.within_groups import correlate_within
from measures.system_comparisons import compare_systems
from tests.measures.frames import SAME_IN_ANY_ORDER, read_ratings
from tests.measures.studies.grids import draw_scores

METRIC = np.arange(7.0)[::-1]


def z_golds() -> Floats:
    frame = read_ratings(SAME_IN_ANY_ORDER)
    golds = gold_by("z", frame, norms=annotator_norms(frame))
    assert not isinstance(golds, Undefined)
    return golds.to_numpy(np.float64)


def test_answers_with_equal_ratings_stay_tied_whatever_order_people_rated_them_in() -> None:
    golds = z_golds()
    assert len(np.unique(golds)) > len(np.unique(golds.round(9))), "rounding breaks ties of the means themselves"
    expected = [compute(METRIC, golds.round(9)).statistic for compute in (stats.spearmanr, stats.kendalltau)]
    assert [compute(METRIC, golds, within=ON_SCALE) for compute in (spearman, kendall)] == pytest.approx(expected)
    found = correlate(golds, METRIC, rng=np.random.default_rng(1))
    assert [found.spearman.value, found.kendall.value] == pytest.approx(expected)
    # Without one answer too, ranks are those of the rounded scores.
    rounded = correlate(golds.round(9), METRIC, rng=np.random.default_rng(1))
    assert (found.spearman.low, found.kendall.low) == pytest.approx((rounded.spearman.low, rounded.kendall.low))


def test_systems_are_compared_with_the_same_ties() -> None:
    frame = pd.DataFrame({"source": list("abababab"), "z": [0.1 + 0.2, 0.3, 1.0, -0.2, 0.5, 0.4, 0.7, 0.6]})
    rounded = frame.assign(z=frame["z"].round(9))
    found, expected = (compare_systems(each, sources=["a", "b"]) for each in (frame, rounded))
    assert [one.p for one in found] == [one.p for one in expected]


def test_a_constant_metric_has_no_correlation_over_systems_of_any_size() -> None:
    names = ["a"] * 18 + ["b"] * 20 + ["c"] * 11
    human = np.repeat([3.0, 2.0, 4.0], [18, 20, 11])
    constant = {"constant": Additive.from_scores(np.full(49, 0.7))}
    found = correlate_systems(names, human, constant)["constant"]
    reason = Undefined(reason="all scores are equal")
    assert (found.pearson, found.spearman, found.kendall) == (reason, reason, reason)
    drawn = draw_systems([*range(18), *range(20), *range(11)], names, human, constant, rng=np.random.default_rng(1),
                         n_questions=7)  # fmt: skip
    assert not isinstance(drawn, Undefined)
    assert drawn["constant"].pearson == reason


def test_a_mean_of_very_many_equal_scores_is_that_score() -> None:
    n = 300_000
    names = np.repeat(["a", "b", "c"], [n // 2, n // 3, n // 6])
    found = correlate_systems(names, np.arange(float(n)), {"constant": Additive.from_scores(np.full(n, 0.7))})
    assert found["constant"].spearman == Undefined(reason="all scores are equal")


def test_what_rounding_parts_is_merged_and_nothing_else() -> None:
    values = np.array([0.1 + 0.2, 0.3, 0.30000000000001, 5.0, -5.0])
    merged = merge_ties(values)
    assert merged[0] == merged[1] == values[1] or merged[0] == merged[1] == values[0]
    assert merged[2:].tolist() == values[2:].tolist()
    for kept in (np.array([4e-14, 4.1e-14, 2e-11]), 1e9 + np.arange(3) / 1000, -np.array([2.6e22, 5.0, 10.0, 0.0])):
        assert merge_ties(kept) is kept
    assert merge_ties(np.zeros(0)).tolist() == []
    around_zero = np.array([3e-17, -2e-17, 1.0])
    assert merge_ties(around_zero, within=ON_SCALE)[0] == merge_ties(around_zero, within=ON_SCALE)[1]
    assert is_constant(around_zero[:2], within=ON_SCALE)
    assert pearson(np.array([0.3, 0.1 + 0.2, 0.3]), METRIC[:3]) == Undefined(reason="all scores are equal")


def measure_all(metrics: dict[str, Floats], shape: tuple[int, int]) -> list[object]:
    """Every statistic of two metrics on a grid of systems by questions, two questions a passage."""
    systems, questions = (each.ravel() for each in np.indices(shape))
    human, passages, rng = HUMAN_GRID.ravel(), questions // 2, np.random.default_rng(1)
    grid = Grid.of(human, metrics, systems=systems.astype(str), questions=questions, units=passages)
    pairs = AnswerPairs(human, questions, units=passages)
    permuted = permute(grid, rng=rng)
    soft = compare_system_pairs(grid, rng=rng)
    assert isinstance(soft, SoftAccuracies)
    found: list[object] = []
    for each in correlate_all(human, metrics, rng=rng, groups=passages, by_group=True).values():
        found += [each.pearson.value, each.pearson.low, each.spearman.value, each.kendall.low]
    for groups in (questions, systems):
        within = correlate_within(human, metrics, groups, units=passages, rng=rng).metrics
        found += [one.value for coefficients in within.values() for one in coefficients.values()]
    means = correlate_means(human, metrics, systems=systems.astype(str), units=passages)
    found += [mean.value for mean in means.values()]
    for scores in metrics.values():
        accuracy = pairs.measure(scores, threshold="cross_fit", rng=np.random.default_rng(1))
        assert isinstance(accuracy, PairwiseAccuracy)
        one = correlate_systems(systems, human, {"m": Additive.from_scores(scores)})["m"]
        found += [accuracy.accuracy, accuracy.tie_share, one.pearson, one.kendall]
    for softly in soft.metrics.values():
        assert not isinstance(softly, Undefined)
        found += [softly.soft, softly.plain, softly.low]
    (pair,) = permuted.pairs.values()
    assert not isinstance(pair, Undefined)
    compared = compare_all(human, metrics, rng=rng, groups=passages, by_group=True, n_resamples=50)
    found += [pair.p_first, pair.difference, compared[0].r_between, compared[0].bootstrap_holm]
    return found


HUMAN_GRID, *GRIDS = draw_scores(np.random.default_rng(6), 6, 10)


@pytest.mark.parametrize("factor", [1e-13, 1e-250, 1e120])
def test_a_metric_of_very_small_or_large_scores_has_the_statistics_of_any_other(factor: float) -> None:
    one, other = (each.ravel() for each in GRIDS)
    expected = measure_all({"one": one, "other": other}, HUMAN_GRID.shape)
    assert not any(isinstance(each, Undefined) or each is None for each in expected)
    with np.errstate(all="raise"):
        assert measure_all({"one": one * factor, "other": other * factor}, HUMAN_GRID.shape) == pytest.approx(expected)
