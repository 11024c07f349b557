"""Adapted ROUGE-L: the counts of Yang's examples in sentences of our own, who has a bonus, and its weights."""

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from measures.metrics import Answers, make, score, score_column

words = st.lists(st.sampled_from(["a", "b", "c", "d"]), min_size=1, max_size=8)
texts = words.map(" ".join)
opinions = st.sampled_from(["", "Yes", "No", "Depends"])
columns = st.lists(
    st.fixed_dictionaries(
        {
            "candidates": texts,
            "references": st.lists(texts, min_size=2, max_size=2),
            "question_types": st.sampled_from(["yes-no", "entity", "description", ""]),
            "opinions": opinions,
            "reference_opinions": st.lists(opinions, min_size=2, max_size=2),
            "entities": st.lists(texts, max_size=3),
        }
    ),
    min_size=1,
    max_size=5,
)

# Example 3: 7 words, 12 in the reference, a subsequence of 6.
OPENING = "Yes, the museum opens on Sundays from ten until six."
OPENING_ANSWER = "Yes, it opens on Sundays."
# Example 4: 17 words, 14 in the reference, a subsequence of 7, two entities of two words.
FERRY = "The ferry to the island leaves from North Pier and from Stone Quay."
FERRY_ANSWER = "Take the ferry: it goes from North Pier, on some days at Stone Quay."
SHORT_ANSWER = "Boats to the island go, as ever, from North Pier"
PIERS = ("North Pier", "Stone Quay")


def opening(text: str, opinion: str = "Yes", **over: Any) -> float:
    columns = {"question_types": ["yes-no"], "opinions": [opinion], "reference_opinions": [["Yes"]]}
    return scored("adapted_rouge_l", text, OPENING, **{"alpha": 1, **columns, **over})


def ferry(text: str, **over: Any) -> float:
    return scored("adapted_rouge_l", text, FERRY, question_types=["entity"], entities=[PIERS], **over)


def vanilla(text: str, reference: str) -> float:
    return scored("rouge_l", text, reference, tokeniser="words")


def scored(name: str, text: str, reference: str, **over: Any) -> float:
    return float(score(name, [text], [[reference]], rouge_beta=1, **over)[0])


def test_example_3_with_the_right_opinion() -> None:
    assert opening(OPENING_ANSWER, measure="precision") == 12 / 13
    assert opening(OPENING_ANSWER, measure="recall") == 12 / 18
    # Printed 0.78, which is the F of the rounded 0.92 and 0.67.
    assert round(opening(OPENING_ANSWER), 3) == 0.774
    # Printed 0.59, which leaves out the full stop that P and R count.
    assert round(vanilla(OPENING_ANSWER, OPENING), 3) == 0.632
    assert round(vanilla(OPENING_ANSWER[:-1], OPENING[:-1]), 3) == 0.588


def test_the_lead_over_an_answer_with_the_wrong_opinion() -> None:
    trivial = "No, the museum opens at Easter."
    assert opening(trivial, opinion="No") == vanilla(trivial, OPENING) == 0.5
    # Printed 0.28 and 0.09, from the rounded 0.78 and the 0.59 without the full stop.
    assert round(opening(OPENING_ANSWER) - 0.5, 3) == 0.274
    assert round(vanilla(OPENING_ANSWER, OPENING) - 0.5, 3) == 0.132


def test_example_4_with_its_entities() -> None:
    assert ferry(FERRY_ANSWER, measure="precision") == 11 / 21
    assert ferry(FERRY_ANSWER, measure="recall") == 11 / 18
    assert round(vanilla(FERRY_ANSWER, FERRY), 3) == 0.452
    assert round(ferry(FERRY_ANSWER), 3) == 0.564


def test_the_short_answer_that_the_bonus_puts_in_its_place() -> None:
    # Printed: 0.53 against 0.45 under the vanilla form; 0.533 is its adapted score.
    assert round(vanilla(SHORT_ANSWER, FERRY), 3) == 0.462
    assert round(vanilla(SHORT_ANSWER + ".", FERRY), 3) == 0.519
    assert round(ferry(SHORT_ANSWER), 3) == 0.533
    # The weight from which the answer with both entities leads, lost in the source.
    for short, low, high in ((SHORT_ANSWER, 0.18, 0.19), (SHORT_ANSWER + ".", 1.55, 1.57)):
        assert ferry(FERRY_ANSWER, beta=low) < ferry(short, beta=low)
        assert ferry(FERRY_ANSWER, beta=high) > ferry(short, beta=high)


def test_who_has_a_bonus_and_that_the_run_says_so() -> None:
    answers = Answers(
        candidates=["a b", "a b", "a b", "a b", "x", "Ann Lee", "Ann Lee", "Lee, Ann", "Ann Lee"],
        references=[["a c", "b d"]] * 5 + [["Ann"]] * 4,
        question_types=["yes-no"] * 5 + ["entity"] * 3 + ["description"],
        opinions=["Yes", "yes", "Depends", "", "Yes", "", "", "", ""],
        reference_opinions=[["No", "Yes"]] * 3 + [["", "Yes"], ["Yes", "Yes"]] + [[""]] * 4,
        entities=[["a"]] * 5 + [["Ann Lee", "Ann Lee", "Ann"], [], ["Ann Lee"], ["Ann Lee"]],
    )
    found = score_column(make("adapted_rouge_l", rouge_beta=1), answers)
    # Second reference: L 1, bonus 2: P = R = 3/4; entities "Ann Lee" once and "Ann": 3, so (1 + 3) / (2 + 3), 4 / 4.
    expected = [3 / 4, 3 / 4, 1 / 2, 1 / 2, 0, 8 / 9, 2 / 3, 1 / 2, 2 / 3]
    np.testing.assert_allclose(found.values, expected)
    assert found.notes == {"answers with an opinion bonus": 2, "answers with an entity bonus": 1}
    assert score_column(make("adapted_rouge_l", alpha=0), answers).notes["answers with an opinion bonus"] == 0


def test_without_labels_it_is_rouge_l_and_refuses_nothing() -> None:
    candidates, references = ["a b c", "d"], [["a c", "b"], ["d e"]]
    np.testing.assert_array_equal(
        score("adapted_rouge_l", candidates, references), score("rouge_l", candidates, references, tokeniser="words")
    )


@settings(max_examples=60, deadline=None)
@given(rows=columns, alpha=st.sampled_from([0, 0.5, 2]), beta=st.sampled_from([0, 0.5, 2]))
def test_a_bonus_never_lowers_a_score_and_one_count_serves_any_weight(
    rows: list[dict[str, Any]], alpha: float, beta: float
) -> None:
    answers = Answers(**{name: [row[name] for row in rows] for name in rows[0]})
    metric = make("adapted_rouge_l", alpha=alpha, beta=beta)
    adapted = score_column(metric, answers).values
    plain = score_column(make("rouge_l", tokeniser="words"), answers).values
    assert (adapted >= plain - 1e-12).all()
    assert (adapted <= 1 + 1e-12).all()
    has_type = np.isin(answers.question_types, ["yes-no", "entity"])
    np.testing.assert_array_equal(adapted[~has_type], plain[~has_type])
    np.testing.assert_array_equal(make("adapted_rouge_l").count_once(answers)(alpha=alpha, beta=beta), adapted)


def test_weights_are_numbers_from_zero() -> None:
    with pytest.raises(ValueError, match="alpha must be a number from 0 to 100"):
        make("adapted_rouge_l", alpha=-1)
