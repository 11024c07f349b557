"""The rows, inputs and plans of LERC, without torch."""

import doctest
from dataclasses import replace
from itertools import pairwise
from types import ModuleType

import numpy as np
import pytest

from measures.neural.lerc import inputs, judging, metric, rows, seen, settings, variants
from measures.neural.lerc.inputs import SEGMENTS, Layout, choose_inputs, count_kept_tokens, lay_out
from measures.neural.lerc.judging import judge, score_words
from measures.neural.lerc.rows import Choice, Row, augment, keep_share, split_passages, toss
from measures.neural.lerc.seen import TRAINING, TUNING, Seen
from measures.neural.lerc.settings import Run, Settings, choose_rate, choose_seed
from measures.neural.lerc.variants import ABLATIONS, TablePlan, list_variants

LAYOUT = Layout(start=101, separator=102, pad=0, max_length=12, has_types=True)


def make_row(number: int = 1, **over: object) -> Row:
    texts = {"passage": "p", "question": f"q{number}", "reference": "a b", "candidate": "a", "score": 3.0}
    named = {"key": str(number), "dataset": "d", "group": str(number), "split": "train"}
    return Row(**{**named, **texts, **over})  # type: ignore[arg-type]


def pairs(rows: list[Row]) -> list[tuple[str, str, float]]:
    return [(row.reference, row.candidate, row.score) for row in rows]


@pytest.mark.parametrize(
    "module", [inputs, variants, rows, seen, settings, judging, metric], ids=lambda each: each.__name__
)
def test_the_examples_run(module: ModuleType) -> None:
    assert doctest.testmod(module).failed == 0


def test_rows_are_added_as_the_released_code_adds_them() -> None:
    first = make_row()
    # A new question brings its reference as an answer, whatever the passage; a known one brings nothing.
    assert pairs(augment([first, make_row(question="q1", group="other")])) == [
        ("a b", "a", 3.0), ("a b", "a b", 5.0), ("a b", "a", 3.0),
    ]  # fmt: skip
    # The same question in another dataset is new there.
    assert len(augment([first, replace(first, dataset="e")])) == 4
    # A score of exactly 5 swaps the two texts; 4.99 does not.
    assert pairs(augment([make_row(score=5.0)]))[2:] == [("a", "a b", 5.0)]
    assert len(augment([make_row(score=4.99)])) == 2
    # An answer like its reference gives the row of two equal texts twice.
    assert pairs(augment([make_row(score=5.0, candidate="a b")])) == [("a b", "a b", 5.0)] * 3
    # Order of the file, each row followed by its own.
    assert [row.question for row in augment([make_row(1), make_row(2)])] == ["q1", "q1", "q2", "q2"]
    assert augment([]) == []


def test_segments_are_typed_and_dropped_with_their_separator() -> None:
    parts = [(name, np.array([at], np.int32)) for at, name in enumerate(SEGMENTS)]
    ids, types = lay_out(parts, LAYOUT)
    assert ids.tolist() == [101, 0, 102, 1, 102, 2, 102, 3, 102]
    assert types.tolist() == [0, 0, 0, 0, 0, 1, 1, 1, 1]
    ids, types = lay_out(parts[2:], LAYOUT)
    assert (ids.tolist(), types.tolist()) == ([101, 2, 102, 3, 102], [0, 1, 1, 1, 1])
    # An empty text keeps its separator: the places of the others do not move.
    assert lay_out([("reference", np.zeros(0, np.int32)), parts[3]], LAYOUT)[0].tolist() == [101, 102, 3, 102]


def test_the_passage_is_cut_first_and_nothing_is_longer_than_the_limit() -> None:
    long = np.arange(50, dtype=np.int32)
    ids, _types = lay_out([("passage", long), ("question", long[:2]), ("candidate", long[:3])], LAYOUT)
    assert ids.tolist() == [101, 0, 1, 2, 102, 0, 1, 102, 0, 1, 2, 102]
    ids, _types = lay_out([("passage", long), ("reference", long), ("candidate", long[:3])], LAYOUT)
    assert ids.tolist() == [101, 102, 0, 1, 2, 3, 4, 102, 0, 1, 2, 102]
    assert count_kept_tokens({"reference": 9, "candidate": 9}, 7) in (
        {"reference": 3, "candidate": 4},
        {"reference": 4, "candidate": 3},
    )
    assert sum(count_kept_tokens({"reference": 3, "candidate": 3}, -1).values()) == 0


def test_a_held_out_dataset_leaves_training_and_tuning() -> None:
    rows = [make_row(n, dataset="ab"[n % 2], split=("train", "dev", "test")[n // 2 % 3]) for n in range(12)]
    for variant in list_variants(TablePlan.OOD, ["a", "b"]):
        parts = variant.part(rows, seed=1)
        assert {row.dataset for row in [*parts.train, *parts.dev]} == {"a", "b"} - {variant.held_out}
        assert {row.dataset for row in parts.test} == {variant.held_out}
        assert {row.split for row in parts.test} == {"dev", "test"}
    (every,) = list_variants(TablePlan.ALL, ["a", "b"])
    parts = every.part(rows, seed=1)
    assert [len(each) for each in (parts.train, parts.dev, parts.test)] == [4, 4, 4]
    with pytest.raises(ValueError, match="two or more datasets"):
        list_variants(TablePlan.OOD, ["a"])
    with pytest.raises(ValueError, match="no dataset “c”"):
        list_variants(TablePlan.ALL, ["a", "b"], held_out="c")


def test_plans_name_their_inputs_and_shares_and_greater_shares_contain_smaller_ones() -> None:
    assert [each.inputs for each in list_variants(TablePlan.ABLATIONS, ["d"])] == list(ABLATIONS)
    rows = [make_row(n, group=str(n // 2)) for n in range(40)]
    kept = [variant.part(rows, seed=3).train for variant in list_variants(TablePlan.LEARNING_CURVE, ["d"])]
    assert [len(each) for each in kept] == [4, 10, 20, 30, 40]
    keys = [{row.key for row in each} for each in kept]
    assert all(smaller <= greater for smaller, greater in pairwise(keys))
    assert len(keep_share(rows, 0.001, seed=1)) == 2, "at least one passage"


def test_passages_are_split_whole_and_each_part_has_one() -> None:
    rows = [make_row(n, group=str(n // 4), dataset="ab"[n % 2]) for n in range(80)]
    found = split_passages(rows, seed=5)
    assert found == split_passages(rows, seed=5) != split_passages(rows, seed=6)
    by_passage: dict[tuple[str, str], set[str]] = {}
    for row in found:
        by_passage.setdefault((row.dataset, row.group), set()).add(row.split)
    assert all(len(splits) == 1 for splits in by_passage.values())
    few = split_passages([make_row(n) for n in range(3)], seed=1)
    assert sorted(row.split for row in few) == ["dev", "test", "train"]


def test_a_coin_orders_the_answers_of_the_three_way_task() -> None:
    rows = [Choice(passage="p", question="q", answer_1="right", answer_2="wrong", label=0)] * 200
    tossed = toss([*rows, replace(rows[0], label=2)], seed=1)
    assert {(row.answer_1, row.label) for row in tossed[:-1]} == {("right", 0), ("wrong", 1)}
    assert 70 < sum(row.label for row in tossed[:-1]) < 130
    assert tossed[-1].label == 2, "both are right in either order"


def test_the_rate_is_chosen_by_the_mean_over_seeds() -> None:
    runs = [Run(1e-5, 1, scores=[0.2, 0.6], best=1), Run(1e-5, 2, scores=[0.4]), Run(2e-5, 1, scores=[0.5]),
            Run(2e-5, 2, scores=[0.5]), Run(3e-5, 1, scores=[0.9]), Run(3e-5, 2, scores=[None])]  # fmt: skip
    assert choose_rate(runs) == 1e-5, "of equal means the smaller; an undefined one counts as the lowest"
    assert choose_seed(runs, 1e-5) == 1


def test_settings_are_checked_and_survive_storing() -> None:
    settings = Settings(inputs=("candidate", "reference"), rates=(3e-5, 1e-5), seeds=(7,))
    assert (settings.inputs, settings.rates) == (("reference", "candidate"), (1e-5, 3e-5))
    assert Settings.from_dict(settings.as_dict()) == settings
    for wrong in ({"rates": ()}, {"rates": (2.0,)}, {"seeds": (-1,)}, {"epochs": 0}, {"max_length": 4096},
                  {"inputs": ("passage",)}, {"seeds": tuple(range(99))}):  # fmt: skip
        with pytest.raises(ValueError):
            Settings(**wrong)
    with pytest.raises(ValueError, match="is no input"):
        choose_inputs(["candidate", "title"])


def test_seen_answers_are_known_by_question_and_text() -> None:
    seen = Seen.from_dict(Seen.of([make_row(1)], [make_row(2)]).as_dict())
    assert seen.find("p", "q1", " a ") == TRAINING
    assert seen.find("p", "q2", "a") == TUNING
    assert seen.find("p", "q1", "b") == seen.find("p", "q3", "a") == seen.find("", "q1", "a") == ""


def test_a_trained_metric_is_judged_beside_words_on_the_same_answers() -> None:
    rng = np.random.default_rng(1)
    rows = [
        make_row(n, dataset="ab"[n % 2], group=str(n // 4), source="xy"[n // 2 % 2], score=float(rng.integers(1, 6)))
        for n in range(60)
    ]
    gold = np.array([row.score for row in rows])
    own = gold + rng.normal(0, 0.5, len(rows))
    own[0] = np.nan
    figures = judge(rows, {"LERC": own, "noise": rng.normal(size=60)}, seed=1, n_resamples=100)
    assert (figures.n_left_out, figures.whole.n) == (1, 59)
    assert figures.whole.metrics["LERC"].value == pytest.approx(np.corrcoef(gold[1:], own[1:])[0, 1])
    assert [part.names for part in figures.datasets] == [("a",), ("b",)]
    assert [part.names for part in figures.sources] == [("a", "x"), ("a", "y"), ("b", "x"), ("b", "y")]
    parts = [part.metrics["LERC"].value for part in figures.datasets]
    assert figures.means["LERC"].value == pytest.approx(np.mean(parts))  # type: ignore[arg-type]
    words = score_words([make_row(candidate="a b"), make_row(candidate="c")])
    assert words["rouge_l"].tolist() == [1.0, 0.0]
