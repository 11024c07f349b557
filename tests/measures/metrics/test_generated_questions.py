"""GLEU against nltk, and answerability and Q-BLEU against the numbers of the authors' program."""

import random

import numpy as np
import pytest
from nltk.translate.gleu_score import corpus_gleu, sentence_gleu

from measures.metrics import make, score, score_corpus
from measures.metrics.answerability import divide_words

GOOD, GREAT = "Is this a good question?", "Is this a great question?"


def test_gleu_of_a_worked_example() -> None:
    # Three of ten n-grams: who, wrote, who wrote.
    assert score("gleu", ["who wrote it"], [["who wrote the book"]]).tolist() == [0.3]


def test_gleu_is_nltks_also_with_several_references() -> None:
    chance = random.Random(5)
    candidates = [" ".join(chance.choices("abcd", k=chance.randint(0, 7))) for _ in range(200)]
    references = [
        [" ".join(chance.choices("abcd", k=chance.randint(1, 8))) for _ in range(chance.randint(1, 3))]
        for _ in candidates
    ]
    split = [text.split() for text in candidates], [[text.split() for text in texts] for texts in references]
    for order in (4, 2):
        found = make("gleu", order=order, tokeniser="spaces").settings()
        expected = [sentence_gleu(theirs, ours, max_len=order) for ours, theirs in zip(*split, strict=True)]
        np.testing.assert_allclose(score("gleu", candidates, references, **found), expected, atol=1e-15)
        corpus = score_corpus("gleu", candidates, references, **found)
        assert corpus == pytest.approx(corpus_gleu(split[1], split[0], max_len=order))


def test_gleu_without_words() -> None:
    values, reasons = score("gleu", ["", "a", "都柏林"], [["a"], ["?"], ["都"]], with_reasons=True, tokeniser="alnum")
    np.testing.assert_array_equal(values, [0, np.nan, np.nan])
    assert reasons[1:] == ("no reference has a word", "the tokeniser “alnum” finds no word in the answer")


def test_the_words_of_a_question_are_divided_into_four_kinds() -> None:
    parts = divide_words("Is Tony Stark who, in what Year, built it?")
    assert [sorted(part) for part in parts] == [
        ["stark", "tony"],
        ["what", "who", "year"],
        ["built"],
        ["in", "is", "it"],
    ]
    assert divide_words("") == divide_words(" ?! ")


def test_the_released_code_gives_what_its_tests_print() -> None:
    # github.com/PrekshaNema25/Answerability-Metric, tests: 0.678 with BLEU-3, 0.765 with a ROUGE-L of 0.8.
    found = score("q_bleu", [GREAT], [[GOOD]], form="released_code", order=3)
    assert round(found.item(), 3) == 0.678
    answerability = score("answerability", [GREAT], [[GOOD]], form="released_code")
    assert round(0.7 * answerability.item() + 0.3 * 0.8, 3) == 0.765
    # Of two words one is there: BLEU-1 is e⁻¹ with the penalty one way and 1/2 the other.
    shorter = score("answerability", ["tony"], [["tony built"]], form="released_code", named=0, question_type=0)
    e = np.exp(-1)
    assert shorter.item() == pytest.approx(0.5 * 2 * e * 0.5 / (e + 0.5))


def test_the_papers_answerability_by_hand() -> None:
    # Neither has a named word or a question word: the weights of the others are as large as each other.
    # Relevant words: 1 of 2, function words: 3 of 3.
    assert score("answerability", [GREAT], [[GOOD]]).item() == pytest.approx((0.5 + 1) / 2)
    # who 1/1, Hamlet 1/2 and 1/1, wrote 1/1; no function words.
    precision, recall = (0.2 + 0.6 / 2 + 0.1) / 0.9, 1.0
    found = score("answerability", ["Who wrote Prince Hamlet?"], [["who wrote Hamlet", "Where is Tony Stark?"]])
    assert found.item() == pytest.approx(2 * precision * recall / (precision + recall))
    # In lower case the name is a relevant word, and the reference alone has a named one, which counts 0.
    precision, recall = (0.2 + 0.1 / 2) / 0.9, (0.2 + 0.1) / 0.9
    found = score("answerability", ["who wrote hamlet"], [["who wrote Hamlet"]])
    assert found.item() == pytest.approx(2 * precision * recall / (precision + recall))
    combined = score("q_bleu", [GREAT], [[GOOD]], delta=0.5)
    assert combined.item() == pytest.approx(0.5 * 0.75 + 0.5 * 4 / 5)


def test_answerability_of_texts_without_words() -> None:
    for form in ("paper", "released_code"):
        for name in ("answerability", "q_bleu"):
            values, reasons = score(
                name, ["", "?", "who 😀"], [["who"], ["?"], ["who 😀"]], with_reasons=True, form=form
            )
            assert reasons == ("", "no reference has a word", "")
            assert values[0] == 0
            assert 0 < values[2] <= 1
    assert score("answerability", ["who 😀"], [["who 😀"]]).item() == pytest.approx(1)
    with pytest.raises(ValueError, match="At least one"):
        make("answerability", named=0, question_type=0, relevant=0, function=0)
