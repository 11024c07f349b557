"""Reserved HITs, created for one annotator when they are due: HITs of rated candidates, and personal ones.

A reserved HIT is as long as an ordinary HIT: its length is drawn from those of the annotator's own HITs of the batch,
so that the number of answers on a page tells nothing of what they are.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from random import Random

import orjson
from django.db import connection

from annotate import places
from annotate.batches.control_plan import ControlPlan
from annotate.controls.sampling import ShownControls
from annotate.models import Batch, Hit, Item
from annotate.models.conditions import counts_toward_caps, is_in_use, is_item, is_submitted, is_work
from annotate.places import ReservedItem
from annotate.places.seeds import secret_seed
from projects.database.prepared import prepared

N_LOOKED_BACK = 300
"""The annotator's latest HITs, from which repeats and lengths are taken: queries stay fast for busy annotators."""
Control = Item.Control

# The lengths, as shown, of the HITs from which the length of a reserved one is drawn.
_LENGTHS = f"""
SELECT cardinality(a.layout) FROM annotate_assignment a
JOIN annotate_hit h ON h.id = a.hit_id AND h.batch_id = %(batch)s AND {is_work("h")}
WHERE a.annotator_id = %(me)s AND {counts_toward_caps("a")}
ORDER BY a.id DESC LIMIT %(back)s
"""

# A reserved HIT that was created and not taken yet. One that the annotator has had is not offered again.
_WAITING = """
SELECT h.id FROM annotate_hit h
WHERE h.reserved_for_id = %(me)s::bigint AND h.batch_id = %(batch)s::bigint AND h.places_open > 0
  AND NOT EXISTS (SELECT 1 FROM annotate_assignment a WHERE a.hit_id = h.id AND a.annotator_id = %(me)s::bigint)
ORDER BY h.id LIMIT 1
"""

# Accepted rated candidates of the pool that this annotator has not been served, in any batch. Minimal pairs are left
# out here too: a pair may have been defined after the pool was made.
_KNOWN = f"""
SELECT q.passage_id, p.question_id, p.candidate_id, p.expected, p.recipe
FROM annotate_item p JOIN projects_question q ON q.id = p.question_id
WHERE p.pool_of_id = %(batch)s AND p.recipe = 'candidate' AND p.accepted_at IS NOT NULL AND {is_in_use("p")}
  AND NOT EXISTS (
      SELECT 1 FROM annotate_item i JOIN annotate_assignment a ON a.hit_id = i.hit_id AND a.annotator_id = %(me)s
      WHERE i.candidate_id = p.candidate_id)
  AND NOT EXISTS (
      SELECT 1 FROM projects_minimalpair mp WHERE p.candidate_id IN (mp.candidate_1_id, mp.candidate_2_id))
ORDER BY q.passage_id, p.id
"""

# What can be asked of this annotator again, by passage: their rated items that can be repeated, known answers and
# originals among them, and degraded answers whose original they rated, at least `distance` HITs ago.
#
# `mine` limits the search to their latest HITs; `ago` counts HITs of all batches, as memory does. `asked_again` has
# what was repeated or degraded for them before. A degraded answer is left to an ordinary HIT if one that asks its
# question is still to come for them: there it looks more natural than in a HIT of its own.
_RATED = f"""
WITH mine AS MATERIALIZED (
    SELECT a.hit_id, a.layout, a.state, row_number() OVER (ORDER BY a.submitted_at DESC, a.id DESC) AS ago
    FROM annotate_assignment a WHERE a.annotator_id = %(me)s AND a.submitted_at IS NOT NULL
    ORDER BY a.submitted_at DESC LIMIT %(back)s),
rated AS MATERIALIZED (
    SELECT h.passage_id, i.id, i.question_id, i.candidate_id, i.control, i.shown_text
    FROM mine JOIN annotate_hit h ON h.id = mine.hit_id AND h.batch_id = %(batch)s AND {is_work("h")}
    JOIN annotate_item i ON i.id = ANY(mine.layout)
    WHERE mine.ago >= %(distance)s AND {is_submitted("mine")} AND {is_in_use("i")}),
asked_again AS MATERIALIZED (
    SELECT i.made_from_id, i.control FROM annotate_assignment a
    JOIN annotate_hit h ON h.id = a.hit_id AND h.batch_id = %(batch)s
    JOIN annotate_item i ON i.id = ANY(a.layout)
    WHERE a.annotator_id = %(me)s AND i.made_from_id IS NOT NULL)
SELECT r.passage_id, 'repeat', r.id, r.question_id, r.candidate_id, r.shown_text, NULL::text, {is_item("r")},
       (SELECT mp.id FROM projects_minimalpair mp WHERE r.candidate_id IN (mp.candidate_1_id, mp.candidate_2_id))
FROM rated r
WHERE r.control <> 'degraded' AND NOT EXISTS (
    SELECT 1 FROM asked_again s WHERE s.made_from_id = r.id AND s.control = 'repeat')
UNION ALL
SELECT r.passage_id, 'degraded', r.id, p.question_id, NULL, p.shown_text, p.recipe, false, NULL
FROM rated r JOIN annotate_item p ON p.made_from_id = r.id AND p.pool_of_id = %(batch)s AND p.control = 'degraded'
WHERE %(degraded)s AND p.accepted_at IS NOT NULL AND {is_in_use("p")}
  AND NOT EXISTS (SELECT 1 FROM asked_again s WHERE s.made_from_id = r.id AND s.control = 'degraded')
  AND NOT EXISTS (
      SELECT 1 FROM annotate_hit h JOIN annotate_item i ON i.hit_id = h.id AND i.question_id = p.question_id
      WHERE h.passage_id = r.passage_id AND h.batch_id = %(batch)s AND {is_work("h")}
        AND h.places_open > 0 AND NOT EXISTS (
            SELECT 1 FROM annotate_assignment a WHERE a.hit_id = h.id AND a.annotator_id = %(me)s))
ORDER BY 1, 2, 3
"""


@dataclass
class RepeatableItems:
    """What can be asked again on one passage."""

    repeats: list[ReservedItem] = field(default_factory=list)
    repeated_controls: list[ReservedItem] = field(default_factory=list)
    """Known answers and originals asked again: they say little, and only fill what candidates leave empty."""
    degraded: list[ReservedItem] = field(default_factory=list)
    pairs: dict[int, int] = field(default_factory=dict)
    """The minimal pair of each item that belongs to one, by the item's id."""

    def draw_repeats(self, *, beside: Sequence[ReservedItem], rng: Random) -> list[ReservedItem]:
        """Return repeats in random order: none whose degraded version is beside it, nor both of a minimal pair."""
        sources = {item.made_from_id for item in beside}
        kept, met = [], set()
        for repeats in (self.repeats, self.repeated_controls):
            for item in rng.sample(repeats, len(repeats)):
                pair = self.pairs.get(item.made_from_id or 0)
                if item.made_from_id not in sources and (pair is None or pair not in met):
                    kept.append(item)
                    met.add(pair)
        return kept


@dataclass(frozen=True)
class DueHit:
    """A reserved HIT that is due and can be created."""

    batch_id: int
    passage_id: int
    annotator_id: int
    purpose: Hit.Purpose
    items: Sequence[ReservedItem]


def find_reserved(
    *, annotator_id: int, batch_id: int, hit_size: int, plan: ControlPlan, history: ShownControls
) -> int | None:
    """Return the reserved HIT that is due for this annotator now, creating it if needed, or None.

    A HIT of rated candidates goes before a personal one. None if nothing is due or there is nothing to create it from.
    The caller has locked the membership, so that two requests cannot create it twice.
    """
    waiting = _find_waiting(annotator_id, batch_id)
    if waiting is not None:
        return waiting
    planned = _plan(annotator_id, batch_id, hit_size, plan, history)
    return None if planned is None else _create(planned)


def is_reserved_due(
    *, annotator_id: int, batch_id: int, hit_size: int, plan: ControlPlan, history: ShownControls
) -> bool:
    """Return whether `find_reserved` would return a HIT, without creating it."""
    if _find_waiting(annotator_id, batch_id) is not None:
        return True
    return _plan(annotator_id, batch_id, hit_size, plan, history) is not None


def _find_waiting(annotator_id: int, batch_id: int) -> int | None:
    with connection.cursor() as cursor:
        prepared(_WAITING).execute(cursor, {"me": annotator_id, "batch": batch_id})
        row = cursor.fetchone()
    return None if row is None else int(row[0])


def _plan(annotator_id: int, batch_id: int, hit_size: int, plan: ControlPlan, history: ShownControls) -> DueHit | None:
    # The seed has all that is known of the annotator so far, so that the same request draws the same HIT.
    drawn = secret_seed(plan.seed, annotator_id, history.n_work, history.n_gold, history.n_personal)
    rng = Random(drawn)  # noqa: S311 - the seed is secret
    gold = _plan_gold(annotator_id, batch_id, hit_size, rng) if _is_gold_due(plan, history, annotator_id) else None
    return gold or _plan_personal(annotator_id, batch_id, hit_size, plan, history, rng)


def _is_gold_due(plan: ControlPlan, history: ShownControls, annotator_id: int) -> bool:
    every = plan.known_hit_every
    return bool(every) and history.n_work >= plan.due_at(history.n_gold + 1, every, who=annotator_id, what="gold")


def _plan_gold(annotator_id: int, batch_id: int, hit_size: int, rng: Random) -> DueHit | None:
    with connection.cursor() as cursor:
        cursor.execute(_KNOWN, {"me": annotator_id, "batch": batch_id})
        rows = cursor.fetchall()
    by_passage: dict[int, list[ReservedItem]] = {}
    for passage, question, candidate, expected, recipe in rows:
        by_passage.setdefault(passage, []).append(
            ReservedItem(
                question, Control.KNOWN_ANSWER, candidate_id=candidate, expected=orjson.loads(expected), recipe=recipe
            )
        )
    if not by_passage:
        return None
    length = _draw_length(annotator_id, batch_id, hit_size, rng)
    longest = min(length, max(map(len, by_passage.values())))
    passage = rng.choice([passage for passage, items in by_passage.items() if len(items) >= longest])
    drawn = sorted(rng.sample(range(len(by_passage[passage])), longest))
    items = [by_passage[passage][at] for at in drawn]
    return DueHit(batch_id, passage, annotator_id, Hit.Purpose.GOLD, items)


def _plan_personal(
    annotator_id: int, batch_id: int, hit_size: int, plan: ControlPlan, history: ShownControls, rng: Random
) -> DueHit | None:
    every = plan.repeats_every
    is_repeat_due = bool(every) and history.n_work >= plan.due_at(
        history.n_repeat_hits + 1, every, who=annotator_id, what="repeat"
    )
    n_owed = plan.n_degraded_by(history.n_work, annotator_id) - history.n_degraded
    n_degraded = plan.n_in_personal_hit(n_owed, who=annotator_id, n_personal=history.n_personal)
    if not n_degraded and not is_repeat_due:
        return None
    length = _draw_length(annotator_id, batch_id, hit_size, rng)
    # The passages that fill the drawn length best are compared by how much they ask of what is due: repeats first,
    # since they are due by the plan, then degraded answers. Of equal ones the smallest is taken, which leaves the large
    # ones to long HITs; ties are drawn.
    best: tuple[int, int, int, int] = (0, 0, 0, 0)
    choices: list[tuple[int, list[ReservedItem]]] = []
    for passage, again in _find_repeatable(annotator_id, batch_id, plan, degraded=bool(n_degraded)).items():
        degraded = rng.sample(again.degraded, min(n_degraded, len(again.degraded), length))
        supply = again.draw_repeats(beside=degraded, rng=rng)
        repeats = supply[: length - len(degraded)]
        n_due = min(len(repeats), plan.repeats) if is_repeat_due else 0
        if not n_due and not degraded:
            continue
        worth = (len(repeats) + len(degraded), n_due, len(degraded), -len(supply))
        if worth > best:
            best, choices = worth, []
        if worth == best:
            choices.append((passage, [*repeats, *degraded]))
    if not choices:
        return None
    passage, items = rng.choice(choices)
    return DueHit(batch_id, passage, annotator_id, Hit.Purpose.PERSONAL, items)


def _draw_length(annotator_id: int, batch_id: int, hit_size: int, rng: Random) -> int:
    with connection.cursor() as cursor:
        cursor.execute(_LENGTHS, {"me": annotator_id, "batch": batch_id, "back": N_LOOKED_BACK})
        lengths = [row[0] for row in cursor.fetchall()]
    return min(hit_size, rng.choice(lengths)) if lengths else hit_size


def _find_repeatable(
    annotator_id: int, batch_id: int, plan: ControlPlan, *, degraded: bool
) -> dict[int, RepeatableItems]:
    parameters = {
        "me": annotator_id,
        "batch": batch_id,
        "distance": plan.distance,
        "back": N_LOOKED_BACK,
        "degraded": degraded,
    }
    with connection.cursor() as cursor:
        cursor.execute(_RATED, parameters)
        rows = cursor.fetchall()
    found: dict[int, RepeatableItems] = {}
    for passage, control, source, question, candidate, text, recipe, is_ordinary, pair in rows:
        again = found.setdefault(passage, RepeatableItems())
        if pair is not None:
            again.pairs[source] = pair
        if control == Control.REPEAT:
            item = ReservedItem(question, Control.REPEAT, candidate_id=candidate, made_from_id=source, shown_text=text)
            (again.repeats if is_ordinary else again.repeated_controls).append(item)
        else:
            again.degraded.append(
                ReservedItem(question, Control.DEGRADED, made_from_id=source, shown_text=text, recipe=recipe)
            )
    return found


def _create(planned: DueHit) -> int:
    return places.create_reserved(
        # Only its id is needed, so the batch isn't read on the way of every claim.
        batch=Batch(pk=planned.batch_id),
        passage_id=planned.passage_id,
        annotator_id=planned.annotator_id,
        purpose=planned.purpose,
        items=planned.items,
    )
