"""Batches of similar length, each text once, and matching of tokens, without a model."""

import numpy as np
import pytest

from measures.neural.encoding import Kept, plan_batches
from measures.neural.matching import EncodedText, match_greedily, weigh_by_rarity


def test_batches_are_of_similar_length_and_within_the_budget() -> None:
    lengths = np.random.default_rng(1).integers(0, 60, 200).tolist()
    batches = list(plan_batches(lengths, 100))
    assert sorted(row for batch in batches for row in batch) == list(range(200))
    assert all(len(batch) * max(lengths[row] for row in batch) <= 100 for batch in batches)
    first = [lengths[batch[0]] for batch in batches]
    assert first == sorted(lengths, reverse=True)[:1] + sorted(first[1:], reverse=True)
    assert [batch.tolist() for batch in plan_batches([200, 1], 100)] == [[0], [1]]
    assert list(plan_batches([], 100)) == []


def test_a_text_is_computed_once_while_it_is_kept() -> None:
    computed: list[str] = []

    def compute(texts: list[str]) -> list[np.ndarray]:
        computed.extend(texts)
        return [np.full(10, float(text)) for text in texts]

    kept = Kept(compute, most_bytes=2 * 80)
    assert {text: each[0] for text, each in kept.fetch(["1", "2", "1"]).items()} == {"1": 1, "2": 2}
    # The one that was not used for longest goes first.
    kept.fetch(["1"])
    kept.fetch(["3"])
    assert computed == ["1", "2", "3"]
    kept.fetch(["1"])
    assert computed == ["1", "2", "3"]
    kept.fetch(["2"])
    assert computed == ["1", "2", "3", "2"]
    # All of a batch are returned, also if they are more than are kept.
    assert len(kept.fetch(["4", "5", "6"])) == 3


def test_the_worked_example_of_bert_score() -> None:
    start, end = [True, False, False, True], [True, False, True]

    def encode(vectors: list[list[float]], specials: list[bool], *, is_matched: bool) -> EncodedText:
        is_special = np.array(specials)
        is_partner = np.ones(len(specials), dtype=bool) if is_matched else ~is_special
        return EncodedText(np.array(vectors, dtype=np.float32), (~is_special).astype(float), is_partner)

    for is_matched, expected in ((True, (1, 1, 1)), (False, (0.3, 0.6, 0.4))):
        candidate = encode([[1, 0], [0.6, 0.8], [0, 1], [0.8, 0.6]], start, is_matched=is_matched)
        reference = encode([[0, 1], [1, 0], [0.6, 0.8]], end, is_matched=is_matched)
        assert match_greedily(candidate, reference) == pytest.approx(expected, abs=1e-7)


def test_texts_without_tokens_that_count_score_nothing() -> None:
    def encode(weights: list[float], partners: list[bool]) -> EncodedText:
        return EncodedText(np.ones((len(weights), 1), dtype=np.float32), np.array(weights), np.array(partners))

    whole = encode([1], [True])
    for other in (encode([0, 0], [True, True]), encode([1], [False]), encode([], [])):
        assert match_greedily(whole, other) == match_greedily(other, whole) == (0, 0, 0)


def test_weights_by_rarity() -> None:
    # Of three references all have token 0, one has token 1 and none token 2.
    assert weigh_by_rarity(3, {0: 3, 1: 1}, [0, 1, 2]) == pytest.approx([0, np.log(2), np.log(4)])
