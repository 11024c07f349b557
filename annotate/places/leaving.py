"""Leaving: what somebody who goes had in hand goes to others; of what they gave, some may be left out."""

from collections.abc import Iterable
from dataclasses import dataclass

from django.db.models import QuerySet

from annotate import places
from annotate.models import Assignment, Batch
from annotate.places.locking import lock_assignment
from annotate.places.reopening import batch_reopens
from projects.models import Membership


@dataclass(frozen=True)
class LockedWork:
    """The work of somebody whose membership the caller has locked, held until the transaction ends."""

    annotator: Membership
    batches: dict[int, Batch]
    open_one: Assignment | None


def lock_work(annotator: Membership, chosen: QuerySet[Assignment], *further: int) -> LockedWork:
    """Lock the batches of the chosen work, then that work, what is open, further assignments and all their HITs."""
    batches = _lock_batches(chosen.values_list("hit__batch", flat=True))
    open_one = Assignment.objects.open().filter(annotator=annotator).first()
    held = [*chosen.values_list("pk", flat=True), *further]
    places.lock_with_hits([*held, open_one.pk] if open_one else held, reserved_for=annotator.pk)
    return LockedWork(annotator, batches, open_one)


def release_open_work(held: LockedWork) -> int:
    """Give the open HIT to others, and take back what was made for this annotator alone; how many that were."""
    open_one = held.open_one
    is_open = open_one is not None and (
        (locked := lock_assignment(held.annotator, open_one.uuid)).state == Assignment.State.OPEN
    )
    if is_open:
        places.withdraw(locked)
    return places.withdraw_reserved([held.annotator.pk]) + is_open


def split_by_reopening(held: LockedWork, chosen: QuerySet[Assignment]) -> tuple[list[int], list[int]]:
    """The chosen assignments whose places can open again, and those whose cannot."""
    pairs = list(chosen.values_list("pk", "hit__batch"))
    again = [pk for pk, batch in pairs if batch_reopens(held.batches[batch])]
    return again, [pk for pk, batch in pairs if not batch_reopens(held.batches[batch])]


def _lock_batches(pks: Iterable[int]) -> dict[int, Batch]:
    """Their states stay as they are until the transaction ends; batches come before assignments."""
    locked = Batch.objects.select_for_update(no_key=True, of=("self",)).select_related("project")
    return {batch.pk: batch for batch in locked.filter(pk__in=set(pks)).order_by("pk")}
