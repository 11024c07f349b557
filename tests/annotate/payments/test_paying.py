"""The ledger's acts: what is given, approved, taken back and paid, and that each happens once."""

import csv
import io
from typing import Any
from uuid import uuid4

import pytest
from django.db import transaction
from django.urls import reverse
from openpyxl import load_workbook

from annotate.models import Batch, LedgerEntry, Panel, Payment
from annotate.onboarding import erasing
from annotate.panels import sessions
from annotate.payments import ledger, paying
from annotate.payments import payment_file as payment_files
from projects.errors import Refused
from projects.models import LogEntry, Membership, Project, User
from tests.annotate.panels.samples import make_panel, member_of, open_link, session_id, session_of
from tests.annotate.payments.paid_work import earn, paid_batch, submitted
from tests.factories import make_membership, make_project
from tests.page_reader import condense, read
from tests.people import SignIn

pytestmark = pytest.mark.django_db

NASTY = ("=cmd()", "+1", "@sum", "-2+3", "\t=1", "'=1")


@pytest.mark.parametrize(
    ("rates", "is_paid"), [({"cents_per_hit": 1}, True), ({"cents_per_item": 1}, True), ({}, False)]
)
def test_work_is_paid_by_the_hit_or_by_the_item(rates: dict[str, int], *, is_paid: bool) -> None:
    terms = {"cents_per_hit": 0, "cents_per_item": 0, **rates}
    assert [each.is_paid for each in (Project(**terms), Batch(**terms))] == [is_paid] * 2


def give(actor: Membership, annotator: Membership, cents: int, **over: Any) -> paying.AddedEntry:
    kind = "bonus" if cents > 0 else "adjustment"
    return paying.add_entry(
        **{"actor": actor, "annotator": annotator, "kind": kind, "cents": cents, "why": "Hard", "key": uuid4(), **over}
    )


def compute_sums(annotator: Membership) -> tuple[int, int, int]:
    sums = ledger.sum_by_annotator([annotator])[annotator.pk]
    return sums.owed, sums.approved, sums.paid


def last_line() -> LogEntry:
    return LogEntry.objects.latest("pk")


def test_a_bonus_is_approved_at_once_and_logged_with_its_reason(manager: Membership, annotator: Membership) -> None:
    given = give(manager, annotator, 250, why="A hard passage")
    assert (given.is_new, given.entry.made_by) == (True, manager)
    assert compute_sums(annotator) == (0, 250, 0)
    line = last_line()
    assert (line.act, line.object_id, line.after, line.why) == (
        "give bonus",
        str(annotator.pk),
        {"cents": 250},
        "A hard passage",
    )
    assert line.actor == manager


def test_the_same_form_twice_gives_one_bonus(manager: Membership, annotator: Membership) -> None:
    key = uuid4()
    assert give(manager, annotator, 250, key=key).is_new
    assert not give(manager, annotator, 250, key=key).is_new
    with pytest.raises(Refused, match="different content"):
        give(manager, annotator, 300, key=key)
    assert compute_sums(annotator) == (0, 250, 0)
    assert LogEntry.objects.filter(act="give bonus").count() == 1


@pytest.mark.parametrize(
    ("over", "message"),
    [
        ({"cents": 0, "kind": "adjustment"}, "other than 0"),
        ({"cents": -5, "kind": "bonus"}, "more than 0"),
        ({"cents": 5, "kind": "hit"}, "only add bonuses and adjustments"),
        ({"cents": 5, "why": "  "}, "Give a reason"),
        ({"cents": 1_000_001}, "up to"),
        ({"cents": -1_000_001, "confirmed_balance": 0}, "up to"),
    ],
)
def test_what_is_no_bonus(manager: Membership, annotator: Membership, over: dict[str, Any], message: str) -> None:
    with pytest.raises(Refused, match=message):
        give(manager, annotator, over.pop("cents"), **over)
    assert not LedgerEntry.objects.exists()
    assert not LogEntry.objects.exists()


def test_a_negative_balance_needs_confirmation(manager: Membership, annotator: Membership) -> None:
    earn(annotator, 100)
    give(manager, annotator, -100)
    with pytest.raises(paying.NegativeBalance, match=r"has \$0\.00 unpaid\. This would leave -\$0\.30"):
        give(manager, annotator, -30)
    give(manager, annotator, -30, confirmed_balance=0)
    give(manager, annotator, 10)
    assert paying.sum_unpaid(annotator) == -20


def test_a_deleted_account_is_paid_nothing_because_nobody_knows_whose_it_was(
    project: Project, manager: Membership, annotator: Membership, other_annotator: Membership, client_of: SignIn
) -> None:
    earn(annotator, 270, is_approved=True)
    earn(other_annotator, 315, is_approved=True)
    erasing.erase(user=User.objects.get(memberships=annotator), removes_work=False)
    annotator.refresh_from_db()
    due = ledger.find_payable(ledger.list_balances(project))
    assert (due.cents, due.n_annotators, due.unknown_cents) == (315, 1, 270)
    page = condense(client_of(manager).get(reverse("annotate:payment-list", args=[project.slug])).content.decode())
    assert "$2.70 of 1 person who deleted their account is left out" in page
    payment = paying.make_payment(project=project, actor=manager, seen_cents=due.cents)
    assert [line.cents for line in payment_files.list_lines(payment)] == [315]
    assert compute_sums(annotator) == (0, 270, 0)
    with pytest.raises(Refused, match="deleted their account"):
        give(manager, annotator, 5)
    give(manager, annotator, -270)
    assert ledger.find_payable(ledger.list_balances(project)).unknown == ()


def test_a_debt_of_a_deleted_account_is_named_and_settled_by_an_adjustment(
    project: Project, manager: Membership, annotator: Membership, other_annotator: Membership, client_of: SignIn
) -> None:
    """No later pay reduces it, so that it would stay in the sums for ever."""
    for person in (annotator, other_annotator):
        give(manager, person, -30, confirmed_balance=0)
    erasing.erase(user=User.objects.get(memberships=annotator), removes_work=False)
    due = ledger.find_payable(ledger.list_balances(project))
    assert ([each.pk for each in due.held_back], due.lost_cents) == ([other_annotator.pk], -30)
    client, url = client_of(manager), reverse("annotate:payment-list", args=[project.slug])
    page = condense(client.get(url).content.decode())
    assert "-$0.30 of 1 person who deleted their account can’t be deducted from later pay" in page
    assert "1 annotator with a negative balance is skipped" in page
    ((row,), one) = (
        read(client.get(url, {"show": "gone"}).content.decode()).rows("Annotators")[:1],
        annotator.pseudonym,
    )
    assert row["Annotator"] == f"{one} account deleted"
    of_one = condense(client.get(reverse("annotate:ledger-show", args=[project.slug, one])).content.decode())
    assert "account deleted, so an adjustment is needed to settle it" in of_one
    annotator.refresh_from_db()
    give(manager, annotator, 30, kind="adjustment")
    assert ledger.find_payable(ledger.list_balances(project)).lost == ()
    assert "account can’t be deducted" not in condense(client.get(url).content.decode())


def test_an_annotator_of_another_project_gets_nothing(manager: Membership) -> None:
    with pytest.raises(Refused, match="another project"):
        give(manager, make_membership(make_project()), 5)


def test_a_right_lost_a_moment_ago_gives_nothing(manager: Membership, annotator: Membership) -> None:
    earn(annotator, 5, is_approved=True)
    Membership.objects.filter(pk=manager.pk).update(standing="removed")
    acts = (
        lambda: give(manager, annotator, 5),
        lambda: paying.approve_waiting(project=manager.project, actor=manager),
        lambda: paying.make_payment(project=manager.project, actor=manager),
    )
    for act in acts:
        with pytest.raises(Refused, match="managers"):
            act()
    assert LedgerEntry.objects.count() == 1


def test_approving_an_assignment_approves_its_entries_alone(
    project: Project, annotator: Membership, other_annotator: Membership
) -> None:
    batch = paid_batch(project)
    first, second = submitted(annotator, batch, 1), submitted(annotator, batch, 2)
    earn(annotator, 7)
    assert paying.approve_entries(assignment_ids=[first.pk]) == 1
    assert paying.approve_entries(assignment_ids=[first.pk]) == 0
    assert compute_sums(annotator) == (47, 40, 0)
    assert paying.approve_entries(assignment_ids=[first.pk, second.pk]) == 1
    assert compute_sums(annotator) == (7, 80, 0)
    assert compute_sums(other_annotator) == (0, 0, 0)


def test_an_unpaid_rejection_takes_the_pay_back_once(project: Project, annotator: Membership) -> None:
    work = submitted(annotator, paid_batch(project))
    assert paying.void_entries(assignment_ids=[work.pk]) == 1
    assert paying.void_entries(assignment_ids=[work.pk]) == 0
    assert compute_sums(annotator) == (0, 0, 0)
    entry = LedgerEntry.objects.get(key=f"unpaid:{work.uuid}")
    assert (entry.cents, entry.kind, entry.assignment_id) == (-40, "adjustment", work.pk)
    assert not LedgerEntry.objects.filter(approved_at=None).exists()


def test_work_approved_after_all_is_paid_after_all(project: Project, annotator: Membership) -> None:
    work = submitted(annotator, paid_batch(project))
    for _ in range(3):
        paying.void_entries(assignment_ids=[work.pk])
        assert compute_sums(annotator) == (0, 0, 0)
        paying.approve_entries(assignment_ids=[work.pk])
        assert compute_sums(annotator) == (0, 40, 0)
    assert LedgerEntry.objects.count() == 7


def test_an_unpaid_rejection_of_unpaid_work_writes_nothing(project: Project, annotator: Membership) -> None:
    work = submitted(annotator, paid_batch(project))
    LedgerEntry.objects.all().delete()
    assert paying.void_entries(assignment_ids=[work.pk]) == 0
    assert paying.approve_entries(assignment_ids=[work.pk]) == 0


def test_what_waits_and_belongs_to_no_hit_is_approved_together(
    project: Project, manager: Membership, annotator: Membership, other_annotator: Membership
) -> None:
    submitted(annotator, paid_batch(project))
    earn(annotator, 10)
    earn(other_annotator, 15)
    earn(make_membership(make_project()), 99)
    assert paying.approve_waiting(project=project, actor=manager) == (2, 25)
    assert paying.approve_waiting(project=project, actor=manager) == (0, 0)
    assert compute_sums(annotator) == (40, 10, 0)
    assert LogEntry.objects.filter(act="approve pay").count() == 1


def test_a_payment_takes_what_is_approved(
    project: Project, manager: Membership, annotator: Membership, other_annotator: Membership
) -> None:
    earn(annotator, 100, is_approved=True)
    earn(annotator, 20)
    earn(other_annotator, 30, is_approved=True)
    elsewhere = earn(make_membership(make_project()), 99, is_approved=True)
    payment = paying.make_payment(project=project, actor=manager, note="By bank")
    assert (payment.number, payment.cents, payment.n_annotators, payment.note) == (1, 130, 2, "By bank")
    assert compute_sums(annotator) == (20, 0, 100)
    elsewhere.refresh_from_db()
    assert elsewhere.payment is None
    assert last_line().after == {"cents": 130, "annotators": 2, "entries": 2}
    with pytest.raises(Refused, match="No approved pay"):
        paying.make_payment(project=project, actor=manager)
    give(manager, annotator, 5)
    assert paying.make_payment(project=project, actor=manager).number == 2


def test_a_payment_counts_what_it_pays_and_names_the_rest_apart(
    project: Project, manager: Membership, annotator: Membership
) -> None:
    """HITs rejected unpaid, before the payment or after an earlier one, are none of the HITs that it pays."""
    batch = paid_batch(project, n_hits=5)
    work = [submitted(annotator, batch, n) for n in (1, 2, 3, 4)]
    paying.approve_entries(assignment_ids=[each.pk for each in work])
    paying.void_entries(assignment_ids=[work[0].pk])
    earn(annotator, 15, is_approved=True)
    first = paying.make_payment(project=project, actor=manager)
    (line,) = payment_files.list_lines(first)
    assert (line.n_hits, line.n_rejected_unpaid, line.cents) == (3, 1, 135)
    paying.void_entries(assignment_ids=[work[1].pk])
    paying.approve_entries(assignment_ids=[work[0].pk, submitted(annotator, batch, 5).pk])
    (line,) = payment_files.list_lines(paying.make_payment(project=project, actor=manager))
    assert (line.n_hits, line.n_rejected_unpaid, line.cents) == (2, 1, 40)


def test_hits_that_were_rejected_unpaid_are_counted_apart_everywhere(
    project: Project, manager: Membership, annotator: Membership, client_of: SignIn
) -> None:
    """Also after they were paid, and no more once they are approved after all."""
    batch = paid_batch(project, n_hits=4)
    work = [submitted(annotator, batch, n) for n in (1, 2, 3)]
    earn(annotator, 15)
    paying.approve_entries(assignment_ids=[work[0].pk])
    paying.make_payment(project=project, actor=manager)
    paying.void_entries(assignment_ids=[work[0].pk, work[1].pk])

    def counted() -> set[tuple[int, int]]:
        sums = [each.sums for each in ledger.list_balances(project)]
        sums += [each.sums for each in ledger.sum_by_stage(project) if each.sums.has_hits]
        sums += [ledger.sum_by_annotator([annotator])[annotator.pk]]
        sums += [ledger.fetch_sums_today([annotator])[annotator.pk].sums]
        return {(each.n_hits, each.n_rejected_unpaid) for each in sums}

    assert counted() == {(1, 2)}
    for path in ("", f"of/{annotator.pseudonym}/"):
        page = client_of(manager).get(f"/p/{project.slug}/payments/{path}").text
        assert "2 rejected unpaid" in condense(page)
    paying.approve_entries(assignment_ids=[work[0].pk])
    assert counted() == {(2, 1)}
    paying.void_entries(assignment_ids=[each.pk for each in work])
    assert counted() == {(0, 3)}
    page = client_of(manager).get(f"/p/{project.slug}/payments/").text
    assert [row["HITs"] for row in read(page).rows("Stages")] == ["", "0 3 rejected unpaid"]


def test_a_debt_waits_until_it_is_earned_back(
    project: Project, manager: Membership, annotator: Membership, other_annotator: Membership, client_of: SignIn
) -> None:
    give(manager, annotator, -50, confirmed_balance=0)
    earn(other_annotator, 30, is_approved=True)
    due = ledger.find_payable(ledger.list_balances(project))
    assert (due.cents, due.n_annotators, [each.pk for each in due.held_back]) == (30, 1, [annotator.pk])
    assert paying.make_payment(project=project, actor=manager).cents == 30
    assert compute_sums(annotator) == (0, -50, 0)
    # Fifty cents less were earned than paid, so that what was paid is no part of it.
    page = condense(client_of(manager).get(f"/p/{project.slug}/payments/").text)
    assert "-$0.20 earned in total, after deductions" in page
    give(manager, annotator, 80)
    assert "of $0.60 earned in total" in condense(client_of(manager).get(f"/p/{project.slug}/payments/").text)
    assert paying.make_payment(project=project, actor=manager).cents == 30
    assert compute_sums(annotator) == (0, 0, 30)


def test_an_old_page_pays_nothing(project: Project, manager: Membership, annotator: Membership) -> None:
    earn(annotator, 100, is_approved=True)
    with pytest.raises(Refused, match=r"now \$1\.00, not \$0\.90"):
        paying.make_payment(project=project, actor=manager, seen_cents=90, seen_number=0)
    paying.make_payment(project=project, actor=manager, seen_cents=100, seen_number=0)
    earn(annotator, 100, is_approved=True)
    with pytest.raises(Refused, match=r"Payment 1 of \$1\.00 was recorded in the meantime"):
        paying.make_payment(project=project, actor=manager, seen_cents=100, seen_number=0)
    assert Payment.objects.count() == 1


def test_the_file_names_people_and_is_safe_in_a_spreadsheet(project: Project, manager: Membership) -> None:
    for number, text in enumerate(NASTY):
        member = make_membership(project)
        assert member.user is not None
        member.user.email, member.user.first_name = f"{number}@example.org", text
        member.user.save()
        earn(member, 105 + number, is_approved=True)
    nameless = make_membership(project, kind="simulated")
    earn(nameless, 1_234_567, is_approved=True)
    even = make_membership(project)
    earn(even, 5, is_approved=True)
    earn(even, -5, is_approved=True)
    payment = paying.make_payment(project=project, actor=manager)
    assert payment.n_annotators == len(NASTY) + 1
    text = payment_files.write_file(payment=payment, actor=manager)
    rows = {row["annotator"]: row for row in csv.DictReader(io.StringIO(text, newline=""))}
    assert sum(int(row["cents"]) for row in rows.values()) == payment.cents
    assert (
        rows[nameless.pseudonym] | {"amount": "12345.67", "username": "", "kind": "simulated"}
        == rows[nameless.pseudonym]
    )
    assert even.pseudonym not in rows
    for row in rows.values():
        assert not row["name"].startswith(("=", "+", "-", "@", "\t", "\r", "\n"))
        assert row["currency"] == "USD"
    assert sorted(row["name"] for row in rows.values() if row["name"]) == sorted(f"'{text}" for text in NASTY)
    line = last_line()
    assert (line.act, line.actor, line.object_id) == ("download payment", manager, str(payment.pk))
    assert "example.org" not in str(line.after)


def test_the_file_has_the_platforms_id_of_who_came_by_a_panel(
    project: Project, manager: Membership, annotator: Membership
) -> None:
    """They have neither name nor email. Whom two panels sent belongs to the one that they joined last."""
    paid_batch(project, n_hits=3)
    first, last = (make_panel(manager, name=name, platform=Panel.Platform.CONNECT) for name in ("Spring", "=Fall"))
    client, _ = open_link(first, "pia")
    pia = member_of(first, "pia")
    for member in (pia, annotator):
        earn(member, 100, is_approved=True)
    payment = paying.make_payment(project=project, actor=manager)
    assert find_origins(payment, manager) == {pia.pseudonym: ("Spring", "pia"), annotator.pseudonym: ("", "")}
    sessions.record(session_of(first, "pia"), "returned", actor=manager)
    open_link(last, "pia", client, session=session_id("fall"))
    assert find_origins(payment, manager)[pia.pseudonym] == ("'=Fall", "pia")
    sheet = load_workbook(io.BytesIO(payment_files.write_workbook(payment=payment, actor=manager))).worksheets[0]
    ends = {tuple(cell.value or "" for cell in row[-2:]) for row in sheet.iter_rows()}
    assert ends == {("panel", "participant"), ("=Fall", "pia"), ("", "")}


def find_origins(payment: Payment, manager: Membership) -> dict[str, tuple[str, str]]:
    text = payment_files.write_file(payment=payment, actor=manager)
    rows = csv.DictReader(io.StringIO(text, newline=""))
    return {row["annotator"]: (row["panel"], row["participant"]) for row in rows}


def test_hourly_pay_is_of_measured_time_and_not_given_on_too_little(project: Project, annotator: Membership) -> None:
    batch = paid_batch(project, n_hits=6)
    submitted(annotator, batch, 1, seconds=599)
    give(make_membership(project, role="manager"), annotator, 5_000)
    assert ledger.sum_by_annotator([annotator])[annotator.pk].hourly.cents_per_hour is None
    submitted(annotator, batch, 2, seconds=None)
    odd = submitted(annotator, batch, 3, seconds=9_999)
    odd.has_odd_times = True
    odd.save()
    submitted(annotator, batch, 4, seconds=121)
    hourly = ledger.sum_by_annotator([annotator])[annotator.pk].hourly
    assert (hourly.cents, hourly.seconds, hourly.cents_per_hour) == (80, 720, 400)
    assert hourly.is_under(401)
    assert not hourly.is_under(400)
    assert not hourly.is_under(None)
    voided = submitted(annotator, batch, 5, seconds=80)
    paying.void_entries(assignment_ids=[voided.pk])
    assert ledger.sum_by_annotator([annotator])[annotator.pk].hourly.cents_per_hour == 360


def test_stages_have_their_own_sums(project: Project, manager: Membership, annotator: Membership) -> None:
    trial, full = paid_batch(project, kind="trial"), paid_batch(project, cents=10, cents_per_item=5)
    submitted(annotator, trial, 1)
    voided = submitted(annotator, full, 1)
    submitted(annotator, full, 2)
    paying.void_entries(assignment_ids=[voided.pk])
    earn(annotator, 50)
    give(manager, annotator, 7)
    give(manager, annotator, -3)
    found = {stage.key: (stage.sums.owed, stage.sums.approved) for stage in ledger.sum_by_stage(project)}
    assert list(found) == ["qualification", "trial", "full", "bonus", "adjustment"]
    assert found == {
        "qualification": (50, 0),
        "trial": (40, 0),
        "full": (25, 0),
        "bonus": (0, 7),
        "adjustment": (0, -3),
    }


def test_a_project_pays_where_any_rate_or_entry_is(project: Project, annotator: Membership) -> None:
    Project.objects.update(cents_per_hit=0)
    project.refresh_from_db()
    assert not ledger.pays_anything(project)
    with transaction.atomic():
        earn(annotator, 5)
        assert ledger.pays_anything(project)
        transaction.set_rollback(True)
    batch = paid_batch(project, cents=0)
    assert not ledger.pays_anything(project)
    batch.cents_per_item = 1
    batch.save()
    assert ledger.pays_anything(project)
