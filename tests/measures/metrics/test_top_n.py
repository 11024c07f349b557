"""Top-N accuracy: the blog post's example, and what it does with ties, gaps and empty columns."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from measures.metrics import score
from measures.metrics.top_n import TopN, top_n_accuracy
from measures.outcome import Undefined

NAN = float("nan")


def test_the_posts_example() -> None:
    # F1 of "Tony" against "Tony Stark" is 2/3 (0.5 in print): 1 at the threshold 0.5 either way, but 0 at 0.7.
    f1 = score("token_f1", ["Tony", "Pepper Potts", "Tony Stark"], [["Tony Stark"]] * 3)
    for n, threshold, accuracy in [(2, 0.5, 1), (2, 0.7, 0), (3, 0.7, 1), (1, 2 / 3, 1)]:
        found = top_n_accuracy(f1, ["who"] * 3, n=n, threshold=threshold, confidences=[0.9, 0.8, 0.1])
        assert found == TopN(accuracy=accuracy, n_questions=1, n_left_out=0)


def test_the_threshold_is_reached_by_itself() -> None:
    assert top_n_accuracy([0.5], ["q"], n=1, threshold=0.5, ranks=[1]) == TopN(accuracy=1, n_questions=1, n_left_out=0)


def test_ranks_rise_confidences_fall_and_ties_keep_their_order() -> None:
    for order in ({"ranks": [2, 1]}, {"confidences": [0.1, 0.2]}, {"ranks": [NAN, 4]}):
        found = top_n_accuracy([1, 0], ["q", "q"], n=1, threshold=1, **order)
        assert found == TopN(accuracy=0, n_questions=1, n_left_out=0)
    for order in ({"ranks": [1, 1]}, {"confidences": [0.5, 0.5]}):
        found = top_n_accuracy([1, 0], ["q", "q"], n=1, threshold=1, **order)
        assert found == TopN(accuracy=1, n_questions=1, n_left_out=0)


def test_an_answer_without_a_score_keeps_its_place() -> None:
    found = top_n_accuracy([NAN, 1, 1, 0], ["a", "a", "b", "c"], n=1, threshold=1, ranks=[1, 2, 1, 1])
    assert found == TopN(accuracy=0.5, n_questions=2, n_left_out=1)


def test_nothing_to_count_is_undefined() -> None:
    wanted = Undefined(reason="no question has a ranked answer with a score")
    assert top_n_accuracy([], [], n=1, threshold=1, ranks=[]) == wanted
    assert top_n_accuracy([NAN, 1], ["a", "b"], n=1, threshold=1, confidences=[1, NAN]) == wanted


def test_what_is_asked_for_must_fit() -> None:
    for over in ({"n": 0}, {"confidences": [1]}, {"ranks": None}, {"ranks": [1, 2]}):
        with pytest.raises(ValueError):
            top_n_accuracy([1], ["q"], **{"n": 1, "threshold": 1, "ranks": [1], **over})  # type: ignore[arg-type]


@given(st.lists(st.tuples(st.sampled_from("abc"), st.integers(0, 3), st.floats(0, 1)), min_size=1), st.integers(1, 4))
def test_it_says_what_sorting_each_question_says(rows: list[tuple[str, int, float]], n: int) -> None:
    questions, ranks, values = zip(*rows, strict=True)
    reached = [
        any(value >= 0.5 for _, _, value in sorted((row for row in rows if row[0] == name), key=lambda row: row[1])[:n])
        for name in set(questions)
    ]
    found = top_n_accuracy(values, questions, n=n, threshold=0.5, ranks=ranks)
    assert isinstance(found, TopN)
    assert found.accuracy == pytest.approx(np.mean(reached))
