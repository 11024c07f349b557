"""Terms of work for people who are invited: the pay for a HIT, and the time that it takes."""

from dataclasses import dataclass

from annotate.models import Batch, Hit
from annotate.rating.pace import Duration, measure_hits, measure_pace
from projects.models import Project

N_LOOKED_AT = 50
"""HITs at the head of the queue whose largest stands for a full one: passages end with smaller ones."""


@dataclass(frozen=True)
class InvitedTerms:
    """The range of pay for a full HIT, 0 if it is unpaid, and how long one takes, None if there is no HIT yet."""

    low_cents: int
    high_cents: int
    duration: Duration | None


def find_invited_terms(project: Project) -> InvitedTerms:
    """Return the terms of the open batches, else of those to come: paused ones, drafts, or the project's settings."""
    batches = list(Batch.objects.collecting().filter(project=project).order_by("-priority", "number"))
    states = (Batch.State.OPEN, Batch.State.PAUSED, Batch.State.DRAFT)
    chosen = next(filter(None, ([batch for batch in batches if batch.state == state] for state in states)), [])
    pay = [batch.compute_pay(batch.hit_size) for batch in chosen]
    usual = project.cents_per_hit + project.cents_per_item * project.hit_size
    queue = Hit.objects.filter(batch__in=chosen[:1], reserved_for=None).order_by("queue_key")
    sizes = measure_hits(first := list(queue.values_list("pk", flat=True)[:N_LOOKED_AT]))
    # The time of a full HIT, as the pay is.
    size = max((sizes[pk] for pk in first if pk in sizes), key=lambda each: each.n_items, default=None)
    return InvitedTerms(
        low_cents=min(pay, default=usual),
        high_cents=max(pay, default=usual),
        duration=size.find_duration_for_others(measure_pace(project)) if size is not None else None,
    )
