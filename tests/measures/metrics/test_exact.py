"""Exact match and token F1: SQuAD's rules and the examples of the 2022 blog post, with its wrong numbers put right."""

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from measures.metrics import score
from measures.token_overlap import token_f1

TEXTS = st.text(alphabet="ab. ", max_size=12) | st.lists(st.sampled_from(["a", "the", "b", "c", "d"])).map(" ".join)


def one(name: str, candidate: str, *references: str, **settings: Any) -> float:
    return float(score(name, [candidate], [references], **settings)[0])


@pytest.mark.parametrize(
    ("candidate", "reference", "em", "f1"),
    [
        ("Tony Stark", "Tony Stark", 1, 1),
        # Printed as 0.67, with a recall of 0.398; one word in common, 2 and 3 words: precision 1/2, recall 1/3.
        ("Tony Stark", "Anthony Edward Stark", 0, 0.4),
        # Printed as 0.5; precision 1, recall 1/2.
        ("Tony", "Tony Stark", 0, 2 / 3),
        ("The Tony, Stark!", "tony stark", 1, 1),
        # Only ASCII punctuation is deleted, and only whole articles; what punctuation held apart becomes one word.
        ("“Tony” Stark", "Tony Stark", 0, 0.5),
        ("theory", "ory", 0, 0),
        ("Tony-Stark", "tonystark", 1, 1),
    ],
)
def test_the_posts_examples(candidate: str, reference: str, em: float, f1: float) -> None:
    assert one("exact_match", candidate, reference) == em
    assert one("token_f1", candidate, reference) == pytest.approx(f1)


def test_a_dollar_sign_is_a_word_only_where_punctuation_is_kept() -> None:
    # The post counts two words of "30 $" as false positives; by SQuAD's words there is only one.
    assert one("token_f1", "30 $", "30") == 1
    assert one("token_f1", "30 $", "30", tokeniser="spaces") == pytest.approx(2 / 3)


def test_the_best_reference_counts_each_for_itself() -> None:
    # Pooled words would give more: each reference has but one of the two.
    assert one("token_f1", "red cat", "cat", "red") == pytest.approx(2 / 3)
    assert one("exact_match", "red cat", "cat", "red", "Red cat.") == 1


def test_words_count_as_often_as_both_have_them() -> None:
    assert one("token_f1", "cat cat cat", "cat cat dog") == pytest.approx(2 / 3)


def test_texts_without_words_follow_the_version_of_squad() -> None:
    assert one("exact_match", "the", "?!") == 1
    assert one("token_f1", "the", "?!") == 0
    assert one("token_f1", "the", "?!", squad_version="2.0") == 1
    assert one("token_f1", "the", "cat", squad_version="2.0") == 0
    assert one("token_f1", "", "cat") == 0


def test_an_article_is_a_word_under_alnum() -> None:
    assert one("exact_match", "The cat", "cat") == 1
    assert one("exact_match", "The cat", "cat", tokeniser="alnum") == 0
    assert one("token_f1", "The cat", "cat", tokeniser="alnum") == pytest.approx(2 / 3)


@pytest.mark.parametrize("name", ["exact_match", "token_f1"])
def test_a_script_that_the_tokeniser_does_not_read_is_refused(name: str) -> None:
    candidates, references = ["大学", "dog", "!", "!"], [["university"], ["大学", "cat"], ["大学"], ["?", "cat"]]
    values, reasons = score(name, candidates, references, with_reasons=True, tokeniser="alnum")
    np.testing.assert_array_equal(values, [np.nan, 0, np.nan, float(name == "exact_match")])
    foreign = "the tokeniser “alnum” finds no word in a reference"
    assert reasons == ("the tokeniser “alnum” finds no word in the answer", "", foreign, "")
    assert one(name, "大学", "大学", tokeniser="characters") == 1
    assert one(name, "大学", "大学") == 1


@given(TEXTS, TEXTS)
def test_the_column_agrees_with_the_pair(text: str, other: str) -> None:
    assert one("token_f1", text, other, squad_version="2.0") == pytest.approx(token_f1(text, other))


@given(TEXTS, st.lists(TEXTS, min_size=1, max_size=4))
def test_bounds_and_the_order_of_references(text: str, references: list[str]) -> None:
    f1 = one("token_f1", text, *references)
    assert 0 <= f1 <= 1
    assert f1 == one("token_f1", text, *reversed(references))
    assert one("exact_match", text, *references) == one("exact_match", text, *reversed(references))
    assert one("exact_match", text, *references, text) == 1
