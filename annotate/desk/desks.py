"""Desks: what somebody can work on in each of their projects, and what they have done and earned there."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta

from django.db.models import Count, Exists, OuterRef, Q, Sum
from django.db.models.functions import Now

from annotate.models import Assignment, Batch, Hit, Item, Notice
from annotate.onboarding.consent import ConsentState as Consent
from annotate.onboarding.consent import consent_states
from annotate.onboarding.notices import fetch_unread
from annotate.payments.ledger import Sums, sum_by_annotator
from annotate.payments.pending import Today, sum_today
from annotate.qualification.admission import Admission, find_admissions
from annotate.qualification.practice import Practice, find_practices
from annotate.work import revising
from annotate.work.openings import Opening, find_openings
from projects.access import Right, explain_refusal
from projects.models import Membership, Project, User

State = Assignment.State

MOST_LEFT = 20


@dataclass(frozen=True)
class Earned:
    """HITs that somebody has submitted in a project, their pay, and their own pace.

    The pay is None where nothing is paid, the pace where no HIT of theirs was measured.
    """

    n_submitted: int = 0
    cents: int | None = None
    seconds_an_item: float | None = None


@dataclass(frozen=True)
class NextHit:
    """What the next HIT pays, and how many hours a whole one takes by one's own pace; None where that is not known."""

    opening: Opening
    hours: float | None


@dataclass(frozen=True)
class RevisableHit:
    """The HIT submitted last, while its annotator may change it."""

    assignment: Assignment
    until: datetime


@dataclass(frozen=True)
class Desk:
    """One project as one member comes to it."""

    membership: Membership
    open_one: Assignment | None
    expired: Assignment | None
    why_not: str
    earned: Earned
    admission: Admission | None
    notices: Sequence[Notice] = ()
    consent: Consent = field(default_factory=Consent)
    practice: Practice | None = None
    prospect: NextHit | None = None
    today: Today | None = None
    changeable: RevisableHit | None = None

    @property
    def open_cents(self) -> int:
        """What the HIT in hand pays."""
        batch = self.open_one.hit.batch if self.open_one else None
        return batch.cents_per_hit + batch.cents_per_item * len(self.open_one.layout) if batch and self.open_one else 0

    @property
    def project(self) -> Project:
        return self.membership.project

    @property
    def can_start(self) -> bool:
        return self.membership.is_annotator and not self.why_not

    @property
    def asks_for_test(self) -> bool:
        """Whether they are to take the qualification test, or to read why they cannot."""
        is_closed = self.admission is not None and bool(self.admission.why_not)
        return is_closed and self.membership.is_active and not self.consent.has_withdrawn


def fetch_desks(memberships: Sequence[Membership]) -> list[Desk]:
    """The desks of memberships whose projects are fetched: as many queries however many there are."""
    annotators = [membership for membership in memberships if membership.is_annotator]
    held = _held_by(annotators)
    openings = find_openings(annotators)
    today = sum_today(annotators)
    earned = fetch_earnings(annotators, {pk: each.sums for pk, each in today.items()})
    admissions = find_admissions(annotators)
    waiting = fetch_unread(memberships)
    consents, practices = consent_states(memberships), find_practices(annotators)
    changeable = find_revisable(annotators)
    desks = []
    for membership in memberships:
        pk = membership.pk
        open_one = held.get((pk, State.OPEN))
        why_not = ""
        if membership.is_annotator:
            has_work = open_one is not None or openings[pk].is_open_to_them
            admission = admissions.get(pk)
            closed = admission.why_not if admission else ""
            why_not = (
                explain_refusal(membership, Right.WORK)
                or consents[pk].why_not
                or ("" if has_work else closed or openings[pk].why_nothing)
            )
        expired = held.get((pk, State.EXPIRED))
        desks.append(
            Desk(
                membership,
                open_one,
                expired,
                why_not,
                earned.get(pk, Earned()),
                admissions.get(pk),
                waiting.get(pk, ()),
                consents.get(pk, Consent()),
                practices.get(pk),
                _prospect(openings.get(pk), earned.get(pk)),
                today.get(pk),
                changeable.get(pk),
            )
        )
    return desks


@dataclass(frozen=True)
class FormerProject:
    """A project that somebody was removed from: what they did and earned there is still theirs to know."""

    project: Project
    said: str
    n_submitted: int
    sums: Sums


def list_former_projects(user: User) -> list[FormerProject]:
    """The projects that a user was removed from, the newest first: as many queries however many there are."""
    memberships = list(
        Membership.objects.select_related("project")
        .filter(user=user, project__deleted_at=None, standing=Membership.Standing.REMOVED)
        .order_by("-pk")[:MOST_LEFT]
    )
    earned, sums = fetch_earnings(memberships), sum_by_annotator(memberships)
    return [
        FormerProject(each.project, explain_refusal(each, Right.MEMBER), earned[each.pk].n_submitted, sums[each.pk])
        for each in memberships
    ]


def _prospect(opening: Opening | None, earned: Earned | None) -> NextHit | None:
    if opening is None or not opening.is_open_to_them:
        return None
    pace = earned.seconds_an_item if earned else None
    return NextHit(opening, None if pace is None else pace * opening.n_items / 3600)


def fetch_earnings(annotators: Sequence[Membership], sums: Mapping[int, Sums] | None = None) -> dict[int, Earned]:
    """What each annotator has submitted in the app and earned by the ledger, by the id of the membership."""
    measured = Q(active_seconds__gt=0, has_odd_times=False)
    rows = (
        Assignment.objects.filter(annotator__in=annotators, state__in=(State.SUBMITTED, State.APPROVED))
        .exclude(hit__batch__kind=Batch.Kind.IMPORTED)
        .order_by()
        .values_list("annotator_id")
        .annotate(n=Count("pk"))
        .annotate(pace=Sum("active_seconds", filter=measured) / Sum("layout__len", filter=measured))
    )
    submitted = {pk: (n, pace) for pk, n, pace in rows}
    sums = sum_by_annotator(annotators) if sums is None else sums
    earned = {}
    for annotator in annotators:
        n, pace = submitted.get(annotator.pk, (0, None))
        cents = sums[annotator.pk].total
        earned[annotator.pk] = Earned(n, cents if cents or annotator.project.is_paid else None, pace)
    return earned


def find_revisable(annotators: Sequence[Membership]) -> dict[int, RevisableHit]:
    """The last submitted HIT of each who may still change it; no query where no project leaves time for it."""
    giving = {each.pk: each for each in annotators if each.project.revision_minutes and each.is_active}
    longest = max((each.project.revision_minutes for each in giving.values()), default=0)
    if not giving:
        return {}
    repeats = Item.objects.filter(control=Item.Control.REPEAT)
    last = (
        Assignment.objects.filter(annotator__in=giving, state=State.SUBMITTED)
        .filter(submitted_at__gt=Now() - timedelta(minutes=longest))
        .select_related("hit__batch")
        .annotate(
            has_repeats=Exists(repeats.filter(pool_of=OuterRef("hit__batch")))
            | Exists(repeats.filter(hit__batch=OuterRef("hit__batch"), hit__purpose=Hit.Purpose.PERSONAL))
        )
        .order_by("annotator_id", "-submitted_at")
        .distinct("annotator_id")
    )
    found = {}
    for assignment in last:
        assignment.annotator = giving[assignment.annotator_id]
        has_repeats = bool(vars(assignment)["has_repeats"])
        window = revising.find_window(assignment, has_repeats=has_repeats)
        if window.is_open and window.until is not None:
            found[assignment.annotator_id] = RevisableHit(assignment, window.until)
    return found


def _held_by(annotators: Sequence[Membership]) -> dict[tuple[int, str], Assignment]:
    """The newest assignment of each annotator that is open, and the newest that has expired."""
    held = (
        Assignment.objects.filter(annotator__in=annotators, state__in=(State.OPEN, State.EXPIRED))
        .select_related("hit__batch")
        .order_by("annotator_id", "state", "-opened_at")
        .distinct("annotator_id", "state")
    )
    return {(assignment.annotator_id, assignment.state): assignment for assignment in held}
