"""Desks: the work that an annotator can do in each of their projects, and what they have done and earned there."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta

from django.db.models import Count, Exists, OuterRef
from django.db.models.functions import Now

from annotate.attempts.admission import Admission, find_admissions
from annotate.attempts.practice import Practice, find_practices
from annotate.models import Assignment, Batch, Hit, Item, Notice
from annotate.onboarding.consent import ConsentState as Consent
from annotate.onboarding.consent import consent_states
from annotate.onboarding.notices import fetch_unread
from annotate.onboarding.surveys import SurveyState, survey_states
from annotate.payments.ledger import Sums, find_paid, sum_by_annotator
from annotate.payments.pending import Today, sum_today
from annotate.rating.pace import Duration, find_paces, measure_hits
from annotate.work import revising
from annotate.work.openings import Opening, find_openings
from projects.access import Right, explain_refusal
from projects.models import Membership, Project, User

State = Assignment.State

MOST_FORMER = 20
"""Former projects that the desk lists: the newest, so that the page stays short."""


@dataclass(frozen=True)
class Earned:
    """The HITs that an annotator has submitted in a project, and their pay, None for whom pay is not shown."""

    n_submitted: int = 0
    cents: int | None = None


@dataclass(frozen=True)
class NextHit:
    """The work that is open to an annotator, and how long the next HIT takes, None for one that is yet to be made."""

    opening: Opening
    duration: Duration | None


@dataclass(frozen=True)
class RevisableHit:
    """The HIT submitted last, while its annotator may edit it."""

    assignment: Assignment
    until: datetime


@dataclass(frozen=True)
class Desk:
    """One project as one of its members sees it."""

    membership: Membership
    open_assignment: Assignment | None
    expired: Assignment | None
    earned: Earned
    admission: Admission | None
    why_not: str = ""
    notices: Sequence[Notice] = ()
    consent: Consent = field(default_factory=Consent)
    survey: SurveyState = field(default_factory=SurveyState)
    practice: Practice | None = None
    next_hit: NextHit | None = None
    open_duration: Duration | None = None
    today: Today | None = None
    revisable: RevisableHit | None = None

    @property
    def open_cents(self) -> int:
        """The pay for the open HIT, or 0."""
        if self.open_assignment is None:
            return 0
        return self.open_assignment.hit.batch.compute_pay(len(self.open_assignment.layout))

    @property
    def shows_pay(self) -> bool:
        """Whether they have earned something or may do so: they read what a HIT pays, also if that is nothing."""
        return self.earned.cents is not None

    @property
    def project(self) -> Project:
        return self.membership.project

    @property
    def can_start(self) -> bool:
        return self.membership.is_annotator and not self.why_not

    @property
    def can_practise(self) -> bool:
        """Whether the desk offers practice: not beside an open HIT, which comes first."""
        return self.practice is not None and self.can_work and self.open_assignment is None

    @property
    def can_work(self) -> bool:
        """Whether the pages of HITs, tests and practice are open to them, whether or not there is work."""
        is_let_in = not self.consent.has_withdrawn and not self.survey.is_screened_out
        return is_let_in and not explain_refusal(self.membership, Right.WORK)

    @property
    def asks_survey_after(self) -> bool:
        """Whether the survey after the work waits: they have submitted HITs, and there is no other for them now."""
        is_done = self.earned.n_submitted and not self.can_start and self.open_assignment is None
        # A consent that is newer than theirs comes first, on the survey's own page.
        return bool(is_done and self.survey.lacks_after and self.can_work)

    @property
    def asks_for_consent(self) -> bool:
        """Whether a test that they may begin waits for their consent, to which it leads.

        HITs ask by themselves: a batch may have an older text, or none.
        """
        can_begin = self.can_work and self.admission is not None and self.admission.can_begin
        return can_begin and self.consent.is_missing and not self.can_start

    @property
    def asks_for_test(self) -> bool:
        """Whether the desk leads to the qualification test, or to the reason why they can't take it."""
        return self.can_work and self.admission is not None and bool(self.admission.why_not)


def fetch_desks(memberships: Sequence[Membership]) -> list[Desk]:
    """Return a desk for each membership, whose project is fetched; the number of queries doesn't depend on theirs."""
    annotators = [membership for membership in memberships if membership.is_annotator]
    begun = _fetch_begun(annotators)
    openings = find_openings(annotators)
    today = sum_today(annotators)
    earned = fetch_earnings(annotators, {pk: each.sums for pk, each in today.items()})
    next_hits, open_durations = _find_durations(
        openings, {pk: each for (pk, state), each in begun.items() if state == State.OPEN}
    )
    admissions = find_admissions(annotators)
    notices = fetch_unread(memberships)
    consents, practices = consent_states(memberships), find_practices(annotators)
    # Both that it says matter only to who has nothing to do.
    idle = [each for each in annotators if not openings[each.pk].has_hit and (each.pk, State.OPEN) not in begun]
    surveys = survey_states(idle)
    revisable = find_revisable(annotators)
    desks = []
    for membership in memberships:
        pk = membership.pk
        desk = Desk(
            membership=membership,
            open_assignment=begun.get((pk, State.OPEN)),
            expired=begun.get((pk, State.EXPIRED)),
            earned=earned.get(pk, Earned()),
            admission=admissions.get(pk),
            notices=notices.get(pk, ()),
            consent=consents.get(pk, Consent()),
            survey=surveys.get(pk, SurveyState()),
            practice=practices.get(pk),
            next_hit=next_hits.get(pk),
            open_duration=open_durations.get(pk),
            today=today.get(pk),
            revisable=revisable.get(pk),
        )
        if membership.is_annotator:
            desk = replace(desk, why_not=_explain_why_not(desk, openings[pk]))
        desks.append(desk)
    return desks


@dataclass(frozen=True)
class FormerProject:
    """A project that a user was removed from; what they did and earned there is still shown to them."""

    project: Project
    reason: str
    n_submitted: int
    sums: Sums
    has_history: bool
    decisions: Sequence[Notice]
    """Unread messages about rejected work; managers get others of this kind, about people, so that they see none."""

    @property
    def has_earnings(self) -> bool:
        return bool(self.sums.total or self.sums.unpaid)


def list_former_projects(user: User) -> list[FormerProject]:
    """Return the projects that a user was removed from, the newest first, with a fixed number of queries."""
    memberships = list(
        Membership.objects.select_related("project")
        .filter(user=user, project__deleted_at=None, standing=Membership.Standing.REMOVED)
        .order_by("-pk")[:MOST_FORMER]
    )
    if not memberships:
        return []
    sums = sum_by_annotator(memberships)
    earned = fetch_earnings(memberships, sums)
    begun = set(Assignment.objects.filter(annotator__in=memberships).values_list("annotator", flat=True))
    unread = fetch_unread([each for each in memberships if not each.can_read])
    return [
        FormerProject(
            each.project,
            explain_refusal(each, Right.MEMBER),
            earned[each.pk].n_submitted,
            sums[each.pk],
            has_history=each.pk in begun,
            decisions=[notice for notice in unread.get(each.pk, ()) if notice.kind == Notice.Kind.DECISION],
        )
        for each in memberships
    ]


def _explain_why_not(desk: Desk, opening: Opening) -> str:
    """Explain why an annotator can't start rating, or return an empty text if they can."""
    has_work = desk.open_assignment is not None or opening.has_hit
    closed = desk.admission.why_not if desk.admission else ""
    return (
        explain_refusal(desk.membership, Right.WORK)
        or desk.consent.why_not
        or desk.survey.why_not
        or ("" if has_work else _explain_no_hit(opening, closed))
    )


def _explain_no_hit(opening: Opening, not_qualified: str) -> str:
    """Explain why there is no HIT; the test is the reason only if no batch serves them without it."""
    return opening.why_no_work if opening.is_open_to_them else not_qualified or opening.why_no_work


def _find_durations(
    openings: Mapping[int, Opening], open_assignments: Mapping[int, Assignment]
) -> tuple[dict[int, NextHit], dict[int, Duration]]:
    """Return the next HIT of each annotator who has none open, and how long the open HITs of the others take."""
    paces = find_paces(openings)
    hits = [opening.hit_id for opening in openings.values() if opening.hit_id is not None]
    sizes = measure_hits([*hits, *(each.hit_id for each in open_assignments.values())])
    next_hits, durations = {}, {}
    for pk, opening in openings.items():
        pace, assignment = paces.get(pk), open_assignments.get(pk)
        if assignment is not None:
            if pace is not None:
                durations[pk] = Duration(pace * len(assignment.layout))
            elif assignment.hit_id in sizes:
                durations[pk] = sizes[assignment.hit_id].find_duration(None)
        elif opening.has_hit:
            size = sizes.get(opening.hit_id or 0)
            if size is not None:
                next_hits[pk] = NextHit(opening, size.find_duration(pace))
            else:
                next_hits[pk] = NextHit(opening, None if pace is None else Duration(pace * opening.n_items))
    return next_hits, durations


def fetch_earnings(annotators: Sequence[Membership], sums: Mapping[int, Sums] | None = None) -> dict[int, Earned]:
    """Return what each annotator has submitted and earned, by membership id; given `sums` are not fetched again."""
    rows = (
        Assignment.objects.submitted()
        .filter(annotator__in=annotators)
        .exclude(hit__batch__kind=Batch.Kind.IMPORTED)
        .order_by()
        .values_list("annotator_id")
        .annotate(n=Count("pk"))
    )
    submitted = dict(rows)
    sums = sum_by_annotator(annotators) if sums is None else sums
    paid = find_paid(annotators)
    return {
        each.pk: Earned(submitted.get(each.pk, 0), sums[each.pk].total if each.pk in paid else None)
        for each in annotators
    }


def find_revisable(annotators: Sequence[Membership]) -> dict[int, RevisableHit]:
    """Return each annotator's last submitted HIT if they may edit it; no query if no project allows revisions."""
    allowed = {each.pk: each for each in annotators if each.project.revision_minutes and each.is_active}
    # One query for all projects, by the longest of their windows; find_window below applies each project's own.
    longest = max((each.project.revision_minutes for each in allowed.values()), default=0)
    if not allowed:
        return {}
    repeats = Item.objects.filter(control=Item.Control.REPEAT)
    last = (
        Assignment.objects.filter(annotator__in=allowed, state=State.SUBMITTED)
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
        assignment.annotator = allowed[assignment.annotator_id]
        has_repeats = bool(vars(assignment)["has_repeats"])
        window = revising.find_window(assignment, has_repeats=has_repeats)
        if window.is_open and window.until is not None:
            found[assignment.annotator_id] = RevisableHit(assignment, window.until)
    return found


def _fetch_begun(annotators: Sequence[Membership]) -> dict[tuple[int, str], Assignment]:
    """Return each annotator's open assignment and the newest expired one, by membership id and state."""
    # DISTINCT ON keeps the first row of each annotator and state, which is the newest by this order.
    begun = (
        Assignment.objects.filter(annotator__in=annotators, state__in=(State.OPEN, State.EXPIRED))
        .noting_ratings()
        .select_related("hit__batch")
        .order_by("annotator_id", "state", "-opened_at")
        .distinct("annotator_id", "state")
    )
    return {(assignment.annotator_id, assignment.state): assignment for assignment in begun}
