"""Scoring a column: batches, refusals, progress, settings, and a metric from outside the package."""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
import pytest

from measures.metrics import (
    METRICS,
    Answers,
    MeanMetric,
    make,
    register,
    score,
    score_column,
    score_corpus,
    scoring,
    setting,
)
from measures.metrics.tokenising import MEANINGS, TOKENISERS
from measures.outcome import Undefined
from measures.patterns import Floats


@dataclass(frozen=True, kw_only=True)
class Length(MeanMetric):
    """How long an answer is, in characters."""

    high: ClassVar[float] = float("inf")
    batch_size: ClassVar[int] = 2
    per: int = setting(1, "characters that count as one", low=1, high=100)

    def score_each(self, answers: Answers) -> Floats:
        return np.array([len(text) / self.per for text in answers.candidates])


@dataclass(frozen=True, kw_only=True)
class LengthInUnits(Length):
    unit: str = setting("", "name of a character")


@pytest.fixture(autouse=True)
def registered() -> object:
    register("length", "Length", Length)
    yield
    del METRICS["length"]


@pytest.mark.parametrize("unit", [5, None, True, ["byte"]])
def test_a_setting_that_is_a_text_takes_nothing_else(unit: object) -> None:
    assert LengthInUnits(unit="byte").settings()["unit"] == "byte"
    with pytest.raises(ValueError, match="unit must be a text, not "):
        LengthInUnits(unit=unit)  # type: ignore[arg-type]


def test_a_metric_from_outside_scores_in_batches_and_tells_progress() -> None:
    reported: list[tuple[int, int]] = []
    answers = Answers(candidates=["a", "bb", "", "dddd", "e"], references=[["x"], ["x"], ["x"], [], ["x"]])
    found = score_column(make("length"), answers, lambda done, total: reported.append((done, total)))
    np.testing.assert_array_equal(found.values, [1, 2, 0, np.nan, 1])
    assert found.reasons == ("", "", "", "no reference", "")
    assert reported == [(0, 4), (2, 4), (4, 4)]
    assert found.over() == 1.0
    assert found.over([1, 3]) == 2.0
    assert found.over([3]) == Undefined(reason="no answer could be scored")


def test_long_texts_make_small_batches(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(scoring, "BATCH_CHARACTERS", 5)
    monkeypatch.setattr(Length, "batch_size", 3)
    reported: list[int] = []
    answers = Answers(candidates=["a", "a", "a", "a" * 9, "a", "aa"], references=[["x"]] * 6)
    found = score_column(make("length"), answers, lambda done, _total: reported.append(done))
    assert reported == [0, 2, 3, 4, 6]
    np.testing.assert_array_equal(found.values, [1, 1, 1, 9, 1, 2])


def test_a_cancel_stops_between_two_batches() -> None:
    class Stop(Exception):
        pass

    def on_progress(done: int, _total: int) -> None:
        if done:
            raise Stop

    with pytest.raises(Stop):
        score_column(make("length"), Answers(candidates=["a"] * 5, references=[["x"]] * 5), on_progress)


def test_settings_are_checked_and_listed() -> None:
    assert make("length", per=2).settings() == {"against": "all", "per": 2}
    for settings in ({"per": 0}, {"per": True}, {"per": "2"}, {"pre": 2}):
        with pytest.raises(ValueError, match="per"):
            make("length", **settings)
    with pytest.raises(ValueError, match="no metric “lenght”"):
        make("lenght")
    with pytest.raises(ValueError, match="already"):
        register("exact_match", "Mine", Length)


def test_every_tokeniser_has_a_meaning() -> None:
    assert MEANINGS.keys() == TOKENISERS.keys()
    reported = {each.name: each.metadata["meanings"] for each in METRICS["bleu_4"].settings()}
    assert reported["tokeniser"] == MEANINGS
    assert reported["effective_order"] == {}


def test_columns_must_fit() -> None:
    with pytest.raises(ValueError, match="references has 1 rows, candidates 2"):
        score("exact_match", ["a", "b"], [["a"]])
    with pytest.raises(TypeError, match="list of texts"):
        score("exact_match", ["a", "b"], ["a", "b"])
    assert score("exact_match", [], []).shape == (0,)
    assert isinstance(score_corpus("exact_match", [], []), Undefined)
    values, reasons = score("exact_match", ["a", "b"], [["a"], []], with_reasons=True, tokeniser="spaces")
    assert reasons == ("", "no reference")
    np.testing.assert_array_equal(values, [1, np.nan])


def test_an_answer_may_be_compared_with_the_references_that_are_not_itself() -> None:
    texts = ["a cat", "a dog", "the dog"]
    references = [["a cat ", "a dog", "the cat"], ["the dog", "a dog"], ["the dog"]]
    opinions = [["Yes", "No", "Yes"], ["Yes", "No"], ["No"]]
    kept = Answers(candidates=texts, references=references, reference_opinions=opinions).against("others")
    assert kept.references == [["a dog", "the cat"], ["the dog"], []]
    assert kept.reference_opinions == [["No", "Yes"], ["Yes"], []]
    by = {which: score("exact_match", texts, references, against=which) for which in ("all", "others", "first")}
    np.testing.assert_array_equal(by["all"], [1, 1, 1])
    np.testing.assert_array_equal(by["others"], [1, 1, np.nan])
    np.testing.assert_array_equal(by["first"], [0, 1, np.nan])


def test_a_metric_that_gives_too_few_scores_is_named() -> None:
    class Short(Length):
        def score_each(self, answers: Answers) -> Floats:
            return super().score_each(answers)[1:]

    with pytest.raises(ValueError, match=r"Short gave scores of the shape \(1,\) for 2 answers"):
        Short().count(Answers(candidates=["a", "bc"]))
