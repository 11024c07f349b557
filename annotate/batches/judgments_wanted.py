"""Changing the number of judgments of a batch, and the caps on what one annotator may rate."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from django.db import connection, transaction

from annotate import places
from annotate.batches import trials
from annotate.batches.costs import Cost, price_more
from annotate.batches.lifecycle import State
from annotate.batches.terms import MAX_JUDGMENTS
from annotate.models import Batch, Hit
from annotate.models.conditions import can_be_taken, is_in_use, is_work
from projects import log
from projects.errors import Refused
from projects.language.amounts import format_number
from projects.models import Act, Membership

CAPS = ("max_hits_per_annotator", "max_hits_per_day", "max_share")
MAX_NUMBERS = 100_000
"""HITs that a list may name: far more than anyone picks by hand, and 1-999999999 would fill the memory."""


def parse_numbers(text: str) -> list[int]:
    """Return the numbers of a list such as "1-5, 9" in ascending order. Raises Refused for anything else."""
    numbers: set[int] = set()
    for part in filter(None, re.split(r"[,;\s]+", re.sub(r"\s*[-–]\s*", "-", text.strip()))):
        match = re.fullmatch(r"([0-9]{1,9})(?:-([0-9]{1,9}))?", part)
        if not match:
            raise Refused(f"“{part[:40]}” is not a number. Write HITs as 1-5, 9.")
        first = int(match[1])
        last = int(match[2] or first)
        if last < first or last - first >= MAX_NUMBERS:
            raise Refused(f"“{part}” is not a range of HITs. Write HITs as 1-5, 9.")
        numbers.update(range(first, last + 1))
        if len(numbers) > MAX_NUMBERS:
            raise Refused("Too many HITs are listed. Choose the whole batch instead.")
    return sorted(numbers)


@dataclass(frozen=True)
class Change:
    """The effect of changing the number of judgments.

    `n_kept` places exceed the new number and stay, because someone holds them. `cost` is the cost of the added
    assignments, `saved` what the removed ones would have cost.
    """

    judgments: int
    n_hits: int
    n_added: int
    n_removed: int
    n_kept: int
    cost: Cost
    saved: Cost


def plan_wanted(*, batch: Batch, judgments: int, hit_numbers: Sequence[int] | None = None) -> Change:
    """Return what changing the number of judgments would add, remove and cost. Raises Refused if it is impossible."""
    hit_ids = _check_wanted(batch, judgments, hit_numbers)
    sums = [0] * 6
    for new, ids in _find_targets(batch, judgments, hit_ids):
        sums = [total + more for total, more in zip(sums, _count_change(batch, new, ids), strict=True)]
    n_hits, n_added, n_removed, n_kept, items_added, items_removed = sums
    added, removed = price_more(batch, [(n_added, items_added), (n_removed, items_removed)])
    return Change(
        judgments=judgments,
        n_hits=n_hits,
        n_added=n_added,
        n_removed=n_removed,
        n_kept=n_kept,
        cost=added,
        saved=removed,
    )


def _find_targets(batch: Batch, judgments: int, hit_ids: list[int] | None) -> list[tuple[int, list[int] | None]]:
    """Return pairs of a number of places and the HITs to get it: the judgments, minus reused ones of the trial."""
    if not trials.count_reused(batch):
        return [(judgments, hit_ids)]
    return [
        (max(0, judgments - n_reused), ids) for n_reused, ids in trials.group_hits_by_reused(batch, hit_ids).items()
    ]


def _lock_in_order(hit_ids: list[int]) -> None:
    list(Hit.objects.filter(pk__in=hit_ids).order_by("pk").select_for_update(no_key=True).values_list("pk"))


def _count_change(batch: Batch, new: int, hit_ids: list[int] | None) -> list[int]:
    """Count HITs, places added, removed and kept, and the items of added and removed ones, without changing anything.

    The numbers follow the same rule as `places.set_wanted`: no HIT falls below the places that are held.
    """
    # `by` is the change of a HIT's places, `held` those that are not open. A HIT without an open place counts only if
    # it could be taken: otherwise more places would wait for no one. Reserved HITs are left out, as they have one
    # place.
    with connection.cursor() as cursor:
        cursor.execute(
            f"""SELECT count(*), coalesce(sum(greatest(d.by, 0)), 0), coalesce(sum(greatest(-d.by, 0)), 0),
                      coalesce(sum(greatest(d.held - %(new)s, 0)), 0),
                      coalesce(sum(greatest(d.by, 0) * d.n_items), 0), coalesce(sum(greatest(-d.by, 0) * d.n_items), 0)
               FROM (SELECT greatest(%(new)s, h.places_wanted - h.places_open) - h.places_wanted AS by,
                            h.places_wanted - h.places_open AS held,
                            (SELECT count(*) FROM annotate_item i
                             WHERE i.hit_id = h.id AND {is_in_use("i")}) AS n_items
                     FROM annotate_hit h
                     WHERE h.batch_id = %(batch)s AND {is_work("h")} AND (%(all)s OR h.id = ANY(%(hits)s))
                       AND (h.places_open > 0 OR {can_be_taken("h")})) d""",
            {"batch": batch.pk, "new": new, "all": hit_ids is None, "hits": hit_ids or []},
        )
        return [int(value) for value in cursor.fetchone()]


@transaction.atomic
def change_caps(*, batch: Batch, actor: Membership | None, caps: Mapping[str, float | None]) -> None:
    """Set caps on what one annotator may rate of the batch; None removes one, and those not named stay.

    Raises Refused if none apply.
    """
    locked = Batch.objects.select_for_update(no_key=True).get(pk=batch.pk)
    if locked.kind == Batch.Kind.IMPORTED or locked.state == State.ARCHIVED:
        raise Refused("No one works on this batch any more, so limits don’t apply.")
    if locked.has_named_annotators and any(
        caps.get(name) is not None for name in ("max_hits_per_annotator", "max_share")
    ):
        raise Refused("Each chosen annotator rates everything, so limits don’t apply.")
    before = {name: getattr(locked, name) for name in CAPS}
    after = {**before, **caps}
    # The caller's batch gets the new values too; only these columns are written.
    for name, value in after.items():
        setattr(batch, name, value)
    batch.save(update_fields=CAPS)
    log.record(batch.project, actor, Act.CHANGE_CAPS, batch, before=before, after=after)


@transaction.atomic
def change_wanted(
    *, batch: Batch, actor: Membership | None, judgments: int, hit_numbers: Sequence[int] | None = None, why: str = ""
) -> tuple[int, int]:
    """Change the number of judgments of the whole batch or of some HITs; return the places added and removed.

    Places that someone holds are never removed. Raises Refused if it is impossible. Locks the batch, then the HITs.
    """
    locked = Batch.objects.select_for_update(no_key=True).get(pk=batch.pk)
    hit_ids = _check_wanted(locked, judgments, hit_numbers)
    targets = _find_targets(locked, judgments, hit_ids)
    # All groups are locked at once, in order of id: locking group by group could deadlock with another act.
    _lock_in_order([hit for _, ids in targets for hit in ids or ()])
    changes = [places.set_wanted(locked, judgments=new, hit_ids=ids) for new, ids in targets]
    added, removed = (sum(each) for each in zip(*changes, strict=True))
    # A batch remembers the last number required of the whole of it; single HITs may differ (docs/decisions/0003).
    if hit_numbers is None:
        Batch.objects.filter(pk=batch.pk).update(judgments=judgments)
        batch.judgments = judgments
    log.record(
        batch.project,
        actor,
        Act.WANT_JUDGMENTS,
        batch,
        before={"judgments": locked.judgments},
        after={"judgments": judgments, "added": added, "removed": removed, "hits": hit_numbers and list(hit_numbers)},
        why=why,
    )
    return added, removed


def _check_wanted(batch: Batch, judgments: int, hit_numbers: Sequence[int] | None) -> list[int] | None:
    if batch.kind == Batch.Kind.IMPORTED:
        raise Refused("These judgments were imported, so you can’t request more.")
    if batch.state == State.ARCHIVED:
        raise Refused("This batch is archived, so its judgments can’t be changed.")
    if not 1 <= judgments <= MAX_JUDGMENTS:
        raise Refused(f"Set 1 to {format_number(MAX_JUDGMENTS)} judgments per candidate.")
    if batch.has_named_annotators and judgments > batch.named_annotators.count():
        raise Refused(
            "Only the chosen annotators rate this batch, so there can’t be more judgments per candidate than "
            "annotators."
        )
    if hit_numbers is None:
        return None
    if not hit_numbers:
        raise Refused("No HIT is selected.")
    hits = dict(
        Hit.objects.filter(batch=batch, purpose=Hit.Purpose.WORK, number__in=hit_numbers).values_list("number", "id")
    )
    missing = [number for number in hit_numbers if number not in hits]
    if missing:
        raise Refused(f"This batch has no HIT {missing[0]}.")
    return sorted(hits.values())
