"""The counting part of an overlap plan, which knows no database."""

from functools import partial
from math import ceil

import pytest

from annotate.batches.costs import Rates, price
from annotate.batches.creating import cut
from annotate.batches.selection import Row
from annotate.batches.workload import Basis, Redone, Texts, Work
from annotate.planning.overlap import (
    MOCHA,
    Coverage,
    MissingJudgments,
    OpenHit,
    Rule,
    compute_missing,
    count_judgments_wanted,
    read_rules,
    write_rules,
)
from annotate.rating.pace import Pace
from measures.outcome import Undefined
from projects.errors import Refused

SPLITS = ("train", "dev", "test")
TABLE_2 = {
    "NarrativeQA": ("generative", (85, 11, 18), (7_471, 890, 1_707)),
    "MCScript": ("generative", (462, 61, 93), (7_210, 978, 1_409)),
    "CosmosQA": ("generative", (1_064, 142, 212), (5_033, 683, 1_017)),
    "SocialIQA": ("generative", (3_075, 414, 611), (7_409, 1_017, 1_527)),
    "DROP": ("span", (80, 10, 17), (687, 97, 152)),
    "Quoref": ("span", (184, 24, 38), (3_259, 344, 509)),
}
"""Kind, passages and candidates by split, as in table 2 of Chen et al. (2020)."""


def make_coverage(
    candidate: int, *, passage: int = 1, kind: str = "generative", split: str = "dev", **over: int
) -> Coverage:
    return Coverage(Row(candidate, candidate, passage, "data", True), kind=kind, split=split, **over)  # type: ignore[arg-type]


def compute(
    coverage: list[Coverage], rules: tuple[Rule, ...] = MOCHA, hits: list[OpenHit] | None = None
) -> MissingJudgments:
    return compute_missing(coverage, hits or [], rules, partial(cut, hit_size=10))


def table_2() -> list[Coverage]:
    """Table 2's candidates, spread evenly over its passages."""
    coverage: list[Coverage] = []
    passage = 0
    for kind, passages, candidates in TABLE_2.values():
        for split, n_passages, n_candidates in zip(SPLITS, passages, candidates, strict=True):
            for here in range(n_passages):
                n = n_candidates // n_passages + (here < n_candidates % n_passages)
                coverage += [
                    make_coverage(len(coverage) + i, passage=passage, kind=kind, split=split) for i in range(n)
                ]
                passage += 1
    return coverage


def test_mochas_table_needs_60957_judgments_and_about_6000_dollars() -> None:
    found = compute(table_2())
    missing = {split: sum(line.n_missing for line in found.lines if line.split == split) for split in SPLITS}
    assert sum(line.n_candidates for line in found.lines) == 41_399
    assert missing == {"train": 31_069, "dev": 11_586, "test": 18_302}
    assert found.n_judgments == sum(line.n_planned for line in found.lines) == 60_957
    assert {part.judgments: part.n_candidates for part in found.parts} == {3: 9_228, 2: 1_102, 1: 31_069}
    # A passage is cut whole here; compute with average passages, three more assignments are needed.
    assert found.n_assignments == 12_473
    by_average = sum(
        n_passages * ceil(n / n_passages / 10) * (1 if split == "train" else 2 if kind == "span" else 3)
        for kind, passages, candidates in TABLE_2.values()
        for split, n_passages, n in zip(SPLITS, passages, candidates, strict=True)
    )
    assert by_average == 12_476
    cost = price(
        Work.of_mean_size(by_average, 60_957, Texts()),
        rates=Rates(hit_size=10, cents_per_hit=40, cents_per_item=0, fee_share=0.2),
        basis=Basis(Pace(), Redone(Undefined(reason="nothing was submitted yet")), 100),
        n_annotators=100,
    )
    assert round(cost.cents / 100) == 5_988


def test_what_was_had_or_is_coming_is_not_missing_and_more_than_planned_stays() -> None:
    coverage = [
        make_coverage(1),
        make_coverage(2, n_had=1),
        make_coverage(3, n_had=1, n_coming=1),
        make_coverage(4, n_had=5),
        make_coverage(5, n_coming=3),
    ]
    found = compute(coverage)
    assert [(part.judgments, [row.candidate for row in part.rows]) for part in found.parts] == [
        (3, [1]),
        (2, [2]),
        (1, [3]),
    ]
    assert (found.lines[0].n_had, found.lines[0].n_coming, found.lines[0].n_missing) == (7, 4, 6)


def test_hits_are_raised_by_what_all_their_candidates_miss_and_a_batch_brings_the_rest() -> None:
    coverage = [
        make_coverage(1, n_had=1),
        make_coverage(2, n_had=1),
        make_coverage(3, n_had=2),
        make_coverage(4, n_had=2),
        make_coverage(5, n_had=3),
    ]
    hits = [OpenHit(11, 7, 1, (1, 3)), OpenHit(12, 7, 1, (4, 5)), OpenHit(13, 8, 4, (2,)), OpenHit(14, 8, 1, ())]
    found = compute(coverage, hits=hits)
    assert [(each.batch_id, each.hits, each.n_places, each.n_judgments) for each in found.top_ups] == [
        (7, {2: [11]}, 1, 2),
        (8, {6: [13]}, 2, 2),
    ]
    assert [(part.judgments, [row.candidate for row in part.rows]) for part in found.parts] == [(1, [1, 4])]
    assert found.n_judgments == found.lines[0].n_missing == 6


def test_what_is_left_to_the_trial_and_what_no_rule_names_is_not_planned() -> None:
    coverage = [
        make_coverage(1, is_left_out=True),
        make_coverage(2, split="other"),
        make_coverage(3, kind="span", split="other"),
    ]
    found = compute(coverage)
    assert found.parts == []
    assert found.n_without_rule == 2
    assert [line.n_left_out for line in found.lines if line.kind == "generative"] == [1, 0]


@pytest.mark.parametrize(
    "stored",
    [
        {"kind": "span", "split": "dev"},
        {"kind": "span", "split": None, "judgments": 1},
        {"kind": "span", "split": "dev", "judgments": -1},
        {"kind": "span", "split": "dev", "judgments": 1_001},
        {"kind": "span", "split": "dev", "judgments": True},
        {"kind": "span", "split": "dev", "judgments": "3"},
    ],
)
def test_rules_that_cannot_be_are_refused(stored: dict[str, object]) -> None:
    with pytest.raises(Refused):
        read_rules([stored])


def test_rules_come_back_as_they_were_written() -> None:
    assert read_rules(write_rules(MOCHA)) == MOCHA


def test_a_plan_divides_by_question_type_only_if_a_rule_names_one() -> None:
    coverage = [make_coverage(n, passage=n, type=type_) for n, type_ in enumerate(("yes-no", "yes-no", "entity", ""))]  # type: ignore[arg-type]
    whole = compute(coverage, (Rule("*", "dev", 2),))
    assert [(line.type, line.n_missing, line.type_label) for line in whole.lines] == [("*", 8, "")]
    assert not whole.is_by_type
    rules = (Rule("*", "dev", 3, "yes-no"), Rule("*", "dev", 1, ""))
    found = compute(coverage, rules)
    assert [(line.type, line.judgments, line.n_missing) for line in found.lines] == [
        ("", 1, 1),
        ("entity", None, 0),
        ("yes-no", 3, 6),
    ]
    assert (found.is_by_type, found.n_without_rule, found.n_judgments) == (True, 1, 7)
    assert read_rules(write_rules(rules)) == rules
    assert write_rules((Rule("*", "dev", 2),)) == [{"kind": "*", "split": "dev", "judgments": 2}]
    with pytest.raises(Refused, match="“riddle” is not a question type"):
        read_rules([{"kind": "*", "split": "dev", "judgments": 2, "type": "riddle"}])


def test_mochas_preset_has_a_number_for_generated_questions() -> None:
    assert [count_judgments_wanted(MOCHA, "question_generation", split, "*") for split in SPLITS] == [1, 3, 3]
