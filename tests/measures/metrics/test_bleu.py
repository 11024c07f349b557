"""BLEU and adapted BLEU: the worked numbers of their papers, sacrebleu and nltk beside them, and what always holds."""

import math
import random
from typing import Any

import numpy as np
import pytest
import sacrebleu
from hypothesis import given
from hypothesis import strategies as st
from nltk.translate.bleu_score import sentence_bleu

from measures.metrics import Answers, make, score, score_column, score_corpus

WORDS = st.lists(st.sampled_from("abcde"), max_size=9).map(" ".join)
REFERENCES = st.lists(st.lists(st.sampled_from("abcde"), min_size=1, max_size=9).map(" ".join), min_size=1, max_size=3)
OPINIONS = st.sampled_from(["", "Yes", "No", "Depends"])


def one(name: str, candidate: str, *references: str, **settings: Any) -> float:
    return float(score(name, [candidate], [references], **settings)[0])


def answers_like_a_study(n: int = 300) -> tuple[list[str], list[list[str]]]:
    rng = random.Random(4)
    vocabulary = [f"w{k}" for k in range(40)]
    references = [[" ".join(rng.choices(vocabulary, k=rng.randint(1, 14))) for _ in range(2)] for _ in range(n)]
    candidates = []
    for first, second in references:
        words = [word if rng.random() < 0.8 else rng.choice(vocabulary) for word in (first + " " + second).split()]
        candidates.append(" ".join(words[rng.randint(0, 3) : rng.randint(2, 18)]))
    return candidates, references


def test_qascores_example_of_a_short_answer() -> None:
    # All three words are right, of six that are wanted without the question mark.
    candidate, reference = "address of DCU", "What is the address of DCU?"
    assert one("bleu_1", candidate, reference, tokeniser="mocha") == pytest.approx(math.exp(1 - 6 / 3))
    assert one("bleu_1", candidate, reference) == pytest.approx(math.exp(1 - 7 / 3))
    assert one("bleu_4", candidate, reference) == 0


def test_nothing_in_common_is_0() -> None:
    assert one("bleu_1", "x", "y") == one("bleu_1", "", "y") == 0


def test_mochas_first_figure_has_fifteen_words() -> None:
    # Printed as 0.07: one word of fifteen in common, where the full stop is no word and "'s" is a word of its own.
    candidate = "they ask him to come and see what 's in the letter from his aunt."
    assert one("bleu_1", candidate, "the uncle", tokeniser="mocha") == pytest.approx(1 / 15)


def test_mochas_words_lose_three_marks_and_keep_their_case() -> None:
    assert one("bleu_1", "The cat?", "The cat.", tokeniser="mocha") == 1
    assert one("bleu_1", "The, cat?", "the cat.", tokeniser="mocha") == 0.5


def test_an_n_gram_counts_as_often_as_the_best_reference_has_it() -> None:
    # Papineni's example: "the" seven times, twice in one reference and once in the other.
    references = ("the cat is on the mat", "there is a cat on the mat")
    assert one("bleu_1", "the the the the the the the", *references) == pytest.approx(2 / 7)


def test_the_closest_reference_sets_the_length_the_shorter_on_a_tie() -> None:
    assert one("bleu_1", "a b c d", "a b c d e f", "a b") == 1
    assert one("bleu_1", "a b c d", "a b c d e f", "a") == pytest.approx(math.exp(1 - 6 / 4))
    # A reference without words is none: it would ask for no word at all.
    assert one("bleu_1", "a", "a b", "") == pytest.approx(math.exp(1 - 2))


def test_characters_make_chinese_answers_comparable() -> None:
    assert one("bleu_2", "大学在都柏林", "大学在 都柏林", tokeniser="characters") == 1
    values, reasons = score("bleu_2", ["大学", "", "a", "b"], [["大学"], ["a"], ["", "?"], ["大学"]],
                            with_reasons=True, tokeniser="alnum")  # fmt: skip
    np.testing.assert_array_equal(values, [np.nan, 0, np.nan, np.nan])
    foreign = "the tokeniser “alnum” finds no word in a reference"
    assert reasons == ("the tokeniser “alnum” finds no word in the answer", "", "no reference has a word", foreign)


@pytest.mark.parametrize("order", [1, 2, 3, 4])
@pytest.mark.parametrize(
    ("smoothing", "effective"),
    [("none", False), ("add-k", False), ("exp", False), ("floor", False), ("exp", True), ("none", True)],
)
def test_sacrebleu_says_the_same(order: int, smoothing: str, effective: bool) -> None:
    candidates, references = answers_like_a_study()
    oracle = sacrebleu.BLEU(
        tokenize="none", smooth_method=smoothing, force=True, effective_order=effective, max_ngram_order=order
    )
    settings: dict[str, Any] = {"tokeniser": "spaces", "smoothing": smoothing, "effective_order": effective}
    wanted = [oracle.corpus_score([text], [[each] for each in texts]).score / 100
              for text, texts in zip(candidates, references, strict=True)]  # fmt: skip
    np.testing.assert_allclose(score(f"bleu_{order}", candidates, references, **settings), wanted, atol=1e-12)
    corpus = oracle.corpus_score(candidates, list(map(list, zip(*references, strict=True)))).score / 100
    assert score_corpus(f"bleu_{order}", candidates, references, **settings) == pytest.approx(corpus, abs=1e-12)
    assert 0 < corpus < 1


def test_nltk_says_the_same_where_there_is_a_match_of_every_order() -> None:
    candidates, references = answers_like_a_study()
    ours = score("bleu_4", candidates, references, tokeniser="spaces")
    rows = np.flatnonzero(ours)
    theirs = [sentence_bleu([text.split() for text in references[row]], candidates[row].split()) for row in rows]
    assert len(rows) > 50
    np.testing.assert_allclose(ours[rows], theirs, atol=1e-12)


def test_mochas_smoothing_gives_one_word_answers_a_thousandth() -> None:
    # (1 + 1e-15) / (1 + 1e-9) and 1e-15 / 1e-9: the root of a millionth, as pycocoevalcap has it.
    assert one("bleu_2", "cat", "cat", smoothing="mocha") == pytest.approx(0.001)
    assert one("bleu_2", "cat", "cat") == 0
    assert one("bleu_1", "a b", "a b c", smoothing="mocha") == pytest.approx(math.exp(1 - 3 / 2), abs=1e-8)
    with pytest.raises(ValueError, match="effective order"):
        make("bleu_2", smoothing="mocha", effective_order=True)


def test_a_corpus_is_not_the_mean_of_its_answers() -> None:
    candidates, references = ["a", "b c d e"], [["a"], ["b c x y"]]
    assert score("bleu_1", candidates, references).mean() == 0.75
    assert score_corpus("bleu_1", candidates, references) == 3 / 5


def yes_no(alpha: float) -> dict[str, Any]:
    return {
        "question_types": ["yes-no"], "opinions": ["Yes"], "reference_opinions": [["Yes", "No"]],
        "alpha": alpha, "order": 2,
    }  # fmt: skip


def test_yangs_first_example() -> None:
    # The paper's counts: 6 bigrams, 4 in a reference, 3 of them in one of the answer's opinion; 4/6 becomes 7/9.
    candidate, references = "a b c d e f g", ("a b c d x", "e f y z")
    plain = math.sqrt(6 / 7 * 4 / 6)
    assert one("bleu_2", candidate, *references) == pytest.approx(plain)
    adapted = math.sqrt((6 + 4) / (7 + 4) * 7 / 9)
    assert one("adapted_bleu", candidate, *references, **yes_no(1)) == pytest.approx(adapted)
    twice = math.sqrt((6 + 8) / (7 + 8) * (4 + 6) / (6 + 6))
    assert one("adapted_bleu", candidate, *references, **yes_no(2)) == pytest.approx(twice)


def test_yangs_second_example() -> None:
    # 16 bigrams, 5 in a reference, 2 in the gold entities; 5/16 becomes 7/18.
    candidate = "a b c d e f g h i j k l m n o p q"
    settings: dict[str, Any] = {"question_types": ["entity"], "entities": [["k l m", "z"]], "order": 2}
    assert one("bleu_2", candidate, "a b c d e f") == pytest.approx(math.sqrt(6 / 17 * 5 / 16))
    adapted = math.sqrt((6 + 3) / (17 + 3) * 7 / 18)
    assert one("adapted_bleu", candidate, "a b c d e f", **settings) == pytest.approx(adapted)


def test_the_bonuses_of_a_corpus_are_summed_with_their_counts() -> None:
    columns: dict[str, Any] = {
        "question_types": ["yes-no", "entity"], "opinions": ["Yes", ""],
        "reference_opinions": [["Yes"], [""]], "entities": [[], ["c"]],
    }  # fmt: skip
    corpus = score_corpus("adapted_bleu", ["a b", "c d"], [["a x"], ["c y"]], order=1, **columns)
    assert corpus == pytest.approx((1 + 2 * 1 + 1 + 1) / (2 + 2 * 1 + 2 + 1))


def test_no_label_is_no_bonus_and_no_refusal() -> None:
    columns: dict[str, Any] = {
        "question_types": ["yes-no", "yes-no", "yes-no", "entity", "entity", "description", ""],
        "opinions": ["depends ", "", "No", "Yes", "", "Yes", "Yes"],
        "reference_opinions": [["Depends"], ["Yes"], ["Yes"], ["Yes"], [""], ["Yes"], ["Yes"]],
        "entities": [[], [], [], ["a b c d"], [], ["a"], ["a"]],
    }
    candidates, references = ["a b c d x"] * 7, [["a b c d y"]] * 7
    found = score_column(make("adapted_bleu"), Answers(candidates=candidates, references=references, **columns))
    plain = score("bleu_4", candidates, references)
    np.testing.assert_array_equal(found.values > plain, [True, False, False, True, False, False, False])
    np.testing.assert_allclose(found.values[[1, 2, 4, 5, 6]], plain[0])
    assert found.notes == {"answers with an opinion bonus": 1, "answers with an entity bonus": 1}
    np.testing.assert_allclose(score("adapted_bleu", candidates, references), plain)


def test_weights_vary_without_a_new_count() -> None:
    columns: dict[str, Any] = {
        "question_types": ["yes-no", "entity", "other"], "opinions": ["Yes", "", ""],
        "reference_opinions": [["Yes", "No"], ["", ""], [""]], "entities": [[], ["a b"], []],
    }  # fmt: skip
    candidates, references = (
        ["a b c d e", "x a b y z", "a b c d"],
        [["a b c d", "c d e"], ["a b y z", "q"], ["a b c d"]],
    )
    answers = Answers(candidates=candidates, references=references, **columns)
    metric = make("adapted_bleu")
    counted, sums = metric.count_once(answers), metric.count(answers).sum(axis=0)
    for alpha, beta in [(0, 0), (0.5, 3), (7, 1)]:
        again = score_column(make("adapted_bleu", alpha=alpha, beta=beta), answers)
        np.testing.assert_array_equal(counted(alpha=alpha, beta=beta), again.values)
        assert metric.with_weights(alpha=alpha, beta=beta).combine(sums) == again.over()
    np.testing.assert_allclose(counted(alpha=0, beta=0), score("bleu_4", candidates, references))
    with pytest.raises(ValueError, match="“order” is not a weight"):
        counted(order=2)


def test_a_setting_of_the_wrong_kind_is_refused() -> None:
    for settings in ({"order": 2.5}, {"order": 5}, {"alpha": -1}, {"alpha": "2"}):
        with pytest.raises(ValueError, match="number from"):
            make("adapted_bleu", **settings)
    with pytest.raises(ValueError, match="True or False"):
        make("bleu_2", effective_order="no")


@given(WORDS, REFERENCES, OPINIONS, st.sampled_from(["yes-no", "entity"]), st.lists(WORDS, max_size=2))
def test_bounds(candidate: str, references: list[str], opinion: str, kind: str, entities: list[str]) -> None:
    plain = one("bleu_2", candidate, *references)
    columns = {
        "question_types": [kind], "opinions": [opinion], "entities": [entities],
        "reference_opinions": [["Yes", "No", "Depends"][: len(references)]],
    }  # fmt: skip
    adapted = one("adapted_bleu", candidate, *references, order=2, **columns)
    assert 0 <= plain <= adapted + 1e-12
    assert adapted <= 1 + 1e-12
    assert plain == pytest.approx(one("bleu_2", candidate, *reversed(references)), abs=1e-12)
    assert plain == pytest.approx(score_corpus("bleu_2", [candidate], [references]), abs=1e-12)
    for smoothing in ("add-k", "exp", "floor", "mocha"):
        assert 0 <= one("bleu_2", candidate, *references, smoothing=smoothing) <= 1 + 1e-12


@given(REFERENCES)
def test_a_reference_itself_scores_1(references: list[str]) -> None:
    longest = max(references, key=len)
    order = min(4, len(longest.split()))
    assert one(f"bleu_{order}", longest, *references) == pytest.approx(1)


def test_batches_and_the_order_of_answers_do_not_matter(monkeypatch: pytest.MonkeyPatch) -> None:
    candidates, references = answers_like_a_study(60)
    whole = score("bleu_3", candidates, references)
    monkeypatch.setattr("measures.metrics.bleu.Bleu.batch_size", 7)
    np.testing.assert_array_equal(score("bleu_3", candidates, references), whole)
    np.testing.assert_array_equal(score("bleu_3", candidates[::-1], references[::-1]), whole[::-1])
