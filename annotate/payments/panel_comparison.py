"""Comparing what the ledger owes by panels with what their platforms say: sums, hourly pay, and each difference."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import timedelta

from django.db import connection
from django.db.models import Case, Exists, F, OuterRef, Q, QuerySet, Value, When
from django.db.models.functions import Coalesce, Now

from annotate.models import Outcome, Panel, PanelPayment, PanelSession
from annotate.models.conditions import is_begun_for, is_let_in, is_submitted
from annotate.payments.ledger import Hourly
from annotate.payments.panel_pay import Kind, Told
from projects.language.amounts import format_money, format_units
from projects.models import Membership, Project

ANSWER_WITHIN = timedelta(hours=1)
"""How soon a platform confirms what was approved: later it is named as unanswered."""
SAY_WITHIN = timedelta(days=1)
"""How soon a platform says anything of an amount that is owed."""

State = PanelSession.State


@dataclass(frozen=True)
class HourlyPay:
    """Hourly pay of a panel: announced, by active time, and by the time from arrival to code; None where not known.

    `active` counts rewards and bonuses of participants with measured time. `minutes` is what the announced rate rests
    on, `median_minutes` the median from arrival to code.
    """

    minutes: float | None = None
    announced_cents: int | None = None
    active: Hourly = field(default_factory=Hourly)
    median_minutes: float | None = None
    n_completed: int = 0


@dataclass(frozen=True)
class PanelSums:
    """One panel's amounts in the smallest unit of its currency."""

    panel: Panel
    owed: int = 0
    approved: int = 0
    paid: int = 0
    fees: int = 0
    """Fees that the platform has named, of single amounts and of whole studies."""
    hourly: HourlyPay = field(default_factory=HourlyPay)
    floor_cents: int | None = None

    @property
    def expected_fees(self) -> int:
        return round((self.owed + self.approved + self.paid) * self.panel.fee_share)

    @property
    def is_under_floor(self) -> bool:
        """Whether the hourly pay by active time, or else the announced one, is below the minimum in US cents."""
        if self.floor_cents is None or self.panel.currency != "USD":
            return False
        measured = self.hourly.active.cents_per_hour
        rate = self.hourly.announced_cents if measured is None else measured
        return rate is not None and rate < self.floor_cents

    @property
    def texts(self) -> dict[str, str]:
        """The amounts as they are shown, by name; empty for one that is not known."""
        amounts = {
            "reward": self.panel.reward_cents,
            "screened_out": self.panel.screened_out_cents,
            "fee": round(self.panel.reward_cents * self.panel.fee_share) if self.panel.reward_cents else None,
            "owed": self.owed,
            "approved": self.approved,
            "paid": self.paid,
            "fees": self.fees,
            "expected_fees": self.expected_fees,
            "announced": self.hourly.announced_cents,
            "active": self.hourly.active.cents_per_hour,
        }
        return {
            name: "" if cents is None else format_amount(cents, self.panel.currency) for name, cents in amounts.items()
        }


@dataclass(frozen=True)
class Difference:
    """One amount on which ledger and platform differ, or that one of the two does not know."""

    panel: Panel
    annotator: Membership | None
    kind: str
    what: str
    ours: str = ""
    theirs: str = ""


def format_amount(cents: int, currency: str) -> str:
    """Return an amount with its currency: 655 as $6.55, or as 6.55 GBP."""
    return format_money(cents) if currency == "USD" else format_units(cents, currency)


def sum_by_panel(project: Project) -> list[PanelSums]:
    """Return the sums of each panel whose platform pays, or has paid, the newest first."""
    entries = PanelPayment.objects.filter(panel=OuterRef("pk"))
    panels = list(project.panels.filter(Q(reward_cents__gt=0) | Exists(entries)).order_by("-number"))
    with connection.cursor() as cursor:
        cursor.execute(_SUMS, [[panel.pk for panel in panels]])
        sums = {row[0]: [int(cents) for cents in row[1:]] for row in cursor.fetchall()}
    hourly = measure_hourly_pay(panels)
    found = []
    for panel in panels:
        owed, approved, paid, fees = sums.get(panel.pk, (0, 0, 0, 0))
        found.append(PanelSums(panel, owed, approved, paid, fees, hourly[panel.pk], project.hourly_floor_cents))
    return found


def measure_panel(panel: Panel, project: Project) -> PanelSums:
    """Return a panel with its hourly pay alone, as its own page shows it."""
    return PanelSums(panel, hourly=measure_hourly_pay([panel])[panel.pk], floor_cents=project.hourly_floor_cents)


def measure_hourly_pay(panels: Sequence[Panel]) -> dict[int, HourlyPay]:
    """Return the hourly pay of each panel by its id, with two queries for all."""
    ids = [panel.pk for panel in panels]
    with connection.cursor() as cursor:
        cursor.execute(_ACTIVE, [ids, ids])
        active = {pk: Hourly(int(cents), float(seconds)) for pk, cents, seconds in cursor.fetchall()}
        cursor.execute(_VISITS, [ids])
        visits = {pk: (minutes, n) for pk, minutes, n in cursor.fetchall()}
    found = {}
    for panel in panels:
        minutes = panel.minutes_expected or panel.minutes_per_session
        announced = round(panel.reward_cents * 60 / minutes) if panel.reward_cents and minutes else None
        median, n_completed = visits.get(panel.pk, (None, 0))
        found[panel.pk] = HourlyPay(minutes, announced, active.get(panel.pk, Hourly()), median, n_completed)
    return found


def list_differences(project: Project) -> list[Difference]:
    """Return each difference between ledger and platform: amounts by panel, then sessions without an amount."""
    entries = _find_differing(PanelPayment.objects.filter(panel__project=project))
    found = []
    for entry in entries.select_related("panel", "annotator").order_by("-panel__number", "pk"):
        ours = _join(entry.cents, entry.panel.currency, _describe_ours(entry))
        theirs = _join(entry.told_cents, entry.panel.currency, str(entry.get_told_display()))
        if entry.told_fee_cents is not None:
            theirs += f", fees {format_amount(entry.told_fee_cents, entry.panel.currency)}"
        what = DIFFERENCES[vars(entry)["difference"]]
        found.append(Difference(entry.panel, entry.annotator, str(entry.get_kind_display()), what, ours, theirs))
    for session in _find_unowed(project):
        what = NOT_OWED
        if vars(session)["is_sent_again"]:
            what = DIFFERENCES["paid again" if session.state == State.APPROVED else "sent again"]
        theirs = str(session.get_state_display())
        found.append(Difference(session.panel, session.participant.membership, "reward", what, theirs=theirs))
    return found


NOT_OWED = "Submitted or approved there, and nothing is owed here."
DIFFERENCES = {
    "paid again": "Paid there twice for the same HITs, which are owed once.",
    "sent again": "Another submission was sent for the same HITs, which are owed once. Approve one alone.",
    "unexpected": "Paid there, and not owed here.",
    "cancelled": "Paid there, and cancelled here: the session was returned, timed out or rejected.",
    "amount": "Paid there with another amount.",
    "refused": "Not paid there, and owed here.",
    "unanswered": "Approved here, and not confirmed there within an hour. Look there before you send it again.",
    "silent": "Owed here, and the platform has reported nothing for a day.",
    "fee": "Charged there with other fees than the panel’s settings say.",
}


def _find_differing(entries: QuerySet[PanelPayment]) -> QuerySet[PanelPayment]:
    """Return the entries on which both sides differ, each with a key of `DIFFERENCES` in `difference`."""
    is_owed = Q(cents__isnull=False, cancelled_at=None)
    is_paid = Q(told=Told.PAID)
    is_unanswered = is_owed & Q(told__in=("", Told.WAITING), approved_at__lt=Now() - ANSWER_WITHIN)
    is_again = Q(kind=Kind.REWARD) & ~is_owed & Exists(_find_owed_rewards("annotator"))
    rules = {
        "paid again": is_again & is_paid,
        "sent again": is_again & Q(told=Told.WAITING),
        "unexpected": is_paid & Q(cents=None) & ~Q(kind=Kind.FEE),
        "cancelled": is_paid & Q(cents__isnull=False, cancelled_at__isnull=False),
        "amount": is_paid & Q(cents__isnull=False, told_cents__isnull=False) & ~Q(told_cents=F("cents")),
        "refused": is_owed & Q(told=Told.REFUSED),
        "unanswered": is_unanswered,
        "silent": is_owed & Q(told="", approved_at=None, owed_at__lt=Now() - SAY_WITHIN),
        # Platforms round each amount in their own way.
        "fee": Q(told_fee_cents__gt=F("fee") + 1) | Q(told_fee_cents__lt=F("fee") - 1),
    }
    cases = [When(rule, then=Value(key)) for key, rule in rules.items()]
    fee = Coalesce("told_cents", "cents") * F("panel__fee_share")
    return entries.annotate(fee=fee).annotate(difference=Case(*cases, default=Value(""))).exclude(difference="")


def _find_unowed(project: Project) -> QuerySet[PanelSession]:
    """Return the sessions that wait for pay on the platform, or got it, without an amount in the ledger."""
    told = PanelSession.objects.filter(panel__project=project, state__in=(State.SUBMITTED, State.APPROVED))
    paying = told.filter(panel__paid_by=Panel.Payer.PLATFORM, panel__reward_cents__gt=0)
    unowed = paying.exclude(Exists(PanelPayment.objects.filter(session=OuterRef("pk"), kind=Kind.REWARD)))
    is_again = ~Q(outcome=Outcome.SCREENED_OUT) & Exists(_find_owed_rewards("participant__membership"))
    unowed = unowed.annotate(is_sent_again=is_again)
    return unowed.select_related("panel", "participant__membership").order_by("-panel__number", "pk")


def _find_owed_rewards(annotator: str) -> QuerySet[PanelPayment]:
    """Return the rewards that are owed for sets to the annotator of an outer row, in its panel."""
    rewards = PanelPayment.objects.filter(panel=OuterRef("panel"), annotator=OuterRef(annotator), kind=Kind.REWARD)
    return rewards.filter(cents__isnull=False, cancelled_at=None).exclude(session__outcome=Outcome.SCREENED_OUT)


def _describe_ours(entry: PanelPayment) -> str:
    if entry.cents is None:
        return ""
    if entry.cancelled_at is not None:
        return "cancelled"
    return "approved" if entry.approved_at is not None else "awaiting approval"


def _join(cents: int | None, currency: str, state: str) -> str:
    return ", ".join(part for part in ("" if cents is None else format_amount(cents, currency), state) if part)


# Paid is what the platform has said it paid, in its own sum where it named one.
_SUMS = """
SELECT panel_id,
       coalesce(sum(cents) FILTER (
           WHERE kind <> 'fee' AND told <> 'paid' AND cancelled_at IS NULL AND approved_at IS NULL), 0),
       coalesce(sum(cents) FILTER (
           WHERE kind <> 'fee' AND told <> 'paid' AND cancelled_at IS NULL AND approved_at IS NOT NULL), 0),
       coalesce(sum(coalesce(told_cents, cents)) FILTER (WHERE kind <> 'fee' AND told = 'paid'), 0),
       coalesce(sum(coalesce(told_cents, cents)) FILTER (WHERE kind = 'fee'), 0) + coalesce(sum(told_fee_cents), 0)
FROM annotate_panelpayment WHERE panel_id = ANY(%s) GROUP BY panel_id
"""
# A participant has one set in a panel, in however many sessions, so that cents and seconds are joined by annotator.
_ACTIVE = f"""
SELECT pay.panel_id, sum(pay.cents), sum(work.seconds)
FROM (SELECT panel_id, annotator_id, sum(cents) AS cents FROM annotate_panelpayment
      WHERE panel_id = ANY(%s) AND kind <> 'fee' AND cents IS NOT NULL AND cancelled_at IS NULL
      GROUP BY panel_id, annotator_id) pay
JOIN (SELECT paid.panel_id, a.annotator_id, sum(a.active_seconds) AS seconds
      FROM (SELECT DISTINCT panel_id, annotator_id FROM annotate_panelpayment WHERE panel_id = ANY(%s)) paid
      JOIN annotate_assignment a ON a.annotator_id = paid.annotator_id
      LEFT JOIN annotate_panelparticipant p ON p.panel_id = paid.panel_id AND p.membership_id = paid.annotator_id
      WHERE {is_submitted("a")} AND a.active_seconds > 0 AND NOT a.has_odd_times
        AND (p.id IS NULL OR {is_begun_for("a", "p")})
      GROUP BY paid.panel_id, a.annotator_id) work USING (panel_id, annotator_id)
GROUP BY pay.panel_id
"""
# The first session with the code of each participant: who comes again gets the same code at once.
_VISITS = f"""
SELECT panel_id, percentile_cont(0.5) WITHIN GROUP (ORDER BY extract(epoch FROM ended_at - arrived_at)) / 60, count(*)
FROM (SELECT DISTINCT ON (participant_id) panel_id, arrived_at, ended_at FROM annotate_panelsession s
      WHERE panel_id = ANY(%s) AND outcome = 'completed' AND {is_let_in("s")}
      ORDER BY participant_id, ended_at) first
GROUP BY panel_id
"""
