"""The ledger: what is owed, approved and paid, by annotator and stage, and the hourly rate."""

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from django.db import connection
from django.db.models import Count, Exists, OuterRef, Q, Sum
from django.db.models.functions import Coalesce

from annotate.models import Batch, BatchAnnotator, LedgerEntry, QualificationTest
from annotate.models.conditions import is_erased
from annotate.payments.panel_pay import pays_by_panels
from projects.models import Membership, Project

LEAST_SECONDS = 600.0
"""The least measured time for an hourly rate: with less, one slow HIT would decide it."""

Kind = LedgerEntry.Kind

# The sums of a group of entries, in the order of `_make_sums`: owed, approved, paid, the number of HITs, of those
# rejected unpaid, and for the hourly rate the cents and the seconds. Pay of a HIT is taken back and given back in turn,
# each time by one entry, so that their difference is the number of HITs whose pay is taken back now. Cents are summed
# over all entries of an assignment, so that pay taken back lowers the rate, but seconds only once, with the entry of
# the HIT.
_SUMS = """
coalesce(sum(e.cents) FILTER (WHERE e.approved_at IS NULL), 0),
coalesce(sum(e.cents) FILTER (WHERE e.approved_at IS NOT NULL AND e.payment_id IS NULL), 0),
coalesce(sum(e.cents) FILTER (WHERE e.payment_id IS NOT NULL), 0),
count(*) FILTER (WHERE e.kind = 'hit'),
count(*) FILTER (WHERE e.kind = 'adjustment' AND e.assignment_id IS NOT NULL AND e.cents < 0)
- count(*) FILTER (WHERE e.kind = 'adjustment' AND e.assignment_id IS NOT NULL AND e.cents > 0),
coalesce(sum(e.cents) FILTER (WHERE a.id IS NOT NULL), 0),
coalesce(sum(a.active_seconds) FILTER (WHERE e.kind = 'hit'), 0)
"""
# The join finds an assignment only if its active time is plausible: `a` is NULL for all other entries, which therefore
# count towards the sums but neither towards cents nor seconds of the hourly rate.
_ENTRIES = """
FROM annotate_ledgerentry e
LEFT JOIN annotate_assignment a ON a.id = e.assignment_id AND a.active_seconds > 0 AND NOT a.has_odd_times
"""


@dataclass(frozen=True)
class Hourly:
    """Pay for HITs with a measured active time, minus pay taken back for them, and that time."""

    cents: int = 0
    seconds: float = 0.0

    @property
    def cents_per_hour(self) -> int | None:
        """The hourly rate in cents, or None below LEAST_SECONDS."""
        return round(self.cents * 3600 / self.seconds) if self.seconds >= LEAST_SECONDS else None

    def is_under(self, floor_cents: int | None) -> bool:
        rate = self.cents_per_hour
        return floor_cents is not None and rate is not None and rate < floor_cents

    def __add__(self, other: "Hourly") -> "Hourly":
        return Hourly(self.cents + other.cents, self.seconds + other.seconds)


@dataclass(frozen=True)
class Sums:
    """Cents by status: owed until approved, approved until paid; `n_hits` counts HITs with pay of their own.

    HITs that were rejected unpaid are none of them.
    """

    owed: int = 0
    approved: int = 0
    paid: int = 0
    n_hits: int = 0
    n_rejected_unpaid: int = 0
    hourly: Hourly = Hourly()

    @property
    def unpaid(self) -> int:
        return self.owed + self.approved

    @property
    def total(self) -> int:
        return self.owed + self.approved + self.paid

    @property
    def has_hits(self) -> bool:
        return bool(self.n_hits or self.n_rejected_unpaid)

    def __add__(self, other: "Sums") -> "Sums":
        return Sums(
            self.owed + other.owed,
            self.approved + other.approved,
            self.paid + other.paid,
            self.n_hits + other.n_hits,
            self.n_rejected_unpaid + other.n_rejected_unpaid,
            self.hourly + other.hourly,
        )


@dataclass(frozen=True)
class Balance:
    """One annotator's sums, with the pseudonym."""

    pk: int
    pseudonym: str
    kind: str
    standing: str
    is_erased: bool
    sums: Sums

    @property
    def kind_label(self) -> str:
        return str(Membership.Kind(self.kind).label)

    @property
    def standing_label(self) -> str:
        return str(Membership.Standing(self.standing).label)


@dataclass(frozen=True)
class StageSums:
    """The sums of one stage, or of pay without a stage."""

    key: str
    label: str
    sums: Sums


@dataclass(frozen=True)
class Payable:
    """What a payment would contain now.

    Annotators with a negative approved sum are skipped, and so is whoever deleted their account: nobody knows whom to
    send the money, and nothing can be deducted from later pay.
    """

    cents: int
    n_annotators: int
    held_back: tuple[Balance, ...]
    unknown: tuple[Balance, ...]
    """People who deleted their account, and have pay to come."""
    lost: tuple[Balance, ...]
    """People who deleted their account with a negative balance."""

    @property
    def unknown_cents(self) -> int:
        return sum(balance.sums.approved for balance in self.unknown)

    @property
    def lost_cents(self) -> int:
        return sum(balance.sums.approved for balance in self.lost)


# In the order of a study. Pay of an assignment belongs to the kind of its batch, other pay to the kind of its entry.
STAGES = {
    Kind.QUALIFICATION.value: "Qualification",
    Batch.Kind.TRIAL.value: "Trial",
    Batch.Kind.FULL.value: "Full collection",
    Kind.BONUS.value: "Bonuses",
    Kind.ADJUSTMENT.value: "Adjustments",
}


def pays_anything(project: Project) -> bool:
    """Return whether the project pays: it has a rate, a paid batch, test or panel, or an entry in the ledger."""
    # The project's own rates are in memory. The queries follow for one whose rates were set to 0 later, or whose single
    # batches pay: entries must stay visible.
    if project.is_paid:
        return True
    return (
        LedgerEntry.objects.filter(project=project).exists()
        or project.batches.exclude(cents_per_hit=0, cents_per_item=0).exists()
        or QualificationTest.objects.filter(project=project, cents__gt=0).exists()
        or pays_by_panels(project)
    )


def find_paid(annotators: Iterable[Membership]) -> set[int]:
    """Return, by membership id, the annotators who have earned something or may do so: pay is shown to no others.

    A project that pays may have work without pay, and one whose rates were set to 0 work with pay. So what counts are
    the open and paused batches for an annotator and the open test, and only before the first batch the project's rates.
    """
    own = Batch.objects.collecting().filter(project=OuterRef("project")).exclude(state=Batch.State.DRAFT)
    under_way = own.filter(state__in=(Batch.State.OPEN, Batch.State.PAUSED))
    named = BatchAnnotator.objects.filter(batch=OuterRef("pk"), annotator=OuterRef(OuterRef("pk")))
    paid = under_way.exclude(cents_per_hit=0, cents_per_item=0).filter(Q(has_named_annotators=False) | Exists(named))
    test = QualificationTest.objects.filter(
        project=OuterRef("project"), state=QualificationTest.State.OPEN, cents__gt=0
    )
    has_rate = Q(project__cents_per_hit__gt=0) | Q(project__cents_per_item__gt=0)
    may_earn = Q(is_paid_elsewhere=False) & (Exists(paid) | Exists(test) | (has_rate & ~Exists(own)))
    entries = LedgerEntry.objects.filter(annotator=OuterRef("pk")).exclude(cents=0)
    found = Membership.objects.filter(Exists(entries) | may_earn, pk__in=[annotator.pk for annotator in annotators])
    return set(found.values_list("pk", flat=True))


def list_balances(project: Project) -> list[Balance]:
    """Return the balances of everyone with an entry in the ledger, by pseudonym, with one query."""
    return [
        Balance(pk, pseudonym, kind, standing, is_gone, _make_sums(tuple(row)))
        for pk, pseudonym, kind, standing, is_gone, *row in _fetch_rows(
            f"""SELECT m.id, m.pseudonym, m.kind, m.standing, {is_erased("m")}, {_SUMS} {_ENTRIES}
                JOIN projects_membership m ON m.id = e.annotator_id
                WHERE e.project_id = %s GROUP BY m.id ORDER BY m.pseudonym""",
            [project.pk],
        )
    ]


@dataclass(frozen=True)
class PendingEntries:
    """Entries that await approval by themselves: those without an assignment, such as qualification tests."""

    n: int
    cents: int


def sum_waiting(project: Project) -> PendingEntries:
    rows = LedgerEntry.objects.filter(project=project, assignment=None, approved_at=None)
    return PendingEntries(**rows.aggregate(n=Count("pk"), cents=Coalesce(Sum("cents"), 0)))


def sum_by_stage(project: Project) -> list[StageSums]:
    """Return the sums of each stage with entries, in the order of a study.

    Pay taken back for a HIT is deducted from its stage, although its entry is an adjustment.
    """
    found = {
        row[0]: _make_sums(row[1:])
        for row in _fetch_rows(
            f"""SELECT CASE WHEN e.assignment_id IS NOT NULL THEN b.kind ELSE e.kind END, {_SUMS} {_ENTRIES}
                LEFT JOIN annotate_batch b ON b.id = e.batch_id
                WHERE e.project_id = %s GROUP BY 1""",
            [project.pk],
        )
    }
    return [StageSums(key, str(label), found[key]) for key, label in STAGES.items() if key in found]


def sum_by_annotator(annotators: Iterable[Membership]) -> dict[int, Sums]:
    """Return the sums of these annotators by membership id, with one query; without an entry they are 0."""
    ids = [annotator.pk for annotator in annotators]
    rows = _fetch_rows(
        f"SELECT e.annotator_id, {_SUMS} {_ENTRIES} WHERE e.annotator_id = ANY(%s) GROUP BY e.annotator_id", [ids]
    )
    found = {row[0]: _make_sums(row[1:]) for row in rows}
    return {pk: found.get(pk, Sums()) for pk in ids}


@dataclass(frozen=True)
class SumsToday:
    """One annotator's sums, the cents earned since midnight UTC, and the first HIT submission that awaits approval."""

    sums: Sums = Sums()
    cents: int = 0
    first_at: datetime | None = None


def fetch_sums_today(annotators: Iterable[Membership]) -> dict[int, SumsToday]:
    """Return the sums of these annotators by membership id, with those of today, with one query."""
    # "Today" begins at midnight UTC whatever the database's time zone: the first AT TIME ZONE gives UTC's local time,
    # date_trunc its midnight, and the second turns that back into a moment.
    ids = [annotator.pk for annotator in annotators]
    rows = _fetch_rows(
        f"""SELECT e.annotator_id, {_SUMS},
                   coalesce(sum(e.cents) FILTER (
                       WHERE e.made_at >= date_trunc('day', now() AT TIME ZONE 'UTC') AT TIME ZONE 'UTC'), 0),
                   min(w.submitted_at) FILTER (WHERE e.approved_at IS NULL AND w.state = 'submitted')
            {_ENTRIES} LEFT JOIN annotate_assignment w ON w.id = e.assignment_id
            WHERE e.annotator_id = ANY(%s) GROUP BY e.annotator_id""",
        [ids],
    )
    found = {pk: SumsToday(_make_sums(tuple(row)), int(cents), first_at) for pk, *row, cents, first_at in rows}
    return {pk: found.get(pk, SumsToday()) for pk in ids}


def find_payable(found: Iterable[Balance]) -> Payable:
    """Return what a payment of these balances would contain."""
    found = list(found)
    erased = [balance for balance in found if balance.is_erased]
    others = [balance for balance in found if not balance.is_erased]
    due = [balance for balance in others if balance.sums.approved > 0]
    return Payable(
        cents=sum(balance.sums.approved for balance in due),
        n_annotators=len(due),
        held_back=tuple(balance for balance in others if balance.sums.approved < 0),
        unknown=tuple(balance for balance in erased if balance.sums.approved > 0),
        lost=tuple(balance for balance in erased if balance.sums.approved < 0),
    )


def format_dollars(cents: int) -> str:
    """Return US cents as dollars: -655 as -$6.55."""
    return f"{'-' if cents < 0 else ''}${abs(cents) // 100:,}.{abs(cents) % 100:02}"


def _make_sums(row: tuple[Any, ...]) -> Sums:
    owed, approved, paid, n_hits, n_unpaid, cents, seconds = row
    hourly = Hourly(int(cents), float(seconds))
    return Sums(int(owed), int(approved), int(paid), n_hits - n_unpaid, n_unpaid, hourly)


def _fetch_rows(query: str, parameters: list[Any]) -> list[tuple[Any, ...]]:
    with connection.cursor() as cursor:
        cursor.execute(query, parameters)
        return list(cursor.fetchall())
