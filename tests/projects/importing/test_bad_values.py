"""JSON, ids, numbers, splits and pairs: what rows can say wrong, and what they mean where they are right."""

import io
import json
from dataclasses import replace
from typing import Any

import openpyxl
import orjson
import pytest

from projects.importing import DEFAULT_LIMITS, CriterionColumn, FileRefused, Kind, Options, load
from projects.importing.previewing import preview
from projects.importing.rows import PAIR_NOT_HIGHER, PAIR_OF_ONE_TEXT
from projects.importing.spool import TABLES
from tests.projects.importing.conftest import Desk, write_csv

BASE = {"id": "a", "passage": "P", "question": "Q", "reference": "R", "candidate": "C"}
MOCHA = {"context": "P", "question": "Q", "reference": "R", "candidate": "C"}


def lines(*changes: dict[str, Any]) -> str:
    return "\n".join(json.dumps(BASE | change) for change in changes)


def mocha(**change: Any) -> str:
    return json.dumps({"d": {"a": MOCHA | change}})


@pytest.mark.parametrize("number", ["NaN", "Infinity", "-Infinity", "1e999", "9" * 5_000, "9223372036854775808"])
@pytest.mark.parametrize("name", ["a.jsonl", "a.json"])
def test_numbers_that_cannot_be_stored_are_refused(desk: Desk, number: str, name: str) -> None:
    text = lines({}).replace("}", f', "note": {number}}}')
    reason = desk.reason(text if name == "a.jsonl" else f"[{text}]", name)
    assert reason.startswith("line 1: ")


def test_a_key_given_twice_is_refused(desk: Desk) -> None:
    twice = lines({}).replace("}", ', "id": "b"}')
    assert "duplicate key “id”" in desk.reason(twice, "a.jsonl")
    assert "duplicate key “id”" in desk.reason(f"[{twice}]", "a.json")
    assert "duplicate key “d”" in desk.reason(mocha()[:-1] + "," + mocha()[1:], "a.json")
    nested = lines({"note": {}}).replace("{}", '{"x": 1, "x": 2}')
    assert "duplicate key “x”" in desk.reason(nested, "a.jsonl")


def test_deep_nesting_is_refused(desk: Desk) -> None:
    deep = "[" * 100_000 + "]" * 100_000
    assert "too deep" in desk.reason(lines({}).replace("}", f', "note": {deep}}}'), "a.jsonl")
    assert "too deep" in desk.reason(deep, "a.json")
    assert "too deep" in desk.reason('{"a": ' * 100_000, "a.json")


@pytest.mark.parametrize(
    ("content", "name", "line", "message"),
    [
        ('"text"', "a.json", 1, "neither a list"),
        ("7", "a.json", 1, "neither a list"),
        ('{"id": "a"}', "a.json", 1, "object of objects"),
        ('{"d": {"a": "text"}}', "a.json", 1, "object of objects"),
        ("[1]", "a.json", 1, "every entry must be an object"),
        (f"[{lines({})},\n]", "a.json", 2, "comma after the last entry"),
        (f"[{lines({})}\n{lines({})}]", "a.json", 2, "but found"),
        (f"[{lines({})}", "a.json", 1, "ends unexpectedly"),
        (f"[{lines({})}] x", "a.json", 1, "unexpected text after the end"),
        (f"[\n// hm\n{lines({})}]", "a.json", 2, "comments"),
        ("[{'id': 'a'}]", "a.json", 1, "single quotes"),
        (lines({}) + "\n[1, 2]", "a.jsonl", 2, "contains a list"),
        (lines({}) + "\n7", "a.jsonl", 2, "contains a number"),
        (lines({}) + "\nnull", "a.jsonl", 2, "contains null"),
        (lines({}) + lines({"id": "b"}), "a.jsonl", 1, "more than one object"),
        (lines({}) + ",\n" + lines({"id": "b"}), "a.jsonl", 1, "comma after the object"),
        ("# hm\n" + lines({}), "a.jsonl", 1, "comments"),
        ("{'id': 'a'}", "a.jsonl", 1, "single quotes"),
        (json.dumps(BASE, indent=2), "a.jsonl", 1, "several lines"),
        (json.dumps([BASE], indent=2), "a.jsonl", 1, "several lines"),
        (lines({}).replace('"C"', '"C'), "a.jsonl", 1, "nterminated"),
        (lines({}).replace('"C"', '"a\tb"'), "a.jsonl", 1, "ontrol character"),
    ],
)
def test_broken_json_is_refused_with_its_line_and_a_hint(
    desk: Desk, content: str, name: str, line: int, message: str
) -> None:
    refusal = desk.refuse(content, name)
    assert refusal.problems[-1].line == line
    assert message in refusal.problems[-1].reason


def test_broken_json_late_in_a_long_file_names_its_line(desk: Desk) -> None:
    rows = [json.dumps(BASE | {"id": f"c{n}", "passage": "word " * 200}) for n in range(2_000)]
    rows[1_700] = rows[1_700].replace('"question": ', '"question" ')
    assert desk.refuse("[" + ",\n".join(rows) + "]", "a.json").problems[-1].line == 1_701


def test_a_json_list_is_read_whole_across_windows(desk: Desk) -> None:
    rows = [BASE | {"id": f"c{n}", "passage": "wörd " * (n % 700)} for n in range(1_500)]
    for text in (json.dumps(rows), json.dumps(rows, ensure_ascii=False, indent=1)):
        checked = desk.check(text, "a.json")
        assert desk.texts(checked, "external_id") == [row["id"] for row in rows]


@pytest.mark.parametrize(
    ("change", "column"),
    [
        ({"candidate": 7}, "candidate"),
        ({"candidate": ["C"]}, "candidate"),
        ({"candidate": None}, "candidate"),
        ({"candidate": ""}, "candidate"),
        ({"question": None}, "question"),
        ({"passage": 3.5}, "passage"),
        ({"reference": {"text": "R"}}, "reference"),
        ({"id": 1.0}, "id"),
        ({"id": True}, "id"),
        ({"id": "x" * 201}, "id"),
        ({"source": ["m"]}, "source"),
        ({"rank": "first"}, "rank"),
        ({"rank": 1.5}, "rank"),
        ({"rank": 10**12}, "rank"),
        ({"confidence": "0,5"}, "confidence"),
        ({"opinion": "o" * 21}, "opinion"),
        ({"split": "s" * 41}, "split"),
        ({"dataset": "d" * 121}, "dataset"),
        ({"dataset": "d", "dataset_kind": "prose"}, "dataset_kind"),
        ({"documents": [{"title": "T", "body": "B"}]}, "documents"),
        ({"references": ["R", 7]}, "references"),
    ],
)
def test_a_value_of_the_wrong_type_is_refused_with_its_column(desk: Desk, change: dict[str, Any], column: str) -> None:
    refusal = desk.refuse(lines({"id": "first"}, change), "a.jsonl")
    assert refusal.problems[0].line == 2
    assert refusal.problems[0].column == column


def test_a_whole_number_is_an_id(desk: Desk) -> None:
    assert desk.texts(desk.check(lines({"id": 12}), "a.jsonl"), "external_id") == ["12"]


@pytest.mark.parametrize(
    "score", ["7,5", "٧", " 7", "7 ", "1e1", "0x1", "", None, True, [5], "NaN", "five", 0, 6, 2.5, "+4"]
)
def test_a_score_that_is_none_is_refused(desk: Desk, score: Any) -> None:
    if score in ("", None) and score is not False:
        assert desk.check(mocha(metadata={"scores": [3, score]}), "a.json", with_scores=True).report.judgments == 1
        return
    refusal = desk.refuse(mocha(metadata={"scores": [3, score]}), "a.json", with_scores=True)
    assert refusal.problems[0].column == "metadata.scores"
    assert refusal.problems[0].line == 1


@pytest.mark.parametrize(("written", "stored"), [(5, 5.0), ("4", 4.0), (3.0, 3.0), ("2.0", 2.0)])
def test_a_score_is_a_number_or_its_digits(desk: Desk, written: Any, stored: float) -> None:
    checked = desk.check(mocha(metadata={"scores": [written]}), "a.json", with_scores=True)
    assert desk.texts(checked, "value", "scores") == [repr(stored)]


def test_minus_zero_is_zero(desk: Desk) -> None:
    criterion = CriterionColumn.parse("v=worth:0-100")
    for written in ("-0", "-0.0", "0"):
        checked = desk.check(f"id,rater,v\na,w,{written}\n", kind=Kind.JUDGMENTS, criteria=(criterion,))
        assert desk.texts(checked, "value", "judgments") == ["0.0"]


def test_an_id_given_twice_is_refused_with_both_lines(desk: Desk) -> None:
    refusal = desk.refuse(write_csv("a,P,Q,R,C", "b,P,Q,R,D", "a,P,Q,R,E"))
    assert refusal.problems[0].line == 4
    assert "also occurs on line 2" in str(refusal)
    on_one_line = json.dumps([BASE, BASE])
    assert "entry 2, column “id”: the ID “a” also occurs in entry 1" in str(desk.refuse(on_one_line, "a.json"))


def test_ids_are_compared_as_exact_text(desk: Desk) -> None:
    ids = ["1", "01", "1.0", " 1", "é", "e\u0301"]
    checked = desk.check(write_csv(*(f"{each},P,Q,R,C" for each in ids)))
    assert desk.texts(checked, "external_id") == ids


def test_the_same_candidate_twice_without_ids_is_refused_with_both_lines(desk: Desk) -> None:
    header = "passage,question,reference,candidate,source\n"
    assert desk.check(write_csv("P,Q,R,C,m1", "P,Q,R,C,m2", header=header)).report.candidates == 2
    assert "also occurs on line 2" in desk.reason(write_csv("P,Q,R,C,m1", "P,Q,R,C,m1", header=header))


def test_a_passage_or_question_with_two_texts_is_refused(desk: Desk) -> None:
    header = "passage_id,passage,question_id,question,candidate\n"
    rows = ("p1,Text,q1,Q,C1", "p1,Other,q2,Q2,C2", "p1,Text,q1,Q?,C3", "p2,Text 2,q1,Q,C4")
    refusal = desk.refuse(write_csv(*rows, header=header))
    assert [(problem.line, problem.column) for problem in refusal.problems] == [
        (3, "passage"),
        (4, "question"),
        (5, "question"),
    ]


def test_a_passage_in_two_splits_is_refused_with_the_list(desk: Desk) -> None:
    header = "passage_id,passage,question,candidate,split\n"
    rows = ("p1,A,Q,C1,train", "p1,A,Q,C2,", "p2,B,Q,C3,dev", "p1,A,Q,C4,test", "p2,B,Q,C5,test")
    refusal = desk.refuse(write_csv(*rows, header=header))
    assert [problem.line for problem in refusal.problems] == [5, 6]
    assert "“p1” belongs to split “test” here but to “train” on line 2" in refusal.problems[0].reason


def test_a_split_given_in_a_later_row_counts_for_the_passage(desk: Desk) -> None:
    header = "passage_id,passage,question,candidate,split\n"
    checked = desk.check(write_csv("p1,A,Q,C1,", "p1,A,Q,C2,dev", header=header))
    assert list(checked.spool.rows("splits")) == [{"passage": "0", "split": "dev"}]


def test_a_hundred_problems_are_shown_and_all_are_counted(desk: Desk) -> None:
    refusal = desk.refuse(write_csv(*(f"a{n},P,Q,R,C" for n in range(150)), *(f"a{n},P,Q,R,D" for n in range(150))))
    assert len(refusal.problems) == 100
    assert refusal.total == 150
    assert "150 errors" in str(refusal)
    assert "50 more" in refusal.details[-1]


def test_a_cause_is_said_once_with_its_count_in_the_order_of_lines(desk: Desk) -> None:
    rows = ["b,P,Q,R,C", *(f"c{n},P,Q,R," for n in range(2_142)), "d,P,,R,C", "b,P,Q,R,other"]
    refusal = desk.refuse(write_csv(*rows))
    assert [(each.line, each.column, each.n, each.lines) for each in refusal.problems] == [
        (3, "candidate", 2_142, (3, 4, 5, 6, 7)),
        (2_145, "question", 1, (2_145,)),
        (2_146, "id", 1, (2_146,)),
    ]
    assert (refusal.total, refusal.n_hidden, len(refusal.rows)) == (2_144, 0, 2_144)
    assert "lines 3, 4, 5, 6, 7, … (2,142 times), column “candidate”: is empty" in refusal.message


def test_the_same_question_with_other_references_is_united_and_said(desk: Desk) -> None:
    checked = desk.check(write_csv("a,P,Q,R1,C1", "b,P,Q,R2,C2", "c,P,Q,R1,C3"))
    assert desk.texts(checked, "text", "references") == ["R1", "R2"]
    assert desk.texts(checked, "position", "references") == ["0", "1"]
    assert "merged (line 3)" in desk.warnings(checked)


def test_a_question_has_as_many_references_as_a_list_may_have(desk: Desk) -> None:
    few = replace(DEFAULT_LIMITS, list_entries=3)
    rows = [f"{n},P,Q,R{n % 3},C{n}" for n in range(6)]
    assert desk.texts(desk.check(write_csv(*rows), limits=few), "text", "references") == ["R0", "R1", "R2"]
    refusal = desk.refuse(write_csv(*rows, "6,P,Q,R6,C6", "7,P,Q,R7,C7", "8,P,Q,R0,C8"), limits=few)
    assert [(each.line, each.column, each.lines) for each in refusal.problems] == [(8, "reference", (8, 9))]
    assert refusal.problems[0].reason == "adds a reference to a question that already has 3, which is the most"


def test_references_come_in_numbered_columns_in_lists_and_with_opinions(desk: Desk) -> None:
    header = "question,candidate,reference,reference_opinion,reference_3,reference_2,reference_2_opinion\n"
    checked = desk.check(write_csv("Q,C,R1,Yes,R3,R2,No", header=header))
    assert desk.texts(checked, "text", "references") == ["R1", "R2", "R3"]
    assert desk.texts(checked, "opinion", "references") == ["Yes", "No", ""]
    listed = lines({"reference": None, "references": ["R1", {"text": "R2", "opinion": "Depends"}]})
    checked = desk.check(listed, "a.jsonl")
    assert desk.texts(checked, "opinion", "references") == ["", "Depends"]
    cell = desk.check('question,candidate,references\nQ,C,"[""R1"", ""R2""]"\n')
    assert desk.texts(cell, "text", "references") == ["R1", "R2"]


def test_passages_may_be_missing_or_lists_of_titled_documents(desk: Desk) -> None:
    header = "question,reference,candidate\n"
    checked = desk.check(write_csv("Q1,R,C", "Q1,R,D", "Q2,R,C", header=header))
    assert checked.report.passages == 2
    assert desk.texts(checked, "text", "passages") == ["", ""]
    documents = [{"title": "One", "text": "A"}, {"title": "Two", "text": "B"}]
    for passage in (documents, [["One", "A"], ["Two", "B"]]):
        checked = desk.check(lines({"passage": passage}), "a.jsonl")
        assert orjson.loads(desk.texts(checked, "documents", "passages")[0]) == documents


def test_types_entities_spans_and_metadata_are_kept(desk: Desk) -> None:
    row = {"question_type": "Yes/No", "entities": ["a", 'b "q"'], "span": "the span", "rank": 2, "note": {"x": [1]}}
    checked = desk.check(lines(row, {"id": "b", "question": "Q2", "question_type": "riddle"}), "a.jsonl")
    assert desk.texts(checked, "type", "questions") == ["yes-no", "other"]
    assert desk.texts(checked, "entities", "questions")[0] == '{"a","b \\"q\\""}'
    assert desk.texts(checked, "span", "questions")[0] == "the span"
    assert desk.texts(checked, "rank") == ["2", "\\N"]
    assert orjson.loads(desk.texts(checked, "metadata")[0]) == {"note": {"x": [1]}}
    assert "not yes-no" in desk.warnings(checked)


def test_minimal_pairs_become_two_candidates_and_keep_their_scores(desk: Desk) -> None:
    pair = {"context": "P", "question": "Q", "reference": "R", "candidate1": "A", "candidate2": "B"}
    checked = desk.check(json.dumps({"d": {"x": pair | {"score1": 5, "score2": 2.5}}}), "a.json")
    assert desk.texts(checked, "external_id") == ["x-1", "x-2"]
    assert list(checked.spool.rows("pairs")) == [
        {"question": "0", "candidate_1": "0", "candidate_2": "1", "score_1": "5.0", "score_2": "2.5", "phenomenon": ""}
    ]
    assert checked.report.minimal_pairs == 1
    assert "minimal pair" not in desk.warnings(checked)


def test_pairs_without_scores_or_with_unlikely_ones_are_taken_and_half_scored_ones_refused(desk: Desk) -> None:
    pair = {"context": "P", "question": "Q", "reference": "R", "candidate1": "A", "candidate2": "B"}
    entries = {
        "bare": pair,
        "tie": pair | {"question": "Q2", "score1": 2, "score2": 2},
        "worse": pair | {"question": "Q3", "score1": 1, "score2": 5},
        "same": pair | {"question": "Q4", "candidate2": "A"},
    }
    checked = desk.check(json.dumps({"d": entries}), "a.json")
    assert [(row["score_1"], row["score_2"]) for row in checked.spool.rows("pairs")] == [
        ("\\N", "\\N"),
        ("2.0", "2.0"),
        ("1.0", "5.0"),
        ("\\N", "\\N"),
    ]
    counts = {warned.reason: warned.n for warned in checked.report.warnings}
    assert (counts[PAIR_NOT_HIGHER], counts[PAIR_OF_ONE_TEXT]) == (2, 1)
    half = json.dumps({"d": {"x": pair | {"score1": 5}}})
    assert "needs both scores or none" in desk.reason(half, "a.json")
    assert desk.refuse(half, "a.json").problems[0].column == "score_2"


def test_candidates_of_a_pair_may_have_judgments_too(desk: Desk) -> None:
    pair = {"context": "P", "question": "Q", "reference": "R", "candidate1": "A", "candidate2": "B"}
    judged = {"scores1": [5, 4], "raters1": ["w1", "w2"], "scores2": [1]}
    written = json.dumps({"d": {"x": pair | {"score1": 4.5, "score2": 1, "metadata": judged}}})
    checked = desk.check(written, "a.json", with_scores=True)
    assert desk.texts(checked, "candidate", "scores") == ["0", "0", "1"]
    assert desk.texts(checked, "annotator", "scores") == ["w1", "w2", ""]
    assert desk.texts(checked, "metadata") == ["{}", "{}"]


def test_a_list_of_references_keeps_its_order(desk: Desk) -> None:
    row = {"reference": "R2", "reference_2": "R0", "references": ["R1", "R2", {"text": "R3", "opinion": "No"}]}
    checked = desk.check(lines(row), "a.jsonl")
    assert desk.texts(checked, "text", "references") == ["R0", "R1", "R2", "R3"]


def test_scores_are_left_out_and_reported_unless_asked_for(desk: Desk) -> None:
    written = mocha(score=3.5, metadata={"scores": [3, 4], "source": "m"})
    left = desk.check(written, "a.json")
    assert left.report.judgments == 0
    assert "--with-scores" in desk.warnings(left)
    taken = desk.check(written, "a.json", with_scores=True)
    assert (taken.report.judgments, taken.report.annotators) == (2, 0)  # scores without names
    assert desk.texts(taken, "slot", "scores") == ["1", "2"]
    assert desk.texts(taken, "metadata") == ["{}"]
    alone = desk.check(mocha(score=3.5), "a.json")
    assert orjson.loads(desk.texts(alone, "metadata")[0]) == {"score": 3.5}


def test_raters_name_the_annotators_of_scores(desk: Desk) -> None:
    checked = desk.check(mocha(metadata={"scores": [3, 4], "raters": ["w1", 7]}), "a.json", with_scores=True)
    assert desk.texts(checked, "annotator", "scores") == ["w1", "7"]
    for raters in (["w1"], ["w1", "w1"], ["w1", ""]):
        written = mocha(metadata={"scores": [3, 4], "raters": raters})
        assert desk.refuse(written, "a.json", with_scores=True).problems[0].column == "metadata.raters"


def test_our_own_keys_under_metadata_are_fields_again(desk: Desk) -> None:
    own = {
        "passage_id": "p1",
        "question_id": "q1",
        "question_type": "entity",
        "references": ["R2"],
        "split": "dev",
        "metadata": {"label": "kept", "candidate": "kept too"},
    }
    checked = desk.check(mocha(metadata={"source": "m", "concord": own}), "a.json")
    assert desk.texts(checked, "external_id", "passages") == ["p1"]
    assert desk.texts(checked, "split", "passages") == ["dev"]
    assert desk.texts(checked, "external_id", "questions") == ["q1"]
    assert desk.texts(checked, "text", "references") == ["R", "R2"]
    assert orjson.loads(desk.texts(checked, "metadata")[0]) == own["metadata"]


def test_a_mapping_moves_columns_and_its_mistakes_are_refused(desk: Desk) -> None:
    content = write_csv("x,A,B,C,D", header="id,one,two,three,four\n")
    mapping = {"one": "passage", "two": "question", "three": "reference", "four": "candidate", "id": "ignore"}
    checked = desk.check(content, mapping=mapping)
    assert desk.texts(checked, "text") == ["D"]
    assert desk.texts(checked, "has_id") == ["f"]
    assert "unknown field" in desk.reason(content, mapping=mapping | {"one": "poem"})
    assert "is not in the file" in desk.reason(content, mapping=mapping | {"five": "source"})
    assert "two columns" in desk.reason(content, mapping=mapping | {"one": "candidate"})


@pytest.mark.parametrize("key", ["", " ", "\\u0000", "\\ud800"])
@pytest.mark.parametrize("place", [0, 300])
def test_a_key_that_can_be_no_column_is_refused_early_and_late(desk: Desk, key: str, place: int) -> None:
    rows = [json.dumps(BASE | {"id": f"c{n}"}) for n in range(301)]
    rows[place] = rows[place].replace("}", f', "{key}": 1}}')
    refusal = desk.refuse("\n".join(rows), "a.jsonl")
    assert "key" in refusal.problems[0].reason
    assert orjson.dumps(refusal.as_dict())


def test_a_preview_shows_what_the_check_will_refuse(desk: Desk) -> None:
    path = desk.put(lines({"candidate": "\ud800", "passage": ["\udc00"]}))
    look = preview(path=path, name="a.jsonl")
    assert all(cell.encode() for cell in look.rows[0])


def test_a_file_name_that_cannot_be_written_is_shown(desk: Desk) -> None:
    refusal = desk.refuse("x", "\udcff\0.csv")
    assert orjson.dumps(refusal.as_dict())
    assert refusal.message.encode()


def test_every_table_of_the_spool_has_its_columns(desk: Desk) -> None:
    pair = {"question": "Q", "candidate_1": "A", "candidate_2": "B", "score_1": 3, "score_2": 1, "id": "p"}
    checked = desk.check(lines({"scores": [1]}) + "\n" + json.dumps(pair), "a.jsonl", with_scores=True)
    for table, columns in TABLES.items():
        for row in checked.spool.rows(table):
            assert tuple(row) == columns


def test_traces_of_a_spreadsheet_and_markup_are_said_with_their_lines(desk: Desk) -> None:
    texts = (
        "#NAME?",
        "=A1+B2",
        "<b>bold</b>",
        "a &amp; b",
        "#BEZUG!",
        "x < y > z & so on",
        "== title ==",
        "#hash",
        "#NV",
    )
    checked = desk.check(write_csv(*(f"c{n},P,Q,R,{text}" for n, text in enumerate(texts))))
    said = desk.warnings(checked)
    assert "such as #NAME? (3 times: lines 2, 6, 10)" in said
    assert "starts like a formula, such as =A1. It is imported as text and not calculated (line 3)" in said
    assert "contains markup, such as <b> or &amp;. It is shown as written (2 times: lines 4, 5)" in said
    assert desk.texts(checked, "text") == list(texts), "They are imported as they are."


def test_skipped_rows_leave_nothing_and_make_others_valid(desk: Desk) -> None:
    rows = ("a,P,Q,R,", "a,P,Q,R,C", "b,X,Q,R,C", "b,P,Q,R,C,extra", "b,P2,Q2,R,D", "c,P,Q,R2,")
    refusal = desk.refuse(write_csv(*rows))
    assert sorted(refusal.rows) == [2, 5, 6, 7]
    checked = desk.check(write_csv(*rows), skip_wrong_rows=True)
    assert desk.texts(checked, "line") == ["3", "4"]
    assert desk.texts(checked, "text", "passages") == ["P", "X"]
    assert desk.texts(checked, "text", "references") == ["R", "R"], "No reference of a skipped row is left."
    assert checked.report.skipped == {"wrong_rows": 4}
    listed = (checked.spool.folder / "skipped.csv").read_text().splitlines()
    assert [line.split(",")[0] for line in listed] == ["line", "2", "5", "6", "7"]
    # A row that contradicts only a wrong one is valid without it.
    contrary = ["p,X,Q,R,", "p,Y,Q,R,C", "p,Y,Q,R,C2", "p,X,Q,R,C3"]
    header = "passage_id,passage,question,reference,candidate\n"
    assert sorted(desk.refuse(write_csv(*contrary, header=header)).rows) == [2, 3, 4]
    left = desk.check(write_csv(*contrary, header=header), skip_wrong_rows=True)
    assert desk.texts(left, "line") == ["3", "4"]
    # An error of the file as a whole can't be skipped.
    assert "never closed" in str(desk.refuse(write_csv(*rows, 'z,"P'), skip_wrong_rows=True).problems[-1])
    assert load(checked.spool.folder).report.skipped_rows == checked.report.skipped_rows


def test_more_wrong_rows_than_a_limit_are_not_skipped(desk: Desk) -> None:
    rows = [f"c{n},P,Q,R," for n in range(9)]
    few = replace(DEFAULT_LIMITS, rows_skipped=5)
    with pytest.raises(FileRefused) as caught:
        desk.check(write_csv(*rows, "a,P,Q,R,C"), limits=few, skip_wrong_rows=True)
    assert not caught.value.rows


def test_objects_and_empty_texts_among_references_are_one_error_each(desk: Desk) -> None:
    signed = {"references": [{"text": "R", "by": "ann"}, {"text": "S", "by": "bob"}]}
    assert desk.reason(lines(signed), "a.jsonl").endswith("has an object with other keys than “text” and “opinion”")
    assert desk.reason(lines({"references": ["R", ""]}), "a.jsonl").endswith("is a list with an empty entry")
    assert desk.reason(lines({"references": ["R", 7]}), "a.jsonl").endswith("must be text, not a number")
    assert desk.reason(lines({"entities": ["London", 7]}), "a.jsonl").endswith("must be text, not a number")


def test_a_title_above_the_names_of_the_columns_is_explained(desk: Desk) -> None:
    hint = "if that is a title, delete it: the first line has to name the columns"
    table = (("My answers",), ("question", "reference", "candidate"), ("Q", "R", "C"))
    book, workbook = io.BytesIO(), openpyxl.Workbook()
    sheet: Any = workbook.active
    for row in table:
        sheet.append(row)
    sheet.merge_cells("A1:C1")
    workbook.save(book)
    assert hint in str(desk.refuse(book.getvalue(), "answers.xlsx").problems[-1])
    for comma in (",", ";"):
        text = "\n".join(comma.join(row) for row in table)
        assert hint in str(desk.refuse(text, delimiter=comma).problems[-1])
        shown = preview(path=desk.put(text), name="answers.csv", options=Options(delimiter=comma)).warnings
        assert [str(each) for each in shown] == [
            f"The table has one column; {hint}.",
            "Too many cells: 3 instead of 1 (2 times: lines 2, 3).",
        ]
    assert hint not in str(desk.refuse("question;reference;candidate\nQ;R;C\n", delimiter=",").problems[-1])


def test_a_row_without_the_passage_that_others_have_is_warned_of(desk: Desk) -> None:
    checked = desk.check("passage,question,reference,candidate\nP,Q,R,C1\n,Q,R,C2\n")
    assert "A row has no passage, so its question is shown without one (line 3)." in desk.warnings(checked)
    assert "has no passage" not in desk.warnings(desk.check("question,reference,candidate\nQ,R,C\n"))
