"""When a place opens again.

An assignment gives its place back when it

- is returned, withdrawn while open, or expires (`ending.py`: `return_assignment`, `withdraw`, `sweep`);
- is rejected by a manager (`deciding.py`: `reject`);
- is left out with its annotator's removal or withdrawn consent, if its place is to be filled again (`deciding.py`:
  `exclude`, `exclude_for_good`; `leaving.py` says which of somebody's work that can be).

The place then opens only if the batch and the HIT still take work; the two rules are below. A restored or accepted
assignment takes its place back while it is free, and is surplus when it is not (`deciding.py`: `restore`, `accept`).
"""

from django.db.models import Exists, OuterRef, Q

from annotate.models import Batch, Hit, Item


def batch_reopens(batch: Batch) -> bool:
    """An archived batch is settled, and what was imported is rated nowhere."""
    return batch.kind != Batch.Kind.IMPORTED and batch.state != Batch.State.ARCHIVED


def hit_reopens() -> Q:
    """Assignments whose place others may take once it is free: not on a HIT for one person, nor on an empty one."""
    live = Item.objects.filter(hit=OuterRef("hit"), retired_at=None, control=Item.Control.NONE)
    return Q(Exists(live), hit__purpose=Hit.Purpose.WORK)
