"""Annotators warned, suspended, removed with or without their work, and restored."""

from datetime import timedelta
from typing import Any
from uuid import UUID

import pytest
from django.utils import timezone

from annotate import places
from annotate.batches import lifecycle
from annotate.models import Assignment, Batch, Hit, Item, Judgment, Notice
from annotate.moderation import members
from annotate.moderation.members import Exclusion, ExclusionScope
from annotate.onboarding import notices
from annotate.places import RestoredWork
from annotate.rating import answers
from annotate.work import serving, submitting
from projects.errors import Refused
from projects.models import LogEntry, Membership, Project
from tests.annotate.open_batches import answered, open_batch
from tests.annotate.submitted_work import assert_sound, claim, counters, make_reserved, rate, reasons, send
from tests.factories import make_membership

pytestmark = pytest.mark.django_db
ALL = Exclusion(scope=ExclusionScope.ALL)


@pytest.fixture
def batch(project: Project) -> Batch:
    return open_batch(project, n_hits=3, judgments=1)


def fresh(assignment: Assignment) -> Assignment:
    return Assignment.objects.get(pk=assignment.pk)


def remove(
    target: Membership, actor: Membership | None, exclusion: Exclusion = ALL, **over: object
) -> members.RemovalPlan:
    return members.remove(target=target, actor=actor, why="Straight lines.", exclusion=exclusion, **over)  # type: ignore[arg-type]


def restore(target: Membership, actor: Membership | None, **over: bool) -> RestoredWork:
    return members.restore(target=target, actor=actor, why="A mistake of ours.", **over)


def n_open() -> int:
    return sum(Hit.objects.values_list("places_open", flat=True))


def newest() -> LogEntry:
    return LogEntry.objects.latest("pk")


def logged() -> dict[str, Any]:
    after: Any = newest().after
    return dict(after)


def test_a_warning_is_on_the_desk_until_it_is_read(annotator: Membership, manager: Membership) -> None:
    members.warn(target=annotator, actor=manager, text=" Please read the passages. ")
    (notice,) = notices.fetch_unread([annotator, manager])[annotator.pk]
    assert (notice.text, notice.kind, notice.sent_by) == ("Please read the passages.", "warning", manager)
    entry = newest()
    assert (entry.act, entry.object_id, entry.why) == ("warn", str(annotator.pk), "Please read the passages.")
    assert not notices.confirm(notice=notice, annotator=manager)
    assert notices.confirm(notice=notice, annotator=annotator)
    assert not notices.confirm(notice=notice, annotator=annotator)
    assert notices.fetch_unread([annotator]) == {}
    assert LogEntry.objects.filter(act="read message").count() == 1


def test_a_warning_that_nobody_would_read_is_not_sent(annotator: Membership, manager: Membership) -> None:
    """The same form sent twice is one message; a removed annotator has no desk."""
    members.warn(target=annotator, actor=manager, text="Please read.")
    with pytest.raises(Refused, match="already"):
        members.warn(target=annotator, actor=manager, text=" Please read. ")
    assert notices.confirm(notice=Notice.objects.get(), annotator=annotator)
    members.warn(target=annotator, actor=manager, text="Please read.")
    remove(annotator, manager)
    with pytest.raises(Refused, match="has been removed"):
        members.warn(target=annotator, actor=manager, text="One more thing.")
    assert Notice.objects.count() == 2


@pytest.mark.parametrize("text", ["", "  ", "x" * 2001])
def test_a_warning_needs_words_and_not_too_many(annotator: Membership, manager: Membership, text: str) -> None:
    with pytest.raises(Refused):
        members.warn(target=annotator, actor=manager, text=text)
    assert (Notice.objects.count(), LogEntry.objects.count()) == (0, 0)


def test_suspending_stops_serving_and_keeps_what_is_open(
    batch: Batch, annotator: Membership, manager: Membership
) -> None:
    open_one = claim(annotator)
    members.suspend(target=annotator, actor=manager, why="To be looked at.", text="We are looking at your work.")
    assert isinstance(serving.claim(annotator), serving.NoWork)
    assert fresh(open_one).state == "open"
    assert notices.fetch_unread([annotator])[annotator.pk][0].text == "We are looking at your work."
    assert (newest().act, newest().before, newest().after) == (
        "suspend",
        {"standing": "active"},
        {"standing": "suspended"},
    )
    with pytest.raises(Refused, match="already suspended"):
        members.suspend(target=annotator, actor=manager, why="Again.")
    restore(annotator, manager)
    assert serving.claim(annotator) == open_one.uuid
    assert_sound()


def test_every_act_needs_a_reason(annotator: Membership, manager: Membership) -> None:
    with pytest.raises(Refused, match="Give a reason"):
        members.suspend(target=annotator, actor=manager, why=" ")
    with pytest.raises(Refused, match="Give a reason"):
        members.remove(target=annotator, actor=manager, why="", exclusion=ALL)
    with pytest.raises(Refused, match="Give a reason"):
        members.restore(target=annotator, actor=manager, why="")
    assert LogEntry.objects.count() == 0


def test_a_removal_says_its_numbers_first_and_then_does_that(
    batch: Batch, annotator: Membership, other_annotator: Membership, manager: Membership
) -> None:
    work, open_one = rate(annotator, 2), claim(annotator)
    reserved = make_reserved(batch, annotator, is_taken=False)
    assert isinstance(reserved, Hit)
    plan = members.plan_removal(target=annotator, exclusion=ALL)
    assert (plan.n_assignments, plan.n_judgments, plan.n_places, plan.has_open_one) == (2, 6, 2, True)
    assert (plan.n_reserved, plan.closed_batches) == (1, [])
    assert remove(annotator, manager) == plan
    assert {(each.mark, each.mark_reason) for each in map(fresh, work)} == {("excluded", "Straight lines.")}
    assert (fresh(open_one).state, counters(reserved)) == ("withdrawn", (0, 0, 0))
    assert reasons(*work) == {"removed"}
    entry = newest()
    assert (entry.act, entry.actor, entry.why) == ("remove", manager, "Straight lines.")
    assert entry.after == {
        "standing": "removed",
        "scope": "all",
        "batch": None,
        "since": None,
        "excluded": 2,
        "places_opened": 2,
        "withdrawn": 2,
    }
    assert len(rate(other_annotator, 3)) == 3
    assert_sound()


def test_a_removed_annotator_is_served_nothing_and_may_not_submit(
    batch: Batch, annotator: Membership, manager: Membership
) -> None:
    open_one = claim(annotator)
    remove(annotator, manager, Exclusion())
    refused = serving.claim(annotator)
    assert isinstance(refused, serving.NoWork)
    assert "has ended" in refused.reason
    with pytest.raises(answers.TakesNoAnswers, match="has ended"):
        submitting.submit(annotator=annotator, assignment_uuid=open_one.uuid, sent=answered())
    assert_sound()


def test_a_removal_can_leave_the_work_as_it_is(batch: Batch, annotator: Membership, manager: Membership) -> None:
    (work,) = rate(annotator)
    plan = remove(annotator, manager, Exclusion())
    assert (plan.n_assignments, fresh(work).mark, reasons(work)) == (0, "counted", {""})
    assert_sound()


def test_a_removal_since_a_day_leaves_earlier_work(batch: Batch, annotator: Membership, manager: Membership) -> None:
    early, late = rate(annotator, 2)
    now = timezone.now()
    Assignment.objects.filter(pk=early.pk).update(submitted_at=now - timedelta(days=3))
    remove(annotator, manager, Exclusion(scope=ExclusionScope.SINCE, since=now - timedelta(days=1)))
    assert (fresh(early).mark, fresh(late).mark) == ("counted", "excluded")
    assert logged()["since"].startswith(str((now - timedelta(days=1)).date()))
    assert_sound()


def test_a_removal_of_one_batch_leaves_the_others(
    project: Project, batch: Batch, annotator: Membership, manager: Membership
) -> None:
    rate(annotator, 3)
    other = open_batch(project, n_hits=1)
    (theirs,) = rate(annotator)
    remove(annotator, manager, Exclusion(scope=ExclusionScope.BATCH, batch=other))
    assert fresh(theirs).mark == "excluded"
    assert Assignment.objects.filter(hit__batch=batch, mark="counted").count() == 3
    assert logged()["batch"] == other.number
    assert_sound()


def test_a_removal_without_reopening_keeps_the_places(batch: Batch, annotator: Membership, manager: Membership) -> None:
    (work,) = rate(annotator)
    plan = remove(annotator, manager, Exclusion(scope=ExclusionScope.ALL, reopens=False))
    assert (plan.n_assignments, plan.n_places) == (1, 0)
    assert (fresh(work).holds_place, counters(work.hit_id)) == (True, (1, 0, 1))
    assert_sound()


@pytest.mark.parametrize("opens", [True, False])
def test_a_removal_asks_whether_a_closed_batch_opens_again(
    batch: Batch, annotator: Membership, other_annotator: Membership, manager: Membership, opens: bool
) -> None:
    rate(annotator)
    lifecycle.close(batch=batch, actor=manager)
    plan = remove(annotator, manager, reopen_batches=opens)
    assert plan.closed_batches == [batch]
    batch.refresh_from_db()
    assert batch.state == ("open" if opens else "closed")
    assert isinstance(serving.claim(other_annotator), UUID if opens else serving.NoWork)
    assert LogEntry.objects.filter(act="reopen batch", why="Straight lines.").count() == opens
    assert_sound()


def test_an_archived_batch_keeps_its_places(batch: Batch, annotator: Membership, manager: Membership) -> None:
    (work,) = rate(annotator)
    lifecycle.close(batch=batch, actor=manager)
    lifecycle.archive(batch=batch, actor=manager)
    plan = remove(annotator, manager, reopen_batches=True)
    assert (plan.n_assignments, plan.n_places, plan.closed_batches) == (1, 0, [])
    assert (fresh(work).mark, fresh(work).holds_place) == ("excluded", True)
    assert_sound()


def test_a_place_on_an_empty_hit_is_not_counted_as_opened(
    batch: Batch, annotator: Membership, manager: Membership
) -> None:
    first, _ = rate(annotator, 2)
    shown = Item.objects.filter(pk__in=first.layout).values_list("candidate_id", flat=True)
    places.withdraw_candidates(list(shown))
    plan = members.plan_removal(target=annotator, exclusion=ALL)
    assert (plan.n_assignments, plan.n_places, plan.n_judgments) == (2, 1, 3)
    before = n_open()
    assert remove(annotator, manager) == plan
    assert n_open() - before == 1
    assert logged()["places_opened"] == 1
    assert_sound()


def test_removing_again_can_leave_out_more(batch: Batch, annotator: Membership, manager: Membership) -> None:
    rate(annotator)
    remove(annotator, manager, Exclusion())
    assert remove(annotator, manager).n_assignments == 1
    with pytest.raises(Refused, match="already been removed"):
        remove(annotator, manager)
    assert LogEntry.objects.filter(act="remove").count() == 2
    assert_sound()


def test_restoring_counts_what_is_free_and_says_both_numbers_first(
    batch: Batch, annotator: Membership, other_annotator: Membership, manager: Membership
) -> None:
    rate(annotator, 3)
    remove(annotator, manager)
    rate(other_annotator)
    assert members.plan_restoring(target=annotator) == RestoredWork(n_counted=2, n_surplus=1)
    assert restore(annotator, manager) == RestoredWork(n_counted=2, n_surplus=1)
    entry = newest()
    assert (entry.act, entry.after) == ("restore", {"standing": "active", "counted": 2, "surplus": 1})
    assert Judgment.objects.filter(is_counted=True).count() == 9
    with pytest.raises(Refused, match="none of their work"):
        restore(annotator, manager)
    assert_sound()


def test_the_access_can_come_back_without_the_work_and_the_work_later(
    batch: Batch, annotator: Membership, manager: Membership
) -> None:
    work = rate(annotator, 2)
    remove(annotator, manager)
    assert restore(annotator, manager, with_work=False) == RestoredWork(0, 0)
    assert {fresh(each).mark for each in work} == {"excluded"}
    assert send(claim(annotator)).hit_id not in {each.hit_id for each in work}
    assert restore(annotator, manager) == RestoredWork(2, 0)
    assert_sound()


def test_simulated_and_imported_annotators_can_be_left_out_and_unknown_ones_not(
    batch: Batch, project: Project, manager: Membership
) -> None:
    simulated = make_membership(project, kind="simulated")
    rate(simulated)
    assert remove(simulated, manager).n_assignments == 1
    imported = make_membership(project, kind="imported", imported_name="W1")
    assert remove(imported, manager).n_assignments == 0
    with pytest.raises(Refused, match="annotators of these imported scores are unknown"):
        remove(make_membership(project, kind="unknown"), manager)
    with pytest.raises(Refused, match="no one would read it"):
        members.warn(target=simulated, actor=manager, text="Hello")
    assert_sound()


def test_whoever_may_not_act_changes_nothing(
    batch: Batch, project: Project, annotator: Membership, manager: Membership, owner: Membership
) -> None:
    rate(annotator)
    other = make_membership(project, role="manager")
    for target, actor in ((annotator, annotator), (manager, other), (manager, manager)):
        with pytest.raises(Refused):
            remove(target, actor)
    assert Judgment.objects.filter(is_counted=False).count() == 0
    remove(manager, owner)
    with pytest.raises(Refused, match="needs an owner"):
        remove(owner, None)


def test_the_command_line_may_act_without_a_member(batch: Batch, annotator: Membership) -> None:
    rate(annotator)
    remove(annotator, None)
    assert newest().actor is None
    assert restore(annotator, None) == RestoredWork(1, 0)
    places.sweep()
    assert_sound()
