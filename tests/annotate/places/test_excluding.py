"""Single judgments set aside, and candidates taken out of all that is still to be rated."""

import pytest
from django.db.models.functions import Now

from annotate import places
from annotate.batches import judgments_wanted
from annotate.models import Assignment, Batch, Hit, Item
from annotate.places import RestoredWork, Withdrawn
from annotate.places.locking import LockedAssignment, lock_assignment
from projects.models import Membership, Project
from tests.annotate.open_batches import add_hit, open_batch
from tests.annotate.submitted_work import assert_sound, claim, counters, expire, make_reserved, rate, reasons, send
from tests.factories import make_candidates, make_question

pytestmark = pytest.mark.django_db


@pytest.fixture
def batch(project: Project) -> Batch:
    return open_batch(project, n_hits=1, judgments=3)


def candidates(batch: Batch, n: int | None = None) -> list[int]:
    found = Item.objects.filter(hit__batch=batch, candidate__isnull=False).order_by("hit__number", "position")
    return list(found.values_list("candidate_id", flat=True))[:n]


def set_aside(work: Assignment, place: int = 0, *, is_counted: bool = False) -> int:
    return places.set_aside(assignment_id=work.pk, item_id=work.layout[place], is_counted=is_counted)


def find_reason(work: Assignment, item_id: int) -> str:
    return work.judgments.get(item_id=item_id).not_counted_reason


def test_setting_aside_leaves_out_one_item_and_opens_nothing(batch: Batch, annotator: Membership) -> None:
    (work,) = rate(annotator)
    assert (set_aside(work), set_aside(work)) == (1, 0)
    assert [find_reason(work, item) for item in work.layout] == ["set aside", "", ""]
    assert counters(work.hit_id) == (3, 2, 1)
    assert_sound()
    assert (set_aside(work, is_counted=True), set_aside(work, is_counted=True)) == (1, 0)
    assert reasons(work) == {""}
    assert_sound()


@pytest.mark.parametrize("mark", ["open", "excluded", "rejected"])
def test_only_judgments_of_counted_work_can_be_set_aside(batch: Batch, annotator: Membership, mark: str) -> None:
    work = claim(annotator) if mark == "open" else rate(annotator)[0]
    if mark == "excluded":
        places.exclude([work.pk], reason="Removed.", reopens=True)
    if mark == "rejected":
        places.reject([work.pk], by=None, reason="Poor.", is_unpaid=False)
    assert set_aside(work) == 0
    assert_sound()


def test_what_was_set_aside_stays_so_through_removal_and_restoring(batch: Batch, annotator: Membership) -> None:
    (work,) = rate(annotator)
    set_aside(work)
    places.exclude([work.pk], reason="Removed.", reopens=True)
    assert places.restore([work.pk]) == RestoredWork(1, 0)
    assert [find_reason(work, item) for item in work.layout] == ["set aside", "", ""]
    assert_sound()


def test_a_withdrawn_candidate_is_in_no_layout_made_from_now_on(
    batch: Batch, annotator: Membership, other_annotator: Membership, manager: Membership
) -> None:
    (before,), during = rate(annotator), claim(other_annotator)
    assert places.withdraw_candidates(candidates(batch, 1)) == Withdrawn(1, 0, 1)
    assert places.withdraw_candidates(candidates(batch, 1)) == Withdrawn(0, 0, 0)
    gone = Item.objects.get(hit__batch=batch, position=0).pk
    Membership.objects.filter(pk=manager.pk).update(is_annotator=True)
    manager.is_annotator = True
    assert (gone in during.layout, gone in claim(manager).layout) == (True, False)
    send(during)
    for work in (before, during):
        assert {item: find_reason(work, item) for item in work.layout} == {
            item: "withdrawn" if item == gone else "" for item in work.layout
        }
    assert counters(before.hit_id) == (3, 0, 2)
    assert_sound()


def test_a_hit_left_empty_lowers_its_places(batch: Batch, annotator: Membership) -> None:
    (work,) = rate(annotator)
    assert places.withdraw_candidates(candidates(batch)) == Withdrawn(n_items=3, n_hits_emptied=1, n_judgments=3)
    assert (counters(work.hit_id), reasons(work)) == ((1, 0, 1), {"withdrawn"})
    assert_sound()


@pytest.mark.parametrize("how", ["returned", "expired", "rejected", "excluded", "topped up"])
def test_an_empty_hit_never_has_a_place_again(
    batch: Batch, annotator: Membership, other_annotator: Membership, how: str
) -> None:
    (done,), open_one = rate(annotator), claim(other_annotator)
    places.withdraw_candidates(candidates(batch))
    if how == "returned":
        places.withdraw(_locked(open_one))
    elif how == "expired":
        expire(open_one)
    elif how == "rejected":
        places.reject([done.pk], by=None, reason="Poor.", is_unpaid=False)
    elif how == "excluded":
        places.exclude([done.pk], reason="Removed.", reopens=True)
    else:
        assert places.set_wanted(batch, judgments=9) == (0, 0)
    assert counters(done.hit_id)[1] == 0
    assert_sound()


def test_the_plan_of_a_top_up_leaves_empty_hits_out(project: Project, batch: Batch) -> None:
    other = open_batch(project, n_hits=2, judgments=1)
    places.withdraw_candidates([*candidates(other, 3), *candidates(other)[3:4]])
    change = judgments_wanted.plan_wanted(batch=other, judgments=3)
    assert (change.n_hits, change.n_added) == (1, 2)
    assert places.set_wanted(other, judgments=3) == (2, 0)
    # Two assignments of the HIT that still has two items.
    assert (change.cost.n_assignments, change.cost.ordinary.n_items) == (2, 4)


def test_late_work_on_an_empty_hit_is_surplus(batch: Batch, annotator: Membership) -> None:
    slow = claim(annotator)
    expire(slow)
    places.withdraw_candidates(candidates(batch))
    assert send(slow).mark == "surplus"
    assert_sound()


def test_restoring_work_on_withdrawn_candidates_does_not_count_those(batch: Batch, annotator: Membership) -> None:
    (work,) = rate(annotator)
    set_aside(work, 0)
    places.exclude([work.pk], reason="Removed.", reopens=False)
    places.withdraw_candidates(candidates(batch))
    places.restore([work.pk])
    assert reasons(work) == {"set aside", "withdrawn"}
    assert set_aside(work, 0, is_counted=True) == 1
    assert reasons(work) == {"withdrawn"}
    assert_sound()


def test_controls_made_from_a_candidate_go_with_it(
    batch: Batch, annotator: Membership, other_annotator: Membership
) -> None:
    """A degraded one in the pool, drawn into another HIT of the passage, and a HIT made for one annotator."""
    source = Item.objects.get(hit__batch=batch, position=0)
    add_hit(batch, make_candidates(make_question(source.question.passage), 3), 1)
    pool = Item.objects.create(
        pool_of=batch,
        question=source.question,
        position=0,
        control="degraded",
        made_from=source,
        shown_text="x",
        accepted_at=Now(),
    )
    personal = make_reserved(batch, annotator, is_taken=False)
    assert isinstance(personal, Hit)
    Item.objects.filter(hit=personal).update(made_from=source)
    (first,) = rate(other_annotator)
    second = claim(other_annotator)
    places.add_controls(second.uuid, [pool.pk])
    second.refresh_from_db()
    send(second)
    assert_sound()
    assert places.withdraw_candidates(candidates(batch, 1)) == Withdrawn(n_items=3, n_hits_emptied=1, n_judgments=2)
    assert {item: find_reason(first, item) for item in first.layout if find_reason(first, item)} == {
        source.pk: "withdrawn"
    }
    assert {item: find_reason(second, item) for item in second.layout if find_reason(second, item)} == {
        pool.pk: "withdrawn"
    }
    assert counters(personal) == (0, 0, 0)
    assert_sound()


def test_a_withdrawn_passage_takes_controls_with_it_that_show_no_candidate(batch: Batch, annotator: Membership) -> None:
    gold = make_reserved(batch, annotator, is_taken=False)
    assert isinstance(gold, Hit)
    found = places.withdraw_candidates([], passage_ids=[gold.passage_id])
    assert found == Withdrawn(n_items=4, n_hits_emptied=2, n_judgments=0)
    assert set(Hit.objects.filter(batch=batch).values_list("places_open", flat=True)) == {0}
    assert_sound()


def _locked(assignment: Assignment) -> LockedAssignment:
    return lock_assignment(assignment.annotator, assignment.uuid)
