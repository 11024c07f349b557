from typing import Any

import numpy as np
import pytest
from scipy import stats

from measures.outcome import Undefined
from measures.patterns import Floats
from measures.studies.system_draws import Additive, Lacking, correlate_systems, draw_systems, find_lacking

N_QUESTIONS, SYSTEMS = 40, ("a", "b", "c")
QUESTIONS = np.repeat(np.arange(N_QUESTIONS), len(SYSTEMS))
NAMES = np.tile(SYSTEMS, N_QUESTIONS)


def rng(seed: int = 1) -> np.random.Generator:
    return np.random.default_rng(seed)


def ratio(sums: Floats) -> Floats:
    """A corpus score that is no mean, as BLEU's is not: hits by words."""
    return np.asarray(sums[..., 0] / sums[..., 1])


HUMAN = rng(4).integers(1, 6, len(QUESTIONS)).astype(float)
WORDS = rng(5).integers(1, 30, len(QUESTIONS)).astype(float)
CORPUS = Additive(counts=np.stack([np.floor(WORDS * HUMAN / 6), WORDS], axis=1), combine=ratio)


def test_each_point_is_the_corpus_score_of_the_draw_and_not_a_mean() -> None:
    mean = Additive.from_scores(CORPUS.counts[:, 0] / WORDS)
    found = draw_systems(QUESTIONS, NAMES, HUMAN, {"corpus": CORPUS, "mean": mean}, rng=rng(7), n_draws=20)
    assert not isinstance(found, Undefined)
    random, points = rng(7), []
    for draw in range(20):
        drawn = random.permutation(np.arange(N_QUESTIONS))[:30]
        for at, name in enumerate(SYSTEMS):
            rows = np.isin(QUESTIONS, drawn) & (name == NAMES)
            hits, words = CORPUS.counts[rows].sum(axis=0)
            assert found["corpus"].human[draw, at] == pytest.approx(HUMAN[rows].mean())
            assert found["corpus"].metric[draw, at] == pytest.approx(hits / words)
            assert found["mean"].metric[draw, at] == pytest.approx((CORPUS.counts[:, 0] / WORDS)[rows].mean())
            points.append((hits / words, HUMAN[rows].mean()))
    assert found["corpus"].pearson == pytest.approx(stats.pearsonr(*zip(*points, strict=True)).statistic)
    assert found["corpus"].systems == SYSTEMS


def test_questions_that_a_system_lacks_are_in_no_draw_and_are_counted() -> None:
    has = ~((NAMES == "b") & (QUESTIONS < 10))
    assert find_lacking(QUESTIONS[has], NAMES[has]) == Lacking(n_common=30, n_all=40, lacks={"b": 10})
    found = draw_systems(QUESTIONS[has], NAMES[has], HUMAN[has], {"m": Additive.from_scores(HUMAN[has])}, rng=rng())
    assert not isinstance(found, Undefined)
    assert np.ptp(found["m"].human[:, 1]) == pytest.approx(0)  # thirty of thirty: each draw has them all
    assert found["m"].human[0, 0] == pytest.approx(HUMAN[(NAMES == "a") & (QUESTIONS >= 10)].mean())


@pytest.mark.parametrize(
    ("rows", "options", "reason"),
    [
        (slice(None), {"n_questions": 41}, "only 40 questions have an answer of every system; a draw needs 41"),
        (slice(4), {"n_questions": 2}, "only 1 question has an answer of every system; a draw needs 2"),
        (slice(0, None, 3), {}, "fewer than two systems"),
        (slice(0), {}, "fewer than two systems"),
    ],
)
def test_too_few_questions_or_systems_are_undefined(rows: slice, options: dict[str, Any], reason: str) -> None:
    found = draw_systems(QUESTIONS[rows], NAMES[rows], HUMAN[rows], {}, rng=rng(), **options)
    assert found == Undefined(reason=reason)


def test_a_metric_that_says_what_people_say_has_1_and_a_flat_one_is_undefined() -> None:
    metrics = {"same": Additive.from_scores(HUMAN * 3 - 2), "flat": Additive.from_scores(np.ones_like(HUMAN))}
    drawn = draw_systems(QUESTIONS, NAMES, HUMAN, metrics, rng=rng())
    assert not isinstance(drawn, Undefined)
    over_all = correlate_systems(NAMES, HUMAN, metrics)
    for found in (drawn["same"], over_all["same"]):
        assert found.pearson == pytest.approx(1)
    assert (over_all["same"].spearman, over_all["same"].kendall) == pytest.approx((1, 1))
    assert drawn["flat"].pearson == over_all["flat"].pearson == Undefined(reason="all scores are equal")


def test_one_point_per_system_rests_on_all_of_its_answers() -> None:
    rows = slice(0, 7)  # a has three, b and c two
    found = correlate_systems(NAMES[rows], HUMAN[rows], {"m": Additive(counts=CORPUS.counts[rows], combine=ratio)})["m"]
    assert found.n_items.tolist() == [3, 2, 2]
    assert found.human[0] == pytest.approx(HUMAN[[0, 3, 6]].mean())
    assert found.metric[0] == pytest.approx(CORPUS.counts[[0, 3, 6], 0].sum() / WORDS[[0, 3, 6]].sum())
    two = correlate_systems(["a", "b"], HUMAN[:2], {"m": Additive.from_scores(HUMAN[:2])})["m"]
    assert two.kendall == Undefined(reason="fewer than three pairs")


@pytest.mark.parametrize(
    "options", [{"n_questions": 0}, {"n_draws": 0}, {"human": HUMAN[1:]}, {"human": HUMAN * np.nan}]
)
def test_what_cannot_be_drawn_is_refused(options: dict[str, Any]) -> None:
    with pytest.raises(ValueError):
        draw_systems(
            **{"questions": QUESTIONS, "systems": NAMES, "human": HUMAN, "metrics": {}, "rng": rng(), **options}
        )
