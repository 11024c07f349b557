"""What controls a batch is to show: the numbers, checked in one place, and the chance that is seeded by them."""

import hashlib
import math
from dataclasses import asdict, dataclass, fields
from typing import Any

from django.db.models import Q, QuerySet

from annotate.models import Batch, Item
from projects.errors import Refused

MOST_A_HIT = 50


@dataclass(frozen=True, kw_only=True)
class ControlPlan:
    """How many controls of each kind; all zero means none, which is what a batch has unless it says otherwise.

    `known_per_hit` known answers stand in every HIT, and every `known_hit_every` HITs a whole HIT of candidates comes
    whose scores are known. `degraded_per_hit` is an average over an annotator's HITs. Every `repeats_every` HITs up to
    `repeats` candidates of one passage are asked again in a HIT of their own; `repeats_per_hit` stand inside a HIT,
    where items are shown one at a time. A control comes at least `distance` HITs after what it was made from, or
    within a HIT shown one at a time at least `item_distance` items from it. What comes every n HITs comes up to
    `jitter` HITs earlier or later.
    """

    known_per_hit: int = 0
    known_hit_every: int = 0
    degraded_per_hit: float = 0.0
    repeats: int = 0
    repeats_every: int = 0
    repeats_per_hit: int = 0
    distance: int = 2
    item_distance: int = 5
    jitter: int = 1
    seed: int = 0

    @property
    def is_empty(self) -> bool:
        return not (self.is_in_hits or self.known_hit_every or self.repeats or self.repeats_every)

    @property
    def is_in_hits(self) -> bool:
        """Whether a HIT of ordinary work may show controls."""
        return bool(self.known_per_hit or self.degraded_per_hit or self.repeats_per_hit)

    @property
    def room(self) -> int:
        """Places that cutting leaves free in every HIT, so that with its controls it is no larger than its size."""
        return self.known_per_hit + math.ceil(self.degraded_per_hit) + self.repeats_per_hit

    def makes_personal_hits(self, presentation: str) -> bool:
        """Whether HITs for one annotator come on top of those that are cut."""
        is_page = presentation == Batch.Presentation.PAGE
        return bool(self.known_hit_every or self.repeats or (self.degraded_per_hit and is_page))

    @classmethod
    def read(cls, stored: dict[str, Any]) -> "ControlPlan":
        """The plan that a batch has stored; a number that it does not name is the usual one."""
        return cls(**{name: value for name, value in stored.items() if name in _NAMES})

    def as_json(self) -> dict[str, Any]:
        return {} if self.is_empty else asdict(self)

    def due_at(self, n: int, every: int, *, who: int, what: str) -> int:
        """After how many HITs of work the n-th thing that comes every so many HITs is due, counted from 1."""
        width = min(self.jitter, every - 1)
        return max(1, every * n + math.floor((2 * width + 1) * self.share(what, who, n)) - width)

    def n_degraded_by(self, n_hits: int, who: int) -> int:
        """How many degraded items an annotator is to have seen after so many HITs of work."""
        return sum(math.floor(self.degraded_per_hit + self.share("degraded", who, n)) for n in range(n_hits))

    def share(self, *parts: object) -> float:
        """A number from 0 to 1 that follows from the seed and these parts alone."""
        digest = hashlib.sha256(repr((self.seed, *parts)).encode()).digest()
        return int.from_bytes(digest[:7], "big") / 2**56


def shows_repeats(batch: Batch, *, has_items: bool | None = None) -> bool:
    """Whether a batch asks again what its annotators have answered, or did: they may not look their answers up.

    Whether there are such items, which a plan before may have left, is asked where it is not given.
    """
    plan = ControlPlan.read(batch.control_plan)
    if plan.repeats or plan.repeats_per_hit or has_items is not None:
        return bool(plan.repeats or plan.repeats_per_hit or has_items)
    of_batch = Q(pool_of=batch) | Q(hit__batch=batch)
    return Item.objects.filter(of_batch, control=Item.Control.REPEAT).exists()


_NAMES = {field.name for field in fields(ControlPlan)}
QASCORE = ControlPlan(degraded_per_hit=6, repeats_per_hit=3)
"""Of twenty items eleven ordinary ones, six degraded and three repeated, as in QAScore."""
QASCORE_HIT_SIZE = 20


def check_plan(plan: ControlPlan, *, presentation: str, hit_size: int) -> None:
    """Raise Refused for a plan that cannot be kept in such HITs."""
    if plan.is_empty:
        return
    is_page = presentation == Batch.Presentation.PAGE
    checks = [
        (
            0 <= plan.known_per_hit <= MOST_A_HIT,
            f"Set 0 to {MOST_A_HIT} known answers per HIT.",
        ),
        (0 <= plan.known_hit_every <= 1_000, "Set a HIT of rated candidates every 1 to 1,000 HITs, or 0 for never."),
        (
            math.isfinite(plan.degraded_per_hit) and 0 <= plan.degraded_per_hit <= MOST_A_HIT,
            f"Set 0 to {MOST_A_HIT} degraded answers per HIT on average.",
        ),
        (
            0 <= plan.repeats <= MOST_A_HIT,
            f"Set up to {MOST_A_HIT} candidates in a HIT of repeats.",
        ),
        (0 <= plan.repeats_every <= 1_000, "Set a HIT of repeats every 1 to 1,000 HITs, or 0 for never."),
        ((plan.repeats > 0) == (plan.repeats_every > 0), "Set both how many candidates to repeat and how often."),
        (
            0 <= plan.repeats_per_hit <= MOST_A_HIT,
            f"Set 0 to {MOST_A_HIT} repeats per HIT.",
        ),
        (
            not (is_page and plan.repeats_per_hit),
            "On a page with all items a repeat is noticed. Give repeats their own HIT, or show one item at a time.",
        ),
        (1 <= plan.distance <= 1_000, "Set a distance of 1 to 1,000 HITs."),
        (
            plan.item_distance >= 0 and (is_page or plan.item_distance < hit_size),
            "Set a distance in items that is smaller than the HIT.",
        ),
        (0 <= plan.jitter <= 1_000, "Set a jitter of 0 to 1,000 HITs."),
        (0 <= plan.seed < 2**31, "Set a seed from 0 to 2,147,483,647."),
        (
            plan.room < hit_size,
            f"{plan.room} controls leave no room for other items in a HIT of {hit_size}. Increase the HIT size.",
        ),
    ]
    wrong = [sentence for is_right, sentence in checks if not is_right]
    if wrong:
        raise Refused(wrong[0], details=wrong[1:])


def list_pool(batch: Batch) -> QuerySet[Item]:
    """The pool as managers see it: repeats need no accepting, they are made when one is shown."""
    return Item.objects.filter(pool_of=batch).exclude(control=Item.Control.REPEAT)


def clear_pool(batch: Batch) -> None:
    """Delete the pool of a batch that was never opened; of any other the keys refuse it."""
    pool = Item.objects.filter(pool_of=batch)
    pool.filter(made_from__isnull=False).delete()
    pool.delete()


def lacks_controls(batch: Batch) -> bool:
    """Whether the batch is to show controls that somebody has to accept, and none of them is accepted."""
    plan = ControlPlan.read(batch.control_plan)
    is_asked = bool(plan.known_per_hit or plan.known_hit_every or plan.degraded_per_hit)
    return is_asked and not list_pool(batch).filter(accepted_at__isnull=False, retired_at=None).exists()
