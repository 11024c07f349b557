import uuid
from datetime import timedelta
from typing import Any

import pytest
from django.db import IntegrityError, connection, transaction
from django.utils import timezone

from annotate import places
from annotate.models import Assignment, Batch, Draft, Judgment, Remark
from annotate.rating import answers
from annotate.work import drafts, serving, submitting
from projects.errors import Refused
from projects.models import Membership, Project
from tests.annotate.open_batches import answered, assert_equation, fetch, open_batch
from tests.factories import make_membership

pytestmark = pytest.mark.django_db


@pytest.fixture
def assignment(project: Project, annotator: Membership) -> Assignment:
    open_batch(project, n_hits=1)
    found = serving.claim(annotator)
    assert isinstance(found, uuid.UUID)
    return fetch(found)


def expire(assignment: Assignment) -> None:
    Assignment.objects.filter(pk=assignment.pk).update(due_at=timezone.now() - timedelta(minutes=5))
    with transaction.atomic():
        assert places.sweep(now=timezone.now()) == 1


def submit(assignment: Assignment, **over: Any) -> submitting.Submitted:
    sent = over.pop("sent", answered(**over))
    return submitting.submit(annotator=assignment.annotator, assignment_uuid=assignment.uuid, sent=sent)


def test_submitting_stores_one_counted_judgment_per_item_and_criterion(assignment: Assignment) -> None:
    done = submit(assignment)
    assert not done.was_stored
    stored = Judgment.objects.filter(assignment=assignment)
    assert stored.count() == 3
    assert all(judgment.value == 4 and judgment.is_counted for judgment in stored)
    assert {judgment.candidate_id for judgment in stored} == {item.candidate_id for item in assignment.hit.items.all()}
    assert fetch(assignment.uuid).mark == Assignment.Mark.COUNTED
    assert_equation()


def test_the_same_answers_again_change_nothing(assignment: Assignment) -> None:
    submit(assignment)
    assert submit(assignment).was_stored
    assert Judgment.objects.count() == 3


def test_the_time_spent_is_no_part_of_the_answers(assignment: Assignment) -> None:
    submit(assignment, seconds=[1.0, 2.0, 3.0])
    assert submit(assignment, seconds=[9.0, 9.0, 9.0]).was_stored


def test_other_answers_for_a_submitted_hit_are_refused_and_the_first_stay(assignment: Assignment) -> None:
    submit(assignment)
    with pytest.raises(answers.SubmittedBefore):
        submit(assignment, value=2)
    assert set(Judgment.objects.values_list("value", flat=True)) == {4}


def test_an_item_without_an_answer_is_named_and_nothing_is_stored(assignment: Assignment) -> None:
    with pytest.raises(answers.Incomplete) as refusal:
        submit(assignment, n_items=2)
    assert refusal.value.errors == {2: "Not rated yet."}
    assert not Judgment.objects.exists()
    assert fetch(assignment.uuid).state == Assignment.State.OPEN


@pytest.mark.parametrize("value", [0, 6, 2.5, "four"])
def test_an_answer_off_the_scale_is_refused(assignment: Assignment, value: float) -> None:
    with pytest.raises(answers.Incomplete) as refusal:
        submit(assignment, value=value)
    assert set(refusal.value.errors) == {0, 1, 2}


def test_what_cannot_be_judged_is_stored_without_a_value_and_with_its_reason(assignment: Assignment) -> None:
    submit(assignment, n_items=2, cannot={2: "unreadable"}, flags=frozenset({0}), comments={0: "odd"})
    assert Judgment.objects.get(item=assignment.layout[2]).value is None
    assert Remark.objects.get(item=assignment.layout[2]).cannot_judge_reason == "unreadable"
    remark = Remark.objects.get(item=assignment.layout[0])
    assert remark.is_flagged
    assert remark.comment == "odd"


def test_a_late_answer_counts_while_the_place_is_free(assignment: Assignment) -> None:
    expire(assignment)
    assert submit(assignment).mark == Assignment.Mark.LATE
    assert Judgment.objects.filter(is_counted=True).count() == 3
    assert_equation()


def test_a_late_answer_to_a_taken_place_is_kept_as_surplus_and_never_counted(
    assignment: Assignment, other_annotator: Membership
) -> None:
    expire(assignment)
    assert isinstance(serving.claim(other_annotator), uuid.UUID)
    assert submit(assignment).mark == Assignment.Mark.SURPLUS
    assert Judgment.objects.filter(is_counted=False, not_counted_reason="surplus").count() == 3
    assert not fetch(assignment.uuid).holds_place
    assert_equation()


def test_an_answer_past_its_time_that_nobody_swept_simply_counts(assignment: Assignment) -> None:
    Assignment.objects.update(due_at=timezone.now() - timedelta(hours=8))
    assert submit(assignment).mark == Assignment.Mark.COUNTED


def test_a_returned_hit_takes_no_answers_and_is_not_offered_again(assignment: Assignment) -> None:
    for _ in range(2):
        submitting.return_hit(annotator=assignment.annotator, assignment_uuid=assignment.uuid, reason="too long")
    with pytest.raises(answers.TakesNoAnswers):
        submit(assignment)
    assert isinstance(serving.claim(assignment.annotator), serving.NoWork)
    assert fetch(assignment.uuid).return_reason == "too long"
    assert_equation()


def test_a_submitted_hit_cannot_be_returned(assignment: Assignment) -> None:
    submit(assignment)
    with pytest.raises(answers.TakesNoAnswers):
        submitting.return_hit(annotator=assignment.annotator, assignment_uuid=assignment.uuid, reason="")


def test_nobody_submits_for_somebody_else(assignment: Assignment, other_annotator: Membership) -> None:
    with pytest.raises(Assignment.DoesNotExist):
        submitting.submit(annotator=other_annotator, assignment_uuid=assignment.uuid, sent=answered())


def test_an_expired_hit_can_be_resumed_while_its_place_is_free(assignment: Assignment) -> None:
    expire(assignment)
    submitting.reopen(annotator=assignment.annotator, assignment_uuid=assignment.uuid)
    again = fetch(assignment.uuid)
    assert again.state == Assignment.State.OPEN
    assert again.due_at is not None
    assert again.due_at > timezone.now()
    assert_equation()


def test_an_expired_hit_whose_place_is_taken_is_not_given_back(
    assignment: Assignment, other_annotator: Membership
) -> None:
    expire(assignment)
    serving.claim(other_annotator)
    with pytest.raises(Refused, match="in the meantime"):
        submitting.reopen(annotator=assignment.annotator, assignment_uuid=assignment.uuid)
    assert_equation()


def test_nobody_has_two_hits_open(project: Project, assignment: Assignment) -> None:
    expire(assignment)
    open_batch(project, n_hits=1, priority=1)
    serving.claim(assignment.annotator)
    with pytest.raises(Refused, match="another open HIT"):
        submitting.reopen(annotator=assignment.annotator, assignment_uuid=assignment.uuid)


def test_the_time_limit_is_extended_once(assignment: Assignment) -> None:
    submitting.extend(annotator=assignment.annotator, assignment_uuid=assignment.uuid)
    with pytest.raises(Refused, match="already"):
        submitting.extend(annotator=assignment.annotator, assignment_uuid=assignment.uuid)


def test_a_suspended_annotators_answers_wait_in_the_draft(assignment: Assignment) -> None:
    drafts.save(
        annotator=assignment.annotator,
        assignment_uuid=assignment.uuid,
        sent={"answers": {"0": {"correctness": [3, 1]}}},
    )
    Membership.objects.filter(pk=assignment.annotator_id).update(standing=Membership.Standing.SUSPENDED)
    with pytest.raises(answers.TakesNoAnswers, match="on hold"):
        submit(assignment)
    assert Draft.objects.filter(assignment=assignment).exists()


def test_work_in_a_batch_that_is_paused_or_closed_meanwhile_can_be_finished(assignment: Assignment) -> None:
    Batch.objects.update(state=Batch.State.CLOSED)
    assert submit(assignment).mark == Assignment.Mark.COUNTED


def test_absurd_times_are_flagged_and_the_answer_is_kept(assignment: Assignment) -> None:
    submit(assignment, seconds=[90_000.0, 1.0, 1.0])
    assert fetch(assignment.uuid).has_odd_times


def test_whoever_comes_to_see_sources_while_working_is_not_blind(assignment: Assignment) -> None:
    Membership.objects.filter(pk=assignment.annotator_id).update(role=Membership.Role.RESEARCHER)
    submit(assignment)
    assert fetch(assignment.uuid).not_blind


def test_a_late_answer_to_an_archived_batch_is_kept_and_not_counted(assignment: Assignment) -> None:
    expire(assignment)
    Batch.objects.update(state=Batch.State.ARCHIVED)
    assert submit(assignment).mark == Assignment.Mark.SURPLUS
    assert_equation()


@pytest.mark.parametrize("change", [{"standing": Membership.Standing.REMOVED}, {"is_annotator": False}])
def test_the_place_of_somebody_who_has_left_comes_free(assignment: Assignment, change: dict[str, Any]) -> None:
    Membership.objects.filter(pk=assignment.annotator_id).update(**change)
    with transaction.atomic():
        assert places.sweep(now=timezone.now()) == 1
    assert fetch(assignment.uuid).state == Assignment.State.WITHDRAWN
    assert_equation()


def test_somebody_suspended_keeps_the_place_until_its_time_is_over(assignment: Assignment) -> None:
    Membership.objects.filter(pk=assignment.annotator_id).update(standing=Membership.Standing.SUSPENDED)
    with transaction.atomic():
        assert places.sweep(now=timezone.now()) == 0


class TestWhatTheDatabaseHolds:
    """The constraints hold against plain SQL, not only against the app."""

    def refused(self, sql: str, *parameters: Any) -> None:
        with pytest.raises(IntegrityError), transaction.atomic(), connection.cursor() as cursor:
            cursor.execute(sql, parameters)

    def test_one_assignment_for_a_hit_and_an_annotator(self, assignment: Assignment) -> None:
        self.refused(
            """INSERT INTO annotate_assignment (uuid, hit_id, annotator_id, state, holds_place, layout)
               SELECT gen_random_uuid(), hit_id, annotator_id, 'returned', false, layout FROM annotate_assignment"""
        )

    def test_one_open_assignment_for_an_annotator(self, project: Project, assignment: Assignment) -> None:
        other = open_batch(project, n_hits=1).hits.get()
        self.refused(
            """INSERT INTO annotate_assignment (uuid, hit_id, annotator_id, state, holds_place, layout)
               SELECT gen_random_uuid(), %s, annotator_id, 'open', true, layout FROM annotate_assignment""",
            other.pk,
        )

    def test_one_judgment_for_an_item_and_a_criterion(self, assignment: Assignment) -> None:
        submit(assignment)
        self.refused(
            """INSERT INTO annotate_judgment (assignment_id, item_id, annotator_id, criterion_id, value)
               SELECT assignment_id, item_id, annotator_id, criterion_id, 1 FROM annotate_judgment LIMIT 1"""
        )

    def test_one_counted_judgment_for_an_annotator_and_a_candidate(
        self, project: Project, assignment: Assignment
    ) -> None:
        submit(assignment)
        other = make_membership(project)
        open_batch(project, n_hits=1)
        found = fetch(serving.claim(other))
        self.refused(
            """INSERT INTO annotate_judgment
                   (assignment_id, item_id, annotator_id, candidate_id, criterion_id, value)
               SELECT %s, item_id, annotator_id, candidate_id, criterion_id, 1 FROM annotate_judgment LIMIT 1""",
            found.pk,
        )

    @pytest.mark.parametrize("value", ["'NaN'", "'Infinity'", "1e9"])
    def test_no_nan_and_nothing_endless(self, assignment: Assignment, value: str) -> None:
        submit(assignment)
        self.refused(f"UPDATE annotate_judgment SET value = {value}::float8")

    @pytest.mark.parametrize(
        "change", ["places_open = -1", "places_open = places_wanted + 1", "places_done = places_wanted + 1"]
    )
    def test_counters_stay_within_the_places_wanted(self, assignment: Assignment, change: str) -> None:
        self.refused(f"UPDATE annotate_hit SET {change}")

    @pytest.mark.parametrize(("state", "holds"), [("open", False), ("returned", True), ("expired", True)])
    def test_a_state_says_whether_it_holds_a_place(self, assignment: Assignment, state: str, holds: bool) -> None:
        self.refused("UPDATE annotate_assignment SET state = %s, holds_place = %s", state, holds)
