"""ROUGE against worked examples, the packages rouge-score and rouge-metric, and what must hold of any texts."""

import os
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from rouge_metric import PyRouge
from rouge_score.rouge_scorer import RougeScorer

from measures.metrics import METRICS, Answers, make, score, score_column, score_corpus
from measures.metrics.rouge_n import POLICIES
from measures.metrics.subsequences import find_positions, lcs_length

SQUALITY = os.environ.get("SQUALITY_DIR", "")
ROUGE = ("rouge_1", "rouge_2", "rouge_su4", "rouge_l", "adapted_rouge_l")

words = st.lists(st.sampled_from(["a", "b", "c", "Cats", "cat", "running"]), min_size=1, max_size=9)
texts = words.map(" ".join)
rows = st.lists(st.tuples(texts, st.lists(texts, min_size=1, max_size=4)), min_size=1, max_size=5)
none: dict[str, Any] = {}
Rows = list[tuple[str, list[str]]]


def columns(rows: Rows) -> tuple[list[str], list[list[str]]]:
    return [candidate for candidate, _ in rows], [references for _, references in rows]


@pytest.mark.parametrize(
    ("candidate", "policy", "recall"),
    [
        ("a b", "max", 1),
        ("a b", "pooled", 0.5),
        ("a b", "per_reference", 0.75),
        ("a b a b", "max", 1),
        ("a b a b", "pooled", 0.75),
        ("a b a b", "per_reference", 0.75),
    ],
)
def test_only_pooling_pays_for_saying_it_twice(candidate: str, policy: str, recall: float) -> None:
    assert score("rouge_1", [candidate], [["a b", "a c"]], policy=policy, measure="recall").tolist() == [recall]


def test_precision_and_f1_of_each_policy() -> None:
    def both(policy: str) -> list[float]:
        return [
            score("rouge_1", ["a b a b"], [["a b", "a c"]], policy=policy, measure=measure).item()
            for measure in ("precision", "f1")
        ]

    np.testing.assert_allclose(both("max"), [2 / 4, 2 * 2 / 6])
    np.testing.assert_allclose(both("pooled"), [3 / 4, 2 * 3 / 8])
    np.testing.assert_allclose(both("per_reference"), [3 / 8, 2 * 3 / 12])


def test_skip_bigrams_span_four_words_and_no_more() -> None:
    # In common beside a and b themselves: the pair, where no more than four words are between the two.
    far = score("rouge_su4", ["a x x x x b", "a x x x x x b"], [["a b"]] * 2, measure="recall")
    np.testing.assert_allclose(far, [3 / 3, 2 / 3])
    # Units of "x c": x, c, xc; ROUGE-1.5.5 leaves out the last word c of each text.
    found = [score("rouge_su4", ["a b c"], [["x c"]], unigrams=each, measure="recall") for each in ("all", "rouge155")]
    np.testing.assert_allclose(np.concatenate(found), [1 / 3, 0])


@settings(max_examples=60, deadline=None)
@given(rows=rows, stem=st.booleans())
def test_the_same_as_rouge_score(rows: Rows, stem: bool) -> None:
    candidates, references = columns(rows)
    scorer = RougeScorer(["rouge1", "rouge2", "rougeL"], use_stemmer=stem)
    found = [scorer.score_multi(targets, text) for text, targets in zip(candidates, references, strict=True)]
    for name, theirs, more in (
        ("rouge_1", "rouge1", none),
        ("rouge_2", "rouge2", none),
        ("rouge_l", "rougeL", {"aggregation": "best", "rouge_beta": 1}),
    ):
        expected = [each[theirs].fmeasure for each in found]
        np.testing.assert_allclose(score(name, candidates, references, stem=stem, **more), expected, rtol=0, atol=1e-9)


@settings(max_examples=60, deadline=None)
@given(rows=rows)
def test_the_same_as_rouge_metric(rows: Rows) -> None:
    candidates, references = columns(rows)
    for mode, policy in (("best", "max"), ("average", "per_reference")):
        oracle = PyRouge(
            rouge_n=(1, 2), rouge_l=False, rouge_su=True, skip_gap=4, multi_ref_mode=mode, mode="individual"
        )
        found = oracle.evaluate(candidates, references)
        for name in ("rouge_1", "rouge_2", "rouge_su4"):
            theirs, more = name.replace("_", "-"), {"unigrams": "rouge155"} if name == "rouge_su4" else none
            # Its `best` reference is that of the highest recall, so only recall is comparable there.
            for measure, key in (("recall", "r"), ("precision", "p"), ("f1", "f"))[: 1 if mode == "best" else 3]:
                ours = score(name, candidates, references, tokeniser="spaces", policy=policy, measure=measure, **more)
                np.testing.assert_allclose(ours, [each[theirs][key] for each in found], rtol=0, atol=1e-9)


@given(mine=words, theirs=words)
def test_bits_give_the_length_that_the_table_gives(mine: list[str], theirs: list[str]) -> None:
    table = np.zeros((len(mine) + 1, len(theirs) + 1), dtype=int)
    for row, column in product(range(len(mine)), range(len(theirs))):
        table[row + 1, column + 1] = (
            table[row, column] + 1
            if mine[row] == theirs[column]
            else max(table[row, column + 1], table[row + 1, column])
        )
    assert lcs_length(mine, find_positions(theirs)) == table[-1, -1] == lcs_length(theirs, find_positions(mine))
    assert lcs_length(mine * 50, find_positions(mine * 50)) == len(mine) * 50


@settings(deadline=None)
@given(rows=rows)
def test_what_holds_of_any_texts(rows: Rows) -> None:
    candidates, references = columns(rows)
    for name in ROUGE:
        own: list[dict[str, Any]] = [{}] if name.endswith("_l") else [{"policy": policy} for policy in POLICIES]
        for more in own:
            values = score(name, candidates, references, **more)
            assert ((values >= 0) & (values <= 1)).all()
            turned = score(name, candidates, [texts[::-1] for texts in references], **more)
            np.testing.assert_array_equal(values, turned)
        alone = score(name, candidates, [[text] for text in candidates])
        is_long_enough = np.array([name != "rouge_2" or " " in text for text in candidates])
        np.testing.assert_allclose(alone[is_long_enough], 1)
    for name in ("rouge_1", "rouge_2", "rouge_su4"):
        pooled, each, most = (
            score(name, candidates, references, policy=policy, measure="recall")
            for policy in ("pooled", "per_reference", "max")
        )
        assert (pooled <= each).all()
        assert (each <= most + 1e-12).all()
        f1 = [score(name, candidates, references, policy=policy) for policy in ("per_reference", "max")]
        assert (f1[0] <= f1[1] + 1e-12).all()
    separate, best = (score("rouge_l", candidates, references, aggregation=each) for each in ("separate", "best"))
    assert (separate >= best - 1e-12).all()


def test_the_two_ways_to_join_references_differ_where_p_and_r_come_from_different_ones() -> None:
    # Against "a b c d" P = 1, R = 1/2; against "a" P = 1/2, R = 1: each for itself they are both 1.
    assert score("rouge_l", ["a b"], [["a b c d", "a"]], rouge_beta=1).item() == 1
    assert score("rouge_l", ["a b"], [["a b c d", "a"]], rouge_beta=1, aggregation="best").item() == pytest.approx(
        2 / 3
    )


def test_one_word_of_fifteen_as_in_figure_1_of_mocha() -> None:
    # The printed 0.15 (and BLEU-1 of 0.07) need 15 words, 14 give 0.158: "what 's" or the full stop was one by itself.
    fifteen = "two men who were out in a boat saw how lights went out at night."
    fourteen = fifteen.replace(" out at", " at")
    assert (len(fifteen.split()), len(fourteen.split())) == (15, 14)
    values = score("rouge_l", [fifteen, fourteen], [["boat."]] * 2, tokeniser="mocha", rouge_beta=1.2)
    assert values.round(3).tolist() == [0.148, 0.158]


def test_a_question_cut_to_its_end_as_in_qascore() -> None:
    # P = 3/3, R = 3/6: with the question mark, a word by itself, it would be less than half.
    asked = [["What is the address of DCU?"]]
    found = score("rouge_l", ["address of DCU"], asked, tokeniser="mocha", measure="recall").item()
    assert found == 0.5
    assert score("rouge_l", ["address of DCU"], asked, tokeniser="mocha").item() == pytest.approx(0.6289, abs=5e-5)
    assert score("rouge_l", ["address of DCU"], asked, tokeniser="words", measure="recall").item() == 3 / 7


def test_texts_that_the_tokeniser_cannot_see_are_refused() -> None:
    candidates = ["都柏林", "Dublin", "Dublin", "Dublin", "?!", "Dublin"]
    references = [["Dublin"], ["Dublin", "都柏林"], [], ["都柏林大学"], ["Dublin"], ["…"]]
    values, reasons = score("rouge_l", candidates, references, with_reasons=True)
    np.testing.assert_array_equal(values, [np.nan, 1, np.nan, np.nan, 0, np.nan])
    assert reasons[0] == "the tokeniser “alnum” finds no word in the answer"
    assert reasons[3] == "the tokeniser “alnum” finds no word in a reference"
    assert (reasons[2], reasons[5]) == ("no reference", "no reference has a word")
    assert score("rouge_l", ["都柏林"], [["都柏林大学"]], tokeniser="characters", measure="recall").item() == 0.6


@pytest.mark.parametrize("name", ROUGE)
def test_a_reference_that_the_tokeniser_cannot_see_is_left_out_and_counted(name: str) -> None:
    """It would be a reference with which no answer has anything in common, and lower the mean over references."""
    candidates = ["the old bridge", "a b"]
    with_one, without = [["old bridge", "旧桥"], ["a c"]], [["old bridge"], ["a c"]]
    for policy in ("max", "per_reference", "pooled"):
        metric = make(name, tokeniser="alnum", **({} if name.endswith("_l") else {"policy": policy}))
        found = score_column(metric, Answers(candidates=candidates, references=with_one))
        wanted = score_column(metric, Answers(candidates=candidates, references=without))
        np.testing.assert_array_equal(found.values, wanted.values)
        assert found.notes == {**wanted.notes, "answers with a reference in another script": 1}


def test_nothing_scores_nothing_and_short_texts_have_no_bigram() -> None:
    for name in ROUGE:
        assert score(name, [], []).shape == (0,)
        assert score(name, ["", "?"], [["a b"], ["a", ""]]).tolist() == [0, 0]
    assert score("rouge_2", ["yes"], [["yes"]]).item() == 0
    assert score_corpus("rouge_1", ["a", "b"], [["a"], ["a"]]) == 0.5


def test_names_hold_their_n() -> None:
    assert (make("rouge_1").n, make("rouge_2").n) == (1, 2)  # type: ignore[attr-defined]
    assert {each.name for each in METRICS["rouge_2"].settings()} == {
        "against",
        "tokeniser",
        "stem",
        "policy",
        "measure",
    }
    assert make("rouge_2", stem=True).tokenisation == "alnum, Porter stems"
    # A run is known by its settings as JSON, where 1 and 1.0 differ.
    assert repr(make("rouge_l", rouge_beta=1).settings()["rouge_beta"]) == "1.0"


@pytest.mark.skipif(not SQUALITY, reason="SQUALITY_DIR does not name the folder of the SQuALITY ratings")
def test_rouge_l_of_the_squality_answers_follows_people_as_its_readme_says() -> None:
    items = pd.read_json(Path(SQUALITY) / "items.jsonl", lines=True).set_index("item_id")
    gold = pd.read_csv(Path(SQUALITY) / "ratings.csv").groupby("item_id")["correctness_1to5"].mean()
    values = score(
        "rouge_l",
        items["candidate"].tolist(),
        [texts[:1] for texts in items["references"]],
        aggregation="best",
        rouge_beta=1,
    )
    found = pd.DataFrame({"metric": pd.Series(values, index=items.index), "people": gold})
    assert round(found["metric"].corr(found["people"]), 3) == 0.399
    assert round(found["metric"].corr(found["people"], method="spearman"), 3) == 0.374
