"""What the tests of pay share: entries of the ledger as the submits of HITs and tests write them."""

from datetime import timedelta
from itertools import count
from typing import Any

from django.utils import timezone

from annotate.models import Assignment, Batch, LedgerEntry
from projects.models import Membership, Project
from tests.annotate.open_batches import open_batch

_numbers = count(1)


def paid_batch(project: Project, *, n_hits: int = 3, cents: int = 40, **over: Any) -> Batch:
    return open_batch(project, n_hits=n_hits, cents_per_hit=cents, **over)


def submitted(annotator: Membership, batch: Batch, n: int = 1, *, seconds: float | None = 60.0) -> Assignment:
    """A submitted assignment on the batch's n-th HIT with its entry, written as rows."""
    hit = batch.hits.get(number=n)
    items = list(hit.items.values_list("pk", flat=True))
    now = timezone.now()
    assignment = Assignment.objects.create(
        hit=hit,
        annotator=annotator,
        state="submitted",
        mark="counted",
        layout=items,
        opened_at=now - timedelta(seconds=seconds or 0),
        submitted_at=now,
        ended_at=now,
        active_seconds=seconds,
    )
    hit.places_open -= 1
    hit.places_done += 1
    hit.save()
    cents = batch.cents_per_hit + batch.cents_per_item * len(items)
    earn(annotator, cents, key=f"hit:{assignment.uuid}", kind="hit", assignment=assignment, batch=batch)
    return assignment


def earn(annotator: Membership, cents: int, *, is_approved: bool = False, **over: Any) -> LedgerEntry:
    """Add one entry, by default for a qualification test."""
    made: dict[str, Any] = {"kind": "qualification", "key": f"test:{next(_numbers)}", **over}
    if is_approved:
        made["approved_at"] = timezone.now()
    return LedgerEntry.objects.create(project=annotator.project, annotator=annotator, cents=cents, **made)
