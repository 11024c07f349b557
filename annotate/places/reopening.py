"""Which places open again after work is returned, rejected or excluded.

An assignment gives its place back when it

- is returned, withdrawn while open, or expires (`ending.py`: `return_assignment`, `withdraw`, `sweep`);
- is rejected by a manager (`deciding.py`: `reject`);
- is excluded because its annotator was removed or withdrew consent, and the manager or annotator wants it redone
  (`deciding.py`: `exclude`, `exclude_for_good`; `leaving.py` separates the work that can be redone).

The place then opens only if its batch and its HIT still accept work; the two rules are below. A restored or accepted
assignment takes its place back if no one else has taken it, and is surplus otherwise (`deciding.py`: `restore`,
`accept`).
"""

from django.db.models import Exists, OuterRef, Q

from annotate.models import Batch, Hit, Item


def batch_reopens(batch: Batch) -> bool:
    """Return whether the batch takes work again: archived batches are final, imported ones were never rated here."""
    return batch.kind != Batch.Kind.IMPORTED and batch.state != Batch.State.ARCHIVED


def hit_reopens() -> Q:
    """Return the filter for assignments whose place others may take: no personal HIT, and none without items left."""
    live = Item.objects.filter(hit=OuterRef("hit"), retired_at=None, control=Item.Control.NONE)
    return Q(Exists(live), hit__purpose=Hit.Purpose.WORK)
