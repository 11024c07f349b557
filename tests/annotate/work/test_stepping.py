from typing import Any

import pytest

from annotate.models import Assignment, Batch, Draft, Judgment, Remark
from annotate.rating import answers
from annotate.rating.sent import SentAnswers
from annotate.work import drafts, serving, stepping, submitting
from projects.errors import Refused
from projects.models import Membership, Project
from tests.annotate.open_batches import answered, open_batch

pytestmark = pytest.mark.django_db


@pytest.fixture
def batch(project: Project) -> Batch:
    return open_batch(project, n_hits=1, n_items=3, presentation=Batch.Presentation.ONE)


@pytest.fixture
def assignment(batch: Batch, annotator: Membership) -> Assignment:
    return Assignment.objects.get(uuid=str(serving.claim(annotator)))


def step(annotator: Membership, assignment: Assignment, place: int, value: float = 4, **over: Any) -> Any:
    sent = SentAnswers(values={place: {"correctness": value}}, **over)
    return stepping.answer_item(annotator=annotator, assignment_uuid=assignment.uuid, position=place, sent=sent)


def list_values(assignment: Assignment) -> list[float | None]:
    by_item = dict(Judgment.objects.filter(assignment=assignment).values_list("item_id", "value"))
    return [by_item.get(pk) for pk in assignment.layout]


def test_the_last_item_submits_the_hit(annotator: Membership, assignment: Assignment) -> None:
    assert step(annotator, assignment, 0, 2) is None
    assert step(annotator, assignment, 1, 3, comments={1: "odd"}, flags=frozenset({1})) is None
    assert not Judgment.objects.exists()
    assert step(annotator, assignment, 2, 5, seconds=[1.0, 2.0, 3.0]).mark == Assignment.Mark.COUNTED
    assert list_values(assignment) == [2, 3, 5]
    remark = Remark.objects.get()
    assert (remark.item_id, remark.comment, remark.is_flagged) == (assignment.layout[1], "odd", True)
    assignment.refresh_from_db()
    assert assignment.item_seconds == [1.0, 2.0, 3.0]
    assert not Draft.objects.exists()


def test_the_first_answer_is_final(annotator: Membership, assignment: Assignment) -> None:
    step(annotator, assignment, 0, 2, seconds=[1.5, 0.0, 0.0])
    assert step(annotator, assignment, 0, 2, seconds=[2.5, 0.0, 0.0]) is None
    with pytest.raises(stepping.AlreadyAnswered):
        step(annotator, assignment, 0, 5)
    late = {"answers": {"0": {"correctness": [5, 9e15]}, "1": {"correctness": [1, 9e15]}}, "flags": {"0": [True, 9e15]}}
    drafts.save(annotator=annotator, assignment_uuid=assignment.uuid, sent=late)
    drafts.save_form(annotator=annotator, assignment_uuid=assignment.uuid, sent=answered(value=5))
    step(annotator, assignment, 1, 3)
    step(annotator, assignment, 2, 4)
    assert list_values(assignment) == [2, 3, 4]
    assert not Remark.objects.exists()
    assert step(annotator, assignment, 2, 1).was_stored
    assert list_values(assignment) == [2, 3, 4]


def test_no_item_is_answered_before_its_turn(annotator: Membership, assignment: Assignment) -> None:
    for place in (1, 2, 3, 99):
        with pytest.raises(Refused):
            step(annotator, assignment, place)
    with pytest.raises(answers.SteppedOnly):
        submitting.submit(annotator=annotator, assignment_uuid=assignment.uuid, sent=answered())
    assert not Judgment.objects.exists()
    assert not Draft.objects.exists()


def test_an_item_needs_an_answer_or_the_reason_why_not(annotator: Membership, assignment: Assignment) -> None:
    wrongs: list[dict[int, dict[str, float | str]]] = [{}, {0: {"correctness": 7.0}}, {1: {"correctness": 3.0}}]
    for wrong in wrongs:
        with pytest.raises(answers.Incomplete) as refusal:
            stepping.answer_item(
                annotator=annotator, assignment_uuid=assignment.uuid, position=0, sent=SentAnswers(values=wrong)
            )
        assert list(refusal.value.errors) == [0]
    step(annotator, assignment, 0, 9, cannot={0: "no text"})
    step(annotator, assignment, 1)
    step(annotator, assignment, 2)
    assert list_values(assignment) == [None, 4, 4]
    assert Remark.objects.get().cannot_judge_reason == "no text"


def test_what_the_draft_kept_of_an_item_gives_way_to_the_form(annotator: Membership, assignment: Assignment) -> None:
    kept = {
        "answers": {"0": {"correctness": [1, 9e15]}},
        "comments": {"0": ["was", 9e15]},
        "cannot": {"0": ["x", 9e15]},
    }
    drafts.save(annotator=annotator, assignment_uuid=assignment.uuid, sent=kept)
    for place in range(3):
        step(annotator, assignment, place, 3)
    assert list_values(assignment) == [3, 3, 3]
    assert not Remark.objects.exists()


def test_a_returned_hit_takes_no_more_items(annotator: Membership, assignment: Assignment) -> None:
    step(annotator, assignment, 0)
    submitting.return_hit(annotator=annotator, assignment_uuid=assignment.uuid, reason="")
    with pytest.raises(answers.TakesNoAnswers):
        step(annotator, assignment, 1)


def test_a_suspended_annotator_is_refused(annotator: Membership, assignment: Assignment) -> None:
    Membership.objects.filter(pk=annotator.pk).update(standing=Membership.Standing.SUSPENDED)
    with pytest.raises(answers.TakesNoAnswers):
        step(annotator, assignment, 0)


def test_anybody_elses_item_does_not_exist(other_annotator: Membership, assignment: Assignment) -> None:
    with pytest.raises(Assignment.DoesNotExist):
        step(other_annotator, assignment, 0)
