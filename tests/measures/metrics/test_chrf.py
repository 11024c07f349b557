"""chrF as sacrebleu's public functions give it."""

import numpy as np
import pytest
import sacrebleu
from hypothesis import given, settings
from hypothesis import strategies as st

from measures.metrics import Answers, make, score, score_column, score_corpus

CANDIDATES = ["the cat sat on the mat", "the cat sat", "a", "", "大学在都柏林", "nothing alike"]
REFERENCES = [
    ["cats", "the mat on the cat sat"],
    ["a cat sat down", "the cat"],
    ["a", "b"],
    ["x", "y"],
    ["大学 在都柏林", "大学"],
    ["zzz", "qqq"],
]


def test_sacrebleu_says_the_same() -> None:
    oracle = sacrebleu.CHRF()
    wanted = [
        oracle.sentence_score(text, texts).score / 100 for text, texts in zip(CANDIDATES, REFERENCES, strict=True)
    ]
    np.testing.assert_allclose(score("chrf", CANDIDATES, REFERENCES), wanted, atol=1e-12)
    corpus = oracle.corpus_score(CANDIDATES, list(map(list, zip(*REFERENCES, strict=True)))).score / 100
    assert score_corpus("chrf", CANDIDATES, REFERENCES) == pytest.approx(corpus, abs=1e-12)
    assert 0 < corpus < 1 == wanted[2] > wanted[3] == 0


TEXTS = st.text(alphabet="ab c", min_size=1, max_size=9).filter(str.strip)


@settings(max_examples=50)
@given(TEXTS, st.lists(TEXTS, min_size=1, max_size=3))
def test_any_texts_score_as_the_library_has_them(candidate: str, references: list[str]) -> None:
    wanted = sacrebleu.CHRF().sentence_score(candidate, references).score / 100
    assert score("chrf", [candidate], [references]).item() == pytest.approx(wanted)
    assert score("chrf", [candidate], [references[::-1]]).item() == pytest.approx(wanted)
    assert score("chrf", [candidate], [[*references, candidate]]).item() == pytest.approx(1)


def test_its_signature_is_that_of_sacrebleu() -> None:
    oracle = sacrebleu.CHRF()
    oracle.num_refs = -1
    assert make("chrf").signature == oracle.get_signature().format()


def test_references_without_a_character_are_none() -> None:
    answers = Answers(candidates=["cat", "cat", "", " "], references=[["", " "], ["", "cat"], ["cat"], ["cat"]])
    found = score_column(make("chrf"), answers)
    np.testing.assert_array_equal(found.values, [np.nan, 1, 0, 0])
    assert found.reasons[0] == "no reference has a character"
    # An answer that shares nothing counts its characters against the reference that has some.
    wanted = score_corpus("chrf", ["cat", "dog"], [["cat"], ["cat"]])
    assert score_corpus("chrf", ["cat", "dog"], [["cat"], ["", "cat"]]) == pytest.approx(wanted)
    assert wanted != 1
