"""Submitted work approved, rejected with a reason that can be answered once, accepted after all, or set aside."""

from datetime import timedelta
from typing import Any

import pytest
from django.utils import timezone

from annotate import places, tasks
from annotate.batches import lifecycle
from annotate.models import Assignment, Batch, LedgerEntry
from annotate.moderation import decisions
from annotate.moderation.work_filter import WorkFilter
from annotate.onboarding import notices
from annotate.onboarding.consent import agree, withdraw
from annotate.payments import pending
from annotate.places import RestoredWork
from annotate.work import serving, submitting
from projects.errors import Refused
from projects.models import LogEntry, Membership, Project
from tests.annotate.open_batches import open_batch
from tests.annotate.submitted_work import assert_sound, claim, counters, rate, reasons
from tests.factories import make_consent, make_membership
from tests.people import SignIn

pytestmark = pytest.mark.django_db
EVERYTHING = WorkFilter()


@pytest.fixture
def batch(project: Project) -> Batch:
    return open_batch(project, n_hits=4, judgments=1, cents_per_hit=40)


def only(*work: Assignment) -> WorkFilter:
    return WorkFilter(uuids=tuple(str(each.uuid) for each in work))


def approve(project: Project, actor: Membership | None, chosen: WorkFilter = EVERYTHING) -> int:
    return decisions.approve(project=project, actor=actor, chosen=chosen)


def reject(project: Project, actor: Membership | None, chosen: WorkFilter, **over: Any) -> decisions.Decision:
    return decisions.reject(project=project, actor=actor, chosen=chosen, **{"reason": "You rated all alike.", **over})


def fresh(assignment: Assignment) -> Assignment:
    return Assignment.objects.get(pk=assignment.pk)


def cents(assignment: Assignment) -> list[tuple[int, bool]]:
    """The entries of the ledger, and whether each is approved."""
    entries = LedgerEntry.objects.filter(assignment=assignment).order_by("pk")
    return [(entry.cents, entry.approved_at is not None) for entry in entries]


def newest() -> tuple[str, Any, str]:
    entry = LogEntry.objects.latest("pk")
    return entry.act, entry.after, entry.why


def test_approving_one_approves_its_pay(
    project: Project, batch: Batch, annotator: Membership, manager: Membership
) -> None:
    first, second = rate(annotator, 2)
    assert approve(project, manager, only(first)) == 1
    assert (fresh(first).state, fresh(first).decided_by, fresh(second).state) == ("approved", manager, "submitted")
    assert (cents(first), cents(second)) == ([(40, True)], [(40, False)])
    assert newest() == ("approve work", {"assignments": 1}, "")
    assert LogEntry.objects.latest("pk").object_id == str(first.pk)
    assert approve(project, manager, only(first)) == 0
    assert LogEntry.objects.count() == 1
    assert_sound()


def test_many_are_approved_by_a_filter(
    project: Project, batch: Batch, annotator: Membership, other_annotator: Membership, manager: Membership
) -> None:
    rate(annotator, 2)
    rate(other_annotator)
    chosen = WorkFilter(annotator=annotator.pseudonym)
    plan = decisions.plan_approval(chosen.select_from(project))
    assert (plan.n_assignments, plan.n_annotators, plan.cents, plan.n_places) == (2, 1, 80, 0)
    assert approve(project, manager, chosen) == 2
    assert newest()[1] == {"assignments": 2, "annotator": annotator.pseudonym}
    assert Assignment.objects.filter(state="approved").count() == 2


@pytest.mark.parametrize(
    ("over", "n"),
    [
        ({}, 3),
        ({"batch": 10**6}, 0),
        ({"state": "approved"}, 0),
        ({"mark": "counted"}, 3),
        ({"mark": "surplus"}, 0),
        ({"is_answered": True}, 0),
        ({"until": timezone.now() - timedelta(days=1)}, 0),
    ],
)
def test_what_a_filter_chooses(
    project: Project, batch: Batch, annotator: Membership, over: dict[str, Any], n: int
) -> None:
    rate(annotator, 3)
    claim(annotator)
    assert WorkFilter(**over).select_from(project).count() == n
    assert WorkFilter(**{"batch": batch.number, **over}).select_from(project).count() == (0 if "batch" in over else n)


def test_a_rejection_is_shown_reopens_the_place_and_leaves_the_pay(
    project: Project, batch: Batch, annotator: Membership, other_annotator: Membership, manager: Membership
) -> None:
    (work,) = rate(annotator)
    plan = decisions.plan_rejection(only(work).select_from(project))
    assert (plan.n_assignments, plan.n_judgments, plan.n_places, plan.cents) == (1, 3, 1, 40)
    assert reject(project, manager, only(work)) == plan
    assert (fresh(work).state, reasons(work), counters(work.hit_id)) == ("rejected", {"rejected"}, (1, 1, 0))
    assert cents(work) == [(40, True)]
    (notice,) = notices.fetch_unread([annotator])[annotator.pk]
    assert notice.kind == "decision"
    assert notice.text.startswith("A HIT you submitted was rejected. Reason: You rated all alike.")
    assert newest() == (
        "reject work",
        {"assignments": 1, "places_opened": 1},
        "You rated all alike.",
    )
    assert work.hit_id in {each.hit_id for each in rate(other_annotator, 4)}
    assert_sound()


def test_many_rejected_of_one_annotator_are_one_message_that_leads_to_them(
    project: Project, batch: Batch, annotator: Membership, manager: Membership, client_of: SignIn
) -> None:
    rate(annotator, 3)
    rate(make_membership(project, kind="simulated"))
    assert reject(project, manager, EVERYTHING).n_assignments == 4
    (notice,) = notices.fetch_unread([annotator])[annotator.pk]
    assert notice.text.startswith("3 HITs you submitted were rejected.")
    assert LogEntry.objects.count() == 1
    desk = client_of(annotator).get(f"/p/{project.slug}/desk/").text
    assert f'<a href="/p/{project.slug}/history/">Your history</a>' in desk
    assert_sound()


def test_programs_get_no_message_that_their_work_is_approved_after_all(
    project: Project, batch: Batch, manager: Membership
) -> None:
    program = make_membership(project, kind=Membership.Kind.SIMULATED)
    (work,) = rate(program)
    reject(project, manager, only(work))
    decisions.accept(project=project, actor=manager, assignment=work, why="It is right.")
    assert not notices.fetch_unread([program]).get(program.pk)


def test_unpaid_takes_the_pay_back_and_accepting_after_all_gives_it_again(
    project: Project, batch: Batch, annotator: Membership, manager: Membership
) -> None:
    (work,) = rate(annotator)
    reject(project, manager, only(work), is_unpaid=True)
    assert sum(each for each, _ in cents(work)) == 0
    done = decisions.accept(project=project, actor=manager, assignment=work, why="They explained it well.")
    assert done == RestoredWork(n_counted=1, n_surplus=0)
    rejected, accepted = notices.fetch_unread([annotator])[annotator.pk]
    assert rejected.text.startswith("A HIT you submitted was rejected.")
    assert (accepted.kind, accepted.sent_by) == ("decision", manager)
    assert accepted.text == "One of your HITs that was rejected has been approved after all."
    assert (fresh(work).state, reasons(work)) == ("approved", {""})
    assert sum(each for each, _ in cents(work)) == 40
    assert newest() == ("accept work after all", {"counted": 1, "surplus": 0}, "They explained it well.")
    with pytest.raises(Refused, match="isn’t rejected"):
        decisions.accept(project=project, actor=manager, assignment=work, why="Again.")
    assert_sound()


@pytest.mark.parametrize("reason", ["", "   "])
def test_a_rejection_needs_a_reason(
    project: Project, batch: Batch, annotator: Membership, manager: Membership, reason: str
) -> None:
    (work,) = rate(annotator)
    with pytest.raises(Refused, match="annotator will see it"):
        reject(project, manager, only(work), reason=reason)
    assert fresh(work).state == "submitted"


@pytest.mark.parametrize("opens", [True, False])
def test_a_rejection_on_a_closed_batch_asks_whether_to_open_it_again(
    project: Project, batch: Batch, annotator: Membership, manager: Membership, opens: bool
) -> None:
    (work,) = rate(annotator)
    lifecycle.close(batch=batch, actor=manager)
    assert decisions.plan_rejection(only(work).select_from(project)).closed_batches == (batch,)
    reject(project, manager, only(work), reopen_batches=opens)
    batch.refresh_from_db()
    assert batch.state == ("open" if opens else "closed")
    assert_sound()


def test_work_in_an_archived_batch_cannot_be_decided(
    project: Project, batch: Batch, annotator: Membership, manager: Membership
) -> None:
    (work,) = rate(annotator)
    lifecycle.close(batch=batch, actor=manager)
    lifecycle.archive(batch=batch, actor=manager)
    with pytest.raises(Refused, match="archived"):
        reject(project, manager, only(work))
    assert approve(project, manager, only(work)) == 1


def test_rejecting_nothing_is_refused(
    project: Project, batch: Batch, annotator: Membership, manager: Membership
) -> None:
    (work,) = rate(annotator)
    reject(project, manager, only(work))
    with pytest.raises(Refused, match="nothing to reject"):
        reject(project, manager, only(work))
    assert LogEntry.objects.count() == 1


def test_a_rejection_is_answered_once_by_the_one_it_met(
    project: Project, batch: Batch, annotator: Membership, other_annotator: Membership, manager: Membership
) -> None:
    rejected, submitted = rate(annotator, 2)
    reject(project, manager, only(rejected))
    with pytest.raises(Assignment.DoesNotExist):
        submitting.reply(annotator=other_annotator, assignment_uuid=rejected.uuid, text="Not mine.")
    with pytest.raises(Refused, match="isn't rejected"):
        submitting.reply(annotator=annotator, assignment_uuid=submitted.uuid, text="Why not?")
    for text in ("  ", "x" * 2001):
        with pytest.raises(Refused, match="2,000"):
            submitting.reply(annotator=annotator, assignment_uuid=rejected.uuid, text=text)
    submitting.reply(annotator=annotator, assignment_uuid=rejected.uuid, text=" They are alike. ")
    assert fresh(rejected).reply == "They are alike."
    assert fresh(rejected).replied_at is not None
    with pytest.raises(Refused, match="already replied"):
        submitting.reply(annotator=annotator, assignment_uuid=rejected.uuid, text="And another thing.")
    assert newest() == ("answer rejection", None, "")
    assert list(WorkFilter(is_answered=True).select_from(project)) == [rejected]


def set_aside(project: Project, actor: Membership, work: Assignment, place: int = 0, **over: Any) -> int:
    given = {"is_counted": False, "why": "A slip of the key.", **over}
    return decisions.set_aside(project=project, actor=actor, assignment=work, place=place, **given)


def test_a_single_judgment_is_set_aside_and_counted_again(
    project: Project, batch: Batch, annotator: Membership, manager: Membership
) -> None:
    (work,) = rate(annotator)
    assert set_aside(project, manager, work, 1) == 1
    assert work.judgments.get(item_id=work.layout[1]).not_counted_reason == "set aside"
    assert newest() == ("set judgment aside", {"item": work.layout[1], "place": 2}, "A slip of the key.")
    assert counters(work.hit_id) == (1, 0, 1)
    with pytest.raises(Refused, match="isn’t counted anyway"):
        set_aside(project, manager, work, 1)
    assert set_aside(project, manager, work, 1, is_counted=True) == 1
    with pytest.raises(Refused, match="wasn’t set aside"):
        set_aside(project, manager, work, 1, is_counted=True)
    with pytest.raises(Refused, match="Give a reason"):
        set_aside(project, manager, work, 1, why="")
    assert reasons(work) == {""}
    assert_sound()


def test_whoever_manages_no_more_decides_nothing(
    project: Project, batch: Batch, annotator: Membership, manager: Membership
) -> None:
    (work,) = rate(annotator)
    Membership.objects.filter(pk=manager.pk).update(role="researcher")
    for act in (
        lambda: approve(project, manager),
        lambda: reject(project, manager, EVERYTHING),
        lambda: set_aside(project, manager, work),
        lambda: decisions.accept(project=project, actor=manager, assignment=work, why="x"),
    ):
        with pytest.raises(Refused, match="managers"):
            act()
    assert fresh(work).state == "submitted"


@pytest.mark.parametrize(("days", "n"), [(7, 1), (2, 2), (None, 0), (0, 3)])
def test_work_is_approved_by_itself_after_so_many_days(
    project: Project, batch: Batch, annotator: Membership, days: int | None, n: int
) -> None:
    work = rate(annotator, 3)
    for each, age in zip(work, (8, 3, 0), strict=True):
        Assignment.objects.filter(pk=each.pk).update(submitted_at=timezone.now() - timedelta(days=age))
    Project.objects.filter(pk=project.pk).update(approve_after_days=days)
    tasks.approve_due()
    assert [fresh(each).state for each in work].count("approved") == n
    assert LogEntry.objects.filter(act="approve work", actor=None).count() == bool(n)
    assert LedgerEntry.objects.filter(approved_at__isnull=False).count() == n
    tasks.approve_due()
    assert LogEntry.objects.count() == bool(n)


def test_automatic_approval_leaves_the_work_of_inactive_annotators(
    project: Project, batch: Batch, annotator: Membership, other_annotator: Membership
) -> None:
    (left,), (work,) = rate(annotator), rate(other_annotator)
    Assignment.objects.update(submitted_at=timezone.now() - timedelta(days=9))
    Membership.objects.filter(pk=annotator.pk).update(standing=Membership.Standing.SUSPENDED)
    Project.objects.filter(pk=project.pk).update(approve_after_days=7)
    tasks.approve_due()
    assert (fresh(left).state, fresh(work).state) == ("submitted", "approved")
    assert decisions.count_undecided(project) == decisions.Undecided(n=1, n_absent=1)
    # Pages promise no day on which it would be approved.
    assert pending.find_pending(fresh(left)).until is None
    assert WorkFilter(only_absent=True).select_from(project).get() == left


def test_approving_what_is_due_goes_on_after_a_portion(
    project: Project, batch: Batch, annotator: Membership, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(decisions, "PORTION", 2)
    rate(annotator, 3)
    assert decisions.approve_overdue(project, after_days=0) == 3
    assert LogEntry.objects.filter(act="approve work").count() == 2


def test_a_rejected_annotator_goes_on(
    project: Project, batch: Batch, annotator: Membership, manager: Membership
) -> None:
    (work,) = rate(annotator)
    reject(project, manager, only(work))
    assert not isinstance(serving.claim(annotator), serving.NoWork)


@pytest.mark.parametrize("meanwhile", ["removed by its annotator", "approved by somebody else"])
def test_work_that_changes_before_its_locks_is_not_rejected(
    project: Project, manager: Membership, annotator: Membership, monkeypatch: pytest.MonkeyPatch, meanwhile: str
) -> None:
    consent = make_consent(project)
    open_batch(project, n_hits=1, consent=consent, cents_per_hit=40)
    agree(annotator=annotator, version=consent.version)
    (work,) = rate(annotator)
    lock = places.lock_with_hits

    def change_before_locking(ids: list[int]) -> None:
        monkeypatch.setattr(places, "lock_with_hits", lock)
        if meanwhile == "removed by its annotator":
            withdraw(annotator=annotator, removes_work=True)
        else:
            approve(project, manager)
        lock(ids)

    monkeypatch.setattr(places, "lock_with_hits", change_before_locking)
    with pytest.raises(Refused, match="nothing to reject"):
        reject(project, manager, WorkFilter(state="submitted"), is_unpaid=True)
    assert fresh(work).state != "rejected"
    assert sum(amount for amount, _ in cents(work)) == 40
    assert_sound()
