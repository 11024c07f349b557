"""Decisions on submitted work: approved, rejected, accepted after all, excluded, restored."""

from datetime import datetime

import pytest

from annotate import places
from annotate.models import Assignment, Batch
from annotate.places import RestoredWork
from projects.models import Membership, Project
from tests.annotate.open_batches import open_batch
from tests.annotate.submitted_work import assert_sound, claim, counters, expire, make_reserved, rate, reasons, send

pytestmark = pytest.mark.django_db
State, Mark = Assignment.State, Assignment.Mark


@pytest.fixture
def batch(project: Project) -> Batch:
    return open_batch(project, n_hits=3, judgments=1)


def reject(*work: Assignment, unpaid: bool = False) -> list[int]:
    return places.reject([each.pk for each in work], by=None, reason="Straight lines.", is_unpaid=unpaid)


def exclude(*work: Assignment, reopens: bool) -> list[int]:
    return places.exclude([each.pk for each in work], reason="Removed.", reopens=reopens)


def fresh(assignment: Assignment) -> Assignment:
    return Assignment.objects.get(pk=assignment.pk)


def test_approving_takes_submitted_work_only_and_says_which(
    batch: Batch, annotator: Membership, other_annotator: Membership, manager: Membership
) -> None:
    done, open_one = rate(annotator)[0], claim(other_annotator)
    assert places.approve([done.pk, open_one.pk], by=manager.pk) == [done.pk]
    assert places.approve([done.pk], by=None) == []
    done = fresh(done)
    assert (done.state, done.decided_by, isinstance(done.decided_at, datetime)) == ("approved", manager, True)
    assert (done.holds_place, done.mark, reasons(done)) == (True, "counted", {""})
    assert_sound()


@pytest.mark.parametrize("was_approved", [False, True])
def test_rejecting_opens_the_place_and_keeps_the_rows(batch: Batch, annotator: Membership, was_approved: bool) -> None:
    (work,) = rate(annotator)
    if was_approved:
        places.approve([work.pk], by=None)
    assert reject(work, unpaid=True) == [work.pk]
    assert reject(work) == []
    work = fresh(work)
    assert (work.state, work.holds_place, work.is_unpaid) == ("rejected", False, True)
    assert (work.decision_reason, reasons(work)) == ("Straight lines.", {"rejected"})
    assert counters(work.hit_id) == (1, 1, 0)
    assert_sound()


def test_a_rejected_hit_goes_to_somebody_else_and_never_back(
    batch: Batch, annotator: Membership, other_annotator: Membership
) -> None:
    (work,) = rate(annotator)
    reject(work)
    assert work.hit_id not in {each.hit_id for each in rate(annotator, 2)}
    assert rate(other_annotator)[0].hit_id == work.hit_id
    assert_sound()


def test_rejecting_surplus_work_opens_nothing(batch: Batch, annotator: Membership, other_annotator: Membership) -> None:
    slow = claim(annotator)
    expire(slow)
    rate(other_annotator)
    assert send(slow).mark == Mark.SURPLUS
    reject(slow)
    assert counters(slow.hit_id) == (1, 0, 1)
    assert reasons(slow) == {"surplus"}
    assert_sound()


def test_the_place_of_a_hit_for_one_annotator_is_gone_when_it_is_rejected_and_back_when_accepted(
    batch: Batch, annotator: Membership
) -> None:
    work = make_reserved(batch, annotator)
    assert isinstance(work, Assignment)
    send(work)
    reject(work)
    assert counters(work.hit_id) == (0, 0, 0)
    assert places.accept([work.pk], by=None) == [work.pk]
    assert counters(work.hit_id) == (1, 0, 1)
    assert_sound()


@pytest.mark.parametrize("is_free", [True, False])
def test_work_accepted_after_all_counts_where_its_place_is_free(
    batch: Batch, annotator: Membership, other_annotator: Membership, is_free: bool
) -> None:
    (work,) = rate(annotator)
    reject(work, unpaid=True)
    if not is_free:
        rate(other_annotator)
    expected = RestoredWork(n_counted=int(is_free), n_surplus=int(not is_free))
    assert places.count_acceptable([work.pk]) == expected
    assert places.accept([work.pk], by=None) == [work.pk]
    work = fresh(work)
    assert (work.state, work.holds_place, work.is_unpaid) == ("approved", is_free, False)
    assert (work.mark, reasons(work)) == (("counted", {""}) if is_free else ("surplus", {"surplus"}))
    assert places.accept([work.pk], by=None) == []
    assert_sound()


def test_excluding_with_reopening_gives_the_place_to_others(
    batch: Batch, annotator: Membership, other_annotator: Membership
) -> None:
    (work,) = rate(annotator)
    assert exclude(work, reopens=True) == [work.pk]
    assert exclude(work, reopens=True) == []
    work = fresh(work)
    assert (work.state, work.mark, work.mark_reason, work.holds_place) == ("submitted", "excluded", "Removed.", False)
    assert (reasons(work), counters(work.hit_id)) == ({"removed"}, (1, 1, 0))
    assert rate(other_annotator)[0].hit_id == work.hit_id
    assert_sound()


def test_excluding_without_reopening_keeps_the_place(
    batch: Batch, annotator: Membership, other_annotator: Membership
) -> None:
    (work,) = rate(annotator)
    exclude(work, reopens=False)
    assert (fresh(work).holds_place, counters(work.hit_id)) == (True, (1, 0, 1))
    assert rate(other_annotator)[0].hit_id != work.hit_id
    assert_sound()


def test_excluded_work_that_kept_its_place_gives_it_up_when_it_is_rejected(batch: Batch, annotator: Membership) -> None:
    (work,) = rate(annotator)
    exclude(work, reopens=False)
    reject(work)
    assert (counters(work.hit_id), reasons(work)) == ((1, 1, 0), {"removed"})
    assert places.restore([work.pk]) == RestoredWork(0, 0)
    assert_sound()


@pytest.mark.parametrize("reopens", [True, False])
def test_restoring_at_once_counts_everything_again(batch: Batch, annotator: Membership, reopens: bool) -> None:
    work = rate(annotator, 3)
    exclude(*work, reopens=reopens)
    ids = [each.pk for each in work]
    assert places.count_restorable(ids) == places.restore(ids) == RestoredWork(n_counted=3, n_surplus=0)
    assert {(fresh(each).mark, fresh(each).mark_reason) for each in work} == {("counted", "")}
    assert reasons(*work) == {""}
    assert places.restore(ids) == RestoredWork(0, 0)
    assert_sound()


def test_restoring_keeps_work_as_surplus_where_others_have_the_place(
    batch: Batch, annotator: Membership, other_annotator: Membership
) -> None:
    work = rate(annotator, 3)
    exclude(*work, reopens=True)
    rate(other_annotator)
    claim(other_annotator)
    ids = [each.pk for each in work]
    assert places.count_restorable(ids) == places.restore(ids) == RestoredWork(n_counted=1, n_surplus=2)
    assert sorted(fresh(each).mark for each in work) == ["counted", "surplus", "surplus"]
    assert reasons(*(each for each in work if fresh(each).mark == "surplus")) == {"surplus"}
    assert_sound()


def test_two_excluded_of_one_hit_share_the_places_that_are_left(
    project: Project, annotator: Membership, other_annotator: Membership, manager: Membership
) -> None:
    batch = open_batch(project, n_hits=1, judgments=2)
    work = [*rate(annotator), *rate(other_annotator)]
    exclude(*work, reopens=True)
    places.set_wanted(batch, judgments=1)
    ids = [each.pk for each in work]
    assert places.count_restorable(ids) == places.restore(ids) == RestoredWork(n_counted=1, n_surplus=1)
    assert [fresh(each).mark for each in work] == ["counted", "surplus"]
    assert_sound()


def test_restoring_brings_back_a_hit_that_was_made_for_the_annotator(batch: Batch, annotator: Membership) -> None:
    work = make_reserved(batch, annotator)
    assert isinstance(work, Assignment)
    send(work)
    exclude(work, reopens=True)
    assert counters(work.hit_id) == (0, 0, 0)
    assert places.count_restorable([work.pk]) == places.restore([work.pk]) == RestoredWork(1, 0)
    assert (counters(work.hit_id), reasons(work)) == ((1, 0, 1), {""})
    assert_sound()


def test_a_place_for_somebody_who_has_left_is_gone_when_it_ends(batch: Batch, annotator: Membership) -> None:
    work = make_reserved(batch, annotator)
    assert isinstance(work, Assignment)
    Membership.objects.filter(pk=annotator.pk).update(standing="removed")
    places.sweep()
    assert (fresh(work).state, counters(work.hit_id)) == ("withdrawn", (0, 0, 0))
    assert_sound()
