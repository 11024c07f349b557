"""Decisions on submitted work: approve, reject with a reason, accept after all, set single judgments aside."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import timedelta
from typing import Any

from django.db import transaction
from django.db.models import Count, Exists, Model, OuterRef, Q, QuerySet, Sum
from django.db.models.functions import Now

from annotate import places
from annotate.batches import lifecycle
from annotate.models import Assignment, Batch, Item, Judgment, LedgerEntry
from annotate.models.assignment import AssignmentQuerySet
from annotate.moderation.work_filter import WorkFilter
from annotate.onboarding import notices
from annotate.payments import paying
from annotate.places import RestoredWork
from annotate.places.reopening import hit_reopens
from projects import access, log
from projects.errors import Refused
from projects.language.amounts import plural
from projects.models import Act, Membership, Project

State = Assignment.State
_IS_ABSENT = ~Q(annotator__standing=Membership.Standing.ACTIVE)
PORTION = 500
"""Overdue assignments approved in one transaction, so that their locks are short and an interruption loses little."""


@dataclass(frozen=True)
class Decision:
    """The effect of approving or rejecting, in numbers; `cents` is the pay of these assignments in the ledger.

    `n_places` open again; those in `closed_batches` are served only once these batches are reopened.
    """

    n_assignments: int
    n_annotators: int
    n_judgments: int
    n_places: int
    cents: int
    closed_batches: tuple[Batch, ...]


@dataclass(frozen=True)
class Absent:
    """A removed or suspended annotator with undecided work."""

    pseudonym: str
    standing: str
    n_assignments: int


@dataclass(frozen=True)
class Undecided:
    """How much submitted work awaits a decision; `n_absent` of it is of removed and suspended annotators."""

    n: int = 0
    n_absent: int = 0


def choose_approvable(work: QuerySet[Assignment], *, with_absent: bool) -> QuerySet[Assignment]:
    """Return what of this work approving approves: on pages, by command and automatically.

    Work of removed and suspended annotators is approved only if a person asks for it with `with_absent`: its quality
    is often why they are no longer active.
    """
    undecided = work.filter(state=State.SUBMITTED)
    return undecided if with_absent else undecided.exclude(_IS_ABSENT)


def plan_approval(work: QuerySet[Assignment], *, with_absent: bool = False) -> Decision:
    return _plan(choose_approvable(work, with_absent=with_absent), opens=False)


def count_undecided(project: Project) -> Undecided:
    """Count the submitted work of a project that awaits a decision; imported judgments don't."""
    work = WorkFilter(state=State.SUBMITTED).select_from(project)
    return Undecided(**work.aggregate(n=Count("pk"), n_absent=Count("pk", filter=_IS_ABSENT)))


def count_absent(work: QuerySet[Assignment]) -> list[Absent]:
    """Return whose undecided work among this belongs to removed or suspended annotators, by pseudonym."""
    rows = (
        work.filter(_IS_ABSENT, state=State.SUBMITTED)
        .order_by("annotator__pseudonym")
        .values_list("annotator__pseudonym", "annotator__standing")
        .annotate(n=Count("pk"))
    )
    return [Absent(pseudonym, str(Membership.Standing(standing).label), n) for pseudonym, standing, n in rows]


def plan_rejection(work: AssignmentQuerySet) -> Decision:
    return _plan(_exclude_removed(work), opens=True)


@transaction.atomic
def approve(
    *, project: Project, actor: Membership | None, chosen: WorkFilter, with_absent: bool = False, why: str = ""
) -> int:
    """Approve the chosen submitted assignments and their pay, as `choose_approvable` allows; return how many.

    Excluded and surplus work is approved too, because the annotator has done it. Locks the actor, then the assignments.
    """
    if actor is not None:
        access.lock_actor(actor)
    work = choose_approvable(chosen.select_from(project), with_absent=with_absent)
    ids = places.approve(list(work.values_list("pk", flat=True)), by=_get_id(actor))
    if ids:
        paying.approve_entries(assignment_ids=ids, actor=actor)
        after = {"assignments": len(ids), **chosen.as_json()}
        after |= {"with_absent": True} if with_absent else {}
        _record(project, actor, Act.APPROVE_WORK, ids, after=after, why=why)
    return len(ids)


@transaction.atomic
def reject(
    *,
    project: Project,
    actor: Membership | None,
    chosen: WorkFilter,
    reason: str,
    is_unpaid: bool = False,
    reopen_batches: bool = False,
) -> Decision:
    """Reject the chosen submitted or approved assignments: their places open again, and annotators are told why.

    The pay is kept unless `is_unpaid`. With `reopen_batches`, closed batches in which places opened are reopened.
    Raises Refused without a reason, and for work of an archived batch. Locks the actor, the batches, assignments and
    HITs.
    """
    reason = reason.strip()
    if not reason:
        raise Refused("Give a reason. The annotator will see it.")
    if actor is not None:
        access.lock_actor(actor)
    work = _exclude_removed(chosen.select_from(project))
    # Batches are locked before assignments, as everywhere. What the filter finds is read before the locks and again
    # after them: in between, another manager may have decided on some of it, or its annotator removed it.
    ids = list(work.values_list("pk", flat=True))
    _lock_batches(Assignment.objects.filter(pk__in=ids))
    places.lock_with_hits(ids)
    work = work.filter(pk__in=ids)
    ids = list(work.values_list("pk", flat=True))
    # Counted before rejecting: afterwards no assignment holds a place, and none is rejectable.
    decision = plan_rejection(work)
    # Messages go to people; imported and simulated annotators have no desk.
    n_by_annotator = Counter(work.filter(annotator__kind=Membership.Kind.PERSON).values_list("annotator", flat=True))
    ids = places.reject(ids, by=_get_id(actor), reason=reason, is_unpaid=is_unpaid)
    if not ids:
        raise Refused("There is nothing to reject. Work that its annotator has removed stays paid.")
    if is_unpaid:
        paying.void_entries(assignment_ids=ids, actor=actor)
    else:
        paying.approve_entries(assignment_ids=ids, actor=actor)
    notices.send_rejections(n_by_annotator=n_by_annotator, reason=reason, actor=actor)
    after = {"assignments": len(ids), "places_opened": decision.n_places, **chosen.as_json()}
    after |= {"unpaid": True} if is_unpaid else {}
    _record(project, actor, Act.REJECT_WORK, ids, after=after, why=reason)
    if reopen_batches:
        for batch in decision.closed_batches:
            lifecycle.reopen(batch=batch, actor=actor, why=reason)
    return decision


@transaction.atomic
def accept(*, project: Project, actor: Membership | None, assignment: Assignment, why: str) -> RestoredWork:
    """Approve rejected work after all: it counts if its place is still open and is surplus otherwise; both are paid."""
    if not why.strip():
        raise Refused("Give a reason for accepting it. It is recorded in the audit log.")
    if actor is not None:
        access.lock_actor(actor)
    _lock_batches(Assignment.objects.filter(pk=assignment.pk))
    places.lock_with_hits([assignment.pk])
    # Counted under the locks, and before accepting: afterwards the assignment isn't among the acceptable ones any more.
    found = places.count_acceptable([assignment.pk])
    ids = places.accept([assignment.pk], by=_get_id(actor))
    if not ids:
        raise Refused("This work isn’t rejected.")
    paying.approve_entries(assignment_ids=ids, actor=actor)
    after = {"counted": found.n_counted, "surplus": found.n_surplus}
    log.record(project, actor, Act.ACCEPT_WORK_AFTER_ALL, assignment, after=after, why=why.strip())
    if assignment.annotator.kind == Membership.Kind.PERSON:
        notices.send_acceptance(annotator=assignment.annotator, actor=actor)
    return found


@transaction.atomic
def set_aside(
    *, project: Project, actor: Membership | None, assignment: Assignment, place: int, is_counted: bool, why: str
) -> int:
    """Set the judgments of one item aside, or count them again; return how many. No place opens.

    Raises Refused without a reason, for a control, or if nothing changes. Locks the annotator and the actor, then the
    assignment.
    """
    if not why.strip():
        raise Refused("Give a reason. It is recorded in the audit log.")
    pks = {assignment.annotator_id, actor.pk if actor else assignment.annotator_id}
    list(Membership.objects.select_for_update(no_key=True).filter(pk__in=pks).order_by("pk").values_list("pk"))
    if actor is not None:
        access.lock_actor(actor)
    item = Item.objects.get(pk=assignment.layout[place])
    if item.control != Item.Control.NONE:
        raise Refused("This is a control, so it never counts in results.")
    n = places.set_aside(assignment_id=assignment.pk, item_id=item.pk, is_counted=is_counted)
    if not n:
        if not is_counted:
            raise Refused("This judgment isn’t counted anyway.")
        if Judgment.objects.filter(assignment=assignment, item=item, not_counted_reason="set aside").exists():
            raise Refused("The same judgment was imported again and counts already.")
        raise Refused("This judgment wasn’t set aside.")
    act = Act.COUNT_JUDGMENT_AGAIN if is_counted else Act.SET_JUDGMENT_ASIDE
    log.record(project, actor, act, assignment, after={"item": item.pk, "place": place + 1}, why=why.strip())
    return n


def choose_overdue(project: Project, *, after_days: int, with_absent: bool) -> QuerySet[Assignment]:
    """Return the approvable work submitted at least `after_days` ago, without what its annotator may still edit."""
    waits = max(timedelta(days=after_days), timedelta(minutes=project.revision_minutes))
    # By the database's clock, which also gave the times of submission.
    work = WorkFilter().select_from(project).filter(submitted_at__lt=Now() - waits)
    return choose_approvable(work, with_absent=with_absent)


def approve_overdue(project: Project, *, after_days: int, with_absent: bool = False) -> int:
    """Approve what `choose_overdue` finds and return how much; each portion is a transaction of its own."""
    n_approved = 0
    why = f"Submitted more than {after_days} day{'' if after_days == 1 else 's'} ago." if after_days else ""
    while True:
        # Asked again for each portion, since work may have been rejected meanwhile.
        due = choose_overdue(project, after_days=after_days, with_absent=with_absent)
        uuids = tuple(str(each) for each in due.order_by("pk").values_list("uuid", flat=True)[:PORTION])
        # None approved ends the loop, even if some were due: another process is approving them.
        chosen = WorkFilter(uuids=uuids)
        n = approve(project=project, actor=None, chosen=chosen, with_absent=with_absent, why=why) if uuids else 0
        if not n:
            return n_approved
        n_approved += n


def approve_all_due() -> int:
    """Approve overdue work in every project that has a number of days for it."""
    projects = Project.objects.live().filter(approve_after_days__isnull=False)
    return sum(approve_overdue(project, after_days=project.approve_after_days or 0) for project in projects)


def _exclude_removed(work: AssignmentQuerySet) -> AssignmentQuerySet:
    """Exclude work that its annotator has removed: they were promised that it stays paid."""
    taken_out = Judgment.objects.filter(assignment=OuterRef("pk"), not_counted_reason=places.TAKEN_OUT)
    return work.not_rejected().exclude(Exists(taken_out))


def _plan(work: QuerySet[Assignment], *, opens: bool) -> Decision:
    judgments = Judgment.objects.filter(assignment__in=work, is_counted=True, candidate__isnull=False)
    # Only an assignment that holds a place can give one back; surplus ones never had it.
    holding = work.filter(hit_reopens(), holds_place=True) if opens else work.none()
    closed = Batch.objects.filter(state=Batch.State.CLOSED, hits__assignments__in=holding).distinct()
    return Decision(
        n_assignments=work.count(),
        # An ordering would enter the DISTINCT and count annotators once for each assignment.
        n_annotators=work.order_by().values("annotator").distinct().count(),
        n_judgments=judgments.count(),
        n_places=holding.count(),
        cents=LedgerEntry.objects.filter(assignment__in=work).aggregate(cents=Sum("cents"))["cents"] or 0,
        closed_batches=tuple(closed.select_related("project").order_by("number")),
    )


def _lock_batches(work: QuerySet[Assignment]) -> None:
    pks = set(work.values_list("hit__batch", flat=True))
    for batch in Batch.objects.select_for_update(no_key=True).filter(pk__in=pks).order_by("pk"):
        if batch.state == Batch.State.ARCHIVED:
            raise Refused(f"“{batch.name}” is archived, so decisions on its work are final.")


def _record(
    project: Project, actor: Membership | None, act: Act, ids: Sequence[int], *, after: dict[str, Any], why: str
) -> None:
    """Log a decision on the assignment if there is only one, else on the project, with the time that they have."""
    obj: Model = Assignment.objects.get(pk=ids[0]) if len(ids) == 1 else project
    log.record(project, actor, act, obj, after=after, why=why, is_of_transaction=True)


def _get_id(actor: Membership | None) -> int | None:
    return actor.pk if actor else None


def describe_closed(batches: Sequence[Batch], *, reopened: bool) -> str:
    """Say which closed batches have work to be done again, and that it waits until they are reopened."""
    if reopened:
        return f"Reopened: {', '.join(batch.name for batch in batches)}."
    names = ", ".join(f"“{batch.name}”" for batch in batches)
    verb = plural(len(batches), "is closed: reopen it", "are closed: reopen them")
    return f"{names} {verb} so that annotators get the reassigned HITs."
