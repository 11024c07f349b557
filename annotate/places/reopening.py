"""Which places open again: every event and rule in one file."""

from django.db.models import Exists, OuterRef, Q

from annotate.models import Batch, Hit, Item


def batch_reopens(batch: Batch) -> bool:
    """An archived batch is settled, and what was imported is rated nowhere."""
    return batch.kind != Batch.Kind.IMPORTED and batch.state != Batch.State.ARCHIVED


def hit_reopens() -> Q:
    """Assignments whose place others may take once it is free: not on a HIT for one person, nor on an empty one."""
    live = Item.objects.filter(hit=OuterRef("hit"), retired_at=None, control=Item.Control.NONE)
    return Q(Exists(live), hit__purpose=Hit.Purpose.WORK)
