"""Judgments in long and wide files."""

import hashlib
import json

import orjson
import pytest

from measures.rubric import ScaleKind
from projects.errors import Refused
from projects.importing import Checked, CriterionColumn, FileRefused, Kind
from projects.importing.checking import check
from projects.importing.import_options import ADDED_LATER, Options, fingerprint, parse_label, parse_labels
from projects.rubric.forms import CriterionForm
from tests.projects.importing.conftest import Desk
from tests.projects.importing.test_archives import xlsx

WIDE = "item_id,rater,correctness_1to5,coverage,note\nc1,w1,4,80,x\nc1,w2,5,,y\nc2,w1,1,12.5,z\n"
CRITERIA = tuple(map(CriterionColumn.parse, ("correctness_1to5=correctness:1-5", "coverage=coverage:0-100")))
KNOWN = {"correctness": CriterionColumn(key="correctness", low=1, high=5)}


def taken(desk: Desk, content: str, known: dict[str, CriterionColumn] | None = None, **options: object) -> Checked:
    folder = desk.folder / f"spool-{next(desk.numbers)}"
    made = Options(**options)  # type: ignore[arg-type]
    return check(path=desk.put(content), name="a.csv", folder=folder, kind=Kind.JUDGMENTS, known=known, options=made)


def values(checked: Checked) -> list[tuple[str, ...]]:
    rows = checked.spool.rows("judgments")
    return [(row["external_id"], row["annotator"], row["criterion"], row["value"]) for row in rows]


def test_named_columns_of_a_wide_file_are_judgments_and_only_they(desk: Desk) -> None:
    checked = taken(desk, WIDE, criteria=CRITERIA)
    assert values(checked) == [
        ("c1", "w1", "correctness", "4.0"),
        ("c1", "w1", "coverage", "80.0"),
        ("c1", "w2", "correctness", "5.0"),
        ("c2", "w1", "correctness", "1.0"),
        ("c2", "w1", "coverage", "12.5"),
    ]
    assert [(each.key, each.kind) for each in checked.criteria] == [
        ("correctness", "ordinal"),
        ("coverage", "continuous"),
    ]
    assert checked.report.annotators == 2


def test_without_named_columns_those_that_match_a_criterion_are_judgments(desk: Desk) -> None:
    content = WIDE.replace("correctness_1to5", "correctness")
    checked = taken(desk, content, KNOWN)
    assert {row[2] for row in values(checked)} == {"correctness"}
    named = taken(desk, content, KNOWN, criteria=CRITERIA[1:])
    assert {row[2] for row in values(named)} == {"coverage"}


def test_a_long_file_names_its_criteria_in_rows(desk: Desk) -> None:
    content = "candidate_id,annotator,criterion,value,time\nc1,w1,correctness,4,2026-03-01T12:00:00+02:00\n"
    checked = taken(desk, content, KNOWN)
    assert values(checked) == [("c1", "w1", "correctness", "4.0")]
    assert desk.texts(checked, "judged_at", "judgments") == ["2026-03-01T10:00:00+00:00"]


def test_an_unknown_criterion_of_a_long_file_is_refused_and_can_be_given_its_scale(desk: Desk) -> None:
    content = "candidate_id,annotator,criterion,value\nc1,w1,fluency,4\n"
    with pytest.raises(FileRefused, match="fluency:low-high"):
        taken(desk, content, KNOWN)
    checked = taken(desk, content, KNOWN, criteria=(CriterionColumn.parse("fluency:1-7"),))
    assert checked.report.judgments == 1


def test_one_criterion_is_enough_for_a_file_of_values(desk: Desk) -> None:
    content = "unit,coder,value\nu1,A,1\nu1,B,2\n"
    assert taken(desk, content, criteria=(CriterionColumn.parse("code:1-5"),)).report.judgments == 2


def test_scores_off_the_scale_are_refused_with_line_and_column(desk: Desk) -> None:
    with pytest.raises(FileRefused) as caught:
        taken(desk, WIDE.replace("80", "101").replace("w2,5", "w2,5.5"), criteria=CRITERIA)
    found = [(problem.line, problem.column) for problem in caught.value.problems]
    assert found == [(2, "coverage"), (3, "correctness_1to5")]


@pytest.mark.parametrize("written", ["7,5", "٧", " 7", "x", "1e1"])
def test_a_value_that_is_no_number_is_refused(desk: Desk, written: str) -> None:
    with pytest.raises(FileRefused, match="must be a number"):
        taken(desk, WIDE.replace("80", f'"{written}"'), criteria=CRITERIA)


def test_scores_of_mochas_own_format_are_on_correctness(desk: Desk) -> None:
    entry = {"context": "P", "question": "Q", "reference": "R", "candidate": "C", "score": 4}
    named = entry | {"metadata": {"scores": [4, 5], "raters": ["w1", "w2"], "source": "m"}}
    nameless = entry | {"metadata": {"scores": [None, 2]}}
    path = desk.put(json.dumps({"d": {"c1": named, "c2": nameless, "c3": entry}}))
    folder = desk.folder / "spool"
    checked = check(path=path, name="a.json", folder=folder, kind=Kind.JUDGMENTS, known=KNOWN)
    assert values(checked) == [
        ("c1", "w1", "correctness", "4.0"),
        ("c1", "w2", "correctness", "5.0"),
        ("c2", "", "correctness", "2.0"),
    ]
    assert desk.texts(checked, "slot", "judgments") == ["0", "0", "2"]
    assert desk.texts(checked, "dataset", "judgments") == ["d", "d", "d"]
    # Two names; of the nameless scores nobody knows how many people gave them.
    assert (checked.report.annotators, checked.report.most_unnamed) == (2, 2)


def test_without_annotators_each_position_is_a_slot(desk: Desk) -> None:
    content = "candidate_id,correctness\nc1,4\nc2,3\nc1,5\n"
    checked = taken(desk, content, KNOWN)
    assert desk.texts(checked, "slot", "judgments") == ["1", "1", "2"]
    assert desk.texts(checked, "annotator", "judgments") == ["", "", ""]
    assert "no annotator column" in desk.warnings(checked)
    assert (checked.report.annotators, checked.report.most_unnamed) == (0, 2)


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("rater,correctness\nw1,4\n", "candidate ID column"),
        ("candidate_id,annotator\nc1,w1\n", "no criterion columns given"),
        ("candidate_id,annotator,correctness\nc1,,4\n", "fill in every annotator"),
        ("candidate_id,annotator,correctness\n,w1,4\n", "is empty"),
        ("candidate_id,annotator,correctness\nc1,w1,\n", "no judgment"),
        ("candidate_id,annotator,correctness\n", "no rows"),
        ("candidate_id,annotator,criterion,value\nc1,w1,correctness,\n", "no judgments in its rows"),
        ("candidate_id,annotator,correctness,time\nc1,w1,4,yesterday\n", "a time such as"),
    ],
)
def test_a_file_that_lacks_something_is_refused(desk: Desk, content: str, message: str) -> None:
    with pytest.raises(FileRefused) as caught:
        taken(desk, content, KNOWN)
    assert message in str(caught.value.problems[0])


@pytest.mark.parametrize("text", ["coverage", "a=b", "a=B:1-5", "a=b:5-1", "a=b:1-1", "a=b:x-5", "a=b:1-9999999"])
def test_a_criterion_that_cannot_be_read_is_refused(text: str) -> None:
    with pytest.raises(Refused):
        CriterionColumn.parse(text)


@pytest.mark.parametrize(
    ("key", "may"),
    [
        ("fluency", True),
        ("correctness_100", True),
        ("5_points", True),
        ("a" * 40, True),
        ("a" * 41, False),
        ("Fluency", False),
        ("well-formed", True),
        ("a-_b", False),
        ("a__b", False),
        ("_a", False),
        ("é", False),
        ("a ", False),
    ],
)
def test_a_key_is_the_same_thing_in_a_file_and_on_the_page(key: str, may: bool) -> None:
    try:
        taken = CriterionColumn.parse(f"column={key}:1-5").key == key
    except Refused:
        taken = False
    form = CriterionForm({"name": "A", "key": key, "kind": "ordinal", "low": 1, "high": 5, "level": "ordinal"})
    assert (taken, form.is_valid() and form.cleaned_data["key"] == key) == (may, may)


def test_a_key_made_from_a_name_is_one_that_may_be() -> None:
    form = CriterionForm({"name": "Is it -- well_ _made?", "kind": "ordinal", "low": 1, "high": 5, "level": "ordinal"})
    assert form.is_valid()
    assert form.cleaned_data["key"] == "is_it_well_made"


def test_a_criterion_names_column_key_and_ends() -> None:
    assert CriterionColumn.parse("a=b=key:-2-3") == CriterionColumn(column="a=b", key="key", low=-2, high=3)


def test_a_column_that_is_not_there_is_refused(desk: Desk) -> None:
    with pytest.raises(FileRefused, match="column “missing” for the criterion key not found"):
        taken(desk, WIDE, criteria=(CriterionColumn.parse("missing=key:1-5"),))


def test_options_come_back_from_what_is_stored_and_decide_the_fingerprint(desk: Desk) -> None:
    options = Options(mapping={"a": "passage"}, criteria=CRITERIA, drop_numbers=("d",), with_scores=True)
    assert Options.from_dict(options.as_dict()) == options
    path = desk.put("x")
    assert fingerprint(path, options) == fingerprint(path, Options.from_dict(options.as_dict()))
    assert fingerprint(path, options) != fingerprint(path, Options())


def test_each_annotator_may_have_a_column(desk: Desk) -> None:
    content = "id,rater1,rater2,rater 3,length\nc1,4,,5,9\nc2,1,2,,9\n"
    checked = taken(desk, content, KNOWN)
    assert values(checked) == [
        ("c1", "rater1", "correctness", "4.0"),
        ("c1", "rater 3", "correctness", "5.0"),
        ("c2", "rater1", "correctness", "1.0"),
        ("c2", "rater2", "correctness", "2.0"),
    ]
    assert checked.report.skipped == {"empty_ratings": 2}
    assert checked.report.annotators == 3
    new = taken(desk, content, KNOWN, criteria=(CriterionColumn.parse("ease:0-10"),))
    assert {row[2] for row in values(new)} == {"ease"}, "The one criterion that is new."
    both = KNOWN | {"ease": CriterionColumn(key="ease", low=0, high=10)}
    with pytest.raises(FileRefused, match="choose the criterion"):
        taken(desk, content, both)
    assert {row[2] for row in values(taken(desk, content, both, rater_criterion="ease"))} == {"ease"}
    for given, example in (("style", "style:1-5"), ("style:0-100", "style:0-100")):
        with pytest.raises(Refused, match=rf"“style” has no scale yet.*New criteria \(--criterion\).* {example}\.$"):
            taken(desk, content, both, rater_criterion=given)
    rows = "id,criterion,anna,ben\nc1,correctness,4,5\nc1,ease,9,8\n"
    named = taken(desk, rows, both, mapping={"anna": "rater", "ben": "rater"})
    assert [row[1:] for row in values(named)] == [
        ("anna", "correctness", "4.0"),
        ("ben", "correctness", "5.0"),
        ("anna", "ease", "9.0"),
        ("ben", "ease", "8.0"),
    ]
    with pytest.raises(FileRefused, match="no other column can name the annotator"):
        taken(desk, content.replace("length", "worker"), KNOWN)


def test_scores_of_annotators_with_columns_may_come_with_the_candidates(desk: Desk) -> None:
    header = "id,question,reference_1,gold_2,ref 3,candidate,rater1,rater2\n"
    content = header + "c1,Q,R,S,T,C,good,yes\nc2,Q,R,S,,D,bad,\n"
    left = desk.check(content)
    assert "scores that are not imported" in desk.warnings(left)
    assert desk.texts(left, "metadata")[0] == '{"rater1":"good","rater2":"yes"}', "Nothing is lost."
    assert desk.texts(left, "text", "references") == ["R", "S", "T"]
    labels = {"good": 5.0, "yes": 5.0, "bad": 1.0}
    checked = desk.check(content, with_scores=True, labels=labels)
    assert [(row["annotator"], row["value"]) for row in checked.spool.rows("scores")] == [
        ("rater1", "5.0"),
        ("rater2", "5.0"),
        ("rater1", "1.0"),
    ]
    assert checked.report.labels == labels, "Kept with the import."
    refusal = desk.refuse(content, with_scores=True)
    assert "must be a number, not “good”; to read it as points, add a label such as Excellent=5" in str(refusal)


def test_a_criterion_may_be_written_as_people_write_it(desk: Desk) -> None:
    content = "id,annotator,criterion,value\nc1,a,Answer Quality,4\nc1,b,answer_quality,5\n"
    with pytest.raises(FileRefused, match="give its scale as answer_quality:low-high"):
        taken(desk, content)
    checked = taken(desk, content, criteria=(CriterionColumn.parse("answer-quality:1-5"),))
    assert [row[2:] for row in values(checked)] == [("answer-quality", "4.0"), ("answer-quality", "5.0")]


def test_labels_stand_for_points_or_a_missing_value(desk: Desk) -> None:
    content = "id,annotator,criterion,value\nc1,a,correctness, Very  GOOD\nc1,b,correctness,N/A\nc2,a,correctness,3\n"
    labels = dict(map(parse_label, ("very good=5", "n/a = missing")))
    checked = taken(desk, content, KNOWN, labels=labels)
    assert [row[3] for row in values(checked)] == ["5.0", "3.0"]
    with pytest.raises(FileRefused, match="outside the scale"):
        taken(desk, content, KNOWN, labels=labels | {"very good": 7.0})
    for wrong in ("good", "=5", "good=", "good=five", "good=1e3"):
        with pytest.raises(Refused):
            parse_label(wrong)
    with pytest.raises(Refused, match="two values"):
        parse_labels(["good=4", " GOOD =5"])


@pytest.mark.parametrize(
    ("delimiter", "decimal", "written", "read"),
    [
        (";", "", "7,5", 7.5),
        ("|", "", "7.5", 7.5),
        ("\t", "", "7.5", 7.5),
        (";", "", "1,234", "may be 1.234 or 1234"),
        (";", "comma", "1,234", 1.234),
        (";", "comma", "0,123", 0.123),
        (";", "comma", "7.5", "must be a number (digits, with a decimal comma)"),
        (";", "point", "7,5", "choose comma as the decimal mark"),
        (",", "", '"7,5"', "choose comma as the decimal mark"),
        (",", "comma", '"7,5"', 7.5),
        (";", "", "1.234,5", "must be a number"),
        (";", "", "1,234\nc2;a;7,5", 1.234),
        (";", "", "7,5\nc2;a;7.5", 7.5),
    ],
)
def test_a_decimal_comma_is_read_where_commas_do_not_separate(
    desk: Desk, delimiter: str, decimal: str, written: str, read: float | str
) -> None:
    content = delimiter.join(("id", "annotator", "ease")) + "\n" + delimiter.join(("c1", "a", written)) + "\n"
    known = {"ease": CriterionColumn(key="ease", low=0, high=100, kind=ScaleKind.CONTINUOUS)}
    if isinstance(read, str):
        with pytest.raises(FileRefused) as caught:
            taken(desk, content, known, decimal=decimal)
        assert read in str(caught.value)
        return
    checked = taken(desk, content, known, decimal=decimal)
    assert float(values(checked)[0][3]) == read
    is_mixed = "7,5" in written and "7.5" in written
    assert ("with a comma, such as 7,5" in desk.warnings(checked)) == is_mixed


def test_numbers_of_excel_have_a_point_whatever_mark_is_chosen(desk: Desk) -> None:
    known = {"ease": CriterionColumn(key="ease", low=0, high=100, kind=ScaleKind.CONTINUOUS)}
    sheet = xlsx(["id", "annotator", "ease"], ["c1", "a", 7.5], ["c2", "a", "1,234"])
    path, folder, options = desk.put(sheet), desk.folder / "spool", Options(decimal="comma")
    checked = check(path=path, name="a.xlsx", folder=folder, kind=Kind.JUDGMENTS, known=known, options=options)
    assert [row[3] for row in values(checked)] == ["7.5", "1.234"]


def test_options_added_later_leave_the_fingerprints_of_earlier_imports(desk: Desk) -> None:
    path = desk.put(WIDE)
    digest = hashlib.sha256(path.read_bytes())
    earlier = {name: value for name, value in Options().as_dict().items() if name not in ADDED_LATER}
    digest.update(orjson.dumps(earlier, option=orjson.OPT_SORT_KEYS))
    assert fingerprint(path, Options()) == digest.hexdigest()
    assert fingerprint(path, Options(repeated="last")) != digest.hexdigest()
