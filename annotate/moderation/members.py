"""Acts on members: warn, suspend, remove with or without their work, and restore."""

from dataclasses import dataclass
from datetime import datetime

from django.db import transaction
from django.db.models import Count, Exists, OuterRef, QuerySet, TextChoices

from annotate import places
from annotate.batches import lifecycle
from annotate.models import Assignment, Batch, Finding, Hit, Judgment, Notice
from annotate.onboarding import notices
from annotate.places import RestoredWork, leaving, reopening
from annotate.places.reopening import hit_reopens
from annotate.quality import findings
from projects import access, log
from projects.errors import Refused
from projects.models import Act, Membership
from projects.people import members

Standing = Membership.Standing
State, Mark = Assignment.State, Assignment.Mark


class ExclusionScope(TextChoices):
    """Which of an annotator's submitted assignments a removal excludes."""

    NONE = "none", "nothing"
    SINCE = "since", "work submitted since a date"
    BATCH = "batch", "work in one batch"
    ALL = "all", "all work"


@dataclass(frozen=True, kw_only=True)
class Exclusion:
    """The work that a removal excludes, and whether its places open again."""

    scope: ExclusionScope = ExclusionScope.NONE
    since: datetime | None = None
    batch: Batch | None = None
    reopens: bool = True

    def select_from(self, annotator: Membership) -> QuerySet[Assignment]:
        """Return the submitted assignments that count now and would be excluded.

        Surplus and rejected ones don't count anyway, and work that is excluded already keeps its reason.
        """
        counted = (Mark.COUNTED, Mark.LATE)
        work = Assignment.objects.not_rejected().filter(annotator=annotator, mark__in=counted)
        if self.scope == ExclusionScope.NONE:
            return work.none()
        if self.scope == ExclusionScope.SINCE:
            return work.filter(submitted_at__gte=self.since)
        return work.filter(hit__batch=self.batch) if self.scope == ExclusionScope.BATCH else work


@dataclass(frozen=True)
class ExcludedPart:
    """The work of one batch that a removal excludes. Places of archived and imported batches never open again."""

    batch: Batch
    n_assignments: int
    n_judgments: int
    n_places: int
    is_closed: bool


@dataclass(frozen=True)
class RemovalPlan:
    """The effect of a removal, in numbers."""

    parts: tuple[ExcludedPart, ...]
    has_open_one: bool
    n_reserved: int

    @property
    def n_assignments(self) -> int:
        return sum(part.n_assignments for part in self.parts)

    @property
    def n_judgments(self) -> int:
        return sum(part.n_judgments for part in self.parts)

    @property
    def n_places(self) -> int:
        return sum(part.n_places for part in self.parts)

    @property
    def closed_batches(self) -> list[Batch]:
        """Closed batches in which places would open without being served."""
        return [part.batch for part in self.parts if part.is_closed and part.n_places]


@transaction.atomic
def warn(*, target: Membership, actor: Membership | None, text: str) -> None:
    """Put a warning on the annotator's desk, which they must confirm.

    Raises Refused without a text, for someone who can't open their desk, and for a text that is already there unread,
    which is the same form sent twice. Locks both memberships.
    """
    target = _lock_members(target, actor)
    if target.kind != Membership.Kind.PERSON:
        raise Refused("No account uses this seat, so no one would read it.")
    if lost := members.explain_lost_account(target):
        raise Refused(lost)
    if target.standing == Standing.REMOVED:
        raise Refused(f"{target.pseudonym} has been removed and can’t open the desk, so no one would read it.")
    if Notice.objects.filter(annotator=target, text=text.strip(), read_at=None).exists():
        raise Refused("This message is already on their desk. They haven’t confirmed it yet.")
    notices.send(annotators=[target.pk], text=text, kind=Notice.Kind.WARNING, actor=actor)
    log.record(target.project, actor, Act.WARN, target, why=text.strip())


@transaction.atomic
def suspend(*, target: Membership, actor: Membership | None, why: str, text: str = "") -> Membership:
    """Stop serving an annotator until they are restored, with an optional message. Their open HIT may expire.

    Raises Refused without a reason, or if they are already suspended.
    """
    why = _require_reason(why, "Give a reason. It is recorded in the audit log.")
    target, before = members.set_standing(target=target, standing=Standing.SUSPENDED, actor=actor)
    if before == Standing.SUSPENDED:
        raise Refused(f"{target.pseudonym} is already suspended.")
    if text.strip() and target.kind == Membership.Kind.PERSON:
        notices.send(annotators=[target.pk], text=text, kind=Notice.Kind.WARNING, actor=actor)
    after = {"standing": Standing.SUSPENDED}
    log.record(target.project, actor, Act.SUSPEND, target, before={"standing": before}, after=after, why=why)
    return target


def plan_removal(*, target: Membership, exclusion: Exclusion) -> RemovalPlan:
    """Return what removing the annotator would do now."""
    chosen = exclusion.select_from(target)
    rows = chosen.order_by().values_list("hit__batch").annotate(n=Count("pk"), n_work=Count("pk", filter=hit_reopens()))
    counts = {batch: (n, n_work) for batch, n, n_work in rows}
    # Controls never count in results, so the preview counts judgments of candidates alone.
    judgments = Judgment.objects.filter(assignment__in=chosen, is_counted=True, candidate__isnull=False).order_by()
    n_judgments = dict(judgments.values_list("assignment__hit__batch").annotate(n=Count("pk")))
    batches = Batch.objects.filter(pk__in=counts).select_related("project").order_by("number")
    return RemovalPlan(
        parts=tuple(
            ExcludedPart(
                batch,
                counts[batch.pk][0],
                n_judgments.get(batch.pk, 0),
                counts[batch.pk][1] if exclusion.reopens and reopening.batch_reopens(batch) else 0,
                batch.state == Batch.State.CLOSED,
            )
            for batch in batches
        ),
        has_open_one=Assignment.objects.open().filter(annotator=target).exists(),
        n_reserved=Hit.objects.filter(reserved_for=target, places_open__gt=0).count(),
    )


@transaction.atomic
def remove(
    *, target: Membership, actor: Membership | None, why: str, exclusion: Exclusion, reopen_batches: bool = False
) -> RemovalPlan:
    """Remove an annotator from the project and exclude the given work; return what was done.

    From the next request on they get no work, their open HIT goes to others, and HITs reserved for them are withdrawn.
    Excluded assignments are kept; with `reopen_batches`, closed batches in which places opened are reopened. Removing
    someone again can exclude more. Raises Refused without a reason. Locks the memberships, the batches, then
    assignments and HITs.
    """
    why = _require_reason(why, "Give a reason. It is recorded in the audit log.")
    # The new standing comes first: it locks the membership, so that no HIT is taken or submitted from here on. The plan
    # is made once the work is locked, because a preview may be out of date by then.
    target, before = members.set_standing(target=target, standing=Standing.REMOVED, actor=actor)
    held = leaving.lock_work(target, exclusion.select_from(target))
    plan = plan_removal(target=target, exclusion=exclusion)
    if before == Standing.REMOVED and not plan.n_assignments:
        raise Refused(f"{target.pseudonym} has already been removed, and there is nothing more to exclude.")
    again, kept = leaving.split_by_reopening(held, exclusion.select_from(target))
    n_withdrawn = leaving.release_open_work(held)
    # Places of archived and imported batches never open again, even if the manager wants the work redone.
    places.exclude(again, reason=why, reopens=exclusion.reopens)
    places.exclude(kept, reason=why, reopens=False)
    log.record(
        target.project,
        actor,
        Act.REMOVE,
        target,
        before={"standing": before},
        after={
            "standing": Standing.REMOVED,
            "scope": exclusion.scope,
            "batch": exclusion.batch.number if exclusion.batch else None,
            "since": exclusion.since.isoformat() if exclusion.since else None,
            "excluded": plan.n_assignments,
            "places_opened": plan.n_places,
            "withdrawn": n_withdrawn,
        },
        why=why,
    )
    if reopen_batches:
        for batch in plan.closed_batches:
            lifecycle.reopen(batch=batch, actor=actor, why=why)
    return plan


def resolve_alerts(*, target: Membership, actor: Membership, why: str) -> int:
    """Resolve an annotator's open alerts as acted on; return how many."""
    found = list(find_open_alerts(target).values_list("pk", flat=True))
    return findings.resolve_finding(
        project=target.project, findings=found, actor=actor, state=Finding.State.ACTED, note=why
    )


def find_open_alerts(target: Membership) -> QuerySet[Finding]:
    return Finding.objects.filter(annotator=target, state=Finding.State.OPEN)


def plan_restoring(*, target: Membership) -> RestoredWork:
    """Return how much of the excluded work would count again now, and how much would be surplus."""
    return places.count_restorable(list(_find_excluded(target).values_list("pk", flat=True)))


@transaction.atomic
def restore(*, target: Membership, actor: Membership | None, why: str, with_work: bool = True) -> RestoredWork:
    """Restore access and excluded work: it counts if its place is still open and is surplus otherwise.

    Raises Refused without a reason, or if there is nothing to restore. Locks in the order of `remove`.
    """
    why = _require_reason(why, "Give a reason. It is recorded in the audit log.")
    target, before = members.set_standing(target=target, standing=Standing.ACTIVE, actor=actor)
    excluded = list(_find_excluded(target).values_list("pk", flat=True)) if with_work else []
    if before == Standing.ACTIVE and not excluded:
        raise Refused(f"{target.pseudonym} is active, and none of their work is excluded.")
    restored = places.restore(excluded)
    after = {"standing": Standing.ACTIVE, "counted": restored.n_counted, "surplus": restored.n_surplus}
    if restored.n_already_counted:
        after["already_counted"] = restored.n_already_counted
    log.record(target.project, actor, Act.RESTORE, target, before={"standing": before}, after=after, why=why)
    return restored


def _lock_members(target: Membership, actor: Membership | None) -> Membership:
    """Lock both memberships in order of id, then check the actor's right and refresh the target's standing."""
    # Both rows by one statement in order of id: two managers who act on each other wait instead of deadlocking.
    pks = {target.pk, actor.pk if actor else target.pk}
    locked = Membership.objects.select_for_update(no_key=True, of=("self",)).select_related("project")
    fresh = {member.pk: member for member in locked.filter(pk__in=pks).order_by("pk")}
    if actor is not None:
        access.lock_actor(actor)
    return fresh[target.pk]


def _require_reason(why: str, refusal: str) -> str:
    if not why.strip():
        raise Refused(refusal)
    return why.strip()


def _find_excluded(target: Membership) -> QuerySet[Assignment]:
    """Return the work that managers excluded, without work that its annotator has removed."""
    work = Assignment.objects.not_rejected().filter(annotator=target, mark=Mark.EXCLUDED)
    taken_out = Judgment.objects.filter(assignment=OuterRef("pk"), not_counted_reason=places.TAKEN_OUT)
    return work.exclude(Exists(taken_out))
