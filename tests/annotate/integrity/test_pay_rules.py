"""Every rule of the ledger names the row that breaks it, and work from before the ledger is owed by a migration."""

from collections.abc import Callable
from importlib import import_module
from typing import Any

import pytest
from django.db import connection

from annotate.integrity import verifying
from annotate.models import Assignment, Batch, LedgerEntry, Payment
from annotate.payments import paying
from projects.models import Membership, Project
from tests.annotate.payments.paid_work import earn, paid_batch, submitted
from tests.factories import make_membership, make_project

pytestmark = pytest.mark.django_db


def broken() -> dict[str, list[str]]:
    """The rules of pay alone: assignments written as rows have no judgments."""
    names = {"hit_is_owed_once", "unpaid_comes_to_nothing", "entry_follows_rows", "paid_is_approved"}
    names.add("payment_is_its_entries")
    return {breach.rule: breach.ids for breach in verifying.verify() if breach.rule in names}


def run(statement: str, *arguments: Any) -> None:
    with connection.cursor() as cursor:
        cursor.execute(statement, arguments)


@pytest.fixture
def batch(project: Project) -> Batch:
    return paid_batch(project, cents=40, cents_per_item=2)


@pytest.fixture
def payment(batch: Batch, manager: Membership, annotator: Membership, other_annotator: Membership) -> Payment:
    """One HIT paid, one rejected without pay and one that waits."""
    paid, unpaid = submitted(annotator, batch, 1), submitted(annotator, batch, 2)
    submitted(other_annotator, batch, 3)
    paying.approve_entries(assignment_ids=[paid.pk])
    Assignment.objects.filter(pk=unpaid.pk).update(state="rejected", is_unpaid=True, holds_place=False)
    paying.void_entries(assignment_ids=[unpaid.pk])
    return paying.make_payment(project=batch.project, actor=manager)


def test_a_sound_ledger_breaks_no_rule(payment: Payment) -> None:
    assert payment.cents == 46
    assert broken() == {}


@pytest.mark.parametrize(
    ("change", "rule"),
    [
        ("UPDATE annotate_ledgerentry SET cents = cents + 1 WHERE id = %s", "hit_is_owed_once"),
        ("UPDATE annotate_ledgerentry SET key = 'x' WHERE id = %s", "hit_is_owed_once"),
        ("DELETE FROM annotate_ledgerentry WHERE id = %s", "hit_is_owed_once"),
        ("UPDATE annotate_assignment SET state = 'expired', holds_place = false WHERE id = %s", "hit_is_owed_once"),
        ("UPDATE annotate_assignment SET state = 'rejected', is_unpaid = true, holds_place = false WHERE id = %s",
         "unpaid_comes_to_nothing"),
    ],
)  # fmt: skip
def test_pay_that_does_not_follow_the_work(payment: Payment, change: str, rule: str) -> None:
    entry = LedgerEntry.objects.get(approved_at=None)
    run(change, entry.assignment_id if "annotate_assignment" in change else entry.pk)
    assert broken() == {rule: [str(entry.assignment_id)]}


def test_a_second_entry_for_a_hit(payment: Payment, annotator: Membership) -> None:
    first = LedgerEntry.objects.filter(kind="hit", payment=payment).earliest("pk")
    earn(annotator, 46, kind="hit", assignment=first.assignment, batch=first.batch)
    assert broken()["hit_is_owed_once"] == [str(first.assignment_id)]


@pytest.mark.parametrize("field", ["annotator", "project", "batch"])
def test_an_entry_that_names_others(payment: Payment, field: str, batch: Batch) -> None:
    entry = LedgerEntry.objects.get(approved_at=None)
    other: dict[str, Callable[[], Any]] = {
        "annotator": lambda: make_membership(batch.project),
        "project": make_project,
        "batch": lambda: paid_batch(batch.project),
    }
    LedgerEntry.objects.filter(pk=entry.pk).update(**{field: other[field]()})
    assert broken() == {"entry_follows_rows": [str(entry.pk)]}


def test_something_paid_that_was_never_approved(payment: Payment) -> None:
    run("SET CONSTRAINTS ALL IMMEDIATE")
    run("ALTER TABLE annotate_ledgerentry DROP CONSTRAINT ledger_entry_paid_is_approved")
    entry = LedgerEntry.objects.filter(payment=payment).earliest("pk")
    run("UPDATE annotate_ledgerentry SET approved_at = NULL WHERE id = %s", entry.pk)
    assert broken() == {"paid_is_approved": [str(entry.pk)]}


@pytest.mark.parametrize("change", [{"cents": 45}, {"n_annotators": 2}])
def test_a_payment_that_is_not_its_entries(payment: Payment, change: dict[str, int]) -> None:
    Payment.objects.update(**change)
    assert broken() == {"payment_is_its_entries": [str(payment.pk)]}


def test_a_payment_with_a_negative_part(payment: Payment, other_annotator: Membership) -> None:
    earn(other_annotator, -1, is_approved=True, kind="adjustment", payment=payment)
    Payment.objects.update(cents=45)
    assert broken() == {"payment_is_its_entries": [str(payment.pk)]}


def test_hits_from_before_the_ledger_become_owed(batch: Batch, annotator: Membership) -> None:
    old, late = submitted(annotator, batch, 1), submitted(annotator, batch, 2)
    kept = LedgerEntry.objects.get(assignment=late)
    LedgerEntry.objects.filter(assignment=old).delete()
    free = submitted(annotator, paid_batch(batch.project, cents=0), 1)
    LedgerEntry.objects.filter(assignment=free).delete()
    owe = import_module("annotate.migrations.0004_pay_for_hits_submitted_before").OWE
    assert broken() == {"hit_is_owed_once": [str(old.pk)]}
    run(owe)
    run(owe)
    assert broken() == {}
    entry = LedgerEntry.objects.get(assignment=old)
    assert (entry.cents, entry.made_at, entry.approved_at) == (46, old.submitted_at, None)
    assert LedgerEntry.objects.get(assignment=late) == kept
