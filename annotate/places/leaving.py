"""Leaving: an annotator's open HIT goes to others, and some of their submitted work may be excluded."""

from collections.abc import Iterable
from dataclasses import dataclass

from django.db.models import Exists, OuterRef, QuerySet

from annotate import places
from annotate.models import Assignment, Batch, Judgment
from annotate.places.locking import lock_assignment
from annotate.places.reopening import batch_reopens
from projects.models import Membership


@dataclass(frozen=True)
class LockedWork:
    """The work of an annotator, locked until the transaction ends; the caller has locked the membership."""

    annotator: Membership
    batches: dict[int, Batch]
    open_assignment: Assignment | None


def lock_work(annotator: Membership, chosen: QuerySet[Assignment], *further: int) -> LockedWork:
    """Lock the batches of the chosen work, then that work, the open assignment, `further` ones and all their HITs."""
    batches = _lock_batches(chosen.values_list("hit__batch", flat=True))
    open_assignment = Assignment.objects.open().filter(annotator=annotator).first()
    held = [*chosen.values_list("pk", flat=True), *further]
    places.lock_with_hits([*held, open_assignment.pk] if open_assignment else held, reserved_for=annotator.pk)
    return LockedWork(annotator, batches, open_assignment)


def release_open_work(held: LockedWork) -> int:
    """Withdraw the open assignment and the HITs reserved for the annotator; return how many HITs that were.

    The places that a panel's participant has yet to begin open again too.
    """
    open_assignment = held.open_assignment
    # The assignment may have been submitted between the first read and the lock, so its state is read again.
    is_open = open_assignment is not None and (
        (locked := lock_assignment(held.annotator, open_assignment.uuid)).state == Assignment.State.OPEN
    )
    if is_open:
        places.withdraw(locked)
    places.release(held.annotator.pk)
    return places.withdraw_reserved([held.annotator.pk]) + is_open


def split_by_reopening(held: LockedWork, chosen: QuerySet[Assignment]) -> tuple[list[int], list[int]]:
    """Return the ids of the chosen assignments whose places can open again, and of those whose places cannot."""
    pairs = list(chosen.values_list("pk", "hit__batch"))
    reopened = [pk for pk, batch in pairs if batch_reopens(held.batches[batch])]
    return reopened, [pk for pk, batch in pairs if not batch_reopens(held.batches[batch])]


def leave_for_good(annotator: Membership, chosen: QuerySet[Assignment], *further: int) -> tuple[int, int]:
    """End an annotator's open work, and exclude the chosen submitted work so that nothing counts it again.

    Return how many HITs were given back, and how many were excluded. The caller has locked the membership. Locks
    `further` assignments too, which the caller changes afterwards.
    """
    # Expired HITs are ended too, so that they cannot be submitted late; the open one may expire before it is locked.
    unsent = Assignment.objects.filter(annotator=annotator, state__in=(Assignment.State.OPEN, Assignment.State.EXPIRED))
    unsent_ids = list(unsent.values_list("pk", flat=True))
    # All locks at once and in order, before anything changes: the acts below lock one after the other.
    held = lock_work(annotator, chosen, *unsent_ids, *further)
    redone, final = split_by_reopening(held, chosen)
    n_withdrawn = release_open_work(held)
    places.withdraw_expired(unsent_ids)
    places.exclude_for_good(redone, reopens=True)
    places.exclude_for_good(final, reopens=False)
    return n_withdrawn, len(redone) + len(final)


def find_submitted(annotator: Membership) -> QuerySet[Assignment]:
    """Return the submitted work that the annotator has not removed before."""
    taken_out = Judgment.objects.filter(assignment=OuterRef("pk"), not_counted_reason=places.TAKEN_OUT)
    return Assignment.objects.submitted().filter(annotator=annotator).exclude(Exists(taken_out))


def count_submitted(annotator: Membership) -> tuple[int, int]:
    """Return the number of submitted HITs that were not removed before, and of their judgments that count."""
    work = find_submitted(annotator)
    counted = Judgment.objects.filter(assignment__in=work, is_counted=True, candidate__isnull=False)
    return work.count(), counted.count()


def _lock_batches(pks: Iterable[int]) -> dict[int, Batch]:
    """Lock the batches, before any assignment, so that none is archived or reopened until the transaction ends."""
    locked = Batch.objects.select_for_update(no_key=True, of=("self",)).select_related("project")
    return {batch.pk: batch for batch in locked.filter(pk__in=set(pks)).order_by("pk")}
