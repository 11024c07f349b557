"""Managers' acts on controls: planning those of a batch, and accepting, editing and retiring those of its pool."""

from collections.abc import Sequence
from typing import Any

from django.db import transaction
from django.db.models import Q
from django.utils import timezone

from annotate.batches import creating
from annotate.batches.control_plan import ControlPlan, check_plan, clear_pool, list_pool
from annotate.models import Batch, Hit, Item
from projects import log
from projects.errors import Refused
from projects.language.amounts import format_number
from projects.models import Act, Membership

Control = Item.Control
MOST_TEXT = 20_000
"""Characters of an edited control; longer than any answer, short enough for a page."""


@transaction.atomic
def set_plan(*, batch: Batch, actor: Membership | None, plan: ControlPlan) -> bool:
    """Set the control plan of a batch; return whether its HITs were regrouped to make room.

    A draft is regrouped if the room changes, which empties its pool. A batch that was opened keeps its HITs; those
    without room show fewer controls. Raises Refused for an impossible plan. Locks the batch.
    """
    batch = Batch.objects.select_for_update(no_key=True, of=("self",)).select_related("project").get(pk=batch.pk)
    if batch.kind == Batch.Kind.IMPORTED or batch.state in (Batch.State.CLOSED, Batch.State.ARCHIVED):
        raise Refused("Controls can’t be planned for an imported, closed or archived batch.")
    check_plan(plan, presentation=batch.presentation, hit_size=batch.hit_size)
    if plan.jitter == 0 and max(plan.known_hit_every, plan.repeats_every) > 1:
        raise Refused("Set a jitter of at least 1 HIT, because annotators soon notice a fixed interval.")
    before = ControlPlan.read(batch.control_plan)
    batch.control_plan = plan.as_json()
    batch.save(update_fields=["control_plan"])
    # HITs are cut with room for controls, so a draft whose room changes is cut again. Its pool is emptied because its
    # degraded answers refer to items that are deleted with the HITs. No one has seen either.
    is_cut = batch.state == Batch.State.DRAFT and before.room != plan.room and _has_equal_hits(batch)
    if is_cut:
        clear_pool(batch)
        creating.recut(batch)
    log.record(
        batch.project, actor, Act.PLAN_CONTROLS, batch, before=before.as_json(), after={**plan.as_json(), "cut": is_cut}
    )
    return is_cut


@transaction.atomic
def accept(*, batch: Batch, actor: Membership | None, item_ids: Sequence[int] | None = None) -> int:
    """Accept controls of the pool, or all that await acceptance without `item_ids`; return how many were accepted.

    A degraded answer and the reference it was made from are accepted together, because one is useless alone.
    """
    waiting = list_pool(batch).filter(accepted_at=None, retired_at=None)
    if item_ids is not None:
        ids = list(item_ids)
        waiting = waiting.filter(
            Q(pk__in=ids)
            # The other half of a pair: the original of a chosen degraded answer, and the degraded answer of a chosen
            # original if that is in the pool. An ordinary item as the original needs no acceptance.
            | Q(control=Control.SOURCE, controls__pk__in=ids)
            | Q(control=Control.DEGRADED, made_from__pool_of=batch, made_from__pk__in=ids)
        )
    # The joins above may return a row more than once. The log lists the first 100, which keeps its row small.
    found = sorted(set(waiting.values_list("pk", flat=True)))
    Item.objects.filter(pk__in=found).update(accepted_by=actor, accepted_at=timezone.now())
    if found:
        log.record(batch.project, actor, Act.ACCEPT_CONTROLS, batch, after={"n": len(found), "items": found[:100]})
    return len(found)


@transaction.atomic
def retire(*, batch: Batch, actor: Membership | None, item_ids: Sequence[int], why: str = "") -> int:
    """Retire controls of the pool, with those made from them; return how many."""
    # What was made from a retired control goes with it: without its original, a degraded answer can't be compared.
    live = list_pool(batch).filter(retired_at=None)
    found = sorted(set(live.filter(Q(pk__in=item_ids) | Q(made_from__pk__in=item_ids)).values_list("pk", flat=True)))
    Item.objects.filter(pk__in=found).update(retired_at=timezone.now())
    if found:
        log.record(
            batch.project, actor, Act.RETIRE_CONTROLS, batch, after={"n": len(found), "items": found[:100]}, why=why
        )
    return len(found)


@transaction.atomic
def reword(*, batch: Batch, actor: Membership | None, item_id: int, text: str) -> Item:
    """Edit the text of a reference that awaits acceptance. Raises Refused for any other control, or an empty text."""
    item = list_pool(batch).select_for_update().filter(pk=item_id, accepted_at=None, retired_at=None).first()
    recipes = (Item.Recipe.REFERENCE, Item.Recipe.EDITED_REFERENCE)
    if item is None or item.control != Control.KNOWN_ANSWER or item.recipe not in recipes:
        raise Refused("You can only edit a known answer made from a reference, before it is accepted.")
    # PostgreSQL stores no NUL, and a form sends Windows line ends, which the text that it replaces did not have.
    text = text.replace("\x00", "").replace("\r\n", "\n").strip()
    if not text or len(text) > MOST_TEXT:
        raise Refused(f"Enter 1 to {format_number(MOST_TEXT)} characters.")
    item.shown_text, item.recipe = text, Item.Recipe.EDITED_REFERENCE
    item.save(update_fields=["shown_text", "recipe"])
    log.record(batch.project, actor, Act.EDIT_CONTROL, batch, after={"item": item.pk})
    return item


def count_pool(batch: Batch) -> dict[str, dict[str, int]]:
    """Return the numbers of controls by kind that await acceptance, are in use and are retired."""
    counts: dict[str, dict[str, int]] = {
        kind: {"waiting": 0, "in_use": 0, "retired": 0}
        for kind in ("known_answer", "known_candidate", "degraded", "source")
    }
    rows: Any = list_pool(batch).values_list("control", "recipe", "accepted_at", "retired_at")
    for control, recipe, accepted_at, retired_at in rows:
        kind = "known_candidate" if recipe == Item.Recipe.KNOWN_CANDIDATE else control
        counts[kind]["retired" if retired_at else "in_use" if accepted_at else "waiting"] += 1
    return counts


def _has_equal_hits(batch: Batch) -> bool:
    """Return whether every HIT requires the batch's number of judgments, so that regrouping loses nothing."""
    return not Hit.objects.filter(batch=batch).exclude(places_wanted=batch.judgments).exists()
