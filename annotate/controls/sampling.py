"""Sampling: which controls of the pool a HIT shows to the annotator who has just taken it."""

import uuid
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from math import ceil
from random import Random
from typing import NamedTuple

from django.db import connection

from annotate import places
from annotate.batches.control_plan import ControlPlan
from annotate.models import Batch, Item
from annotate.models.conditions import counts_toward_caps, is_in_use, is_item, is_submitted, is_work
from annotate.places.seeds import secret_seed
from projects.database.prepared import prepared

N_ORDERS_TRIED = 1_000
"""Random orders tried before the best one is used; in HITs of usual size one of the first few fits."""
Control = Item.Control

# What the annotator has had of a batch so far, from which follows what is due: HITs of work, HITs of rated candidates,
# HITs of repeats, degraded answers, and personal HITs. Counted from the layouts: controls of the pool belong to no HIT,
# so only the layouts tell who was shown them.
_COUNTS = f"""
SELECT count(*) FILTER (WHERE {is_work("h")}), count(*) FILTER (WHERE h.purpose = 'gold'),
       count(*) FILTER (WHERE h.purpose = 'personal' AND shown.n_repeats > 0),
       coalesce(sum(shown.n_degraded), 0), count(*) FILTER (WHERE h.purpose = 'personal')
FROM annotate_assignment a JOIN annotate_hit h ON h.id = a.hit_id
CROSS JOIN LATERAL (
    SELECT count(*) FILTER (WHERE i.control = 'degraded') AS n_degraded,
           count(*) FILTER (WHERE i.control = 'repeat') AS n_repeats
    FROM annotate_item i WHERE i.id = ANY(a.layout)) shown
WHERE a.annotator_id = %(me)s::bigint AND h.batch_id = %(batch)s::bigint
  AND (NOT {is_work("h")} OR {counts_toward_caps("a")})
"""

# Accepted controls for the questions of the passage at hand, each with three facts: is its original in this very HIT,
# was the original rated at least `distance` HITs ago, and was this control (or another made from the same original)
# shown before. `seen` is MATERIALIZED because both EXISTS read it for every control. Rated candidates of the pool are
# left out: they have HITs of their own.
#
# The last condition drops references as good answers where candidates show opinions and references have none: the
# missing opinion would give them away (docs/decisions/0009).
_POOL = f"""
WITH here AS (
    SELECT a.id, a.hit_id, h.passage_id, pr.shows_candidate_opinion AS shows_opinions
    FROM annotate_assignment a JOIN annotate_hit h ON h.id = a.hit_id
    JOIN annotate_batch b ON b.id = h.batch_id JOIN projects_project pr ON pr.id = b.project_id
    WHERE a.uuid = %(uuid)s::uuid),
seen AS MATERIALIZED (
    SELECT i.id, i.control, i.made_from_id,
           CASE WHEN {is_submitted("a")} THEN a.submitted_at END AS rated_at
    FROM here JOIN annotate_hit h ON h.passage_id = here.passage_id
    JOIN annotate_assignment a ON a.hit_id = h.id AND a.annotator_id = %(me)s::bigint AND a.id <> here.id
    JOIN annotate_item i ON i.id = ANY(a.layout))
SELECT p.id, p.question_id, p.control, p.made_from_id, p.shown_text, source.hit_id IS NOT DISTINCT FROM here.hit_id,
       EXISTS (
           SELECT 1 FROM seen s WHERE s.id = p.made_from_id AND s.rated_at IS NOT NULL AND %(distance)s::int <= 1 + (
               SELECT count(*) FROM annotate_assignment b
               WHERE b.annotator_id = %(me)s::bigint AND b.submitted_at > s.rated_at)),
       EXISTS (
           SELECT 1 FROM seen s WHERE s.id = p.id
              OR p.made_from_id IS NOT NULL AND s.made_from_id = p.made_from_id AND s.control = p.control)
FROM here
JOIN projects_question q ON q.passage_id = here.passage_id
JOIN annotate_item p ON p.pool_of_id = %(batch)s::bigint AND p.question_id = q.id
LEFT JOIN annotate_item source ON source.id = p.made_from_id
WHERE {is_in_use("p")} AND p.recipe <> 'candidate' AND (p.accepted_at IS NOT NULL OR p.control = 'repeat')
  AND NOT (here.shows_opinions AND p.recipe IN ('reference', 'edited')
      AND EXISTS (
          SELECT 1 FROM projects_candidate c JOIN annotate_item o ON o.candidate_id = c.id AND {is_item("o")}
          JOIN annotate_hit h ON h.id = o.hit_id AND h.batch_id = %(batch)s::bigint
          WHERE c.question_id = p.question_id AND c.opinion <> '')
      AND NOT EXISTS (
          SELECT 1 FROM projects_reference r WHERE r.question_id = p.question_id AND r.opinion <> ''))
ORDER BY p.id
"""

# The ordinary items that the assignment shows, in their order.
_SHOWN = """
SELECT i.id, i.question_id, coalesce(i.shown_text, c.text) FROM annotate_assignment a
JOIN annotate_item i ON i.id = ANY(a.layout) LEFT JOIN projects_candidate c ON c.id = i.candidate_id
WHERE a.uuid = %(uuid)s::uuid ORDER BY array_position(a.layout, i.id)
"""


@dataclass(frozen=True)
class ShownControls:
    """What an annotator has had of a batch: HITs by purpose, personal HITs with repeats, degraded answers."""

    n_work: int
    n_gold: int
    n_repeat_hits: int
    n_degraded: int
    n_personal: int


class PoolControl(NamedTuple):
    """A control that may be shown.

    `is_beside`: its original is in this HIT. `is_rated`: its original was rated long enough ago. `is_seen`: it was
    shown before, or another control of its kind made from the same original.
    """

    id: int
    question_id: int
    control: str
    made_from: int | None
    text: str
    is_beside: bool
    is_rated: bool
    is_seen: bool


class Shown(NamedTuple):
    """An ordinary item of the HIT."""

    id: int
    question_id: int
    text: str


@dataclass
class Draw:
    """The controls chosen so far, within the room of the HIT; no two items of a page have the same text."""

    room: int
    texts: set[str]
    rng: Random
    chosen: list[PoolControl] = field(default_factory=list)

    def take(self, controls: Iterable[PoolControl], n: int) -> None:
        for control in controls:
            if n <= 0 or self.room <= 0:
                return
            # The same text twice on a page gives a control away, and so does one that differs in case or spaces alone.
            if normalise(control.text) not in self.texts:
                self.texts.add(normalise(control.text))
                self.chosen.append(control)
                self.room -= 1
                n -= 1


def fetch_shown_controls(annotator_id: int, batch_id: int) -> ShownControls:
    with connection.cursor() as cursor:
        prepared(_COUNTS).execute(cursor, {"me": annotator_id, "batch": batch_id})
        return ShownControls(*map(int, cursor.fetchone()))


def sample_controls(
    assignment_uuid: uuid.UUID,
    *,
    annotator_id: int,
    batch_id: int,
    hit_size: int,
    presentation: str,
    plan: ControlPlan,
    history: ShownControls,
) -> None:
    """Add the planned controls to an assignment that was just taken; the seed comes from its uuid, as a secret.

    A degraded answer is shown only if the annotator rated its original at least `distance` HITs ago, or, with one item
    at a time, if the original is in the same HIT. Only questions that the HIT asks anyway get controls, because an item
    alone under a question would be conspicuous. Known answers come first, since they work for every annotator.
    """
    with connection.cursor() as cursor:
        parameters = {"uuid": assignment_uuid, "me": annotator_id, "batch": batch_id, "distance": plan.distance}
        prepared(_SHOWN).execute(cursor, {"uuid": assignment_uuid})
        shown = [Shown(*row) for row in cursor.fetchall()]
        prepared(_POOL).execute(cursor, parameters)
        pool = [PoolControl(*row) for row in cursor.fetchall()]
    rng = Random(secret_seed(assignment_uuid))  # noqa: S311 - the seed is secret, and the same again for the same uuid
    rng.shuffle(pool)
    drawn = Draw(hit_size - len(shown), {normalise(item.text) for item in shown}, rng)
    # What is due after this HIT, minus what was shown: degraded answers that earlier HITs had no room for are made up
    # for.
    n_degraded = plan.n_degraded_by(history.n_work + 1, annotator_id) - history.n_degraded
    is_page = presentation == Batch.Presentation.PAGE
    questions = {item.question_id for item in shown}
    fresh = [control for control in pool if not control.is_seen and control.question_id in questions]
    drawn.take((control for control in fresh if control.control == Control.KNOWN_ANSWER), plan.known_per_hit)
    if is_page:
        _draw_for_page(drawn, fresh, plan, n_degraded)
        if drawn.chosen:
            places.add_controls(assignment_uuid, [control.id for control in drawn.chosen])
        return
    pairs = _draw_for_one(drawn, fresh, n_degraded, n_repeats=plan.repeats_per_hit)
    repeats = _choose_repeats(batch_id, shown, pool, plan, taken={source for source, _ in pairs}, drawn=drawn)
    # One item at a time: the whole layout is written again, because the controls are spread among the ordinary items.
    # On a page (above) they are added within the group of their question.
    ids = [item.id for item in shown] + [control.id for control in drawn.chosen] + [control for _, control in repeats]
    places.write_layout(assignment_uuid, _spread_out(ids, [*pairs, *repeats], plan.item_distance, rng))


def _draw_for_page(drawn: Draw, fresh: Sequence[PoolControl], plan: ControlPlan, n_degraded: int) -> None:
    """Draw degraded answers of originals from earlier HITs, and references to be degraded in later ones."""
    drawn.take((c for c in fresh if c.control == Control.DEGRADED and c.is_rated and not c.is_beside), n_degraded)
    degraded_from = {c.made_from for c in fresh if c.control == Control.DEGRADED}
    # Originals in this HIT have degraded answers to come in a later one, so fewer references are needed for that.
    n_to_come = sum(c.control == Control.DEGRADED and c.is_beside for c in fresh)
    sources = (c for c in fresh if c.control == Control.SOURCE and c.id in degraded_from)
    drawn.take(sources, ceil(plan.degraded_per_hit) - n_to_come)


def _draw_for_one(
    drawn: Draw, fresh: Sequence[PoolControl], n_degraded: int, *, n_repeats: int
) -> list[tuple[int, int]]:
    """Draw degraded answers for a HIT shown one item at a time; return the pairs of original and degraded answer.

    The original is an item of this HIT, a reference that is drawn along with it, or one rated before. A reference needs
    room of its own, but never that of the planned repeats.
    """
    sources = {c.id: c for c in fresh if c.control == Control.SOURCE}
    pairs: list[tuple[int, int]] = []
    degraded = [c for c in fresh if c.control == Control.DEGRADED]
    # Degraded answers of items that this HIT asks anyway come first: they cost one place, those of references two.
    for control in sorted(degraded, key=lambda c: not c.is_beside):
        source = sources.get(control.made_from or 0)
        n_chosen = len(drawn.chosen)
        if n_degraded <= 0:
            break
        if control.is_beside:
            drawn.take([control], 1)
        elif source is not None and drawn.room >= 2 + n_repeats and not _is_on_page(drawn, source, control):
            drawn.take([source, control], 2)
        # Its original was rated in an earlier HIT: no distance is to be kept within this one, so it makes no pair.
        elif control.is_rated:
            drawn.take([control], 1)
            n_degraded -= len(drawn.chosen) - n_chosen
            continue
        if len(drawn.chosen) > n_chosen:
            pairs.append((control.made_from or 0, control.id))
            n_degraded -= 1
    return pairs


def _is_on_page(drawn: Draw, *controls: PoolControl) -> bool:
    texts = [normalise(control.text) for control in controls]
    return any(text in drawn.texts for text in texts) or len(set(texts)) < len(texts)


def _choose_repeats(
    batch_id: int,
    shown: Sequence[Shown],
    pool: Sequence[PoolControl],
    plan: ControlPlan,
    *,
    taken: set[int],
    drawn: Draw,
) -> list[tuple[int, int]]:
    """Return items of this HIT with their repeats, preferring items without a degraded version in it.

    The repeats are created when an item is first repeated and shared by all annotators.
    """
    n = min(plan.repeats_per_hit, drawn.room)
    if n <= 0:
        return []
    order = drawn.rng.sample(list(shown), len(shown))
    # The sort is stable, so it keeps the random order among items with and among items without a degraded version.
    order.sort(key=lambda item: item.id in taken)
    existing = {control.made_from: control.id for control in pool if control.control == Control.REPEAT}
    new = [
        Item(
            pool_of_id=batch_id,
            question_id=item.question_id,
            position=0,
            control=Control.REPEAT,
            made_from_id=item.id,
            shown_text=item.text,
        )
        for item in order[:n]
        if item.id not in existing
    ]
    existing |= {item.made_from_id: item.pk for item in Item.objects.bulk_create(new)}
    return [(item.id, existing[item.id]) for item in order[:n]]


def _spread_out(ids: Sequence[int], pairs: Sequence[tuple[int, int]], distance: int, rng: Random) -> list[int]:
    """Return a random order in which every control is far enough from its original, or the best one found.

    Drawing whole orders until one fits keeps all fitting orders equally likely.
    """
    # The gap of an order is the least distance of any control from its original in it.
    best, best_gap = list(ids), -1
    for _ in range(N_ORDERS_TRIED):
        order = rng.sample(list(ids), len(ids))
        at = {item: place for place, item in enumerate(order)}
        gap = min((abs(at[one] - at[other]) for one, other in pairs), default=distance)
        if gap > best_gap:
            best, best_gap = order, gap
        if gap >= distance:
            break
    return best


def normalise(text: str) -> str:
    """Return what two texts share that a page never shows together."""
    return " ".join(text.split()).casefold()
