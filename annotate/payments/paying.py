"""Paying: bonuses and adjustments, approving what was earned, and payments that mark it paid once.

HITs and qualification tests enter the ledger when they are submitted; here entries are approved, taken back and paid.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any
from uuid import UUID

from django.db import connection, transaction
from django.db.models.functions import Now
from django.utils.dateformat import format as date_format

from annotate.models import LedgerEntry, Payment
from annotate.models.conditions import is_erased
from annotate.models.payment import REPAID, TAKEN_BACK
from projects import access, log
from projects.database.locks import AdvisoryLock, lock_in_project
from projects.database.numbering import next_number
from projects.errors import Refused
from projects.language.amounts import format_money
from projects.models import Act, Membership, Project

Kind = LedgerEntry.Kind

MOST_CENTS = 1_000_000
"""Largest manual entry, 10,000 dollars: far above any real bonus, so that a typing error is caught."""


class NegativeBalance(Refused):
    """The entry would make the balance negative, which the manager has not confirmed for this `unpaid` balance."""

    def __init__(self, annotator: Membership, *, unpaid: int, cents: int) -> None:
        super().__init__(
            f"{annotator.pseudonym} has {format_money(unpaid)} unpaid. "
            f"This would leave {format_money(unpaid + cents)}, deducted from later pay."
        )
        self.unpaid = unpaid


@dataclass(frozen=True)
class AddedEntry:
    """A manual entry, and whether this call has created it."""

    entry: LedgerEntry
    is_new: bool


@transaction.atomic
def add_entry(
    *,
    actor: Membership,
    annotator: Membership,
    kind: str,
    cents: int,
    why: str,
    key: UUID,
    confirmed_balance: int | None = None,
) -> AddedEntry:
    """Add a bonus or an adjustment, which is approved immediately.

    The same key again is the same form sent twice and changes nothing. Raises NegativeBalance if the unpaid balance
    would become negative, unless a debt was confirmed for this very balance, otherwise Refused. Locks both memberships.
    """
    # The annotator is locked too: of two deductions at the same time, the second sees the balance after the first.
    _lock_members(actor, annotator)
    entry_key = f"form:{key}"
    # Looked for before the checks: the same form sent again succeeds, even if its entry would now be refused.
    if stored := LedgerEntry.objects.filter(project=actor.project, key=entry_key).first():
        if (stored.annotator_id, stored.kind, stored.cents, stored.note) != (annotator.pk, kind, cents, why):
            raise Refused("This form was already sent with different content. The first entry is kept.")
        return AddedEntry(stored, is_new=False)
    _check_entry(annotator, kind, cents, why)
    unpaid = sum_unpaid(annotator)
    if cents < 0 and unpaid + cents < 0 and unpaid != confirmed_balance:
        raise NegativeBalance(annotator, unpaid=unpaid, cents=cents)
    entry = LedgerEntry.objects.create(
        project=actor.project,
        annotator=annotator,
        kind=kind,
        cents=cents,
        key=entry_key,
        note=why,
        made_by=actor,
        approved_at=Now(),
    )
    act = Act.GIVE_BONUS if kind == Kind.BONUS else Act.ADJUST_PAY
    log.record(actor.project, actor, act, annotator, after={"cents": cents}, why=why)
    return AddedEntry(entry, is_new=True)


@transaction.atomic
def approve_waiting(*, project: Project, actor: Membership) -> tuple[int, int]:
    """Approve all entries without an assignment, such as qualification tests; return their number and cents."""
    access.lock_actor(actor)
    n, cents = _approve("project_id = %s AND assignment_id IS NULL", [project.pk])
    if n:
        log.record(project, actor, Act.APPROVE_PAY, project, after={"entries": n, "cents": cents})
    return n, cents


def approve_entries(*, assignment_ids: Sequence[int], actor: Membership | None = None) -> int:
    """Approve the pay of assignments that are being approved; return the number of entries.

    Pay that an earlier unpaid rejection took back is added again. Runs in the transaction of the caller, who has locked
    the assignments and writes the log entry.
    """
    _add_balancing_entries(assignment_ids, actor, key="repaid", sign=1, note=REPAID)
    return _approve("assignment_id = ANY(%s)", [list(assignment_ids)])[0]


def void_entries(*, assignment_ids: Sequence[int], actor: Membership | None = None) -> int:
    """Take back the pay of assignments that are being rejected unpaid; return the number of new entries.

    Entries are only ever added, so each assignment gets a negative one. Both are approved, so that the next payment
    includes them; pay that was already paid is deducted from later pay. Runs in the transaction of the caller.
    """
    # The negative entries come first, so that the approval below includes them.
    n = _add_balancing_entries(assignment_ids, actor, key="unpaid", sign=-1, note=TAKEN_BACK)
    _approve("assignment_id = ANY(%s)", [list(assignment_ids)])
    return n


# One entry for each assignment whose sum isn't what the decision requires: 0 when its pay is taken back (sign -1), the
# pay of its HIT when it is given back (sign 1). HAVING leaves out those that are right already, so that a repetition
# adds nothing. The first entry of each sign has a plain key; if the decision changes again, the key gets the number of
# entries, because keys are unique.
_BALANCING = """
INSERT INTO annotate_ledgerentry
    (project_id, annotator_id, kind, cents, key, assignment_id, batch_id, note, made_by_id)
SELECT e.project_id, e.annotator_id, 'adjustment',
       CASE WHEN %(sign)s < 0 THEN -sum(e.cents) ELSE sum(e.cents) FILTER (WHERE e.kind = 'hit') - sum(e.cents) END,
       %(key)s || ':' || a.uuid || CASE WHEN count(*) > 2 THEN ':' || count(*) ELSE '' END,
       a.id, min(e.batch_id), %(note)s, %(actor)s
FROM annotate_ledgerentry e JOIN annotate_assignment a ON a.id = e.assignment_id
WHERE a.id = ANY(%(ids)s)
GROUP BY e.project_id, e.annotator_id, a.id
HAVING CASE WHEN %(sign)s < 0 THEN sum(e.cents) <> 0
            ELSE sum(e.cents) <> sum(e.cents) FILTER (WHERE e.kind = 'hit') END
ORDER BY a.id
ON CONFLICT (project_id, key) DO NOTHING
"""


def _add_balancing_entries(
    assignment_ids: Sequence[int], actor: Membership | None, *, key: str, sign: int, note: str
) -> int:
    """Add the entry that brings each assignment's sum to 0 (sign -1) or back to its pay (sign 1); return how many."""
    with connection.cursor() as cursor:
        cursor.execute(
            _BALANCING,
            {
                "sign": sign,
                "key": key,
                "note": note,
                "actor": actor.pk if actor else None,
                "ids": list(assignment_ids),
            },
        )
        return int(cursor.rowcount)


@transaction.atomic
def make_payment(
    *,
    project: Project,
    actor: Membership,
    note: str = "",
    seen_cents: int | None = None,
    seen_number: int | None = None,
) -> Payment:
    """Mark everything approved as paid, once, in one payment, and return it.

    Annotators with a negative approved sum are skipped, and those who deleted their account. `seen_cents` and
    `seen_number` are the sum and the last payment that the page showed: of two people who press the button, or of one
    who presses it twice, the second is refused. Raises Refused then, or if nothing is due. Locks the actor, the
    project's payments, then the entries.
    """
    access.lock_actor(actor)
    lock_in_project(AdvisoryLock.PAYMENTS, project.pk)
    # Payments are ordered by number, the latest first.
    last = Payment.objects.filter(project=project).select_related("made_by").first()
    if last is not None and seen_number is not None and last.number != seen_number:
        raise Refused(
            f"Payment {last.number} of {format_money(last.cents)} was recorded in the meantime, at "
            f"{date_format(last.made_at, 'H:i')} UTC by {last.made_by.pseudonym}. Check it before you record another."
        )
    # Locked before they are summed: an entry approved after this moment is left to the next payment.
    ids, sums = _lock_approved(project)
    cents = sum(sums.values())
    if not cents:
        raise Refused("No approved pay is due.")
    if seen_cents is not None and seen_cents != cents:
        raise Refused(
            f"The amount is now {format_money(cents)}, not {format_money(seen_cents)}. Nothing was recorded. Check "
            "the amount and try again."
        )
    payment = Payment.objects.create(
        project=project,
        number=next_number(project, Payment),
        cents=cents,
        n_annotators=sum(1 for value in sums.values() if value),
        made_by=actor,
        note=note,
    )
    LedgerEntry.objects.filter(pk__in=ids).update(payment=payment)
    after = {"cents": cents, "annotators": payment.n_annotators, "entries": len(ids)}
    log.record(project, actor, Act.MAKE_PAYMENT, payment, after=after, why=note)
    # The time of the payment is set by the database and not in memory yet.
    payment.refresh_from_db()
    return payment


def sum_unpaid(annotator: Membership) -> int:
    """Return the owed and approved sum in cents; negative if more was taken back than is left."""
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT coalesce(sum(cents), 0) FROM annotate_ledgerentry WHERE annotator_id = %s AND payment_id IS NULL",
            [annotator.pk],
        )
        return int(cursor.fetchone()[0])


def _check_entry(annotator: Membership, kind: str, cents: int, why: str) -> None:
    if kind not in (Kind.BONUS, Kind.ADJUSTMENT):
        raise Refused("You can only add bonuses and adjustments.")
    if not why.strip():
        raise Refused("Give a reason. The annotator will see it.")
    if kind == Kind.BONUS and cents <= 0:
        raise Refused("Enter a bonus of more than 0 cents.")
    if kind == Kind.BONUS and annotator.is_erased:
        raise Refused("This person has deleted their account, so nobody knows whom to pay.")
    if not cents or abs(cents) > MOST_CENTS:
        raise Refused(f"Enter an amount up to {format_money(MOST_CENTS)}, other than 0.")


def _lock_members(actor: Membership, annotator: Membership) -> None:
    """Lock both memberships in order of id, then check the actor's right again."""
    # Evaluated by the set below, in one statement and in order of id, so that two managers don't deadlock.
    rows = Membership.objects.select_for_update(no_key=True).filter(pk__in=(actor.pk, annotator.pk)).order_by("pk")
    if {row.project_id for row in rows} != {actor.project_id}:
        raise Refused("This annotator is in another project.")
    access.lock_actor(actor)


def _approve(where: str, parameters: list[Any]) -> tuple[int, int]:
    """Approve entries that are not approved yet, locked in order of id; return their number and cents.

    `where` is SQL of this module, never of a request.
    """
    with connection.cursor() as cursor:
        cursor.execute(
            f"""WITH waiting AS (
                    SELECT id FROM annotate_ledgerentry WHERE approved_at IS NULL AND {where}
                    ORDER BY id FOR NO KEY UPDATE),
                approved AS (
                    UPDATE annotate_ledgerentry e SET approved_at = now() FROM waiting WHERE e.id = waiting.id
                    RETURNING e.cents)
                SELECT count(*), coalesce(sum(cents), 0) FROM approved""",
            parameters,
        )
        n, cents = cursor.fetchone()
    return n, int(cents)


def _lock_approved(project: Project) -> tuple[list[int], dict[int, int]]:
    """Lock the approved and unpaid entries of everyone with an account and no negative sum; return ids and sums."""
    with connection.cursor() as cursor:
        cursor.execute(
            f"""SELECT e.id, e.annotator_id, e.cents
                FROM annotate_ledgerentry e JOIN projects_membership m ON m.id = e.annotator_id
                WHERE e.project_id = %s AND e.payment_id IS NULL AND e.approved_at IS NOT NULL
                  AND NOT {is_erased("m")}
                ORDER BY e.id FOR NO KEY UPDATE OF e""",
            [project.pk],
        )
        rows = cursor.fetchall()
    sums: dict[int, int] = {}
    for _pk, annotator, cents in rows:
        sums[annotator] = sums.get(annotator, 0) + cents
    # Whoever owes more than they are due is skipped as a whole: paying only their positive entries would lose the debt.
    # A sum of exactly 0 is included, so that its entries are settled.
    due = {annotator: cents for annotator, cents in sums.items() if cents >= 0}
    return [pk for pk, annotator, _ in rows if annotator in due], due
