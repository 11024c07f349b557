from datetime import timedelta
from typing import Any

import pytest
from django.utils import timezone

from annotate.attempts import attempts, results
from annotate.attempts.admission import GRACE, find_admission
from annotate.attempts.item_pages import draw_items, list_pages, read_answers
from annotate.models import Attempt, LedgerEntry, Qualification, QualificationTest
from annotate.qualification import design, granting
from annotate.rating.answers import Incomplete, TakesNoAnswers
from annotate.rating.sent import SentAnswers
from projects.errors import Refused
from projects.models import LogEntry, Membership, Project
from tests import factories
from tests.annotate.qualification.factories import answer, make_test, take
from tests.concurrency import all_at_once

pytestmark = pytest.mark.django_db
State = Attempt.State


def is_qualified(annotator: Membership) -> bool:
    admission = find_admission(annotator)
    assert admission is not None
    return admission.is_qualified


def why(annotator: Membership) -> str:
    admission = find_admission(annotator)
    assert admission is not None
    return admission.why_not


def turn_back(attempt: Attempt, **by: Any) -> None:
    """Let time pass."""
    by_how_much = timedelta(**by)
    row = Attempt.objects.get(pk=attempt.pk)
    row.started_at -= by_how_much
    row.due_at = row.due_at and row.due_at - by_how_much
    row.finished_at = row.finished_at and row.finished_at - by_how_much
    row.save()


@pytest.mark.parametrize(("n_right", "passes"), [(4, True), (3, False), (0, False)])
def test_an_attempt_is_graded_by_the_pass_mark(
    project: Project, annotator: Membership, n_right: int, passes: bool
) -> None:
    make_test(project)
    attempt = take(annotator, n_right=n_right)
    assert attempt.state == (State.PASSED if passes else State.FAILED)
    assert attempt.n_right == n_right
    assert is_qualified(annotator) is passes
    entry = LogEntry.objects.get(object_type="attempt")
    assert entry.act == f"{'pass' if passes else 'fail'} qualification test"
    assert entry.after == {"attempt": 1, "n_right": n_right, "n_items": 4}


def test_submitting_twice_changes_nothing(project: Project, annotator: Membership) -> None:
    make_test(project)
    attempt = take(annotator, n_right=1)
    with pytest.raises(TakesNoAnswers):
        answer(annotator, attempt)
    again = attempts.submit_attempt(annotator=annotator, attempt_uuid=attempt.uuid)
    assert (again.state, again.n_right, again.answers) == (State.FAILED, 1, attempt.answers)
    assert LogEntry.objects.filter(object_type="attempt").count() == 1


def test_beginning_twice_gives_the_same_attempt(project: Project, annotator: Membership) -> None:
    make_test(project)
    assert attempts.begin(annotator=annotator) == attempts.begin(annotator=annotator)


def test_an_item_without_an_answer_is_named(project: Project, annotator: Membership) -> None:
    make_test(project)
    attempt = attempts.begin(annotator=annotator)
    sent = SentAnswers(values={0: {"correctness": 4.0}}, cannot={1: "No sense."})
    assert attempts.save_page(annotator=annotator, attempt_uuid=attempt.uuid, page=1, sent=sent) == {}
    with pytest.raises(Incomplete) as refusal:
        attempts.submit_attempt(annotator=annotator, attempt_uuid=attempt.uuid)
    assert sorted(refusal.value.errors) == [2, 3]
    assert Attempt.objects.get().state == State.OPEN


def test_what_cannot_be_judged_is_wrong(project: Project, annotator: Membership) -> None:
    make_test(project, n_items=2, n_passages=1)
    attempt = attempts.begin(annotator=annotator)
    sent = SentAnswers(values={0: {"correctness": 4.0}, 1: {"correctness": 4.0}}, cannot={1: "No sense."})
    attempts.save_page(annotator=annotator, attempt_uuid=attempt.uuid, page=1, sent=sent)
    assert attempts.submit_attempt(annotator=annotator, attempt_uuid=attempt.uuid).n_right == 1


def test_a_value_off_the_scale_is_refused_and_not_kept(project: Project, annotator: Membership) -> None:
    make_test(project, n_items=2, n_passages=1)
    attempt = attempts.begin(annotator=annotator)
    sent = SentAnswers(values={0: {"correctness": 9.0}, 1: {"correctness": 4.0}})
    wrong = attempts.save_page(annotator=annotator, attempt_uuid=attempt.uuid, page=1, sent=sent)
    assert list(wrong) == [0]
    assert "outside the scale" in wrong[0]
    attempt.refresh_from_db()
    answers = read_answers(attempt.draft, list_pages(attempt))
    assert [each.values for each in answers] == [{}, {"correctness": 4.0}]


def test_drafts_are_kept_page_by_page_and_the_newer_stamp_wins(project: Project, annotator: Membership) -> None:
    make_test(project)
    attempt = attempts.begin(annotator=annotator)

    def save(page: int, value: int | None, stamp: float) -> None:
        sent = {"answers": {"0": {"correctness": [value, stamp]}}}
        attempts.save_draft(annotator=annotator, attempt_uuid=attempt.uuid, page=page, sent=sent)

    save(1, 5, 2000)
    save(2, 3, 1000)
    save(1, 2, 1000)
    attempt.refresh_from_db()
    answers = read_answers(attempt.draft, list_pages(attempt))
    assert [each.values for each in answers] == [{"correctness": 5}, {}, {"correctness": 3}, {}]
    save(2, None, 2000)
    attempt.refresh_from_db()
    assert not any(each.values for each in read_answers(attempt.draft, list_pages(attempt))[1:])
    with pytest.raises(attempts.NoSuchPage, match="no page 3"):
        save(3, 1, 1000)


@pytest.mark.parametrize(("late", "state"), [(timedelta(0), State.PASSED), (GRACE, State.EXPIRED)])
def test_too_late_is_graded_within_the_grace_and_expires_after_it(
    project: Project, annotator: Membership, late: timedelta, state: str
) -> None:
    make_test(project, time_limit_minutes=10)
    attempt = attempts.begin(annotator=annotator)
    answer(annotator, attempt)
    turn_back(attempt, minutes=10, seconds=late.total_seconds() + 5)
    ended = attempts.submit_attempt(annotator=annotator, attempt_uuid=attempt.uuid)
    assert ended.state == state
    assert is_qualified(annotator) is (state == State.PASSED)
    answers = read_answers(ended.draft, list_pages(ended))
    assert all(each.values for each in answers)


def test_in_the_grace_what_is_missing_is_wrong(project: Project, annotator: Membership) -> None:
    make_test(project, time_limit_minutes=10)
    attempt = attempts.begin(annotator=annotator)
    turn_back(attempt, minutes=10, seconds=5)
    assert attempts.submit_attempt(annotator=annotator, attempt_uuid=attempt.uuid).n_right == 0


def test_an_attempt_left_lying_counts_as_used(project: Project, annotator: Membership) -> None:
    make_test(project, time_limit_minutes=10, max_attempts=2)
    first = attempts.begin(annotator=annotator)
    turn_back(first, hours=1)
    second = attempts.begin(annotator=annotator)
    assert second.n == 2
    assert Attempt.objects.get(pk=first.pk).state == State.EXPIRED
    turn_back(second, hours=1)
    with pytest.raises(Refused, match="used all your attempts"):
        attempts.begin(annotator=annotator)


def test_so_many_attempts_and_then_a_manager(project: Project, annotator: Membership, manager: Membership) -> None:
    make_test(project)
    take(annotator, n_right=0)
    assert "1 attempt left" in why(annotator)
    take(annotator, n_right=0)
    assert "used all your attempts" in why(annotator)
    with pytest.raises(Refused, match="Please contact a project manager"):
        attempts.begin(annotator=annotator)
    granting.grant(annotator=annotator, actor=manager, why="Known to us")
    assert is_qualified(annotator)
    assert LogEntry.objects.get(act="grant qualification").why == "Known to us"


def test_one_waits_between_attempts(project: Project, annotator: Membership) -> None:
    make_test(project, wait_hours=5)
    attempt = take(annotator, n_right=0)
    with pytest.raises(Refused, match=r"You can try again from .* UTC\. You have 1 attempt left"):
        attempts.begin(annotator=annotator)
    turn_back(attempt, hours=6)
    assert attempts.begin(annotator=annotator).n == 2


def test_the_wait_after_an_attempt_left_lying_begins_when_its_time_was_up(
    project: Project, annotator: Membership
) -> None:
    make_test(project, wait_hours=5, time_limit_minutes=10)
    first = attempts.begin(annotator=annotator)
    turn_back(first, hours=5)
    with pytest.raises(Refused, match=r"You can try again from .* UTC\. You have 1 attempt left"):
        attempts.begin(annotator=annotator)
    turn_back(first, minutes=11)
    assert "1 attempt left" in why(annotator)
    assert attempts.begin(annotator=annotator).n == 2


def test_an_attempt_is_graded_by_the_pass_mark_that_it_began_with(
    project: Project, annotator: Membership, other_annotator: Membership
) -> None:
    test = make_test(project, n_items=4, pass_share=0.5)
    attempt = attempts.begin(annotator=annotator)
    answer(annotator, attempt, n_right=2)
    design.change_settings(test=test, actor=None, values={"pass_share": 1.0})
    ended = attempts.submit_attempt(annotator=annotator, attempt_uuid=attempt.uuid)
    assert (ended.state, results.summarise_result(ended, timezone.now()).n_needed) == (State.PASSED, 2)
    assert take(other_annotator, n_right=2).state == State.FAILED
    # Attempts of earlier versions have stored none.
    Attempt.objects.update(pass_share=None)
    ended.refresh_from_db()
    assert results.summarise_result(ended, timezone.now()).n_needed == 4


def test_who_has_passed_cannot_begin_again(project: Project, annotator: Membership) -> None:
    make_test(project)
    take(annotator)
    with pytest.raises(Refused, match="already qualified for this project"):
        attempts.begin(annotator=annotator)


def test_a_qualification_expires_and_attempts_count_from_zero(project: Project, annotator: Membership) -> None:
    make_test(project, valid_days=30)
    take(annotator, n_right=0)
    take(annotator)
    assert is_qualified(annotator)
    Qualification.objects.update(until=timezone.now() - timedelta(days=1))
    assert "has expired" in why(annotator)
    admission = find_admission(annotator)
    assert admission is not None
    assert admission.n_left == 2
    take(annotator)
    assert is_qualified(annotator)


def test_what_is_revoked_stays_so_until_it_is_granted(
    project: Project, annotator: Membership, manager: Membership
) -> None:
    make_test(project, valid_days=30)
    take(annotator)
    granting.revoke(annotator=annotator, actor=manager, why="Shared the answers")
    assert not is_qualified(annotator)
    assert "ended your qualification" in why(annotator)
    Qualification.objects.update(until=timezone.now() - timedelta(days=1))
    admission = find_admission(annotator)
    assert admission is not None
    assert not admission.has_expired
    with pytest.raises(Refused, match="ended your qualification"):
        attempts.begin(annotator=annotator)
    granting.grant(annotator=annotator, actor=manager, why="A mistake")
    assert is_qualified(annotator)


def test_revoked_in_the_middle_of_an_attempt(project: Project, annotator: Membership, manager: Membership) -> None:
    make_test(project)
    attempt = attempts.begin(annotator=annotator)
    answer(annotator, attempt)
    granting.revoke(annotator=annotator, actor=manager, why="Not now")
    assert attempts.submit_attempt(annotator=annotator, attempt_uuid=attempt.uuid).state == State.PASSED
    assert not is_qualified(annotator)


def test_granted_in_the_middle_of_an_attempt(project: Project, annotator: Membership, manager: Membership) -> None:
    make_test(project)
    attempt = attempts.begin(annotator=annotator)
    answer(annotator, attempt, n_right=0)
    granting.grant(annotator=annotator, actor=manager, why="Known to us")
    attempts.submit_attempt(annotator=annotator, attempt_uuid=attempt.uuid)
    assert is_qualified(annotator)


@pytest.mark.parametrize("act", [granting.grant, granting.revoke])
def test_a_managers_word_needs_a_reason(project: Project, annotator: Membership, manager: Membership, act: Any) -> None:
    make_test(project)
    with pytest.raises(Refused, match="Give a reason"):
        act(annotator=annotator, actor=manager, why="  ")
    with pytest.raises(Refused, match="Only annotators in this project"):
        act(annotator=manager, actor=manager, why="Me too")
    assert not Qualification.objects.exists()


@pytest.mark.parametrize("state", ["draft", "closed"])
def test_a_test_that_is_not_open_cannot_be_begun_but_finished(
    project: Project, annotator: Membership, state: str
) -> None:
    test = make_test(project)
    attempt = attempts.begin(annotator=annotator)
    answer(annotator, attempt)
    QualificationTest.objects.update(state=state)
    assert attempts.submit_attempt(annotator=annotator, attempt_uuid=attempt.uuid).state == State.PASSED
    with pytest.raises(Refused, match="no open qualification test"):
        attempts.begin(annotator=factories.make_membership(test.project))


def test_somebody_suspended_or_removed_keeps_the_draft(project: Project, annotator: Membership) -> None:
    make_test(project)
    attempt = attempts.begin(annotator=annotator)
    answer(annotator, attempt)
    for standing in ("suspended", "removed"):
        Membership.objects.filter(pk=annotator.pk).update(standing=standing)
        with pytest.raises(TakesNoAnswers):
            attempts.submit_attempt(annotator=annotator, attempt_uuid=attempt.uuid)
        with pytest.raises(Refused):
            attempts.begin(annotator=annotator)
    attempt.refresh_from_db()
    assert attempt.state == State.OPEN
    assert all(each.values for each in read_answers(attempt.draft, list_pages(attempt)))


def test_another_persons_attempt_does_not_exist(
    project: Project, annotator: Membership, other_annotator: Membership
) -> None:
    make_test(project)
    attempt = attempts.begin(annotator=annotator)
    for act in (
        lambda: attempts.submit_attempt(annotator=other_annotator, attempt_uuid=attempt.uuid),
        lambda: attempts.save_draft(annotator=other_annotator, attempt_uuid=attempt.uuid, page=1, sent={}),
        lambda: attempts.save_page(
            annotator=other_annotator, attempt_uuid=attempt.uuid, page=1, sent=SentAnswers(values={})
        ),
    ):
        with pytest.raises(Attempt.DoesNotExist):
            act()


def test_pay_is_owed_once_whether_one_fails_or_passes(project: Project, annotator: Membership) -> None:
    make_test(project, cents=150)
    take(annotator, n_right=0)
    take(annotator)
    entry = LedgerEntry.objects.get()
    assert (entry.cents, entry.kind, entry.annotator) == (150, "qualification", annotator)
    assert entry.key == f"qualification:{annotator.pk}"


def test_a_test_that_pays_nothing_owes_nothing(project: Project, annotator: Membership) -> None:
    make_test(project)
    take(annotator)
    assert not LedgerEntry.objects.exists()


def test_practice_can_be_repeated_and_never_qualifies(project: Project, annotator: Membership) -> None:
    make_test(project, n_practice=3, cents=100, time_limit_minutes=10)
    for n in (1, 2, 3):
        attempt = attempts.begin(annotator=annotator, purpose="practice")
        assert (attempt.n, len(attempt.layout), attempt.due_at) == (n, 3, None)
        answer(annotator, attempt)
        assert attempts.submit_attempt(annotator=annotator, attempt_uuid=attempt.uuid).n_right == 3
    admission = find_admission(annotator)
    assert admission is not None
    assert not admission.is_qualified
    assert admission.n_left == 2
    assert not LedgerEntry.objects.exists()


def test_a_test_ends_an_open_practice_and_not_the_other_way_round(project: Project, annotator: Membership) -> None:
    make_test(project, n_practice=1)
    practice = attempts.begin(annotator=annotator, purpose="practice")
    attempt = attempts.begin(annotator=annotator)
    assert Attempt.objects.get(pk=practice.pk).state == State.EXPIRED
    with pytest.raises(Refused, match="Finish it first"):
        attempts.begin(annotator=annotator, purpose="practice")
    assert attempts.begin(annotator=annotator) == attempt


def test_items_are_drawn_by_seed_annotator_and_number(project: Project) -> None:
    test = make_test(project, n_items=12, n_passages=3, is_open=False)
    test.n_items = 6
    pool = list(test.items.all())
    layout = draw_items(test, pool, 5, 1)
    assert len(set(layout)) == 6
    assert draw_items(test, pool, 5, 1) == layout
    others = [draw_items(test, pool, 6, 1), draw_items(test, pool, 5, 2)]
    test.seed += 1
    assert layout not in [*others, draw_items(test, pool, 5, 1)]


def test_the_items_of_a_passage_stay_together(project: Project) -> None:
    test = make_test(project, n_items=12, n_passages=3, is_open=False)
    sheets = list_pages(Attempt(test=test, layout=draw_items(test, list(test.items.all()), 1, 1)))
    assert [len(sheet.items) for sheet in sheets] == [4, 4, 4]
    assert [sheet.first for sheet in sheets] == [0, 4, 8]


@pytest.mark.parametrize("keep", ["ask", "keep"])
def test_a_new_rubric_asks_again_or_keeps(
    project: Project, annotator: Membership, other_annotator: Membership, keep: str
) -> None:
    test = make_test(project)
    take(annotator)
    open_one = attempts.begin(annotator=other_annotator)
    answer(other_annotator, open_one)
    factories.make_rubric(project, "mocha")
    design.move_to_rubric(test=test, actor=None, on_new_rubric=keep)
    assert is_qualified(annotator) is (keep == "keep")
    if keep == "ask":
        assert "The rating scale has changed" in why(annotator)
    assert attempts.submit_attempt(annotator=other_annotator, attempt_uuid=open_one.uuid).state == State.EXPIRED
    assert take(other_annotator).n == 2
    assert is_qualified(other_annotator)


def test_who_had_to_take_the_test_again_still_has_to_after_a_later_version(
    project: Project, annotator: Membership, other_annotator: Membership
) -> None:
    test = make_test(project)
    take(annotator)
    take(other_annotator)
    factories.make_rubric(project)
    design.move_to_rubric(test=test, actor=None, on_new_rubric="ask")
    take(other_annotator)
    factories.make_rubric(project)
    design.move_to_rubric(test=test, actor=None, on_new_rubric="keep")
    assert (is_qualified(annotator), is_qualified(other_annotator)) == (False, True)
    factories.make_rubric(project)
    design.move_to_rubric(test=test, actor=None, on_new_rubric="keep")
    assert (is_qualified(annotator), is_qualified(other_annotator)) == (False, True)


@pytest.mark.race
@pytest.mark.django_db(transaction=True)
def test_eight_at_once_begin_one_attempt_and_hand_it_in_once(project: Project, annotator: Membership) -> None:
    make_test(project, cents=100)

    def begin(_: int) -> str:
        return str(attempts.begin(annotator=Membership.objects.get(pk=annotator.pk)).uuid)

    begun = all_at_once(begin, range(8))
    assert len(set(begun)) == 1
    answer(annotator, Attempt.objects.get(), n_right=4)

    def submit(_: int) -> tuple[str, int | None]:
        mine = Membership.objects.get(pk=annotator.pk)
        ended = attempts.submit_attempt(annotator=mine, attempt_uuid=Attempt.objects.get().uuid)
        return ended.state, ended.n_right

    assert set(all_at_once(submit, range(8))) == {("passed", 4)}
    assert LedgerEntry.objects.count() == 1
    assert LogEntry.objects.filter(object_type="attempt").count() == 1
