import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from annotate.attempts import attempts
from annotate.attempts.gradable_items import read_spec
from annotate.models import QualificationItem
from annotate.qualification import design, items, items_from_candidates, items_from_file
from projects.errors import Refused
from projects.importing import FileRefused
from projects.models import Candidate, LogEntry, Membership, Project
from projects.rubric.rubrics import read_criteria
from tests import factories
from tests.annotate.qualification.factories import first_item, make_test, spec
from tests.results.judged_batches import judge

pytestmark = pytest.mark.django_db

HEADER = "passage,question,reference,reference_2,candidate,expected,tolerance,explanation,purpose\n"


def write(folder: Path, text: str, name: str = "items.csv") -> Path:
    path = folder / name
    path.write_text(text)
    return path


def test_items_of_a_csv_file(project: Project, tmp_path: Path) -> None:
    test = design.make_test(project=project, actor=None)
    rows = "A text,Who?,Ann,Anna,Ann did,4-5,1,It is Ann,\nA text,Who?,Ann,,Bob did,1,,,practice\n"
    made = items_from_file.import_items(test=test, actor=None, path=write(tmp_path, HEADER + rows), name="items.csv")
    first, second = test.items.all()
    assert [first, second] == made
    assert (first.expected, first.tolerance) == ({"correctness": [4.0, 5.0]}, 1.0)
    assert first.references == [{"text": "Ann", "opinion": ""}, {"text": "Anna", "opinion": ""}]
    assert (first.passage_text, first.explanation, first.purpose) == ("A text", "It is Ann", "test")
    assert (second.expected, second.tolerance, second.purpose) == ({"correctness": [1.0, 1.0]}, 0.0, "practice")
    assert LogEntry.objects.get(act="add qualification items").after == {"n_items": 2, "how": "file"}


def test_items_of_a_json_file(project: Project, tmp_path: Path) -> None:
    test = design.make_test(project=project, actor=None)
    row = {"question": "Who?", "references": ["Ann", {"text": "Anna"}], "answer": "Ann", "expected": [4, 5]}
    path = write(tmp_path, json.dumps([row]), "items.json")
    (item,) = items_from_file.import_items(test=test, actor=None, path=path, name="items.json")
    assert item.expected == {"correctness": [4.0, 5.0]}
    assert [each["text"] for each in item.references] == ["Ann", "Anna"]


@pytest.mark.parametrize(
    ("text", "ends"), [("87,5", (87.5, 87.5)), ("80,5-100", (80.5, 100.0)), ("0.5 to 2,25", (0.5, 2.25))]
)
def test_a_typed_range_may_have_decimal_commas(text: str, ends: tuple[float, float]) -> None:
    assert items_from_file.read_range(text) == ends


def test_a_comma_that_may_divide_thousands_is_refused() -> None:
    with pytest.raises(Refused, match=r"“1,000” may be 1\.000 or 1000"):
        items_from_file.read_range("1-1,000")


def test_a_range_in_a_file_may_have_decimal_commas(project: Project, tmp_path: Path) -> None:
    test = design.make_test(project=project, actor=None)
    path = write(tmp_path, "question;answer;expected;tolerance\nWho?;Ann;4,0-5,0;0,5\n")
    (item,) = items_from_file.import_items(test=test, actor=None, path=path, name="items.csv")
    assert (item.expected, item.tolerance) == ({"correctness": [4.0, 5.0]}, 0.5)


@pytest.mark.parametrize(
    ("rows", "line", "column", "words"),
    [
        ("A,Who?,R,,C,9,,,\n", 2, "expected", "outside the scale"),
        ("A,Who?,R,,C,,,,\n", 2, "expected", "must be a number"),
        ("A,Who?,R,,C,high,,,\n", 2, "expected", "must be a number"),
        ("A,Who?,R,,C,2.5,,,\n", 2, "expected", "not a whole number"),
        ("A,Who?,R,,C,5-4,,,\n", 2, "expected", "Put the smaller number first"),
        ("A,Who?,R,,C,[],,,\n", 2, "expected", "must be a number"),
        ("A,Who?,R,,C,[4,,,\n", 2, "expected", "is not valid"),
        ('A,Who?,R,,C,"[4, NaN]",,,\n', 2, "expected", "is not valid"),
        pytest.param(f"A,Who?,R,,C,{'[' * 100_000},,,\n", 2, "expected", "is not valid", id="deep"),
        pytest.param(f'A,Who?,R,,C,"[1{"0" * 400}, 5]",,,\n', 2, "expected", "is not valid", id="huge"),
        ("A,Who?,R,,C,4,-1,,\n", 2, "tolerance", "must not be below 0"),
        ("A,Who?,R,,C,4,much,,\n", 2, "tolerance", "must be a number"),
        ("A,,R,,C,4,,,\n", 2, "question", "is empty"),
        ("A,Who?,R,,C,4,,,game\n", 2, "purpose", "use test or practice"),
        ('A,Who?,R,,C,4,,,\n"B\nb",Who?,R,,C,8,,,\n', 3, "expected", "outside the scale"),
        ("A,Who?,R,,C,4,,,\nA,Who?,R,,D,4,,,\nA,Who?,S,,C,2,,,\n", 4, "candidate", "repeats the answer of line 2"),
    ],
)
def test_a_fault_is_named_with_line_and_column_and_nothing_is_stored(
    project: Project, tmp_path: Path, rows: str, line: int, column: str, words: str
) -> None:
    test = design.make_test(project=project, actor=None)
    path = write(tmp_path, HEADER + rows)
    with pytest.raises(FileRefused) as refusal:
        items_from_file.import_items(test=test, actor=None, path=path, name="items.csv")
    (problem,) = refusal.value.problems
    assert (problem.line, problem.column) == (line, column)
    assert words in problem.reason
    assert not test.items.exists()


@pytest.mark.parametrize(
    ("name", "text", "words"),
    [
        ("items.csv", "question,candidate\nWho?,Ann\n", "no column “expected”"),
        ("items.csv", "question,expected\nWho?,4\n", "no column “answer”"),
        ("items.csv", HEADER, "a header and no rows"),
        ("items.csv", "", "the file is empty"),
        ("items.doc", "x", "unknown file extension"),
        ("items.json", '{"a": 1}', "an object of objects"),
        ("items.csv", "question,candidate,expected\n" + "".join(f"Who?,{n},4\n" for n in range(501)), "than 500 rows"),
    ],
)
def test_a_file_that_is_none(project: Project, tmp_path: Path, name: str, text: str, words: str) -> None:
    test = design.make_test(project=project, actor=None)
    with pytest.raises(FileRefused, match=words):
        items_from_file.import_items(test=test, actor=None, path=write(tmp_path, text, name), name=name)


def test_a_rubric_of_several_criteria_wants_a_column_for_each(project: Project, tmp_path: Path) -> None:
    rubric = factories.make_rubric(project)
    first = rubric.criteria.get()
    first.pk, first.key, first.name, first.position = None, "brevity", "Brevity", 1
    first.save()
    test = design.make_test(project=project, actor=None)
    head = "question,answer,expected_correctness"
    with pytest.raises(FileRefused, match="no column “expected_brevity”"):
        items_from_file.import_items(test=test, actor=None, path=write(tmp_path, f"{head}\nW?,A,4\n"), name="i.csv")
    path = write(tmp_path, f"{head},Expected Brevity\nW?,A,4,1-2\n")
    (item,) = items_from_file.import_items(test=test, actor=None, path=path, name="i.csv")
    assert item.expected == {"correctness": [4.0, 4.0], "brevity": [1.0, 2.0]}


@pytest.mark.parametrize(
    ("mean", "right"), [(4.0, (4, 4)), (4.2, (4, 4)), (4.5, (4, 5)), (4.51, (5, 5)), (1.5, (1, 2)), (3.4999, (3, 3))]
)
def test_a_known_mean_is_the_nearest_point_or_both(project: Project, mean: float, right: tuple[float, float]) -> None:
    rubric = factories.make_rubric(project)
    assert items_from_candidates.find_expected_range(read_criteria(rubric)[0], mean) == right


def test_candidates_with_known_scores_become_items(project: Project, annotator: Membership) -> None:
    factories.make_corpus(project, n_candidates=3)
    known, other, unknown = Candidate.objects.order_by("pk")
    raters = [factories.make_membership(project) for _ in range(3)]
    ratings = {known: [4.0, 5.0], other: [2.0, 2.0, 3.0]}
    judge(project, {each: dict(zip(raters, values, strict=False)) for each, values in ratings.items()})
    test = design.make_test(project=project, actor=None)
    rows = {
        row["candidate_id"]: (row["n"], row["mean"])
        for row in items_from_candidates.list_known_scores(project, test.rubric)
    }
    assert rows == {known.pk: (2, 4.5), other.pk: (3, pytest.approx(7 / 3))}
    made = items_from_candidates.add_candidates(test=test, actor=None, candidate_ids=[other.pk, known.pk], tolerance=1)
    assert {item.candidate_id: item.expected["correctness"] for item in made} == {known.pk: [4, 5], other.pk: [2, 2]}
    assert {item.passage_text for item in made} == {known.question.passage.text}
    assert made[0].references == [{"text": "On the mat.", "opinion": ""}]
    with pytest.raises(Refused, match="no judgment of “Correctness”"):
        items_from_candidates.add_candidates(test=test, actor=None, candidate_ids=[unknown.pk, known.pk])
    assert test.items.count() == 2


@pytest.mark.parametrize("other", [{"low": 0, "high": 100}, {"is_reversed": True}, {"kind": "continuous"}])
def test_scores_on_another_scale_are_not_known(project: Project, other: dict[str, Any]) -> None:
    factories.make_corpus(project, n_candidates=1)
    known = Candidate.objects.get()
    judge(project, {known: {factories.make_membership(project): 4.0}})
    test = design.make_test(project=project, actor=None)
    assert items_from_candidates.list_known_scores(project, test.rubric).count() == 1
    newest = factories.make_rubric(project)
    design.move_to_rubric(test=test, actor=None, on_new_rubric="ask")
    test.refresh_from_db()
    assert items_from_candidates.list_known_scores(project, test.rubric).count() == 1
    newest.criteria.update(**other)
    assert not items_from_candidates.list_known_scores(project, test.rubric).exists()
    with pytest.raises(Refused, match="no judgment of “Correctness”"):
        items_from_candidates.add_candidates(test=test, actor=None, candidate_ids=[known.pk])


def test_candidates_of_another_project_are_not_there(project: Project) -> None:
    elsewhere = factories.make_project()
    factories.make_corpus(elsewhere, n_candidates=1)
    test = design.make_test(project=project, actor=None)
    with pytest.raises(Refused, match="No item is selected"):
        items_from_candidates.add_candidates(test=test, actor=None, candidate_ids=[Candidate.objects.get().pk])


@pytest.mark.parametrize(
    ("over", "words"),
    [
        ({"question": " "}, "question is empty"),
        ({"tolerance": -1.0}, "must not be below 0"),
        ({"expected": {}}, "gives no rating for “Correctness”"),
        ({"expected": {"correctness": (0, 4)}}, "outside the scale"),
        ({"references": [{"text": "r"}] * 21}, "more than 20"),
        ({"expected": {"correctness": (1, 5)}}, "Item 2: expected makes every rating correct"),
        ({"tolerance": 3.0}, "Item 2: tolerance makes every rating correct"),
    ],
)
def test_an_item_that_cannot_be_is_refused_with_all_the_others(
    project: Project, over: dict[str, Any], words: str
) -> None:
    test = design.make_test(project=project, actor=None)
    with pytest.raises(Refused, match=words):
        items.add_items(test=test, actor=None, specs=[spec(0), spec(1, **over)], how="typed")
    assert not test.items.exists()


def test_a_tolerance_may_reach_one_end_of_the_scale(project: Project) -> None:
    test = design.make_test(project=project, actor=None)
    (item,) = items.add_items(test=test, actor=None, specs=[spec(0, tolerance=2.0)], how="typed")
    assert item.tolerance == 2.0


def test_the_same_answer_is_in_a_test_once(project: Project) -> None:
    test = design.make_test(project=project, actor=None)
    with pytest.raises(Refused, match="Item 2: the test already has this answer to this question"):
        items.add_items(test=test, actor=None, specs=[spec(1), spec(1, expected={"correctness": (2, 2)})], how="typed")
    first, second = items.add_items(test=test, actor=None, specs=[spec(1), spec(2)], how="typed")
    with pytest.raises(Refused, match="The test already has this answer"):
        items.add_items(test=test, actor=None, specs=[spec(1, purpose="practice")], how="typed")
    with pytest.raises(Refused, match="The test already has this answer"):
        items.edit_item(item=second, actor=None, spec=spec(1))
    items.edit_item(item=first, actor=None, spec=spec(1, tolerance=1.0))
    items.retire_item(item=first, actor=None)
    items.add_items(test=test, actor=None, specs=[spec(1)], how="typed")


def test_an_item_that_was_shown_is_never_changed(project: Project, annotator: Membership) -> None:
    test = make_test(project)
    attempt = attempts.begin(annotator=annotator)
    old = first_item(test)
    new = items.edit_item(item=old, actor=None, spec=spec(50, expected={"correctness": (2, 2)}))
    assert new.pk != old.pk
    old.refresh_from_db()
    assert old.retired_at is not None
    assert old.expected == {"correctness": [4.0, 4.0]}
    assert new.position == old.position
    assert attempt.layout.count(old.pk) == 1
    with pytest.raises(Refused, match="retired"):
        items.edit_item(item=old, actor=None, spec=spec(51))


def test_an_item_that_nobody_saw_is_changed_in_place(project: Project) -> None:
    item = first_item(make_test(project, is_open=False))
    assert items.edit_item(item=item, actor=None, spec=spec(9)).pk == item.pk
    assert QualificationItem.objects.get(pk=item.pk).question == "Question 9?"


def test_an_open_test_keeps_the_items_that_an_attempt_takes(project: Project) -> None:
    test = make_test(project, n_items=4)
    design.change_settings(test=test, actor=None, values={"n_items": 3})
    items.retire_item(item=first_item(test), actor=None)
    with pytest.raises(Refused, match="an attempt has 3 items, and only 2 would be left"):
        items.retire_item(item=first_item(test), actor=None)
    with pytest.raises(Refused, match="an attempt has 3 items, and only 2 would be left"):
        items.edit_item(item=first_item(test), actor=None, spec=spec(1, purpose="practice"))
    with pytest.raises(Refused, match="can’t have 4 items, because the open test has 3"):
        design.change_settings(test=test, actor=None, values={"n_items": 4})
    design.close_test(test=test, actor=None)
    items.retire_item(item=first_item(test), actor=None)


def test_what_makes_no_test_is_not_opened(project: Project) -> None:
    test = design.make_test(project=project, actor=None)
    with pytest.raises(Refused, match="no items yet"):
        design.open_test(test=test, actor=None)
    items.add_items(test=test, actor=None, specs=[spec(1), spec(2, purpose="practice")], how="typed")
    design.change_settings(test=test, actor=None, values={"n_items": 2})
    with pytest.raises(Refused, match="An attempt needs 2 items, but the test has 1"):
        design.open_test(test=test, actor=None)
    test.rubric.criteria.update(used_for_quality=False)
    with pytest.raises(Refused, match="nothing can be graded"):
        design.open_test(test=test, actor=None)


def test_opening_freezes_the_rubric(project: Project) -> None:
    test = make_test(project)
    assert test.rubric.frozen_at is not None
    assert test.opened_at is not None


def test_an_open_test_whose_items_do_not_fit_a_new_rubric_stays(project: Project) -> None:
    test = make_test(project)
    before = test.rubric
    factories.make_rubric(project, "yang")
    with pytest.raises(Refused, match=r"correct its items first\. Item 1: expected gives no rating"):
        design.move_to_rubric(test=test, actor=None, on_new_rubric="ask")
    test.refresh_from_db()
    assert test.rubric == before
    design.close_test(test=test, actor=None)
    design.move_to_rubric(test=test, actor=None, on_new_rubric="ask")
    with pytest.raises(Refused, match="the latest version"):
        design.move_to_rubric(test=test, actor=None, on_new_rubric="keep")


@pytest.mark.parametrize("change", [{"low": 1, "high": 7}, {"is_reversed": True}])
def test_correct_ratings_on_an_older_scale_have_to_be_set_again(
    project: Project, annotator: Membership, change: dict[str, Any]
) -> None:
    test = make_test(project, n_items=2, n_practice=1)
    attempts.begin(annotator=annotator)
    shown = list(test.items.filter(purpose="test"))
    factories.make_rubric(project).criteria.update(**change)
    with pytest.raises(Refused, match=r"direction of “Correctness” has changed, so the correct ratings of 3 items no"):
        design.move_to_rubric(test=test, actor=None, on_new_rubric="keep")
    design.close_test(test=test, actor=None)
    assert design.move_to_rubric(test=test, actor=None, on_new_rubric="keep") == 3
    with pytest.raises(Refused, match="Item 1: expected gives no rating for “Correctness”"):
        design.open_test(test=test, actor=None)
    for item in shown:
        item.refresh_from_db()
        assert (item.expected, item.retired_at is None) == ({"correctness": [4.0, 4.0]}, False), "It stays as shown."
    for item in test.items.filter(retired_at=None):
        items.edit_item(item=item, actor=None, spec=replace(read_spec(item), expected={"correctness": (2, 2)}))
    design.open_test(test=test, actor=None)


def test_every_change_is_in_the_log(project: Project, manager: Membership) -> None:
    test = design.make_test(project=project, actor=manager)
    assert design.make_test(project=project, actor=manager) == test
    items.add_items(test=test, actor=manager, specs=[spec(1)], how="typed")
    assert design.change_settings(test=test, actor=manager, values={"pass_share": 0.5})
    assert not design.change_settings(test=test, actor=manager, values={"pass_share": 0.5})
    design.open_test(test=test, actor=manager)
    design.open_test(test=test, actor=manager)
    design.close_test(test=test, actor=manager)
    design.close_test(test=test, actor=manager)
    items.edit_item(item=first_item(test), actor=manager, spec=spec(3))
    items.retire_item(item=first_item(test), actor=manager)
    acts = list(LogEntry.objects.filter(actor=manager).order_by("pk").values_list("act", flat=True))
    assert acts == [
        "make qualification test",
        "add qualification items",
        "change qualification test",
        "open qualification test",
        "close qualification test",
        "edit qualification item",
        "retire qualification item",
    ]
    changed = LogEntry.objects.get(act="change qualification test")
    assert (changed.before, changed.after) == ({"pass_share": 0.8}, {"pass_share": 0.5})
