"""Filters and options: what is left out, turned round, and counted."""

import doctest
import json

import pytest

from projects.importing import filters
from tests.projects.importing.conftest import Desk, write_csv


def test_the_examples_hold() -> None:
    assert doctest.testmod(filters).attempted >= 4
    assert doctest.testmod(filters).failed == 0


def test_candidates_equal_to_a_reference_are_left_out_and_counted(desk: Desk) -> None:
    content = write_csv("a,P,Q,The cat.,The cat.", "b,P,Q,The cat.,a CAT", "c,P,Q,The cat.,dog")
    assert desk.check(content).report.candidates == 3
    exact = desk.check(content, drop_equal="exact").report
    assert (exact.candidates, exact.removed["equal_to_reference"]) == (2, 1)
    normal = desk.check(content, drop_equal="normalised").report
    assert (normal.candidates, normal.removed["equal_to_reference"]) == (1, 2)


def test_any_reference_of_the_row_counts(desk: Desk) -> None:
    header = "id,question,candidate,reference,reference_2\n"
    report = desk.check(write_csv("a,Q,two,one,two", "b,Q,three,one,two", header=header), drop_equal="exact").report
    assert report.removed["equal_to_reference"] == 1


def test_both_numbers_are_left_out_in_the_datasets_named(desk: Desk) -> None:
    header = "id,dataset,question,reference,candidate\n"
    rows = ('a,drop,Q,"1,000",-3.5%', "b,drop,Q,2 yards,3", "c,other,Q,1,2")
    content = write_csv(*rows, header=header)
    named = desk.check(content, drop_numbers=("drop",)).report
    assert (named.removed["both_numbers"], named.candidates) == (1, 2)
    assert named.by_dataset["other"]["candidates"] == 1
    assert desk.check(content, drop_numbers=("*",)).report.removed["both_numbers"] == 2


def test_nothing_left_after_the_filters_is_refused(desk: Desk) -> None:
    assert "match the filters" in desk.reason(write_csv("a,P,Q,R,R"), drop_equal="exact")


def test_a_second_reference_with_little_overlap_becomes_a_candidate(desk: Desk) -> None:
    header = "id,question_id,question,candidate,reference,reference_2,reference_3\n"
    content = write_csv("a,q1,Q,C,the old house,the old houses,a new boat", header=header)
    checked = desk.check(content, second_reference_below=0.3)
    assert desk.texts(checked, "text", "references") == ["the old house", "the old houses"]
    assert desk.texts(checked, "text") == ["a new boat", "C"]
    assert desk.texts(checked, "external_id") == ["q1-reference-3", "a"]
    assert checked.report.made == {"second_reference": 1}


def test_with_second_references_a_file_needs_no_candidates(desk: Desk) -> None:
    content = write_csv("Q,red,blue", "Q2,red,red car", header="question,reference,reference_2\n")
    checked = desk.check(content, second_reference_below=0.3)
    assert desk.texts(checked, "text") == ["blue"]
    assert checked.report.questions == 2


@pytest.mark.parametrize("choice", ["B", "b", 1, "1", "blue"])
def test_multiple_choice_becomes_generative(desk: Desk, choice: object) -> None:
    row = {"question": "Q", "choices": ["red", "blue"], "label": choice, "candidate": "C"}
    checked = desk.check(json.dumps([row]), "a.json", multiple_choice=True)
    assert desk.texts(checked, "text", "references") == ["blue"]
    assert checked.report.made == {"multiple_choice": 1}


@pytest.mark.parametrize("choice", ["C", 2, -1, "green", None, 1.0, True])
def test_a_choice_that_is_none_is_refused(desk: Desk, choice: object) -> None:
    row = {"question": "Q", "choices": ["red", "blue"], "label": choice, "candidate": "C"}
    refusal = desk.refuse(json.dumps([row]), "a.json", multiple_choice=True)
    assert refusal.problems[0].column == "label"


def test_multiple_choice_without_its_columns_is_refused(desk: Desk) -> None:
    assert "choices" in desk.reason(write_csv("a,P,Q,R,C"), multiple_choice=True)


@pytest.mark.parametrize(
    ("text", "is_number"),
    [("1", True), ("1,000,000", True), ("1,00", False), ("-£5.50", True), (".5", True), ("5.", False), ("%", False)],
)
def test_what_a_number_is(text: str, is_number: bool) -> None:
    assert filters.is_number(text) is is_number
