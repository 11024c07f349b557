import re

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from measures.degrading import LEAST_DROP, MOST_INSERTED, DegradedText, PhraseBook, degrade, measure_yields, n_replaced
from measures.outcome import Undefined
from measures.token_overlap import token_f1

BOOK = PhraseBook.of([("elsewhere", " ".join(f"other{n}" for n in range(40))), ("far", "a green hill far away")])


def degraded(
    text: str,
    seed: int = 0,
    *,
    references: tuple[str, ...] = (),
    book: PhraseBook = BOOK,
    least_drop: float = LEAST_DROP,
) -> DegradedText | Undefined:
    rng = np.random.default_rng(seed)
    return degrade(text, references=references, phrases=book, passage="here", rng=rng, least_drop=least_drop)


@pytest.mark.parametrize(
    ("n_words", "k"),
    [
        (1, 1),
        (2, 1),
        (3, 1),
        (4, 2),
        (5, 2),
        (6, 3),
        (7, 3),
        (8, 4),
        (14, 4),
        (15, 5),
        (19, 5),
        (20, 5),
        (24, 6),
        (100, 25),
    ],
)
def test_the_run_is_as_long_as_grahams_table_says(n_words: int, k: int) -> None:
    assert n_replaced(n_words) == k
    made = degraded(" ".join(f"w{n}" for n in range(n_words)))
    assert isinstance(made, DegradedText)
    assert (made.n_words, made.n_replaced, made.n_inserted) == (n_words, k, min(k, MOST_INSERTED))


@given(n_words=st.integers(3, 60), seed=st.integers(0, 2**32 - 1))
def test_the_first_and_the_last_word_stay_and_only_a_run_goes(n_words: int, seed: int) -> None:
    words = [f"w{n}" for n in range(n_words)]
    made = degraded(" ".join(words), seed)
    assert isinstance(made, DegradedText)
    shown = made.text.split()
    assert (shown[0], shown[-1]) == (words[0], words[-1])
    kept = [word for word in shown if word.startswith("w")]
    start = next(n for n, word in enumerate(shown) if not word.startswith("w"))
    assert kept == words[:start] + words[start + made.n_replaced :]
    assert len(shown) == n_words - made.n_replaced + made.n_inserted
    assert made.f1 == pytest.approx(token_f1(made.text, " ".join(words)))


@given(n_words=st.integers(3, 30), seed=st.integers(0, 2**32 - 1))
def test_every_place_inside_can_be_the_start(n_words: int, seed: int) -> None:
    starts = set()
    for offset in range(60 if n_words < 8 else 5):
        made = degraded(" ".join(f"w{n}" for n in range(n_words)), seed + offset)
        assert isinstance(made, DegradedText)
        starts.add(next(n for n, word in enumerate(made.text.split()) if not word.startswith("w")))
    inside = range(1, n_words - n_replaced(n_words))
    assert starts <= set(inside)
    if n_words < 8:
        assert starts == set(inside)


def test_of_one_word_the_word_goes_and_of_two_the_second() -> None:
    one, two = degraded("Paris."), degraded("red hats.")
    assert isinstance(one, DegradedText)
    assert isinstance(two, DegradedText)
    assert one.text.endswith(".")
    assert one.text[0].isupper()
    assert len(one.text.split()) == 1
    assert two.text.split()[0] == "red"
    assert two.text.endswith(".")


def test_phrases_come_from_inside_references_of_other_passages() -> None:
    book = PhraseBook.of(
        [("here", "x mine1 mine2 mine3 y"), ("there", "First yours1 yours2 last"), ("there", "no inner")]
    )
    rng = np.random.default_rng(0)
    assert {book.draw(1, "here", rng) for _ in range(50)} == {"yours1", "yours2"}
    assert book.draw(2, "here", rng) == "yours1 yours2"
    assert book.draw(3, "here", rng) is None
    assert book.draw(3, "there", rng) == "mine1 mine2 mine3"


def test_a_long_passage_of_ones_own_does_not_hide_the_others() -> None:
    own = [("here", "a b c d e f g")] * 500
    book = PhraseBook.of([*own, ("there", "a z c")])
    assert book.draw(1, "here", np.random.default_rng(0)) == "z"


@pytest.mark.parametrize(
    ("text", "references", "least_drop", "words"),
    [
        ("", (), LEAST_DROP, "no words"),
        ("red hat", ("the red green",), LEAST_DROP, "has the same words as"),
        ("red hat", (), 0.6, "nearly all words"),
        ("the the the", (), LEAST_DROP, None),
    ],
)
def test_what_is_no_degraded_answer_is_refused(
    text: str, references: tuple[str, ...], least_drop: float, words: str | None
) -> None:
    book = PhraseBook.of([("far", "a green hill")])
    made = degraded(text, references=references, book=book, least_drop=least_drop)
    if words is None:
        assert isinstance(made, DegradedText)
    else:
        assert isinstance(made, Undefined)
        assert words in made.reason


def test_a_phrase_equal_to_what_it_replaces_is_refused() -> None:
    made = degraded("red hat", book=PhraseBook.of([("far", "a hat z")]))
    assert isinstance(made, Undefined)
    assert "has the same words as the original" in made.reason


def test_without_a_phrase_of_the_length_nothing_is_made() -> None:
    made = degraded("one two three four five six", book=PhraseBook.of([("far", "a b c")]))
    assert isinstance(made, Undefined)
    assert "phrase of this length" in made.reason


@pytest.mark.parametrize(
    ("text", "is_arabic"),
    [("the cat sat on the mat", False), ("جلس القط على الحصير", True), ("في عام 1856", True), ("1856", None)],
)
def test_a_phrase_is_in_the_script_of_the_answer(text: str, is_arabic: bool | None) -> None:
    latin, arabic = ("one", "a green hill far away and green"), ("two", "كان في المدينة نهر كبير جدا")
    book = PhraseBook.of([latin, arabic])
    for seed in range(20):
        made = degraded(text, seed, book=book)
        assert isinstance(made, DegradedText)
        new = set(made.text.split()) - set(text.split())
        assert is_arabic is None or all(bool(re.search("[\u0600-\u06ff]", word)) == is_arabic for word in new)
    only = degraded("the cat sat on the mat", book=PhraseBook.of([arabic]))
    assert isinstance(only, Undefined)
    assert "script" in only.reason


def test_the_same_seed_makes_the_same_text() -> None:
    text = "the cat sat on the mat by the door"
    assert degraded(text, 7) == degraded(text, 7)
    assert len({str(degraded(text, seed)) for seed in range(20)}) > 5


def test_the_yield_is_reported_by_length_with_reasons() -> None:
    book = PhraseBook.of([("far", "a green hill")])
    answers = [("Paris", ["Green"], "here"), ("Rome", [], "here"), ("a b c", [], "far"), ("a b", [], "here")]
    one, three, eight = measure_yields(answers, phrases=book, rng=np.random.default_rng(0))
    assert (one.n_tried, one.n_made, sum(one.reasons.values())) == (
        2,
        2 - sum(one.reasons.values()),
        one.n_tried - one.n_made,
    )
    assert (three.n_tried, three.n_made) == (1, 0)
    assert isinstance(eight.share, Undefined)
    assert three.share == 0.0


@pytest.mark.parametrize(
    ("text", "other", "f1"),
    [("The Cat!", "a cat", 1.0), ("cat cat dog", "cat", 0.5), ("dog", "cat", 0.0), ("", "", 1.0), ("it's", "its", 1.0)],
)
def test_token_f1_goes_by_squads_words(text: str, other: str, f1: float) -> None:
    assert token_f1(text, other) == token_f1(other, text) == pytest.approx(f1)


@given(st.text(), st.text())
def test_token_f1_is_symmetric_and_within_0_and_1(text: str, other: str) -> None:
    assert 0 <= token_f1(text, other) <= 1
    assert token_f1(text, other) == token_f1(other, text)
    assert token_f1(text, text) == 1.0
