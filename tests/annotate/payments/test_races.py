"""Pay under simultaneous work: nothing is paid twice, and every sum adds up whatever is done in whatever order."""

from uuid import UUID, uuid4

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from annotate.integrity import verifying
from annotate.integrity.rules import LEDGER
from annotate.models import Assignment, LedgerEntry, Payment
from annotate.payments import ledger, paying
from annotate.work import serving, submitting
from projects.errors import Refused
from projects.models import LogEntry, Membership, Project
from tests.annotate.open_batches import answered, open_batch
from tests.annotate.payments.paid_work import earn, paid_batch, submitted
from tests.concurrency import all_at_once
from tests.factories import make_membership, make_project

RULES = {rule.name for rule in LEDGER}


def assert_ledger() -> None:
    assert [breach for breach in verifying.verify() if breach.rule in RULES] == []


def pay(arguments: tuple[Membership, int]) -> str:
    actor, cents = arguments
    try:
        return str(paying.make_payment(project=actor.project, actor=actor, seen_cents=cents, seen_number=0).number)
    except Refused as refusal:
        return refusal.message


def give(arguments: tuple[Membership, Membership, UUID]) -> bool:
    actor, annotator, key = arguments
    return paying.add_entry(actor=actor, annotator=annotator, kind="bonus", cents=5, why="x", key=key).is_new


def take_away(arguments: tuple[Membership, Membership]) -> str:
    actor, annotator = arguments
    try:
        paying.add_entry(actor=actor, annotator=annotator, kind="adjustment", cents=-60, why="x", key=uuid4())
    except paying.NegativeBalance:
        return "would owe"
    return "taken"


def rate_everything(annotator: Membership) -> int:
    n = 0
    while isinstance(found := serving.claim(annotator), UUID):
        submitting.submit(annotator=annotator, assignment_uuid=found, sent=answered())
        n += 1
    return n


def approve_and_pay(actor: Membership) -> int:
    """What a manager might do all the while that others rate."""
    n = 0
    for _ in range(10):
        paying.approve_entries(assignment_ids=list(Assignment.objects.submitted().values_list("pk", flat=True)))
        try:
            n += paying.make_payment(project=actor.project, actor=actor).cents
        except Refused:
            continue
    return n


@pytest.mark.race
@pytest.mark.django_db(transaction=True)
def test_eight_payments_at_once_are_one(project: Project, owner: Membership, manager: Membership) -> None:
    for n in range(6):
        earn(make_membership(project), 100 + n, is_approved=True)
    messages = all_at_once(pay, [(owner, 615), (manager, 615)] * 4)
    first, *others = sorted(messages)
    assert first == "1"
    assert all("Payment 1 of $6.15 was recorded in the meantime" in sentence for sentence in others)
    assert Payment.objects.get().cents == 615
    assert LogEntry.objects.filter(act="make payment").count() == 1
    assert_ledger()


@pytest.mark.race
@pytest.mark.django_db(transaction=True)
def test_a_form_sent_eight_times_at_once_is_one_bonus(manager: Membership, annotator: Membership) -> None:
    assert sorted(all_at_once(give, [(manager, annotator, uuid4())] * 8)) == [False] * 7 + [True]
    assert LedgerEntry.objects.get().cents == 5


@pytest.mark.race
@pytest.mark.django_db(transaction=True)
def test_two_managers_cannot_take_the_same_balance_away(
    owner: Membership, manager: Membership, annotator: Membership
) -> None:
    earn(annotator, 100)
    assert sorted(all_at_once(take_away, [(owner, annotator), (manager, annotator)])) == ["taken", "would owe"]
    assert paying.sum_unpaid(annotator) == 40


@pytest.mark.race
@pytest.mark.django_db(transaction=True)
def test_paying_while_people_rate_pays_each_hit_once(project: Project, owner: Membership) -> None:
    open_batch(project, n_hits=12, judgments=3, cents_per_hit=40)
    raters = [make_membership(project) for _ in range(4)]

    def work(member: Membership) -> int:
        return approve_and_pay(member) if member == owner else rate_everything(member)

    *n_submitted, paid = all_at_once(work, [*raters, owner])
    assert sum(n_submitted) == 36
    sums = ledger.sum_by_annotator(raters)
    assert sum(each.total for each in sums.values()) == 36 * 40
    assert sum(each.paid for each in sums.values()) == paid
    assert_ledger()


ACTS = st.lists(st.tuples(st.sampled_from(("submit", "approve", "void", "bonus", "take", "pay")), st.integers(0, 7)))


@pytest.mark.django_db
@settings(max_examples=25, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(ACTS)
def test_every_order_of_acts_adds_up(acts: list[tuple[str, int]]) -> None:
    """Two annotators and eight HITs against a ledger kept by hand: earned less taken back is owed, approved or paid."""
    project = make_project()
    manager = make_membership(project, role=Membership.Role.MANAGER)
    people = [make_membership(project) for _ in range(2)]
    batch = paid_batch(project, n_hits=8)
    done: dict[int, Assignment] = {}
    hits, given_by_hand, paid = dict.fromkeys(people, 0), dict.fromkeys(people, 0), 0
    voided: set[int] = set()
    for act, n in acts:
        person = people[n % 2]
        if act == "submit" and n not in done:
            done[n] = submitted(person, batch, n + 1)
            hits[person] += 40
        elif act in ("approve", "void") and n in done:
            ids = [done[n].pk]
            Assignment.objects.filter(pk__in=ids).update(
                state="rejected" if act == "void" else "approved", is_unpaid=act == "void", holds_place=act != "void"
            )
            (paying.void_entries if act == "void" else paying.approve_entries)(assignment_ids=ids)
            hits[person] += 40 * ((n in voided) - (act == "void"))
            voided = (voided | {n}) if act == "void" else (voided - {n})
        elif act in ("bonus", "take"):
            cents, kind = (n + 1, "bonus") if act == "bonus" else (-20 * (n + 1), "adjustment")
            paying.add_entry(
                actor=manager,
                annotator=person,
                kind=kind,
                cents=cents,
                why="x",
                key=uuid4(),
                confirmed_balance=paying.sum_unpaid(person),
            )
            given_by_hand[person] += cents
        elif act == "pay":
            due = ledger.find_payable(ledger.list_balances(project)).cents
            try:
                assert paying.make_payment(project=project, actor=manager).cents == due
                paid += due
            except Refused:
                assert due == 0
    sums = ledger.sum_by_annotator(people)
    assert {person: sums[person.pk].total for person in people} == {
        person: hits[person] + given_by_hand[person] for person in people
    }
    assert sum(each.paid for each in sums.values()) == paid
    assert sum(stage.sums.total for stage in ledger.sum_by_stage(project)) == sum(each.total for each in sums.values())
    assert_ledger()
